"""The comparison of devices as a part of a run: steps in, a result out, like the run that it belongs to.

    the CPU, tuned, climbs its ladders          search: what it computes is the truth for the others
    each device climbs                          search: its first process also tells whether it works at all
    the fastest: between the rungs, accumulated batches, its own settings and ways to write the code      search
    the fastest against the CPU                 confirmation
    the memory of an integrated GPU is filled   last: it is what may end badly
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import msgspec

from doctor.measure.units import Setting, UnitResult
from doctor.measure.verdict import FASTER_MARGIN
from doctor.tune.arms import Arm
from doctor.tune.devices.arms import DeviceArm, setting_of
from doctor.tune.devices.asking import run
from doctor.tune.devices.choose import best_of, report_of, rungs_of
from doctor.tune.devices.climb import Climb, climbed, climbed_on_cpu, refined
from doctor.tune.devices.confirm import Sides, confirmed, groups_within
from doctor.tune.devices.device import CPU_NAME, Device
from doctor.tune.devices.plan import DevicePlan, DevicesPlan
from doctor.tune.devices.result import DeviceReport, DevicesResult
from doctor.tune.devices.sizes import Accumulated, to_accumulate
from doctor.tune.devices.trying import accumulated, searched, tried_ways
from doctor.tune.meter import Meter, Step

#: Of what the devices get: until when their ladders are climbed, and until when their settings are searched.
_CLIMB_SHARE, _SEARCH_SHARE = 0.5, 0.65
#: The first process of a device may compile for a minute (MIOpen); on a busy machine every process takes long.
_FIRST_LIMIT_SHARE, _LEAST_FIRST_LIMIT, _MOST_FIRST_LIMIT = 0.2, 30.0, 120.0
_TIMES_THE_CPU, _MOST_OF_ALL = 4.0, 0.4

_CPU = Device(CPU_NAME, "CPU", "cpu")


def compared(
    meter: Meter, plan: DevicesPlan, tuned: Setting, until_seconds: float
) -> Generator[Step, UnitResult, DevicesResult]:
    """Compare the devices of the plan with the CPU under `tuned`, until `until_seconds` of the run."""
    begun, counted = meter.spent_seconds, meter.count
    result = yield from _compared(meter, plan, tuned, until_seconds)
    return msgspec.structs.replace(
        result, told=plan.told, spent_seconds=meter.spent_seconds - begun, units=meter.count - counted
    )


def _compared(
    meter: Meter, plan: DevicesPlan, tuned: Setting, until_seconds: float
) -> Generator[Step, UnitResult, DevicesResult]:
    if not plan.devices:
        return DevicesResult("no-device" if plan.families or not plan.note else "nothing-to-compare", note=plan.note)
    begun, whole = meter.spent_seconds, max(until_seconds - meter.spent_seconds, 0.0)
    climb_until = begun + _CLIMB_SHARE * whole
    meter.live, meter.leader = len(plan.devices), None
    cpu_arm = Arm(CPU_NAME, setting_of(_CPU, tuned), "the CPU, tuned")
    cpu = Climb(meter, cpu_arm, plan.families)
    cpu_until = begun + (climb_until - begun) / (1 + len(plan.devices))
    yield from climbed_on_cpu(cpu, cpu_until, max(whole, _LEAST_FIRST_LIMIT), plan.free_bytes)
    limit = _limit(whole, cpu.slowest_seconds)
    cpu_report = report_of(_CPU, cpu, cpu)
    if cpu_report.state == "failed":
        return DevicesResult("none-works", (cpu_report,), note=f"the CPU itself failed: {cpu_report.detail}")
    climbs = yield from _climb_all(meter, plan, tuned, cpu, climb_until, limit)
    reports = [report_of(device.device, climb, cpu) for device, climb in climbs]
    best = best_of(reports)
    if best is None:
        everything = (report_of(_CPU, cpu, cpu), *_with_untried(plan, reports))
        if any(report.state == "not-tried" for report in everything):
            # About as much again for each device that had no turn.
            return DevicesResult("budget-too-small", everything, needed_seconds=whole)
        return DevicesResult("none-works", everything)
    row, climb = next((row, climb) for row, climb in climbs if row.device == best.device)
    yield from refined(climb, cpu, limit, plan.free_bytes)
    best = report_of(row.device, climb, cpu)
    best = yield from _settled(meter, plan, row, tuned, best, begun + _SEARCH_SHARE * whole, limit)
    final = [report_of(device.device, each, cpu) if each is not climb else best for device, each in climbs]
    known = DevicesResult("confirmed", (report_of(_CPU, cpu, cpu), *_with_untried(plan, final)))
    if best.state == "failed" or best.log_speed is None:
        return msgspec.structs.replace(known, ending="none-works")
    ended = yield from _confirmed(meter, plan, row, climb, cpu, best, known, tuned, until_seconds, limit)
    return ended


def _limit(whole_seconds: float, cpu_seconds: float) -> float:
    """When a process of a device is hung: a share of the time, or so many times what the slowest of the CPU took."""
    usual = min(max(_FIRST_LIMIT_SHARE * whole_seconds, _LEAST_FIRST_LIMIT), _MOST_FIRST_LIMIT)
    return max(usual, min(_TIMES_THE_CPU * cpu_seconds, _MOST_OF_ALL * whole_seconds))


def _climb_all(
    meter: Meter, plan: DevicesPlan, tuned: Setting, cpu: Climb, until_seconds: float, limit_seconds: float
) -> Generator[Step, UnitResult, list[tuple[DevicePlan, Climb]]]:
    """Each device gets an equal part of the time that is left when its turn comes."""
    found = []
    for at, row in enumerate(plan.devices):
        left = max(until_seconds - meter.spent_seconds, 0.0)
        if left <= 0:
            break
        climb = Climb(meter, Arm(row.device.name, setting_of(row.device, tuned), row.device.title), row.families)
        meter.leader = row.device.title
        until = meter.spent_seconds + left / (len(plan.devices) - at)
        yield from climbed(climb, cpu, until, limit_seconds, plan.free_bytes)
        found.append((row, climb))
    return found


def _with_untried(plan: DevicesPlan, reports: Sequence[DeviceReport]) -> list[DeviceReport]:
    tried = {report.device.name for report in reports}
    rest = [row.device for row in plan.devices if row.device.name not in tried]
    return [*reports, *(DeviceReport(device, "not-tried", detail="the budget was too small") for device in rest)]


def _settled(
    meter: Meter,
    plan: DevicesPlan,
    row: DevicePlan,
    tuned: Setting,
    report: DeviceReport,
    until_seconds: float,
    limit_seconds: float,
) -> Generator[Step, UnitResult, DeviceReport]:
    """What only the device that is compared gets: batches that do not fit, its settings, ways to write the code."""
    rungs = rungs_of(report, row.families)
    if report.state == "failed" or not rungs:
        return report
    base = Arm(row.device.name, setting_of(row.device, tuned), row.device.title)
    too_large = _too_large(plan, row, report)
    made = yield from accumulated(meter, base, too_large, limit_seconds)
    arms = yield from searched(meter, row, tuned, rungs, until_seconds, limit_seconds)
    ways = yield from tried_ways(meter, base, row.ways, rungs, until_seconds, limit_seconds)
    return msgspec.structs.replace(report, accumulated=made, arms=arms, ways=ways)


def _too_large(plan: DevicesPlan, row: DevicePlan, report: DeviceReport) -> list[Accumulated]:
    found = []
    for family in row.families:
        split = to_accumulate(report.of_family(family.name), plan.wanted_batch) if family.trains else None
        if split is not None and family.unit == "batch":
            batch, of, steps = split
            found.append(Accumulated(family.name, batch, of, steps))
    return found


def _confirmed(
    meter: Meter,
    plan: DevicesPlan,
    row: DevicePlan,
    climb: Climb,
    cpu: Climb,
    best: DeviceReport,
    known: DevicesResult,
    tuned: Setting,
    until_seconds: float,
    limit_seconds: float,
) -> Generator[Step, UnitResult, DevicesResult]:
    rungs = rungs_of(best, row.families)
    plain = Arm(row.device.name, setting_of(row.device, tuned), row.device.title)
    arm = _chosen_arm(row, best)
    own = None if arm is None else Arm(f"{plain.name} + {arm.name}", setting_of(row.device, tuned, arm), arm.title)
    sides = Sides(cpu.arm, own or plain, plain if own is not None else None)
    # What a group costs, from a process of each side; its times are not used.
    seconds = 0.0
    for each in (sides.cpu, sides.own):
        booked = yield from run(meter, each, [rung.variant() for rung in rungs], limit_seconds)
        seconds += booked.result.wall_seconds * (len(sides.arms) - 1 if each is sides.own else 1)
    left = until_seconds - meter.spent_seconds
    groups = groups_within(sides, left, seconds)
    if not groups:
        needed = sides.least_groups * seconds - max(left, 0.0)
        return msgspec.structs.replace(known, ending="budget-too-small", needed_seconds=needed)
    done = yield from confirmed(meter, sides, rungs, groups, limit_seconds, cpu.answers, until_seconds)
    return msgspec.structs.replace(known, compared=done)


def _chosen_arm(row: DevicePlan, report: DeviceReport) -> DeviceArm | None:
    """The setting of the device that was ahead of it by the margin of *faster* in the search."""
    ran = [arm for arm in report.arms if arm.log_ratio is not None and not arm.failed]
    best = min(ran, key=lambda arm: arm.log_ratio or 0.0, default=None)
    if best is None or (best.log_ratio or 0.0) > -FASTER_MARGIN:
        return None
    return next(arm for arm in row.arms if arm.name == best.name)
