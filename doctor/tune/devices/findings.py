"""What is wrong with a device, from what was measured on it: for the screen, and as facts for the rules of `check`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doctor.machine.model import Machine, MeasuredDevice, Measurements
from doctor.tune.devices.checks import is_off, wrong_training
from doctor.tune.devices.device import CPU_NAME
from doctor.tune.devices.result import DeviceReport, DevicesResult

#: What the worker says of a number that is none (`workload_numbers.finite`).
_NOT_FINITE = "not finite"


class Problem(msgspec.Struct, frozen=True):
    """`breaks`: the device cannot be used as it is."""

    words: str
    breaks: bool


def problems_of(report: DeviceReport) -> tuple[Problem, ...]:
    """Every problem in words, what breaks first."""
    found = [*_failures(report), *_gradients(report), *_fallbacks(report)]
    return tuple(sorted(found, key=lambda problem: not problem.breaks))


def _failures(report: DeviceReport) -> Iterator[Problem]:
    if report.state == "failed":
        on = f" on {report.failed_on.replace('-', ' ')}" if report.failed_on else ""
        words = {
            "wrong": f"it computes something else than the CPU{on}: {report.detail}",
            "hung": f"it hangs{on}: {report.detail}",
            "killed": f"it ends the process{on}: {report.detail}",
            "out-of-memory": f"not even the smallest size fits{on}: {report.detail}",
        }.get(report.outcome, f"it fails{on}: {report.detail}")
        yield Problem(words, breaks=True)
        return
    for family, row in _lacking(report).items():
        yield Problem(f"{family.replace('-', ' ')} does not run on it: {row}", breaks=False)


def _lacking(report: DeviceReport) -> dict[str, str]:
    """Families of which no size ran, with the reason."""
    rows: dict[str, str] = {}
    ran = {row.family for row in report.rows if row.ran}
    for row in report.rows:
        if row.family not in ran:
            rows.setdefault(row.family, row.detail)
    return rows


def _gradients(report: DeviceReport) -> Iterator[Problem]:
    for family, check in report.checks.items():
        words = wrong_training(check)
        if words is not None and family != report.failed_on:
            yield Problem(f"on {family.replace('-', ' ')}, {words}", breaks=True)


def _fallbacks(report: DeviceReport) -> Iterator[Problem]:
    names = fell_back(report)
    if names:
        yield Problem(f"the CPU does for it: {', '.join(names)}", breaks=False)


def fell_back(report: DeviceReport) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for check in report.checks.values() for name in check.fell_back))


def facts_of(result: DevicesResult) -> tuple[MeasuredDevice, ...]:
    """One row for each device but the CPU, for the machine document."""
    return tuple(_facts(result, report) for report in result.reports if report.device.name != CPU_NAME)


def with_measured_devices(machine: Machine, result: DevicesResult | None) -> Machine:
    """The document with what was measured of its devices, so that `check --from` can judge it."""
    rows = facts_of(result) if result is not None else ()
    if not rows:
        return machine
    measured = msgspec.structs.replace(machine.measurements or Measurements(), devices=rows)
    return msgspec.structs.replace(machine, measurements=measured)


def _facts(result: DevicesResult, report: DeviceReport) -> MeasuredDevice:
    compared = result.compared if result.compared and result.compared.device == report.device.name else None
    tried = report.state != "not-tried"
    checks = report.checks
    not_finite = tuple(dict.fromkeys(row.family for row in report.rows if _NOT_FINITE in row.detail))
    looked = {name: check for name, check in checks.items() if check.parameters is not None}
    return MeasuredDevice(
        device=report.device.name,
        name=report.device.title,
        backend=report.device.backend,
        outcome=report.outcome if tried else None,
        detail=report.detail or None,
        workload=report.failed_on or None,
        not_finite=not_finite if tried else None,
        gradients_off=tuple(name for name, check in looked.items() if is_off(check)) if looked else None,
        without_gradient=tuple(name for name, check in looked.items() if check.without_gradient) if looked else None,
        still=tuple(name for name, check in looked.items() if check.still) if looked else None,
        fell_back=fell_back(report) if checks else None,
        lacking=tuple(_lacking(report)) if tried and report.state == "measured" else None,
        verdict=compared.verdict.word if compared is not None and not compared.failed else None,
        gain=compared.verdict.gain if compared is not None and not compared.failed else None,
    )
