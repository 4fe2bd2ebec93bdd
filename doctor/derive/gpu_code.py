"""Has the installed PyTorch code for each GPU that it would run on?

The AMD GPUs of the document, by their real targets. Where the document does not name them, the devices that torch
lists, by the targets that it lists: an override may stand behind those, and yet that is what torch runs them as.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, ClassVar

import msgspec

from doctor.derive.gfx_support import bare, covered, helpful_override, targets_of_torch
from doctor.derive.gpu_device import GpuDevice, gpu_devices
from doctor.derive.gpu_failures import GpuFailure, failures
from doctor.derive.wheels import best_source, from_an_index, sources_for
from doctor.knowledge.gfx import is_integrated
from doctor.machine.model import Fact, Machine

#: What an override does, by its verdict.
_DOES = {
    "unparsable": "ROCm refuses this value",
    "redundant": "it names the GPU itself and changes nothing",
    "wrong-family": "that is another generation, whose code crashes it or computes nonsense",
    "native": "this torch has the GPU's own code, and the variable puts other code in its place",
    "harmful": "wrong results, page faults or lock-ups were reported with it",
    "useless": "the instructions of the two differ",
    "not-in-wheel": "this torch has no code for that target either",
    "unreliable": "some report that it works, some that it does not",
    "unlisted": "nothing is known of this pair",
}


class GpuCode(Fact, frozen=True):
    """One GPU as this torch would run it."""

    name: str | None = None
    gfx: str | None = None
    lacks_code: bool | None = None  # torch has no code for it, and no override puts another target in its place
    in_use: bool | None = None  # it is the one to compute on
    override: str | None = None  # the HSA_OVERRIDE_GFX_VERSION that reaches it, or "none"
    override_verdict: str | None = None  # see `gfx_support.override_verdict`
    override_does: str | None = None  # the same in words
    helpful_override: str | None = None  # what is known to run the code of another target on it, or "none"
    requirement: str | None = None  # the wheel that has its code, as far as a table proves it: "torch[device-gfx1032]"
    index_url: str | None = None  # and where from


class GpuCodeFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "gpus": ("gpus", "gpus.gfx", "torch.devices", "torch.arch_list", "torch.version", "env"),
        "targets": ("torch.arch_list", "torch.version"),
        "failed": ("exercises", "torch.devices"),
    }
    targets: tuple[str, ...] | None = None  # what this torch has code for, as it says itself or by table
    gpus: tuple[GpuCode, ...] | None = None
    failed: tuple[GpuFailure, ...] | None = None  # those of which an exercise failed; their names are those of `gpus`


def gpu_code_facts(machine: Machine, today: date | None = None) -> GpuCodeFacts:
    targets, devices = targets_of_torch(machine), gpu_devices(machine)
    return GpuCodeFacts(
        targets=targets, gpus=_gpus(machine, devices, targets), failed=failures(machine, devices)
    )


def _gpus(
    machine: Machine, devices: Sequence[GpuDevice] | None, targets: Sequence[str] | None
) -> tuple[GpuCode, ...] | None:
    if devices is not None:
        return tuple(_of_gpu(machine, device, targets) for device in devices)
    listed = _listed_by_torch(machine)
    return tuple(_of_listed(machine, gfx, listed, targets) for gfx in listed) if listed else None


def _of_gpu(machine: Machine, device: GpuDevice, targets: Sequence[str] | None) -> GpuCode:
    told: dict[str, Any] = {
        "name": device.name,
        "in_use": device.in_use,
        "override": device.override,
        "override_verdict": device.override_verdict,
        "override_does": _DOES.get(device.override_verdict or ""),
    }
    if device.gfx is None:
        return GpuCode(**told)
    row = _row(machine, device.gfx, targets)
    return msgspec.structs.replace(row, lacks_code=_lacks_code(machine, device), **told)


def _lacks_code(machine: Machine, device: GpuDevice) -> bool | None:
    """With an override that is no help, the override is the matter, not the wheel."""
    if device.in_wheel is not False:
        return None if device.in_wheel is None else False
    if device.override_verdict is not None:
        return device.override_verdict in ("none", "redundant")
    # Torch lists a GPU by what an override makes of it: under its real target there is none at work.
    return True if device.gfx in (_listed_by_torch(machine) or ()) else None


def _of_listed(machine: Machine, gfx: str, listed: Sequence[str], targets: Sequence[str] | None) -> GpuCode:
    lacks = None if targets is None else not covered(gfx, targets)
    cards = [other for other in listed if is_integrated(other) is False]
    in_use = True if len(listed) == 1 or gfx in cards else False if cards else None
    row = _row(machine, gfx, targets)
    return msgspec.structs.replace(row, name=gfx, lacks_code=lacks, in_use=in_use)


def _row(machine: Machine, gfx: str, targets: Sequence[str] | None) -> GpuCode:
    source = best_source(machine, sources_for(machine, gfx)) if from_an_index(machine) else None
    on_windows = machine.os is not None and machine.os.kind == "windows"
    return GpuCode(
        gfx=gfx,
        helpful_override="none" if on_windows else helpful_override(gfx, targets),
        requirement=source.requirement if source else None,
        index_url=source.index_url if source else None,
    )


def _listed_by_torch(machine: Machine) -> tuple[str, ...] | None:
    """The targets of the devices that torch lists, each once; None where it does not say one of them."""
    devices = machine.torch.devices if machine.torch else None
    if not devices or any(device.gfx is None for device in devices):
        return None
    return tuple(dict.fromkeys(bare(device.gfx) for device in devices if device.gfx))
