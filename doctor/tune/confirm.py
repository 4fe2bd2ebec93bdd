"""The confirmation: it claims, and never chooses.

Fresh processes only, none of the search. In every group the default and the chosen setting run side by side, their
order tossed by a coin. If the chosen setting carries a CPU mask, a second candidate is confirmed apart: its variables
alone, which is what a sourced file gives. Both then run in one group with the default, in a random order of the three:
each of the two stands before or after the default equally often, so each comparison is as exact as in pairs, for three
runs instead of four. They are tested in a fixed order: only where the whole was *faster* may the variables alone be
called so. Both claims together are therefore wrong in at most 0.5 % of runs; the other half of the 1 % belongs to the
recommendations (see `doctor.tune.claims`).

The number of groups is fixed before the first; only a machine that becomes so slow that the budget ends before them
cuts it. No other candidate is tried after a failure.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import msgspec

from doctor.measure.schedule import shuffled
from doctor.measure.units import DEFAULT, Setting, UnitResult, log_seconds, workload_log_seconds
from doctor.measure.verdict import MIN_PAIRS, Verdict, judge
from doctor.tune.arms import Arm
from doctor.tune.meter import DEFAULT_ARM, Booked, Meter, Step

#: Groups that something else on the machine disturbed are left out, if at least this share of all is left.
_UNDISTURBED_SHARE = 0.75


class Confirmation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was proved about one candidate, exactly as it would be exported.

    `by_workload` holds the verdict on each workload of the objective, from the same pairs. `failed` says how a unit
    of the candidate failed; it is then not exported, whatever the others showed. `withheld`: its own pairs would have
    made it *faster*, but the candidate before it was not.
    """

    name: str
    setting: Setting
    verdict: Verdict
    by_workload: dict[str, Verdict]
    failed: str = ""
    withheld: bool = False

    @property
    def slower_on(self) -> tuple[str, ...]:
        """The workloads that this candidate slows down."""
        return tuple(name for name, verdict in self.by_workload.items() if verdict.word == "slower")

    @property
    def exportable(self) -> bool:
        return self.verdict.word == "faster" and not self.failed and not self.slower_on


class Confirmed(msgspec.Struct, frozen=True):
    """`default_log_seconds`: the default's own runs in the order of measuring, for the A/A line."""

    candidates: tuple[Confirmation, ...]
    default_log_seconds: tuple[float, ...]
    groups: int
    left_out: int  # groups that something else on the machine disturbed


def confirm(meter: Meter, candidates: Sequence[Arm], groups: int) -> Generator[Step, UnitResult, Confirmed]:
    """Run `groups` groups of the default and one or two candidates, and judge each candidate."""
    meter.live, meter.leader = len(candidates), candidates[0].name
    failed: dict[str, str] = {}
    measured: list[dict[str, Booked]] = []
    for number in range(groups):
        live = [arm for arm in candidates if arm.name not in failed]
        if not live or meter.is_over(meter.plan.budget_seconds, number, MIN_PAIRS):
            break
        group: dict[str, Booked] = {}
        for arm in shuffled(meter.plan.seed, "confirm", number, [DEFAULT_ARM, *live]):
            group[arm.name] = yield from meter.measure(arm, "confirm", number)
            if arm.name != DEFAULT and not group[arm.name].ok:
                failed[arm.name] = group[arm.name].failure
        measured.append(group)
    used = _undisturbed(measured)
    workloads = meter.plan.workloads
    defaults = [group[DEFAULT].result for group in measured if group[DEFAULT].ok]
    judged = [_judged(arm, used, workloads, failed.get(arm.name, "")) for arm in candidates]
    return Confirmed(
        candidates=tuple(_in_order(judged)),
        default_log_seconds=tuple(log_seconds(result, workloads) for result in defaults),
        groups=len(measured),
        left_out=len(measured) - len(used),
    )


def _in_order(candidates: Sequence[Confirmation]) -> Iterator[Confirmation]:
    """A candidate behind one that ran to its end and was not *faster* is not called *faster*. One that failed claims
    nothing, and leaves its claim to the next."""
    claimable = True
    for candidate in candidates:
        word = candidate.verdict.word
        if word == "faster" and not claimable:
            verdict = msgspec.structs.replace(candidate.verdict, word="undecided")
            candidate = msgspec.structs.replace(candidate, verdict=verdict, withheld=True)
        claimable = claimable and (word == "faster" or bool(candidate.failed))
        yield candidate


def _undisturbed(groups: Sequence[dict[str, Booked]]) -> Sequence[dict[str, Booked]]:
    """The groups that nothing from outside disturbed, if enough are left; else all, and the run is marked."""
    calm = [group for group in groups if not any(_disturbed_from_outside(booked) for booked in group.values())]
    return calm if len(calm) >= max(MIN_PAIRS, _UNDISTURBED_SHARE * len(groups)) else groups


def _disturbed_from_outside(booked: Booked) -> bool:
    return any(disturbance.external for disturbance in booked.disturbed)


def _judged(arm: Arm, groups: Sequence[dict[str, Booked]], workloads: Sequence[str], failed: str) -> Confirmation:
    pairs = [
        (group[arm.name].result, group[DEFAULT].result)
        for group in groups
        if arm.name in group and group[arm.name].ok and group[DEFAULT].ok
    ]
    whole = [log_seconds(own, workloads) - log_seconds(default, workloads) for own, default in pairs]
    single = len(workloads) == 1
    verdict = judge(whole)
    by_workload = {
        name: verdict
        if single
        else judge([workload_log_seconds(own, name) - workload_log_seconds(default, name) for own, default in pairs])
        for name in workloads
    }
    return Confirmation(arm.name, arm.setting, verdict, by_workload, failed)
