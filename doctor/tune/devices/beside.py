"""A run with devices: the CPU is tuned first, then the devices are compared with it, all within the one budget."""

from __future__ import annotations

from collections.abc import Callable, Generator

import msgspec

from doctor.measure.guard import in_words
from doctor.measure.units import Setting, UnitResult
from doctor.tune.devices.confirm import DEVICES_ALPHA
from doctor.tune.devices.course import compared
from doctor.tune.devices.filling import filled, to_fill
from doctor.tune.devices.plan import DevicesPlan
from doctor.tune.meter import Meter, Step
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult

#: Of what the devices get, kept for filling the memory of an integrated GPU.
_FILL_SHARE, _MOST_FILL_SECONDS = 0.08, 20.0

#: The run of settings alone.
Course = Callable[[Plan, Meter], Generator[Step, UnitResult, TuneResult]]


def with_devices(plan: Plan, course: Course) -> Generator[Step, UnitResult, TuneResult]:
    """The run of a plan that names devices. `course` tunes the CPU."""
    devices = plan.devices
    assert devices is not None
    share = devices.share if devices.devices else 0.0
    # What a run may claim wrongly stays what it is: the devices get their part from the recommendations.
    part = DEVICES_ALPHA if devices.devices else 0.0
    trials = tuple(
        msgspec.structs.replace(trial, family_alpha=trial.family_alpha - part) for trial in plan.trials
    )
    seconds = plan.budget_seconds * (1 - share)
    own = msgspec.structs.replace(plan, budget_seconds=seconds, trials=trials, devices=None)
    meter = Meter(own)
    result = yield from _within(course(own, meter), plan.budget_seconds)
    if result.ending == "budget-too-small" and result.needed_seconds is not None:
        return msgspec.structs.replace(result, plan=plan, needed_seconds=result.needed_seconds / (1 - share))
    if result.ending == "default-failed":
        return msgspec.structs.replace(result, plan=plan)
    tuned = result.export.setting if result.export is not None else Setting()
    found = yield from _within(_on_devices(meter, devices, tuned, plan.budget_seconds, result), plan.budget_seconds)
    return msgspec.structs.replace(
        found,
        plan=plan,
        units=meter.count,
        spent_seconds=meter.spent_seconds,
        disturbances=in_words(meter.disturbed),
    )


def _on_devices(
    meter: Meter, plan: DevicesPlan, tuned: Setting, until_seconds: float, result: TuneResult
) -> Generator[Step, UnitResult, TuneResult]:
    fills = plan.igpu is not None and any(row.fill_bytes for row in plan.devices)
    kept = min(_FILL_SHARE * (until_seconds - meter.spent_seconds), _MOST_FILL_SECONDS) if fills else 0.0
    found = yield from compared(meter, plan, tuned, until_seconds - kept)
    row = to_fill(plan.devices, found)
    memory = None
    if plan.igpu is not None and row is not None:
        memory = yield from filled(meter, row, plan.igpu, tuned, found)
    return msgspec.structs.replace(result, devices=found, igpu_memory=memory)


def _within(
    steps: Generator[Step, UnitResult, TuneResult], budget_seconds: float
) -> Generator[Step, UnitResult, TuneResult]:
    """A part of the run, whose steps tell the budget of the whole."""
    try:
        step = next(steps)
        while True:
            given = yield msgspec.structs.replace(step, budget_seconds=budget_seconds)
            step = steps.send(given)
    except StopIteration as end:
        found: TuneResult = end.value
        return found
