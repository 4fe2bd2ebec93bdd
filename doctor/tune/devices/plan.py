"""What a run compares across devices, fixed before anything is measured and stored with its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from doctor.machine.model import Machine
from doctor.tune.devices.arms import DeviceArm, Way, arms_of, ways_of
from doctor.tune.devices.device import Device, chosen, devices_of
from doctor.tune.devices.ladder import Family, families, for_backend
from doctor.tune.devices.memory import IgpuFacts, igpu_facts

#: Of the budget, what the devices get: the CPU has to be tuned before anything can be called faster than it.
SHARE = 0.55
#: The budget where none was asked for: the usual one for the CPU, and as much for one device; a half for each further.
_SECONDS = 420.0
_SECONDS_PER_FURTHER = 120.0

#: The largest memory that a test of it fills without asking how much there is.
_UNKNOWN_LIMIT = 8 << 30


class DevicePlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """One device to measure: the families it can run, what is tried on it, how far its memory is filled (None: not)."""

    device: Device
    families: tuple[Family, ...]
    arms: tuple[DeviceArm, ...] = ()
    ways: tuple[Way, ...] = ()
    fill_bytes: int | None = None


class DevicesPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """`families`: what the CPU climbs, a superset of each device's. `told`: devices that are named, not measured.
    `note`: one sentence where there is nothing to measure. `wanted_batch`: what the user wants, if he said so.
    `free_bytes`: the memory that may be used of the machine's own, where known. `igpu`: what is known of the memory of
    the integrated GPU among them."""

    devices: tuple[DevicePlan, ...]
    families: tuple[Family, ...] = ()
    told: tuple[Device, ...] = ()
    note: str = ""
    share: float = SHARE
    wanted_batch: int | None = None
    free_bytes: int | None = None
    igpu: IgpuFacts | None = None


def seconds_for(devices: int) -> float:
    """The budget of a run with so many devices, where none was asked for."""
    return _SECONDS + _SECONDS_PER_FURTHER * max(devices - 1, 0)


def devices_plan(
    machine: Machine,
    asked: Sequence[str],
    workloads: Sequence[str],
    mode: str | None,
    environ: Mapping[str, str],
    *,
    wanted_batch: int | None = None,
    free_bytes: int | None = None,
) -> DevicesPlan:
    """What `--device` means on a completed machine. Raises ValueError with one sentence for a name that fits none."""
    known = devices_of(machine)
    wanted = chosen(known, asked)
    told = tuple(device for device in known if device.why_not)
    compared = families(workloads, mode)
    if not compared:
        return DevicesPlan((), told=told, note="Devices are not compared: none of these workloads runs on a GPU.")
    if not wanted:
        return DevicesPlan((), told=told, note=_nothing(machine, told))
    rows = tuple(_of_device(device, compared, environ) for device in wanted)
    shares = next((device for device in wanted if device.integrated), None)
    igpu = None if shares is None else igpu_facts(machine, shares.title, shares.backend)
    return DevicesPlan(rows, compared, told, wanted_batch=wanted_batch, free_bytes=free_bytes, igpu=igpu)


def _of_device(device: Device, compared: Sequence[Family], environ: Mapping[str, str]) -> DevicePlan:
    own = for_backend(compared, device.backend)
    fill = (device.memory_bytes or _UNKNOWN_LIMIT) if device.integrated else None
    return DevicePlan(device, own, arms_of(device, own, environ), ways_of(device, own), fill)


def _nothing(machine: Machine, told: Sequence[Device]) -> str:
    """One sentence: there is no device beside the CPU, or none that can be measured."""
    if told:
        return f"The CPU alone is measured: {told[0].title} is here, but {told[0].why_not}."
    if machine.torch is not None and machine.torch.hip not in (None, "none"):
        return "The CPU alone is measured: this PyTorch is built for ROCm, and ROCm shows it no GPU."
    if machine.torch_directml is not None and machine.torch_directml.installed:
        return "The CPU alone is measured: torch-directml is installed, and lists no adapter."
    return "The CPU alone is measured: this PyTorch sees no other device."
