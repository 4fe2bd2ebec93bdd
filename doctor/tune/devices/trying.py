"""What is tried on the device that will be compared: its settings in rounds, ways to write the code within one process,
and batches that do not fit, made up of smaller ones. Estimates, all of it."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from statistics import fmean, median

import msgspec

from doctor.measure.schedule import shuffled
from doctor.measure.units import Setting, Timing, UnitResult, Variant
from doctor.tune.arms import Arm
from doctor.tune.devices.arms import DeviceArm, Way, setting_of
from doctor.tune.devices.asking import row_of, run
from doctor.tune.devices.ladder import Rung
from doctor.tune.devices.plan import DevicePlan
from doctor.tune.devices.result import ArmFound, WayFound
from doctor.tune.devices.sizes import Accumulated
from doctor.tune.meter import Booked, Meter, Step

_ROUNDS = 2
_WAY_PROCESSES = 2
#: Another kind of number: how far an answer may lie from the float32 one, as a share of the largest.
_LOWERED_TOLERANCE = 0.05


def accumulated(
    meter: Meter, base: Arm, wanted: Sequence[Accumulated], limit_seconds: float
) -> Generator[Step, UnitResult, tuple[Accumulated, ...]]:
    """Each of them in one process of its own: a process that was refused memory once may be short of it again."""
    found = []
    for row in wanted:
        rung = Rung(row.family, row.batch, row.family, {"batch": str(row.of), "accumulate": str(row.steps)})
        booked = yield from run(meter, base, [rung.variant()], limit_seconds)
        timing = next(iter(booked.result.timings), None)
        told = None if timing is None else row_of(rung, timing, None)
        if told is None or not told.ran:
            why = booked.failure if told is None else told.detail
            found.append(msgspec.structs.replace(row, detail=why))
        else:
            found.append(msgspec.structs.replace(row, items_per_second=told.items_per_second))
    return tuple(found)


def searched(
    meter: Meter,
    row: DevicePlan,
    tuned: Setting,
    rungs: Sequence[Rung],
    until_seconds: float,
    limit_seconds: float,
) -> Generator[Step, UnitResult, tuple[ArmFound, ...]]:
    """Rounds of the device as it is and of each of its settings, in a random order. What time does not allow is left
    out, the last in priority first."""
    own = Arm(row.device.name, setting_of(row.device, tuned), row.device.title)
    live = [_arm(row, tuned, arm) for arm in row.arms]
    times: dict[str, list[float]] = {arm.name: [] for arm in (own, *live)}
    failed: dict[str, str] = {}
    cost = 0.0
    for number in range(_ROUNDS if live else 0):
        left = until_seconds - meter.spent_seconds
        fitting = int(left / cost) - 1 if cost else len(live)
        live = [arm for arm in live if arm.name not in failed][: max(fitting, 0)]
        if not live or left <= 0:
            break
        meter.live = len(live)
        begun = meter.spent_seconds
        for arm in shuffled(meter.plan.seed, "device settings", number, [own, *live]):
            booked = yield from run(meter, arm, [rung.variant() for rung in rungs], limit_seconds, number)
            seconds = _log_seconds(booked, rungs)
            if seconds is not None:
                times[arm.name].append(seconds)
            elif arm is not own:
                failed[arm.name] = booked.failure if not booked.ok else "it did not run all of the work"
        cost = (meter.spent_seconds - begun) / (len(live) + 1)
    return tuple(_arm_found(row, arm, times, failed, own.name) for arm in row.arms)


def _arm(row: DevicePlan, tuned: Setting, arm: DeviceArm) -> Arm:
    return Arm(f"{row.device.name} + {arm.name}", setting_of(row.device, tuned, arm), arm.title)


def _arm_found(
    row: DevicePlan, arm: DeviceArm, times: Mapping[str, list[float]], failed: Mapping[str, str], own: str
) -> ArmFound:
    name = f"{row.device.name} + {arm.name}"
    both = [one - other for one, other in zip(times[name], times[own], strict=False)]
    return ArmFound(arm.name, arm.title, len(both), median(both) if both else None, failed.get(name, ""))


def _log_seconds(booked: Booked, rungs: Sequence[Rung]) -> float | None:
    """The mean over the rungs; None where one of them did not run."""
    timings = {timing.workload: timing for timing in booked.result.timings}
    found = [_seconds_of(timings.get(rung.workload)) for rung in rungs]
    known = [each for each in found if each is not None]
    return fmean(known) if len(known) == len(found) else None


def _seconds_of(timing: Timing | None) -> float | None:
    if timing is None or timing.failed or not timing.seconds or min(timing.seconds) <= 0:
        return None
    return math.log(median(timing.seconds) / timing.items)


def tried_ways(
    meter: Meter, base: Arm, ways: Sequence[Way], rungs: Sequence[Rung], until_seconds: float, limit_seconds: float
) -> Generator[Step, UnitResult, tuple[WayFound, ...]]:
    """Each way beside the usual one within a process, in a random order."""
    found = []
    for way in ways:
        own = [rung for rung in rungs if rung.family in way.families]
        if not own or meter.spent_seconds >= until_seconds:
            continue
        measured: list[dict[str, float]] = []
        failed = ""
        for number in range(_WAY_PROCESSES):
            pairs = [(rung, rung.variant(**way.base_options), rung.variant(**way.options)) for rung in own]
            variants = shuffled(
                meter.plan.seed, f"way {way.name}", number, [v for _, usual, other in pairs for v in (usual, other)]
            )
            booked = yield from run(meter, base, variants, limit_seconds, number)
            ratios, failed = _ways_compared(booked, pairs, way)
            if failed:
                break
            measured.append(ratios)
        found.append(WayFound(way, _medians(measured), failed))
    return tuple(found)


def _ways_compared(
    booked: Booked, pairs: Sequence[tuple[Rung, Variant, Variant]], way: Way
) -> tuple[dict[str, float], str]:
    if not booked.ok:
        return {}, booked.failure
    timings = {(timing.workload, timing.variant): timing for timing in booked.result.timings}
    found: dict[str, float] = {}
    for rung, usual, other in pairs:
        before, after = timings.get((rung.workload, usual.name)), timings.get((rung.workload, other.name))
        if after is not None and after.failed:
            return {}, after.failed
        one, two = _seconds_of(after), _seconds_of(before)
        if one is None or two is None:
            return {}, "it told no usable time"
        if after is not None and before is not None and not _alike(after, before, way):
            return {}, "wrong: its numbers are not those of the usual way"
        found[rung.family] = one - two
    return found, ""


def _alike(after: Timing, before: Timing, way: Way) -> bool:
    if after.answer is None or before.answer is None:
        return True
    allowed = _LOWERED_TOLERANCE if way.changes_numbers else 10 * before.answer.tolerance
    scale = max(map(abs, before.answer.values), default=0.0)
    pairs = zip(after.answer.values, before.answer.values, strict=False)
    return all(math.isfinite(one) and abs(one - other) <= allowed * scale for one, other in pairs)


def _medians(measured: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = {name for row in measured for name in row}
    return {name: median(row[name] for row in measured if name in row) for name in sorted(names)}
