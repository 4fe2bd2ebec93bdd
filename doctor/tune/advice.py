"""What the paired runs of a recommendation say: its verdict, its speed, and the lines of code that do it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median

import msgspec

from doctor.measure.answers import wrong_answer
from doctor.measure.guard import Disturbance
from doctor.measure.units import Timing, UnitResult
from doctor.measure.verdict import MIN_PAIRS, judge, least_pairs
from doctor.tune.batch import KNEE_SHARE, BatchFound
from doctor.tune.claims import Claim
from doctor.tune.recommendation import Recommendation
from doctor.tune.trials import Trial

#: Within this share of the base's, another loss after 20 steps is no worse: bfloat16 rounds to 0.4 %.
LOSS_TOLERANCE = 0.05
#: As in the confirmation: groups that something else disturbed are left out if this share is left.
_UNDISTURBED_SHARE = 0.75

BATCH_SIZE = "AMD_DOCTOR_BATCH_SIZE"


class Pair(msgspec.Struct, frozen=True):
    """One group: the rows of the variant and of its base, by workload."""

    own: Mapping[str, Timing]
    base: Mapping[str, Timing]
    disturbed: bool


class Evidence:
    """The pairs of one claim as they come in, and how it failed, if it did. A failure is final."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.pairs: list[Pair] = []
        self.failed = ""
        self.note = ""

    def fail(self, why: str) -> None:
        self.failed = self.failed or why

    def add(
        self, own: Mapping[str, Timing], base: Mapping[str, Timing], disturbed: Sequence[Disturbance]
    ) -> None:
        """Take in a group, if both sides timed every workload."""
        workloads = self.claim.trial.workloads
        why = next((timing.failed for timing in own.values() if timing.failed), "")
        if why:
            self.fail(why)
        elif all(_usable(side.get(name)) for side in (own, base) for name in workloads):
            self.fail(_changed(self.claim.trial, own, base))
            self.pairs.append(Pair(own, base, any(each.external for each in disturbed)))


def _usable(timing: Timing | None) -> bool:
    seconds = timing.seconds if timing is not None else ()
    return bool(seconds) and all(0 < each < math.inf for each in seconds)


def _changed(trial: Trial, own: Mapping[str, Timing], base: Mapping[str, Timing]) -> str:
    """What is wrong with the numbers of the variant; empty where nothing is, or where nothing can be compared."""
    if not trial.changes_numbers:
        return ""
    for name in trial.workloads:
        before, after = base[name], own[name]
        if before.answer is not None and after.answer is not None:
            allowed = max(before.answer.tolerance, after.answer.tolerance)
            reference = {name: msgspec.structs.replace(before.answer, tolerance=allowed)}
            wrong = wrong_answer(reference, UnitResult("ok", 0.0, (after,)))
            if wrong is not None:
                return f"wrong: {wrong}"
        if before.loss is not None:
            off = abs((math.nan if after.loss is None else after.loss) - before.loss)
            if not off <= LOSS_TOLERANCE * abs(before.loss):
                return f"wrong: the loss of {name} after 20 steps is {after.loss}, not about {before.loss:.4g}"
    return ""


def claimed(evidence: Evidence, alpha: float, found: BatchFound | None) -> Recommendation:
    """The row of a claim that was measured."""
    claim, workloads = evidence.claim, evidence.claim.trial.workloads
    pairs = _undisturbed(evidence.pairs, least_pairs(alpha))
    differences = {name: [_log_ratio(pair, name) for pair in pairs] for name in workloads}
    whole = [fmean(each) for each in zip(*differences.values(), strict=True)]
    verdict = None if claim.measured_only else judge(whole, alpha)
    speeds = tuple(_speed([pair.own[name] for pair in pairs]) for name in workloads) if pairs else ()
    row = Recommendation(
        axis=claim.trial.axis,
        title=claim.title,
        fate="failed" if evidence.failed else "measured",
        verdict=verdict,
        code=_code(claim, found),
        detail=evidence.failed or "; ".join(filter(None, (evidence.note, _detail(claim, found, speeds)))),
        workloads=workloads,
        by_workload={} if claim.measured_only else {name: judge(differences[name], alpha) for name in workloads},
        items_per_second=speeds,
        base_items_per_second=tuple(_speed([pair.base[name] for pair in pairs]) for name in workloads) if pairs else (),
        points=found.points if found is not None and claim.trial.axis == "batch" else (),
    )
    return msgspec.structs.replace(row, variables=_variables(row, claim))


