"""Fills the memory of the integrated GPU in a process of its own, and says what follows for the carve-out."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import get_args

from doctor.measure.units import Setting, UnitResult
from doctor.tune.arms import Arm
from doctor.tune.devices.arms import setting_of
from doctor.tune.devices.asking import STAGE
from doctor.tune.devices.memory import Ended, IgpuFacts, IgpuMemory, Needed, judged
from doctor.tune.devices.plan import DevicePlan
from doctor.tune.devices.result import DeviceReport, DevicesResult
from doctor.tune.devices.sizes import Row
from doctor.tune.meter import Meter, Step

MEMORY = "device-memory"
#: What the filling may take: a GiB a second is slow.
LIMIT_SECONDS = 60.0


def to_fill(rows: Sequence[DevicePlan], result: DevicesResult) -> DevicePlan | None:
    """The integrated GPU whose memory is filled: the one that was compared, else the first that works."""
    works = {report.device.name for report in result.reports if report.state == "measured"}
    able = [row for row in rows if row.fill_bytes and row.device.name in works]
    compared = result.compared.device if result.compared is not None else None
    return next((row for row in able if row.device.name == compared), next(iter(able), None))


def filled(
    meter: Meter, row: DevicePlan, facts: IgpuFacts, tuned: Setting, result: DevicesResult
) -> Generator[Step, UnitResult, IgpuMemory]:
    """Grow allocations in a process until it is refused, and judge what that says."""
    setting = setting_of(row.device, tuned)
    options = {**setting.options, "fill_bytes": str(row.fill_bytes or 0)}
    arm = Arm(f"{row.device.name}: its memory", Setting(setting.variables, setting.cpus, options), row.device.title)
    booked = yield from meter.measure_whole(arm, (MEMORY,), STAGE, LIMIT_SECONDS)
    given = booked.result
    if given.outcome == "ok":
        word, _, detail = given.detail.partition(": ")
        ended: Ended = next((known for known in get_args(Ended) if known == word), "failed")
    else:
        ended, detail = _ended(given.outcome), given.detail
    return judged(facts, given.grown, ended, detail, needed_by(result, row.device.name))


def _ended(outcome: str) -> Ended:
    words: dict[str, Ended] = {"hung": "hung", "killed": "killed", "out-of-memory": "refused"}
    return words.get(outcome, "failed")


def needed_by(result: DevicesResult, device: str) -> Needed | None:
    """What the advised batches take: as PyTorch tells it, else as the CPU's own processes grew."""
    report, cpu = result.report(device), result.cpu
    if report is None or report.state == "failed":
        return None
    told = [(row.device_bytes, row) for row in _advised(report) if row.device_bytes]
    if told:
        size, row = max(told, key=lambda pair: pair[0] or 0)
        return Needed(size or 0, _words(row))
    if cpu is None:
        return None
    least = min((row.process_bytes for row in cpu.rows if row.process_bytes), default=None)
    grown = [(row.process_bytes, row) for row in _advised(report, cpu) if row.process_bytes]
    if least is None or not grown:
        return None
    size, row = max(grown, key=lambda pair: pair[0] or 0)
    return Needed(max((size or 0) - least, 0), _words(row), is_estimate=True)


def _advised(report: DeviceReport, rows_of: DeviceReport | None = None) -> list[Row]:
    """The rows at the sizes that are advised for a device, its own or those of another one."""
    source = rows_of or report
    return [row for row in source.rows if row.ran and report.sizes.get(row.family) == row.size]


def _words(row: Row) -> str:
    name = row.family.replace("-", " ")
    return f"{name} at {row.size:,}" if row.size else name
