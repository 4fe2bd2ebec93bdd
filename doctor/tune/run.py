"""A whole run as a sequence of values: what is measured next, what it gave, and at last the result.

`course` is the run itself. It measures nothing: it yields the next unit and is sent the result, and everything in it
follows from the plan and those results. `events` drives it with an experiment. A run that was cut short goes on from
its saved events: they are sent again, then the experiment takes over.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from doctor.measure.guard import in_words
from doctor.measure.repeatability import repeatability
from doctor.measure.units import DEFAULT, Measured, Unit, UnitResult
from doctor.measure.verdict import FASTER_MARGIN, MIN_PAIRS, pairs_to_claim
from doctor.tune.advise import advise
from doctor.tune.arms import Addition, Arm, is_default, threads_of
from doctor.tune.budget import (
    Division,
    additions_within,
    budget_for,
    confirming_groups,
    divide,
    most_pairs,
    settings_seconds,
    units_within,
)
from doctor.tune.confirm import confirm
from doctor.tune.devices.beside import with_devices
from doctor.tune.meter import DEFAULT_ARM, Meter, Step
from doctor.tune.plan import Plan, variables_alone
from doctor.tune.result import Ending, TuneResult
from doctor.tune.roofline import Roofline, roofline, roofline_seconds
from doctor.tune.search import ArmReport, Searched, search, search_additions
from doctor.tune.skipped import Skipped


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
    steps = course(plan) if plan.devices is None else with_devices(plan, course)
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


class _Settings(msgspec.Struct, frozen=True):
    """How the search and the confirmation of settings ended, and what the recommendations are measured under."""

    ending: Ending
    known: dict[str, Any] = {}
    base: Arm = DEFAULT_ARM


def course(plan: Plan, meter: Meter | None = None) -> Generator[Step, UnitResult, TuneResult]:
    """The run of a plan: yields steps, is sent the result of each step's unit, returns what was found. `meter`: where
    the caller goes on behind it."""
    meter = meter or Meter(plan)
    if not (plan.arms or plan.additions or plan.trials or plan.peaks):
        return _ended(meter, "nothing-to-try", detail=_NOTHING)
    # The first process reads torch from the disk, the second tells the cost.
    for number in (0, 1):
        meter.forget_costs()
        booked = yield from meter.measure(DEFAULT_ARM, "cost", number)
        if not booked.ok:
            return _ended(meter, "default-failed", detail=booked.failure)
    settings = yield from _settings(meter)
    spent = meter.spent_seconds
    if settings.ending == "budget-too-small":
        return _ended(meter, settings.ending, **settings.known)
    recommendations = yield from advise(meter, settings.base, plan.budget_seconds, roofline_seconds(meter))
    roofs, left_out = yield from _roofline(meter)
    return _ended(
        meter,
        settings.ending,
        settings_seconds=spent,
        recommendations=recommendations,
        roofline=roofs.rows,
        findings=(*meter.findings, *roofs.findings),
        left_out=left_out,
        **settings.known,
    )


_NOTHING = "no setting differs from the default on this machine"


def _settings(meter: Meter) -> Generator[Step, UnitResult, _Settings]:
    """Search among the settings and confirm the one that was chosen."""
    plan, unit_seconds = meter.plan, meter.cost_of(DEFAULT)
    arms = tuple(arm for arm in plan.arms if not is_default(arm.setting, meter.default_threads))
    additions = plan.additions if arms else ()
    one_thread = meter.default_threads == 1
    arms = arms or tuple(each.alone for each in plan.additions if not (each.for_threads and one_thread))
    if not arms:
        detail = _NOTHING if plan.arms else "no setting was asked for, or none is left to try"
        return _Settings("nothing-to-try", {"detail": detail, "unit_seconds": unit_seconds})
    advice = bool(plan.trials)
    until = settings_seconds(plan.budget_seconds, advice)
    group = 3 if any(variables_alone(arm, meter.default_threads) for arm in arms) else 2
    units = units_within(until - meter.spent_seconds, unit_seconds)
    division = divide(units, len(arms), group, bool(additions))
    if division is None:
        needed = meter.spent_seconds + unit_seconds * (MIN_PAIRS * group + 2)
        needed = budget_for(needed, MIN_PAIRS, advice)
        return _Settings("budget-too-small", {"unit_seconds": unit_seconds, "needed_seconds": needed})
    found = yield from _searched(meter, arms, additions, division, unit_seconds)
    known: dict[str, Any] = {"unit_seconds": unit_seconds, "arms": found.reports, "rounds": found.rounds}
    if found.chosen is None:
        return _Settings("nothing-to-try", {**known, "detail": "no setting that was tried ran to its end"})
    alone = variables_alone(found.chosen, meter.default_threads)
    candidates: list[Arm] = [found.chosen, *([alone] if alone is not None else [])]
    seconds = meter.cost_of(DEFAULT) + len(candidates) * meter.cost_of(found.chosen.name)
    groups = confirming_groups(
        until - meter.spent_seconds,
        meter.left_seconds,
        seconds,
        most_pairs(plan.budget_seconds, advice),
        _needed_pairs(found),
    )
    confirmed = yield from confirm(meter, candidates, groups)
    known |= {
        "candidates": confirmed.candidates,
        "pairs": confirmed.groups,
        "pairs_left_out": confirmed.left_out,
        "repeatability": repeatability(confirmed.default_log_seconds),
    }
    base = next((arm for arm, shown in zip(candidates, confirmed.candidates, strict=True) if shown.exportable), None)
    return _Settings("confirmed", known, base or DEFAULT_ARM)


def _needed_pairs(found: Searched) -> int | None:
    """About the pairs that the chosen setting needs to be called faster, if the search is right about its gain and
    the noise. None where that is not known, or where it is no gain worth more pairs."""
    own = _estimate(found)
    if own is None or found.noise is None or own > -_WORTH_MORE_PAIRS:
        return None
    return pairs_to_claim(_OF_ITS_GAIN * own, _OF_ITS_NOISE * math.sqrt(2) * found.noise)


#: Twice the margin of *faster*.
_WORTH_MORE_PAIRS = 2 * FASTER_MARGIN
#: What leads a search was lucky, and its few rounds may have been calm.
_OF_ITS_GAIN, _OF_ITS_NOISE = 0.8, 1.2


def _roofline(meter: Meter) -> Generator[Step, UnitResult, tuple[Roofline, tuple[Skipped, ...]]]:
    """With what is left of the budget."""
    if meter.plan.peaks is None:
        return Roofline(), ()
    needed = roofline_seconds(meter)
    if needed > meter.left_seconds:
        why = f"the budget was too small: it takes about {needed:.0f} s"
        return Roofline(), (Skipped("roofline", why),)
    found = yield from roofline(meter, meter.plan.peaks)
    return found, ()


def _searched(
    meter: Meter, arms: Sequence[Arm], additions: Sequence[Addition], division: Division, unit_seconds: float
) -> Generator[Step, UnitResult, Searched]:
    """The arms, then what can be added to the best of them. The reports name also what was not tried."""
    begun = meter.spent_seconds
    found = yield from search(meter, arms[: division.arms], begun + division.arm_units * unit_seconds)
    ran = {report.name for report in found.reports}
    reports = found.reports + _not_tried(arm.name for arm in arms[division.arms :] if arm.name not in ran)
    chosen, on_default = found.chosen, _default_leads(found)
    if chosen is None:
        return msgspec.structs.replace(found, reports=reports)
    threads = meter.default_threads if on_default else threads_of(chosen.setting)
    additions = [each for each in additions if not (each.for_threads and threads == 1)]
    until = begun + division.addition_units * unit_seconds
    fitting = additions_within(units_within(until - meter.spent_seconds, unit_seconds))
    tried = [each.alone if on_default else each.on(chosen) for each in additions[:fitting]]
    reports += _not_tried(addition.name for addition in additions[fitting:])
    if not tried:
        return msgspec.structs.replace(found, reports=reports)
    if on_default:
        added = yield from search(meter, tried, until, first_round=found.rounds)
        return _better(msgspec.structs.replace(found, reports=reports), added)
    added = yield from search_additions(meter, chosen, tried, until, first_round=found.rounds)
    return msgspec.structs.replace(added, reports=reports + added.reports)


def _default_leads(found: Searched) -> bool:
    """No thread count or placement is ahead of what the user has now by more than the margin of *faster*: what can be
    added is then added to that."""
    ahead = _estimate(found)
    return ahead is not None and ahead > -FASTER_MARGIN


def _estimate(found: Searched) -> float | None:
    return next((report.log_ratio for report in reversed(found.reports) if report.fate == "chosen"), None)


def _better(arms: Searched, added: Searched) -> Searched:
    """The one of two searches whose choice is ahead of the default by more; what the other chose is only left over."""
    own, other = _estimate(arms), _estimate(added)
    winner, loser = (added, arms) if other is not None and (own is None or other < own) else (arms, added)
    left = {report.name for report in loser.reports if report.fate == "chosen"}
    reports = tuple(
        msgspec.structs.replace(report, fate="left") if report.name in left else report
        for report in (*arms.reports, *added.reports)
    )
    return Searched(winner.chosen, reports, added.rounds, winner.noise)


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
