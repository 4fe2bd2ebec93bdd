"""How many recommendations may be claimed, at which risk, and in how many groups: fixed before the first group runs.

A whole run may say *faster* wrongly in at most 1 % of runs. Half of that belongs to the exported setting, half to the
recommendations, shared out evenly among those that are measured. A smaller share needs more pairs: with one claim 8,
with two 9, with five 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.measure.units import Variant
from doctor.measure.verdict import least_pairs
from doctor.tune.budget import DEFAULT_PAIRS
from doctor.tune.trials import FAMILY_ALPHA, Trial

BASE = "base"
#: A process costs as much as so many timings of a workload: most of it is the import of torch.
_TIMINGS_OF_A_PROCESS = 1.4


class Costs(msgspec.Struct, frozen=True):
    """Seconds of a process without any timing, of one timing, and of a whole unit of the chosen setting."""

    process: float
    timing: float
    unit: float

    @staticmethod
    def of_unit(seconds: float, workloads: int) -> Costs:
        timing = seconds / (_TIMINGS_OF_A_PROCESS + workloads)
        return Costs(_TIMINGS_OF_A_PROCESS * timing, timing, seconds)

    def seen(self, seconds: float, timings: float) -> Costs:
        """Corrected by a process that timed so many variants. A short one may not promise too much."""
        timing = max((seconds - self.process) / timings, self.timing / 4) if timings else self.timing
        return msgspec.structs.replace(self, timing=timing)


class Claim(msgspec.Struct, frozen=True):
    """One comparison to be made: `trial` with the options that were picked for it. `measured_only`: nothing is claimed
    for it, its speed is told."""

    trial: Trial
    title: str
    options: dict[str, str] = {}
    measured_only: bool = False

    @property
    def name(self) -> str:
        return f"{self.trial.axis}: {self.title}"

    @property
    def base(self) -> Variant:
        """The variant that it is compared with."""
        options = self.trial.base_options
        words = ", ".join(f"{name} {value}" for name, value in options.items())
        return Variant(f"{BASE} with {words}" if words else BASE, options, self.trial.workloads)

    @property
    def variant(self) -> Variant:
        return Variant(self.name, {**self.trial.base_options, **self.options}, self.trial.workloads)


class Chosen(msgspec.Struct, frozen=True):
    """The claims that fit, the risk of each, and how many groups they get."""

    claims: tuple[Claim, ...] = ()
    alpha: float = FAMILY_ALPHA
    groups: int = 0

    @property
    def in_process(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.claims if claim.trial.in_process)

    @property
    def in_processes(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.claims if not claim.trial.in_process)


def chosen(candidates: Sequence[Claim], costs: Costs, left_seconds: float, spare_seconds: float = 0.0) -> Chosen:
    """In their order of priority every claim that still fits beside those before it. A claim on several workloads is
    made on the first alone where only that fits. `spare_seconds` are not spent on more groups than the least."""
    taken: tuple[Claim, ...] = ()
    for claim in candidates:
        for version in _versions(claim):
            if needed_seconds((*taken, version), costs) <= left_seconds:
                taken = (*taken, version)
                break
    if not taken:
        return Chosen()
    groups = _least(taken)
    while groups < DEFAULT_PAIRS and _seconds(taken, costs, groups + 1) <= left_seconds - spare_seconds:
        groups += 1
    return Chosen(taken, _alpha(taken), groups)


def needed_seconds(claims: Sequence[Claim], costs: Costs) -> float:
    """What claims take when they and no others are made, in the fewest groups."""
    return _seconds(claims, costs, _least(claims))


def variants_of(claims: Sequence[Claim]) -> tuple[Variant, ...]:
    """What one process runs for all of them: each base once, over all the workloads that anybody compares on it."""
    bases: dict[str, Variant] = {}
    for claim in claims:
        base = claim.base
        workloads = dict.fromkeys((*bases[base.name].workloads, *base.workloads) if base.name in bases else
                                  base.workloads)
        bases[base.name] = msgspec.structs.replace(base, workloads=tuple(workloads))
    return (*bases.values(), *(claim.variant for claim in claims))


def _versions(claim: Claim) -> tuple[Claim, ...]:
    trial = claim.trial
    if not trial.in_process or len(trial.workloads) == 1:
        return (claim,)
    first = msgspec.structs.replace(trial, workloads=trial.workloads[:1])
    return claim, msgspec.structs.replace(claim, trial=first)


def _alpha(claims: Sequence[Claim]) -> float:
    family = min((claim.trial.family_alpha for claim in claims), default=FAMILY_ALPHA)
    return family / max(sum(not claim.measured_only for claim in claims), 1)


def _least(claims: Sequence[Claim]) -> int:
    return least_pairs(_alpha(claims))


def _seconds(claims: Sequence[Claim], costs: Costs, groups: int) -> float:
    inside = [claim for claim in claims if claim.trial.in_process]
    timings = sum(len(variant.workloads) for variant in variants_of(inside))
    own = len(claims) - len(inside)
    one = (costs.process + costs.timing * timings if inside else 0.0) + (costs.unit * (own + 1) if own else 0.0)
    return groups * one
