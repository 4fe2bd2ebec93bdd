"""A whole run as a sequence of values: what is measured next, what it gave, and at last the result.

`course` is the run itself. It measures nothing: it yields the next unit and is sent the result, and everything in it
follows from the plan and those results. `events` drives it with an experiment. A run that was cut short goes on from
its saved events: they are sent again, then the experiment takes over.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from doctor.measure.guard import in_words
from doctor.measure.repeatability import repeatability
from doctor.measure.units import DEFAULT, Measured, Unit, UnitResult
from doctor.measure.verdict import MIN_PAIRS
from doctor.tune.arms import Arm, is_default
from doctor.tune.budget import Division, additions_within, confirming_groups, divide, units_within
from doctor.tune.confirm import confirm
from doctor.tune.meter import DEFAULT_ARM, Meter, Step
from doctor.tune.plan import Plan, variables_alone
from doctor.tune.result import Ending, TuneResult
from doctor.tune.search import ArmReport, Searched, search, search_additions


class Experiment(Protocol):
    """Whatever can run a unit: the worker in a process of the target, a fake, a simulated machine."""

    def measure(self, unit: Unit) -> UnitResult:
        """Run one unit to its end. A failure of the unit is a value; KeyboardInterrupt may pass through."""


class OtherRun(Exception):
    """Saved events that this plan would not have led to. The message is one sentence."""


def events(
    plan: Plan, experiment: Experiment, saved: Sequence[Measured] = ()
) -> Iterator[Step | Measured | TuneResult]:
    """The run: a `Step` before each unit and a `Measured` after it, and one `TuneResult` at the end.

    Saved events are not repeated. Raises OtherRun where they do not belong to this plan.
    """
    steps = course(plan)
    try:
        step = next(steps)
        for measured in saved:
            if measured.unit != step.unit:
                raise OtherRun(f"the saved run is another one: its unit {measured.unit.number} does not fit")
            step = steps.send(measured.result)
        while True:
            yield step
            result = experiment.measure(step.unit)
            yield Measured(step.unit, result)
            step = steps.send(result)
    except StopIteration as end:
        yield end.value


def course(plan: Plan) -> Generator[Step, UnitResult, TuneResult]:
    """The run of a plan: yields steps, is sent the result of each step's unit, returns what was found."""
    meter = Meter(plan)
    # The first process reads torch from the disk, the second tells the cost.
    for number in (0, 1) if plan.arms else ():
        meter.forget_costs()
        booked = yield from meter.measure(DEFAULT_ARM, "cost", number)
        if not booked.ok:
            return _ended(meter, "default-failed", detail=booked.failure)
    unit_seconds = meter.cost_of(DEFAULT)
    arms = tuple(arm for arm in plan.arms if not is_default(arm.setting, meter.default_threads))
    if not arms:
        return _ended(meter, "nothing-to-try", detail="no setting differs from the default on this machine")
    group = 3 if any(variables_alone(arm, meter.default_threads) for arm in arms) else 2
    division = divide(units_within(meter.left_seconds, unit_seconds), len(arms), group, bool(plan.additions))
    if division is None:
        needed = meter.spent_seconds + unit_seconds * (MIN_PAIRS * group + 2)
        return _ended(meter, "budget-too-small", unit_seconds=unit_seconds, needed_seconds=needed)
    found = yield from _searched(meter, arms, division, unit_seconds)
    known: dict[str, Any] = {"unit_seconds": unit_seconds, "arms": found.reports, "rounds": found.rounds}
    if found.chosen is None:
        return _ended(meter, "nothing-to-try", detail="no setting that was tried ran to its end", **known)
    alone = variables_alone(found.chosen, meter.default_threads)
    candidates: list[Arm] = [found.chosen, *([alone] if alone is not None else [])]
    seconds = meter.cost_of(DEFAULT) + len(candidates) * meter.cost_of(found.chosen.name)
    confirmed = yield from confirm(meter, candidates, confirming_groups(meter.left_seconds, seconds))
    return _ended(
        meter,
        "confirmed",
        candidates=confirmed.candidates,
        pairs=confirmed.groups,
        pairs_left_out=confirmed.left_out,
        repeatability=repeatability(confirmed.default_log_seconds),
        **known,
    )


def _searched(
    meter: Meter, arms: Sequence[Arm], division: Division, unit_seconds: float
) -> Generator[Step, UnitResult, Searched]:
    """The arms, then what can be added to the best of them. The reports name also what was not tried."""
    begun = meter.spent_seconds
    found = yield from search(meter, arms[: division.arms], begun + division.arm_units * unit_seconds)
    ran = {report.name for report in found.reports}
    reports = found.reports + _not_tried(arm.name for arm in arms[division.arms :] if arm.name not in ran)
    additions = meter.plan.additions
    if found.chosen is None or not additions:
        return msgspec.structs.replace(found, reports=reports)
    until = begun + division.search_units * unit_seconds
    fitting = additions_within(units_within(until - meter.spent_seconds, unit_seconds))
    tried = [addition.on(found.chosen) for addition in additions[:fitting]]
    reports += _not_tried(addition.name for addition in additions[fitting:])
    if not tried:
        return msgspec.structs.replace(found, reports=reports)
    added = yield from search_additions(meter, found.chosen, tried, until, first_round=found.rounds)
    return msgspec.structs.replace(added, reports=reports + added.reports)


def _not_tried(names: Iterable[str]) -> tuple[ArmReport, ...]:
    return tuple(ArmReport(name, "not-tried") for name in names)


def _ended(meter: Meter, ending: Ending, **known: Any) -> TuneResult:
    return TuneResult(
        plan=meter.plan,
        ending=ending,
        units=meter.count,
        spent_seconds=meter.spent_seconds,
        disturbances=in_words(meter.disturbed),
        **known,
    )
