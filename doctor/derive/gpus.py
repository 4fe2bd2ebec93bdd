"""What the GPUs of a machine come to. Rules read `derived.gpu.<field>`, and each AMD GPU by
`for_each: derived.gpu.devices` as `it.<field>` (`GpuDevice`: name, gfx, integrated, hip_index, usable, wheel_exists,
amd_extra, first_torch, in_wheel, override, override_verdict, helpful_override, runs, in_use).

Beside it stand, each with its own docstring:
    derived.gpu_access   nodes: may this process open /dev/kfd and the render nodes, and why not (`gpu_access.py`)
    derived.gpu_memory   the memory of the integrated GPU that computes, and the setting to change (`gpu_memory.py`)
    derived.rocm         ROCm and its libraries: mixed releases, WSL, which HSA runtime wins (`rocm.py`)

`main` is the AMD GPU to compute on: the only usable one, else the only card, else the card with the most memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar

import msgspec

from doctor.derive.gfx_support import OVERRIDE, bare, major_of, targets_of_torch
from doctor.derive.gpu_device import GpuDevice, gpu_devices
from doctor.derive.gpu_failures import calculated_right
from doctor.derive.truth import any_of, both, count, known_count, negated
from doctor.derive.visible_devices import beyond, hides_all, masks_disagree, masks_in
from doctor.knowledge.gfx import gfx_of_pci, is_integrated
from doctor.machine.model import Exercise, Fact, Gpu, Machine
from doctor.machine.unknowns import is_partial


class GpuFacts(Fact, frozen=True):
    """Counts are of AMD GPUs unless the name says otherwise."""

    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "devices": ("gpus", "gpus.gfx", "gpus.kernel_driver", "torch.arch_list", "env"),
        "amd_gpus": ("gpus",),
        "usable_gpus": ("gpus", "gpus.kernel_driver"),
        "wheel_gpus": ("gpus", "gpus.gfx", "os.kind"),
        "discrete_gpus": ("gpus", "gpus.integrated"),
        "integrated_gpus": ("gpus", "gpus.integrated"),
        "nvidia_gpus": ("gpus",),
        "gfx": ("gpus", "gpus.gfx"),
        "main": ("gpus", "gpus.gfx", "gpus.integrated"),
        "mixed": ("gpus", "gpus.integrated"),
        "masks": ("env",),
        "masked": ("env",),
        "masks_disagree": ("env",),
        "mask_hides_all": ("env",),
        "mask_beyond": ("env", "gpus"),
        "integrated_missing": ("gpus", "torch.arch_list"),
        "integrated_is_first": ("gpus", "gpus.hip_index"),
        "wheel_families": ("torch.arch_list",),
        "worked": ("exercises",),
        "worked_masked": ("exercises",),
        "failed": ("exercises",),
        "failed_detail": ("exercises",),
    }
    devices: tuple[GpuDevice, ...] | None = None
    amd_gpus: int | None = None
    usable_gpus: int | None = None  # with a driver that lets ROCm at them
    wheel_gpus: int | None = None  # usable, and with a ROCm wheel for this system; unknown only if none is known
    discrete_gpus: int | None = None  # usable cards
    integrated_gpus: int | None = None  # usable parts of a processor
    nvidia_gpus: int | None = None
    gfx: tuple[str, ...] | None = None  # the real targets of the usable GPUs, each once
    main: GpuDevice | None = None
    mixed: bool | None = None  # a usable card beside a usable iGPU
    masks: tuple[str, ...] | None = None  # the *_VISIBLE_DEVICES that are set
    masked: bool | None = None
    masks_disagree: bool | None = None  # HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES say different things
    mask_hides_all: str | None = None  # the name of a mask that shows no GPU, or "none"
    mask_beyond: str | None = None  # the name of a mask with an index that no GPU has, or "none"
    integrated_missing: bool | None = None  # the installed torch has no code for an iGPU, with overrides considered
    integrated_is_first: bool | None = None  # an iGPU is device 0 for HIP
    wheel_families: int | None = None  # how many generations the installed torch has code for
    worked: bool | None = None  # a calculation on a GPU came out right, all GPUs being visible
    worked_masked: bool | None = None  # one came out right with one GPU made visible
    failed: str | None = None  # the first exercise on a GPU that failed, all being visible; "none": none failed
    failed_detail: str | None = None


def gpu_facts(machine: Machine, today: date | None = None) -> GpuFacts:
    devices = gpu_devices(machine)
    return msgspec.structs.replace(
        _of_devices(machine, devices) if devices is not None else GpuFacts(),
        **_of_masks(machine, devices),
        **_of_exercises(machine.exercises),
        wheel_families=_wheel_families(machine),
    )


def _of_devices(machine: Machine, devices: tuple[GpuDevice, ...]) -> GpuFacts:
    usable = [device for device in devices if device.usable is not False]
    discrete = count(devices, lambda device: both(device.usable, negated(device.integrated)))
    integrated = count(devices, lambda device: both(device.usable, device.integrated))
    return GpuFacts(
        devices=devices,
        amd_gpus=len(devices),
        usable_gpus=count(devices, lambda device: device.usable),
        wheel_gpus=known_count(devices, lambda device: both(device.usable, device.wheel_exists)),
        discrete_gpus=discrete,
        integrated_gpus=integrated,
        nvidia_gpus=sum(gpu.vendor == "nvidia" for gpu in machine.gpus or ()),
        gfx=_gfx_of(usable),
        main=main_gpu(usable),
        mixed=None if discrete is None or integrated is None else discrete > 0 and integrated > 0,
        integrated_missing=any_of(both(device.integrated, _missing(device)) for device in usable),
        integrated_is_first=_integrated_is_first(usable),
    )


def main_gpu(usable: Sequence[GpuDevice]) -> GpuDevice | None:
    """The GPU to compute on; None where there is none, or where it is not known which."""
    if len(usable) < 2:
        return usable[0] if usable else None
    cards = [device for device in usable if device.integrated is False]
    if not cards or any(device.integrated is None for device in usable):
        return None
    if len(cards) == 1:
        return cards[0]
    sizes = [device.vram_bytes for device in cards]
    if None in sizes:
        return cards[0] if len({device.gfx for device in cards}) == 1 else None
    return max(cards, key=lambda device: device.vram_bytes or 0)


def _gfx_of(devices: Sequence[GpuDevice]) -> tuple[str, ...] | None:
    names = [device.gfx for device in devices]
    return None if None in names else tuple(dict.fromkeys(name for name in names if name))


def _missing(device: GpuDevice) -> bool | None:
    return None if device.runs is None else device.runs == "no"


def _integrated_is_first(devices: Sequence[GpuDevice]) -> bool | None:
    first = [device for device in devices if device.hip_index == 0]
    if first:
        return first[0].integrated
    return None if any(device.hip_index is None for device in devices) else False


def _of_masks(machine: Machine, devices: Sequence[GpuDevice] | None) -> dict[str, object]:
    env = machine.env
    if env is None or (is_partial(machine, "env") and not masks_in(env)):
        return {}
    names = masks_in(env)
    return {
        "masks": names,
        "masked": bool(names),
        "masks_disagree": masks_disagree(env),
        "mask_hides_all": next((name for name in names if hides_all(env[name])), "none"),
        "mask_beyond": None if devices is None else beyond(env, len(devices)),
    }


def _of_exercises(rows: Sequence[Exercise] | None) -> dict[str, object]:
    """Of those on a GPU. The import of torch is none of them."""
    if rows is None:
        return {}
    tried = [row for row in rows if row.outcome not in (None, "skipped") and row.name != "import-torch"]
    on_gpu = [row for row in tried if (row.device or "").startswith("cuda")]
    open_to_all = [row for row in on_gpu if not row.with_mask]
    failed = next((row for row in open_to_all if row.outcome != "ok"), None)
    return {
        "worked": any(calculated_right(row) for row in open_to_all),
        "worked_masked": any(calculated_right(row) for row in on_gpu if row.with_mask),
        "failed": failed.name if failed else "none",
        "failed_detail": failed.detail if failed else None,
    }


def _wheel_families(machine: Machine) -> int | None:
    targets = targets_of_torch(machine)
    return None if targets is None else len({major_of(target) for target in targets if target.startswith("gfx")})


# Completing the document


def complete_gpus(machine: Machine) -> Machine:
    """Target and kind of each GPU where they follow from its PCI id, or from its target, by table; its number for HIP
    where PyTorch was seen to list it."""
    if machine.gpus is None:
        return machine
    gpus = tuple(_completed(gpu) for gpu in machine.gpus)
    return msgspec.structs.replace(machine, gpus=_with_hip_indices(machine, gpus))


def _completed(gpu: Gpu) -> Gpu:
    if gpu.vendor is None and gpu.pci_id is not None:
        gpu = msgspec.structs.replace(gpu, vendor=vendor_of(gpu.pci_id))
    if gpu.vendor != "amd":
        return gpu
    gfx = gpu.gfx if gpu.gfx is not None else gfx_of_pci(gpu.pci_id)
    integrated = gpu.integrated if gpu.integrated is not None else is_integrated(gfx, gpu.pci_id)
    return msgspec.structs.replace(gpu, gfx=gfx, integrated=integrated)


def _with_hip_indices(machine: Machine, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """PyTorch lists its devices as HIP counts them. A mask renumbers them, and an override renames them; of two alike
    only their place on the bus says which is which, where PyTorch tells it."""
    devices = machine.torch.devices if machine.torch else None
    env = machine.env
    if not devices or env is None or is_partial(machine, "env") or masks_in(env):
        return gpus
    addresses = {device.pci_address: at for at, device in enumerate(devices)}
    if None not in addresses and addresses.keys() <= {gpu.pci_address for gpu in gpus}:
        return tuple(_with_hip_index(gpu, addresses.get(gpu.pci_address)) for gpu in gpus)
    if any(name.startswith(OVERRIDE) for name in env):
        return gpus
    listed = [bare(device.gfx) if device.gfx else None for device in devices]
    own = [bare(gpu.gfx) for gpu in gpus if gpu.vendor == "amd" and gpu.gfx]
    unique = {gfx: at for at, gfx in enumerate(listed) if gfx and listed.count(gfx) == own.count(gfx) == 1}
    return tuple(_with_hip_index(gpu, unique.get(bare(gpu.gfx)) if gpu.gfx else None) for gpu in gpus)


def _with_hip_index(gpu: Gpu, index: int | None) -> Gpu:
    if gpu.vendor != "amd" or gpu.hip_index is not None:
        return gpu
    return msgspec.structs.replace(gpu, hip_index=index)


_VENDORS = {"1002": "amd", "10de": "nvidia", "8086": "intel"}


def vendor_of(pci_id: str) -> str:
    return _VENDORS.get(pci_id.lower().partition(":")[0], "other")
