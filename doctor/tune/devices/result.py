"""What a run found about devices: the values behind its tables, its JSON, the env file and the findings."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Literal

import msgspec

from doctor.measure.units import DeviceCheck, Outcome, Setting
from doctor.measure.verdict import Verdict
from doctor.tune.devices.arms import Way
from doctor.tune.devices.device import CPU_NAME, Device
from doctor.tune.devices.ladder import Rung
from doctor.tune.devices.sizes import Accumulated, Crossover, Row, of_family

#: `measured`: it climbed its ladders. `failed`: it computes something else, hangs, or dies. `not-tried`: no time.
State = Literal["measured", "failed", "not-tried"]

DEVICE_VARIABLE = "AMD_DOCTOR_DEVICE"
BATCH_VARIABLE = "AMD_DOCTOR_BATCH_SIZE"

#: How the comparison ended. `confirmed`: pairs stand behind the verdict, whatever it is.
Ending = Literal["confirmed", "no-device", "none-works", "budget-too-small", "nothing-to-compare"]


class WayFound(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one process saw of a way to write the code: an estimate. `log_ratio` is of the times, by family."""

    way: Way
    log_ratios: dict[str, float] = {}
    failed: str = ""

    @property
    def gain(self) -> float | None:
        return math.exp(-fmean(self.log_ratios.values())) - 1 if self.log_ratios and not self.failed else None


class ArmFound(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the search saw of a setting of the device, against the device as it is: an estimate."""

    name: str
    title: str
    rounds: int = 0
    log_ratio: float | None = None
    failed: str = ""


class DeviceReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One device. `outcome` and `detail` say how it failed, and `failed_on` with which family.

    `sizes`: what is advised for each family, the knee of its ladder; 0 where it has no size. `compared_at`: the nearest
    of those that the CPU ran as well. `crossovers`: against the CPU. `log_speed`: log(speed / the CPU's) at
    `compared_at`, over the families that count; None where it lacks one.
    `link_bytes_per_second`: of copies to the device and back. `checks`: by family, what was looked at beside the times.
    """

    device: Device
    state: State
    outcome: Outcome = "ok"
    detail: str = ""
    failed_on: str = ""
    rows: tuple[Row, ...] = ()
    sizes: dict[str, int] = {}
    compared_at: dict[str, int] = {}
    crossovers: dict[str, Crossover] = {}
    log_speed: float | None = None
    to_device_bytes_per_second: float | None = None
    from_device_bytes_per_second: float | None = None
    checks: dict[str, DeviceCheck] = {}
    accumulated: tuple[Accumulated, ...] = ()
    arms: tuple[ArmFound, ...] = ()
    ways: tuple[WayFound, ...] = ()

    def of_family(self, family: str) -> tuple[Row, ...]:
        return of_family(self.rows, family)


class Compared(msgspec.Struct, frozen=True, omit_defaults=True):
    """The confirmation: one device under one setting against the tuned CPU, on the same rungs.

    `own`: the device's setting against the device as it is; None where it has none of its own. `failed`: how a process
    of the device failed; nothing is then claimed."""

    device: str
    setting: Setting
    cpu_setting: Setting
    rungs: tuple[Rung, ...]
    verdict: Verdict
    by_workload: dict[str, Verdict]
    own: Verdict | None = None
    failed: str = ""
    groups: int = 0
    left_out: int = 0
    arm: str = ""

    @property
    def slower_on(self) -> tuple[str, ...]:
        return tuple(name for name, verdict in self.by_workload.items() if verdict.word == "slower")

    @property
    def faster_on(self) -> tuple[str, ...]:
        return tuple(name for name, verdict in self.by_workload.items() if verdict.word == "faster")

    @property
    def exportable(self) -> bool:
        return self.verdict.word == "faster" and not self.failed and not self.slower_on


class DevicesResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """`reports`: the CPU first, then each device in its order. `told`: devices that were not measured, and why."""

    ending: Ending
    reports: tuple[DeviceReport, ...] = ()
    told: tuple[Device, ...] = ()
    compared: Compared | None = None
    note: str = ""
    needed_seconds: float | None = None
    spent_seconds: float = 0.0
    units: int = 0

    def report(self, name: str) -> DeviceReport | None:
        return next((report for report in self.reports if report.device.name == name), None)

    @property
    def cpu(self) -> DeviceReport | None:
        return self.report(CPU_NAME)

    @property
    def recommended(self) -> str | None:
        """The device to use, by PyTorch's name: the one that was shown to be faster; the CPU where none was, or none
        works. None where nothing was compared."""
        if self.ending == "none-works":
            return CPU_NAME
        if self.compared is None:
            return None
        if self.compared.exportable:
            return self.compared.setting.options["device"]
        return CPU_NAME

    @property
    def variables(self) -> dict[str, str]:
        """What the env file says of the device: none of it where nothing was shown to be faster."""
        found = self.compared
        if found is None or not found.exportable:
            return {}
        report = self.report(found.device)
        own = {name: value for name, value in _own_variables(found).items() if value is not None}
        batch = {} if report is None else batch_variables(report, found)
        return {DEVICE_VARIABLE: found.setting.options["device"], **batch, **own}


def _own_variables(found: Compared) -> dict[str, str | None]:
    """What the device's setting sets beyond the CPU's: it was confirmed as part of it, and only then stands here."""
    common = found.cpu_setting.variables
    return {name: value for name, value in found.setting.variables.items() if common.get(name) != value}


def batch_name(device: str) -> str:
    """`AMD_DOCTOR_BATCH_SIZE_CUDA_0`: the variable of a device's batch size."""
    return f"{BATCH_VARIABLE}_{device.upper().replace(':', '_')}"


def batch_variables(report: DeviceReport, found: Compared) -> dict[str, str]:
    """The batch of the first network that was compared: one number, as for the CPU."""
    rung = next((rung for rung in found.rungs if rung.options.get("batch") and rung.family != "fit"), None)
    if rung is None:
        return {}
    return {batch_name(found.setting.options["device"]): str(report.sizes.get(rung.family, rung.size))}
