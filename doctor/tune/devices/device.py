"""The devices that PyTorch can compute on here, and which of them a user asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from doctor.derive.directml_adapters import gpu_named, hardware
from doctor.derive.visible_devices import masks_in
from doctor.knowledge.gfx import is_integrated
from doctor.machine.model import Gpu, Machine, TorchDevice
from doctor.machine.unknowns import is_partial

Backend = Literal["cpu", "rocm", "directml", "other"]

#: How AMD's drivers call integrated GPUs, and no card: "AMD Radeon(TM) Graphics", "AMD Radeon(TM) Vega 7 Graphics",
#: "AMD Radeon 780M Graphics".
_INTEGRATED = re.compile(r"(?:AMD )?Radeon(?:\(TM\))?(?: Vega \d{1,2}| \d{3}M| \d{4}S)? Graphics")

CPU_NAME = "cpu"
AUTO, ALL = "auto", "all"


class Device(msgspec.Struct, frozen=True, omit_defaults=True):
    """`name` is PyTorch's (`cuda:0`), `title` that of the hardware. `memory_bytes`: what programs can have of it, where
    that is known. `integrated`: it shares the memory of the CPU. `hip_index`: its number for HIP_VISIBLE_DEVICES, where
    several GPUs are visible and no mask is set. `why_not`: why it is told of, but not measured; empty where it can be.
    """

    name: str
    title: str
    backend: Backend
    integrated: bool | None = None
    memory_bytes: int | None = None
    gfx: str | None = None
    hip_index: int | None = None
    why_not: str = ""

    @property
    def measurable(self) -> bool:
        return not self.why_not and self.backend != "cpu"


def devices_of(machine: Machine) -> tuple[Device, ...]:
    """Every device but the CPU: ROCm's in HIP's order, DirectML's in its own, then those that cannot be measured."""
    found = [*_rocm(machine), *_directml(machine)]
    return (*found, *_others(machine, found))


def _rocm(machine: Machine) -> list[Device]:
    torch = machine.torch
    if torch is None or torch.hip in (None, "none"):
        return []
    rows = torch.devices or ()
    masked = machine.env is None or is_partial(machine, "env") or bool(masks_in(machine.env))
    return [_rocm_device(machine, at, row, several=len(rows) > 1 and not masked) for at, row in enumerate(rows)]


def _rocm_device(machine: Machine, at: int, row: TorchDevice, *, several: bool) -> Device:
    gpu = next((gpu for gpu in machine.gpus or () if gpu.hip_index == at), None)
    amd = [gpu for gpu in machine.gpus or () if gpu.vendor == "amd"]
    if gpu is None and len(amd) == 1:
        gpu = amd[0]
    return Device(
        name=f"cuda:{at}",
        title=row.name or row.gfx or f"GPU {at}",
        backend="rocm",
        integrated=is_integrated(row.gfx, None) if gpu is None else gpu.integrated,
        memory_bytes=row.total_memory_bytes,
        gfx=row.gfx,
        hip_index=at if several else None,
    )


def _directml(machine: Machine) -> list[Device]:
    directml = machine.torch_directml
    if directml is None or not directml.installed:
        return []
    return [_adapter(machine, at, name) for at, name in enumerate(directml.device_names or ())]


def _adapter(machine: Machine, at: int, name: str) -> Device:
    gpu = gpu_named(name, hardware(machine))
    title = " ".join(name.replace("\0", "").split()) or f"adapter {at}"
    return Device(
        name=f"privateuseone:{at}",
        title=title,
        backend="directml",
        integrated=_integrated(gpu, title),
        memory_bytes=_adapter_bytes(gpu),
    )


def _integrated(gpu: Gpu | None, title: str) -> bool | None:
    if gpu is not None:
        return gpu.integrated
    return True if _INTEGRATED.fullmatch(title) else None


def _adapter_bytes(gpu: Gpu | None) -> int | None:
    """Of a card what it has itself; an integrated one may fill both parts."""
    if gpu is None or gpu.dedicated_bytes is None:
        return None
    return gpu.dedicated_bytes + (gpu.shared_bytes or 0) if gpu.integrated else gpu.dedicated_bytes


def _others(machine: Machine, found: Sequence[Device]) -> list[Device]:
    """What the machine has beside them, with the reason why it is not measured."""
    torch = machine.torch
    rows = []
    if torch is not None and torch.cuda not in (None, "none") and torch.is_available:
        names = [row.name or "GPU" for row in torch.devices or ()] or ["GPU"]
        why = "NVIDIA GPUs are told of, not measured"
        rows += [Device(f"cuda:{at}", name, "other", why_not=why) for at, name in enumerate(names)]
    if any(device.backend in ("rocm", "directml") for device in found):
        return rows
    for gpu in machine.gpus or ():
        if gpu.vendor == "amd":
            why = "this PyTorch cannot compute on it: amd-doctor plan says what would"
            rows.append(Device("", gpu.name or gpu.gfx or "AMD GPU", "other", gpu.integrated, why_not=why))
    return rows


def chosen(devices: Sequence[Device], asked: Iterable[str]) -> tuple[Device, ...]:
    """Those that `asked` names, each once, in their own order: `auto` the GPU that one would compute on, `all` every
    one, else a name of PyTorch's, a backend, or a part of what the hardware is called. `cpu` is always measured and
    adds nothing. Raises ValueError with one sentence for a name that fits none."""
    measurable = [device for device in devices if device.measurable]
    wanted: set[str] = set()
    for name in asked:
        if name == ALL:
            wanted |= {device.name for device in measurable}
        elif name == AUTO:
            wanted |= {device.name for device in _usual(measurable)}
        elif name.lower() != CPU_NAME:
            wanted |= {device.name for device in _named(name, devices)}
    return tuple(device for device in measurable if device.name in wanted)


def _usual(measurable: Sequence[Device]) -> Sequence[Device]:
    """A card goes before an integrated GPU, more memory before less."""
    ordered = sorted(measurable, key=lambda device: (device.integrated is not False, -(device.memory_bytes or 0)))
    return ordered[:1]


def _named(name: str, devices: Sequence[Device]) -> Sequence[Device]:
    words = name.lower()
    found = [device for device in devices if words in (device.name, device.backend)]
    found = found or [device for device in devices if words and words in device.title.lower()]
    usable = [device for device in found if device.measurable]
    if usable:
        return usable
    if found:
        raise ValueError(f"{found[0].title} is not measured: {found[0].why_not}")
    known = [f"{device.name} ({device.title})" for device in devices if device.measurable]
    there = f"there are cpu, {', '.join(known)}" if known else "there is the CPU alone"
    raise ValueError(f"no device is called {name[:40]!r}: {there}")
