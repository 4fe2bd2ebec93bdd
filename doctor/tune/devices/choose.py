"""What the climbs come to: which size is advised on each device, which device is compared, on which rungs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import msgspec

from doctor.tune.devices.climb import FROM_DEVICE, TO_DEVICE, Climb
from doctor.tune.devices.device import Device
from doctor.tune.devices.ladder import Family, Rung
from doctor.tune.devices.result import DeviceReport
from doctor.tune.devices.sizes import Crossover, crossover, knee, largest, log_speeds


def report_of(device: Device, climb: Climb, cpu: Climb) -> DeviceReport:
    """The report of a climb so far. One whose numbers are wrong, that hangs or dies, has failed as a whole."""
    sizes = {name: size for name in climb.families if (size := _advised(climb, name)) is not None}
    counted = [family for family in climb.families.values() if family.counts]
    compared_at = {
        name: common for name, size in sizes.items() if (common := _common(climb, cpu, name, size)) is not None
    }
    bad = climb.bad
    if bad is None and not any(row.ran for row in climb.rows if climb.families[row.family].counts):
        bad = next((row for row in climb.rows if climb.families[row.family].counts), None)
    return DeviceReport(
        device=device,
        state="failed" if bad is not None else "measured",
        outcome=bad.outcome if bad is not None else "ok",
        detail=bad.detail if bad is not None else "",
        failed_on=bad.family if bad is not None else "",
        rows=tuple(sorted(climb.rows, key=lambda row: (row.family, row.size))),
        sizes=sizes,
        compared_at={} if climb is cpu else compared_at,
        crossovers={} if climb is cpu else {name: _crossing(climb, cpu, name) for name in climb.families},
        log_speed=None if climb is cpu or bad is not None else _log_speed(counted, compared_at, climb, cpu),
        to_device_bytes_per_second=climb.speed_of(TO_DEVICE),
        from_device_bytes_per_second=climb.speed_of(FROM_DEVICE),
        checks=climb.checks,
    )


def _crossing(climb: Climb, cpu: Climb, name: str) -> Crossover:
    return crossover(climb.of_family(name), cpu.of_family(name))


def _advised(climb: Climb, name: str) -> int | None:
    """A batch: the knee. Points and sides are given by the problem: the largest that ran."""
    rows = climb.of_family(name)
    return knee(rows) if climb.families[name].unit == "batch" else largest(rows)


def _common(climb: Climb, cpu: Climb, name: str, advised: int) -> int | None:
    """The size at which a device is compared with the CPU: the advised one; where the CPU was not asked to run that,
    because it takes it too long, the nearest below it that both ran."""
    both = sorted(log_speeds(climb.of_family(name), cpu.of_family(name)))
    below = [size for size in both if size <= advised]
    return below[-1] if below else next(iter(both), None)


def _log_speed(
    counted: Sequence[Family], compared_at: Mapping[str, int], climb: Climb, cpu: Climb
) -> float | None:
    """The objective; None where a family that counts cannot be compared."""
    found = []
    for family in counted:
        if family.name not in compared_at:
            return None
        ahead = log_speeds(climb.of_family(family.name), cpu.of_family(family.name))
        found.append(ahead[compared_at[family.name]])
    return fmean(found) if found else None


def best_of(reports: Iterable[DeviceReport]) -> DeviceReport | None:
    """The device to compare with the CPU: the fastest of those that work, by the estimates."""
    able = [report for report in reports if report.state == "measured" and report.log_speed is not None]
    return max(able, key=lambda report: report.log_speed or 0.0, default=None)


def rungs_of(report: DeviceReport, families: Iterable[Family]) -> tuple[Rung, ...]:
    """What is confirmed: of each family that counts the advised size; of matrix products every one that counts."""
    found: list[Rung] = []
    for family in families:
        if not family.counts:
            continue
        if family.unit == "side":
            ran = {row.size for row in report.of_family(family.name) if row.ran}
            found += [rung for rung in family.rungs if rung.size in ran]
        elif family.name in report.compared_at:
            found.append(family.at(report.compared_at[family.name]))
    return tuple(found)


def with_rows(report: DeviceReport, climb: Climb, cpu: Climb) -> DeviceReport:
    """The report once more, after further rows."""
    fresh = report_of(report.device, climb, cpu)
    return msgspec.structs.replace(
        fresh, arms=report.arms, ways=report.ways, accumulated=report.accumulated, checks={**fresh.checks}
    )