def _log_ratio(pair: Pair, workload: str) -> float:
    own, base = pair.own[workload], pair.base[workload]
    return math.log(median(own.seconds) / own.items) - math.log(median(base.seconds) / base.items)


def _speed(timings: Sequence[Timing]) -> float:
    return median(timing.items / median(timing.seconds) for timing in timings)


def _undisturbed(pairs: Sequence[Pair], least: int) -> Sequence[Pair]:
    calm = [pair for pair in pairs if not pair.disturbed]
    return calm if len(calm) >= max(MIN_PAIRS, least, _UNDISTURBED_SHARE * len(pairs)) else pairs


def _variables(row: Recommendation, claim: Claim) -> dict[str, str]:
    """What a user may set by hand. The batch size only where it was shown to be faster: it goes into the env file."""
    if claim.trial.axis == "batch":
        return {BATCH_SIZE: claim.options["batch"]} if row.advised else {}
    return {name: value for name, value in claim.trial.variables.items() if value is not None}


def _code(claim: Claim, found: BatchFound | None) -> tuple[str, ...]:
    options = claim.options
    if claim.trial.axis == "batch" and found is not None:
        return (
            f'batch_size = int(os.environ.get("{BATCH_SIZE}", "{found.own}"))',
            "loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)",
        )
    if claim.trial.axis == "accumulate":
        steps = options["accumulate"]
        return (
            f"(loss_function(model(inputs), targets) / {steps}).backward()",
            f"if (step + 1) % {steps} == 0: optimizer.step(); optimizer.zero_grad()",
        )
    if claim.trial.axis == "loader":
        threads = options.get("intra_threads")
        reading = f"loader = DataLoader(dataset, num_workers={options['loader_workers']}, persistent_workers=True)"
        return (f"torch.set_num_threads({threads})", reading) if threads else (reading,)
    return claim.trial.code


def _detail(claim: Claim, found: BatchFound | None, speeds: Sequence[float]) -> str:
    if claim.trial.axis == "accumulate" and found is not None and speeds:
        return f"measured {speeds[0]:.4g} samples/s; {found.why}"
    if claim.trial.axis == "batch" and found is not None:
        return f"the smallest size within {1 - KNEE_SHARE:.0%} of the fastest that was tried"
    return claim.trial.detail


def batch_row(trial: Trial, found: BatchFound, rising: bool) -> Recommendation:
    """The row where the workload's own size is as good as any: nothing to claim."""
    larger = max(point.batch for point in found.points)
    detail = f"sizes up to {larger} gain less than {1 - KNEE_SHARE:.0%} over it"
    if found.too_large is not None and rising:
        detail = f"{found.too_large} does not fit: {found.why}"
    return Recommendation(
        axis=trial.axis,
        title=f"batch size {found.own}, as it is",
        fate="chosen",
        detail=detail,
        workloads=trial.workloads,
        points=found.points,
    )


def not_tried(trial: Trial, title: str, needed_seconds: float, left_seconds: float | None) -> Recommendation:
    left = "" if left_seconds is None else f", {max(left_seconds, 0.0):.0f} s are left"
    detail = f"the budget was too small: it takes about {math.ceil(needed_seconds)} s{left}"
    return Recommendation(trial.axis, title, "not-tried", detail=detail, workloads=trial.workloads)
