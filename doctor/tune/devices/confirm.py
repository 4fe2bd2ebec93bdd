"""The confirmation across devices: fresh processes of the tuned CPU and of one device on the same rungs, side by side
in a tossed order. It claims, and never chooses.

Where the device got a setting of its own, three stand in a group: the CPU, the device with it, the device without. Two
claims are then made, else one; together they may be wrong in `DEVICES_ALPHA` of runs.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from statistics import fmean, median

import msgspec

from doctor.measure.schedule import shuffled
from doctor.measure.units import Answer, Timing, UnitResult
from doctor.measure.verdict import judge, least_pairs
from doctor.tune.arms import Arm
from doctor.tune.devices.asking import row_of, run
from doctor.tune.devices.ladder import Rung
from doctor.tune.devices.result import Compared
from doctor.tune.meter import Booked, Meter, Step

#: The devices' part of the 1 % that a whole run may be wrong in.
DEVICES_ALPHA = 0.0025
_MOST_GROUPS = 16
_UNDISTURBED_SHARE = 0.75


class Sides(msgspec.Struct, frozen=True):
    """Who stands in a group. `own`: the device with its setting, or as it is where it has none; then there is no
    `plain`."""

    cpu: Arm
    own: Arm
    plain: Arm | None = None

    @property
    def arms(self) -> tuple[Arm, ...]:
        return (self.cpu, self.own, *([self.plain] if self.plain is not None else []))

    @property
    def claim_alpha(self) -> float:
        return DEVICES_ALPHA / (len(self.arms) - 1)

    @property
    def least_groups(self) -> int:
        return least_pairs(self.claim_alpha)


def groups_within(sides: Sides, seconds: float, group_seconds: float) -> int:
    """How many groups fit, fixed before the first; 0 where fewer fit than could prove anything."""
    fitting = int(seconds / group_seconds) if group_seconds > 0 else 0
    return min(fitting, _MOST_GROUPS) if fitting >= sides.least_groups else 0


def confirmed(
    meter: Meter,
    sides: Sides,
    rungs: Sequence[Rung],
    groups: int,
    limit_seconds: float,
    reference: Mapping[str, Answer],
    until_seconds: float,
) -> Generator[Step, UnitResult, Compared]:
    """Run the groups and judge the device; a machine that becomes so slow that they do not fit any more cuts them. The
    first failure of one of its processes ends it: nothing is claimed."""
    measured: list[dict[str, Booked]] = []
    failed = ""
    meter.live, meter.leader = len(sides.arms) - 1, sides.own.name
    for number in range(groups):
        if meter.is_over(until_seconds, number, sides.least_groups):
            break
        group: dict[str, Booked] = {}
        for arm in shuffled(meter.plan.seed, "devices", number, sides.arms):
            booked = yield from run(meter, arm, [rung.variant() for rung in rungs], limit_seconds, number)
            group[arm.name] = booked
            failed = failed or (_failure(booked, rungs, reference) if arm.name != sides.cpu.name else "")
        measured.append(group)
        if failed:
            break
    return _judged(sides, rungs, measured, failed)


def _failure(booked: Booked, rungs: Sequence[Rung], reference: Mapping[str, Answer]) -> str:
    if not booked.ok:
        return booked.failure
    timings = {timing.workload: timing for timing in booked.result.timings}
    for rung in rungs:
        timing = timings.get(rung.workload)
        row = None if timing is None else row_of(rung, timing, reference)
        if row is None or not row.ran:
            return f"{rung.name}: {row.outcome}: {row.detail}" if row is not None else f"{rung.name}: no time was told"
    return ""


def _judged(sides: Sides, rungs: Sequence[Rung], measured: Sequence[dict[str, Booked]], failed: str) -> Compared:
    whole = [group for group in measured if all(_complete(group.get(arm.name), rungs) for arm in sides.arms)]
    used = _undisturbed(whole, sides.least_groups)
    against_cpu = [_log_ratios(group[sides.own.name], group[sides.cpu.name], rungs) for group in used]
    own = None
    if sides.plain is not None:
        plain = [_log_ratios(group[sides.own.name], group[sides.plain.name], rungs) for group in used]
        own = judge([fmean(row) for row in plain], sides.claim_alpha)
    return Compared(
        device=(sides.plain or sides.own).setting.options["device"],
        setting=sides.own.setting,
        cpu_setting=sides.cpu.setting,
        rungs=tuple(rungs),
        verdict=judge([fmean(row) for row in against_cpu], sides.claim_alpha),
        by_workload={
            rung.workload: judge([row[at] for row in against_cpu], sides.claim_alpha) for at, rung in enumerate(rungs)
        },
        own=own,
        failed=failed,
        groups=len(measured),
        left_out=len(whole) - len(used),
        arm=sides.own.title if sides.plain is not None else "",
    )


def _undisturbed(groups: Sequence[dict[str, Booked]], least: int) -> Sequence[dict[str, Booked]]:
    calm = [
        group for group in groups if not any(each.external for booked in group.values() for each in booked.disturbed)
    ]
    return calm if len(calm) >= max(least, _UNDISTURBED_SHARE * len(groups)) else groups


def _complete(booked: Booked | None, rungs: Sequence[Rung]) -> bool:
    timed = {timing.workload for timing in _timings(booked) if _usable(timing)}
    return all(rung.workload in timed for rung in rungs)


def _timings(booked: Booked | None) -> Sequence[Timing]:
    return () if booked is None else booked.result.timings


def _usable(timing: Timing) -> bool:
    return bool(timing.seconds) and not timing.failed and all(0 < each < math.inf for each in timing.seconds)


def _log_ratios(one: Booked, other: Booked, rungs: Sequence[Rung]) -> list[float]:
    return [_log_seconds(one, rung.workload) - _log_seconds(other, rung.workload) for rung in rungs]


def _log_seconds(booked: Booked, workload: str) -> float:
    timing = next(timing for timing in booked.result.timings if timing.workload == workload)
    return math.log(median(timing.seconds) / timing.items)
