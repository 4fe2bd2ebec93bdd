"""The recommendations, measured under the setting that was chosen: search, what fits, groups of paired runs, verdicts.

Most are compared within one process, because a process costs seconds of import and a variant in it less than one. In
each group the base and all variants run in an order that is tossed anew, and the process counts once: one difference
for each variant. What a process does to all of its variants cancels; what it does to one of them by luck is as likely
to favour the base. Processes, not blocks, are what the test counts. What belongs to a whole process is paired as the
confirmation does it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import msgspec

from doctor.measure.schedule import shuffled
from doctor.measure.units import Setting, UnitResult
from doctor.tune.advice import Evidence, batch_row, claimed, not_tried
from doctor.tune.arms import Arm, threads_of
from doctor.tune.batch import BatchFound, steps_of
from doctor.tune.claims import BASE, Chosen, Claim, Costs, chosen, needed_seconds, variants_of
from doctor.tune.meter import Booked, Meter, Step
from doctor.tune.recommendation import Recommendation
from doctor.tune.scouting import batch_found, choice_found, rows_of, still_pays
from doctor.tune.trials import Trial

_FIRST_SIZES = 3


class _Searched(msgspec.Struct, frozen=True):
    """What the search of one trial ended with: claims to be made, or a row that says why there are none."""

    claims: tuple[Claim, ...] = ()
    rows: tuple[Recommendation, ...] = ()
    found: BatchFound | None = None


def advise(
    meter: Meter, base: Arm, until_seconds: float, spare_seconds: float = 0.0
) -> Generator[Step, UnitResult, tuple[Recommendation, ...]]:
    """Measure what fits until `until_seconds` of the run; a row for every trial of the plan, in its order.

    `spare_seconds`: left over for what comes behind, where every claim has its least groups without them.
    """
    trials = meter.plan.trials
    meter.live, meter.leader = len(trials), base.name
    costs = Costs.of_unit(meter.cost_of(base.name), len(meter.plan.workloads))
    searched: list[_Searched] = []
    candidates: list[Claim] = []
    for trial in trials:
        left = until_seconds - meter.spent_seconds
        each, costs = yield from _search(meter, base, trial, costs, left, candidates)
        searched.append(each)
        candidates += each.claims
    fitting = chosen(candidates, costs, until_seconds - meter.spent_seconds, spare_seconds)
    evidence = yield from _groups(meter, base, fitting, costs, until_seconds)
    rows: list[Recommendation] = []
    for each in searched:
        rows += each.rows
        for claim in each.claims:
            rows.append(_row(claim, each.found, fitting, evidence, costs))
    return tuple(rows)


def _search(
    meter: Meter, base: Arm, trial: Trial, costs: Costs, left_seconds: float, before: Sequence[Claim]
) -> Generator[Step, UnitResult, tuple[_Searched, Costs]]:
    """`before`: the claims of greater priority. A search that would take their time is not begun."""
    if trial.axis == "batch":
        return (yield from _search_batch(meter, base, trial, costs, left_seconds))
    claim = Claim(trial, trial.title, trial.options)
    if not trial.choices:
        return _Searched((claim,)), costs
    searching = costs.process + 4 * costs.timing * (len(trial.choices) + 1)
    needed = needed_seconds((*before, claim), costs) + searching
    if needed > left_seconds:
        return _Searched(rows=(not_tried(trial, trial.title, needed, left_seconds),)), costs
    threads = threads_of(base.setting) or meter.default_threads
    found = yield from choice_found(meter, base, trial, threads, costs)
    if found is None:
        why = "none of the numbers that were tried was faster than the process itself reading its data"
        return _Searched(rows=(Recommendation(trial.axis, trial.title, "chosen", detail=why),)), costs
    return _Searched((found,)), costs


def _search_batch(
    meter: Meter, base: Arm, trial: Trial, costs: Costs, left_seconds: float
) -> Generator[Step, UnitResult, tuple[_Searched, Costs]]:
    claim_seconds = needed_seconds((Claim(trial, trial.title),), costs)
    needed = claim_seconds + costs.process + _FIRST_SIZES * costs.timing
    if needed > left_seconds:
        return _Searched(rows=(not_tried(trial, trial.title, needed, left_seconds),)), costs
    before, units = meter.spent_seconds, meter.count
    found = yield from batch_found(meter, base, trial, costs, before + left_seconds - claim_seconds)
    if found is None:
        why = "the workload's own batch did not run in a sweep of sizes"
        return _Searched(rows=(Recommendation(trial.axis, trial.title, "failed", detail=why),)), costs
    sweeps = meter.count - units
    if len(found.points) >= _FIRST_SIZES:
        costs = costs.seen((meter.spent_seconds - before) / sweeps, len(found.points) / sweeps)
    claims, rows = [], []
    knee = found.knee
    if knee is not None and knee > found.own:
        claims.append(Claim(trial, f"batch size {knee} instead of {found.own}", {"batch": str(knee)}))
    else:
        rows.append(batch_row(trial, found, still_pays(found)))
    claims += _accumulated(trial, found)
    return _Searched(tuple(claims), tuple(rows), found), costs


def _accumulated(trial: Trial, found: BatchFound) -> list[Claim]:
    """What stands in for a batch that does not fit: its speed is told, nothing is claimed of it."""
    if found.too_large is None or found.largest is None or found.largest >= found.too_large:
        return []
    steps = steps_of(found.too_large, found.largest)
    title = f"{found.too_large} does not fit: {found.largest} x {steps} accumulation steps"
    options = {"batch": str(found.largest), "accumulate": str(steps)}
    return [Claim(msgspec.structs.replace(trial, axis="accumulate"), title, options, measured_only=True)]


def _groups(
    meter: Meter, base: Arm, fitting: Chosen, costs: Costs, until_seconds: float
) -> Generator[Step, UnitResult, dict[str, Evidence]]:
    """The paired runs of all claims. The number of groups is fixed; only a clock that runs away ends them early, and
    too few pairs then claim nothing."""
    evidence = {claim.name: Evidence(claim) for claim in fitting.claims}
    for number in range(fitting.groups):
        before = meter.spent_seconds
        yield from _within_a_process(meter, base, number, [evidence[claim.name] for claim in fitting.in_process], costs)
        yield from _between_processes(meter, base, number, [evidence[claim.name] for claim in fitting.in_processes])
        took = meter.spent_seconds - before
        if meter.spent_seconds + took > max(until_seconds, meter.plan.budget_seconds) + took / 2:
            break
    return evidence


def _within_a_process(
    meter: Meter, base: Arm, number: int, evidence: Sequence[Evidence], costs: Costs
) -> Generator[Step, UnitResult, None]:
    live = [each for each in evidence if not each.failed]
    if not live:
        return
    variants = shuffled(meter.plan.seed, "recommend", number, variants_of([each.claim for each in live]))
    workloads = tuple(dict.fromkeys(name for variant in variants for name in variant.workloads))
    timings = sum(len(variant.workloads) for variant in variants)
    expected = costs.process + costs.timing * timings
    booked = yield from meter.measure_variants(base, variants, workloads, expected, number)
    died = None if booked.ok else next((v.name for v in variants if not rows_of(booked.result, v.name)), None)
    for each in live:
        if died == each.claim.variant.name:
            each.fail(booked.failure)
        elif booked.ok:
            own = rows_of(booked.result, each.claim.variant.name)
            each.add(own, rows_of(booked.result, each.claim.base.name), booked.disturbed)


def _between_processes(
    meter: Meter, base: Arm, number: int, evidence: Sequence[Evidence]
) -> Generator[Step, UnitResult, None]:
    live = {f"{base.name} + {each.claim.name}": each for each in evidence if not each.failed}
    if not live:
        return
    arms = [_under(base, name, each.claim) for name, each in live.items()]
    group: dict[str, Booked] = {}
    own = Arm(f"{base.name}: {BASE}", base.setting, base.title)
    for arm in shuffled(meter.plan.seed, "recommend processes", number, [own, *arms]):
        trial = live[arm.name].claim.trial if arm.name in live else None
        group[arm.name] = yield from meter.measure(
            arm,
            "recommend",
            number,
            lenient=trial is not None and trial.changes_numbers,
            may_pin=trial is not None and trial.may_pin,
        )
    for name, each in live.items():
        if not group[name].ok:
            each.fail(group[name].failure)
        elif group[own.name].ok:
            disturbed = (*group[name].disturbed, *group[own.name].disturbed)
            each.note = each.note or group[name].pinned
            each.add(rows_of(group[name].result, ""), rows_of(group[own.name].result, ""), disturbed)


def _under(base: Arm, name: str, claim: Claim) -> Arm:
    setting = Setting(
        variables={**base.setting.variables, **claim.trial.variables},
        cpus=base.setting.cpus,
        options={**base.setting.options, **claim.options},
    )
    return Arm(name, setting, claim.title)


def _row(
    claim: Claim, found: BatchFound | None, fitting: Chosen, evidence: dict[str, Evidence], costs: Costs
) -> Recommendation:
    if claim.name not in evidence:
        row = not_tried(claim.trial, claim.title, needed_seconds((claim,), costs), None)
        return msgspec.structs.replace(row, points=found.points if found is not None else ())
    return claimed(evidence[claim.name], fitting.alpha, found)
