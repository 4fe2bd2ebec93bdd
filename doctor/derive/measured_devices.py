"""What `amd-doctor tune --device` measured of each GPU, as rules need it. Rules read it by
`for_each: derived.measured_devices.devices`.

A machine on which nothing was measured has none: there is nothing to judge, and nothing that is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.machine.model import Fact, Machine, MeasuredDevice


class DeviceMeasured(Fact, frozen=True):
    """One GPU. The lists hold names of workloads, `fell_back` those of operators."""

    device: str | None = None  # cuda:0 privateuseone:0
    name: str | None = None
    outcome: str | None = None  # ok wrong hung killed out-of-memory rubbish
    detail: str | None = None  # how it failed; "none" where it did not
    workload: str | None = None  # the one it failed on, "none" where it did not
    not_finite: tuple[str, ...] | None = None
    gradients_off: tuple[str, ...] | None = None
    without_gradient: tuple[str, ...] | None = None
    still: tuple[str, ...] | None = None
    fell_back: tuple[str, ...] | None = None
    verdict: str | None = None  # against the tuned CPU: faster slower same undecided
    slower_by_percent: int | None = None  # how much less work than the CPU in the same time; 0 where not less


class MeasuredDeviceFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {"devices": ("measurements.devices",)}
    devices: tuple[DeviceMeasured, ...] = ()


def measured_device_facts(machine: Machine, today: date | None = None) -> MeasuredDeviceFacts:
    rows = machine.measurements.devices if machine.measurements else None
    return MeasuredDeviceFacts(devices=tuple(_facts(row) for row in rows or ()))


def _facts(row: MeasuredDevice) -> DeviceMeasured:
    failed = row.outcome is not None and row.outcome != "ok"
    return DeviceMeasured(
        device=row.device,
        name=row.name or row.device or "a GPU",
        outcome=row.outcome,
        detail=row.detail if failed else "none",
        workload=row.workload if failed else "none",
        not_finite=row.not_finite,
        gradients_off=row.gradients_off,
        without_gradient=row.without_gradient,
        still=row.still,
        fell_back=row.fell_back,
        verdict=row.verdict,
        slower_by_percent=None if row.gain is None else max(round(-100 * row.gain), 0),
    )
