"""The memory of an integrated GPU in one view: what the firmware carved out of the RAM, what the kernel lets it share,
what PyTorch sees of it, and the one setting to change.

On Linux, ROCm takes its memory from one of the two, never from both (amdgpu_ttm_init and
amdgpu_amdkfd_get_local_mem_info in the kernel):
    before 6.9.9      the carve-out
    6.9.9 to 6.15     the shared memory (GTT)
    6.16.9 and later  GTT where the carve-out is smaller, else the carve-out
Between 6.16 and 6.16.9 it depends. A driver from AMD's own packages (DKMS) has its own rules; the topology of the
compute driver says what is true in either case, and what PyTorch reports goes before both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, ClassVar

from doctor.derive.gpus import gpu_facts
from doctor.derive.kernel_options import has_options, number_option
from doctor.machine.model import Fact, Gpu, Machine, NoneWord

GIB = 1 << 30
_PAGES_PER_GIB = GIB // 4096

#: GTT from here on on APUs: commit eb853413d02c, in 6.10 and 6.9.9. The choice by size: ROCm issue 5444.
_GTT_SINCE = (6, 9, 9)
_ALWAYS_GTT_BEFORE = (6, 16, 0)
_BY_SIZE_SINCE = (6, 16, 9)

#: What the system keeps: a quarter of the RAM.
_SHARE_FOR_THE_GPU = 0.75
_SMALLEST_CARVE_OUT = GIB // 2
_SMALL_CARVE_OUT = GIB

#: The kernel's own default for GTT is half of the RAM, less what it keeps for itself.
_DEFAULT_GTT_SHARE = 0.45


class GpuMemoryFacts(Fact, frozen=True):
    """Of the integrated GPU that computes. Every field is unknown where `applies` is not true."""

    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "applies": ("gpus", "gpus.integrated"),
        **dict.fromkeys(("carve_out_bytes", "shared_bytes", "reachable_bytes"), ("gpus", "os.kind")),
        "torch_bytes": ("torch.devices",),
        "seen_share": ("torch.devices", "gpus"),
        **dict.fromkeys(("rocm_pool", "rocm_bytes"), ("gpus", "os.kernel", "torch.devices")),
        "old_kernel": ("os.kernel", "os.kernel_modules"),
        "small_carve_out": ("gpus",),
        **dict.fromkeys(("shared_share", "small_share"), ("gpus", "memory.total_bytes")),
        "module": ("os.kernel_modules",),
        **dict.fromkeys(("pages_limit_set", "gttsize_set", "both_set"), ("os.kernel_cmdline", "os.modprobe_options")),
        "foreign_module_option": ("os.kernel_modules", "os.kernel_cmdline", "os.modprobe_options"),
        **dict.fromkeys(("wanted_gib", "wanted_pages"), ("memory.total_bytes", "gpus")),
    }
    applies: bool | None = None
    carve_out_bytes: int | None = None  # VRAM (Linux), dedicated memory (Windows): what was taken from the RAM
    shared_bytes: int | None = None  # GTT on Linux, shared memory on Windows
    reachable_bytes: int | None = None  # both: what Vulkan, OpenGL and DirectML can use
    torch_bytes: int | None = None  # what torch sees
    seen_share: float | None = None  # that, as a part of `reachable_bytes`
    rocm_pool: str | None = None  # where ROCm takes memory from: shared, carve-out
    rocm_bytes: int | None = None  # how much of it there is
    old_kernel: bool | None = None  # ROCm is limited to the carve-out by the kernel
    small_carve_out: bool | None = None  # 1 GiB or less
    shared_share: float | None = None  # shared memory as a part of the RAM that is left
    small_share: bool | None = None  # less than the half that the kernel gives by default
    module: str | None = None  # whose options count: ttm, amdttm (AMD's own packages)
    pages_limit_set: int | NoneWord | None = None  # ttm.pages_limit, in pages of 4 KiB
    gttsize_set: int | NoneWord | None = None  # amdgpu.gttsize, in MiB: deprecated
    both_set: bool | None = None
    foreign_module_option: str | None = None  # "ttm": options for a module that is not the one loaded; "none"
    wanted_gib: int | None = None  # the largest limit that leaves the system a quarter, with the smallest carve-out
    wanted_pages: int | None = None  # the same in pages: ttm.pages_limit


def gpu_memory_facts(machine: Machine, today: date | None = None) -> GpuMemoryFacts:
    gpu, applies = _integrated_gpu(machine)
    if gpu is None:
        return GpuMemoryFacts(applies=applies)
    carve_out = gpu.vram_total_bytes if gpu.vram_total_bytes is not None else gpu.dedicated_bytes
    shared = gpu.gtt_total_bytes if gpu.gtt_total_bytes is not None else gpu.shared_bytes
    reachable = None if carve_out is None or shared is None else carve_out + shared
    ram = machine.memory.total_bytes if machine.memory else None
    seen = _torch_bytes(machine, gpu)
    pool = rocm_pool(machine, gpu, seen)
    share = shared / ram if shared is not None and ram else None
    wanted = _wanted_gib(ram, carve_out)
    linux = machine.os is not None and machine.os.kind == "linux" and not machine.os.wsl
    return GpuMemoryFacts(
        applies=True,
        carve_out_bytes=carve_out,
        shared_bytes=shared,
        reachable_bytes=reachable,
        torch_bytes=seen,
        seen_share=None if seen is None or not reachable else seen / reachable,
        rocm_pool=pool,
        rocm_bytes=seen or gpu.kfd_memory_bytes or {"shared": shared, "carve-out": carve_out}.get(pool or ""),
        old_kernel=_old_kernel(machine, gpu, pool),
        small_carve_out=None if carve_out is None else carve_out <= _SMALL_CARVE_OUT,
        shared_share=share,
        small_share=None if share is None else share < _DEFAULT_GTT_SHARE,
        wanted_gib=wanted if linux else None,
        wanted_pages=wanted * _PAGES_PER_GIB if linux and wanted is not None else None,
        **_settings(machine),
    )


def _integrated_gpu(machine: Machine) -> tuple[Gpu | None, bool | None]:
    """The integrated GPU that computes, and whether there is one."""
    facts = gpu_facts(machine)
    if facts.devices is None:
        return None, None
    gpus = [gpu for gpu in machine.gpus or () if gpu.vendor == "amd"]
    in_use = [gpu for gpu, device in zip(gpus, facts.devices, strict=True) if device.in_use and gpu.integrated]
    if in_use:
        return in_use[0], True
    unsure = any(device.in_use is None or device.integrated is None for device in facts.devices)
    return None, None if unsure else False


def _torch_bytes(machine: Machine, gpu: Gpu) -> int | None:
    devices = machine.torch.devices if machine.torch else None
    if not devices:
        return None
    if gpu.hip_index is not None and gpu.hip_index < len(devices):
        return devices[gpu.hip_index].total_memory_bytes
    return devices[0].total_memory_bytes if len(devices) == 1 else None


def rocm_pool(machine: Machine, gpu: Gpu, seen_bytes: int | None = None) -> str | None:
    """`shared` or `carve-out`: the one whose size is seen, else by the kernel; None where neither tells."""
    carve_out, shared = gpu.vram_total_bytes, gpu.gtt_total_bytes
    if carve_out is None or shared is None:
        return None
    told = seen_bytes or gpu.kfd_memory_bytes
    if told:
        return "carve-out" if abs(told - carve_out) < abs(told - shared) else "shared"
    version = _kernel(machine)
    if version is None or _has_amds_own_driver(machine, gpu):
        return None
    if version < _GTT_SINCE:
        return "carve-out"
    if carve_out < shared or version < _ALWAYS_GTT_BEFORE:
        return "shared"
    return "carve-out" if version >= _BY_SIZE_SINCE else None


def _old_kernel(machine: Machine, gpu: Gpu, pool: str | None) -> bool | None:
    """Does the kernel's age limit ROCm to the carve-out? Not where it was seen to have the shared memory."""
    version = _kernel(machine)
    if pool == "shared":
        return False
    if version is None:
        return None
    if version >= _GTT_SINCE:
        return False
    return None if _has_amds_own_driver(machine, gpu) else True


def _kernel(machine: Machine) -> tuple[int, int, int] | None:
    """The kernel whose driver shares out the memory; in WSL that is the driver of Windows."""
    if machine.os is not None and machine.os.wsl:
        return None
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", (machine.os.kernel if machine.os else None) or "")
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def _has_amds_own_driver(machine: Machine, gpu: Gpu) -> bool:
    """Is the driver one of AMD's own packages, whose rules are not those of the kernel's version?"""
    modules = machine.os.kernel_modules if machine.os else None
    return gpu.driver_version is not None or "amdttm" in (modules or ())


def _wanted_gib(ram: int | None, carve_out: int | None) -> int | None:
    if ram is None or carve_out is None:
        return None
    installed = ram + max(0, carve_out - _SMALLEST_CARVE_OUT)
    return int(installed * _SHARE_FOR_THE_GPU // GIB) or None


def _settings(machine: Machine) -> dict[str, Any]:
    """The options for the memory of the GPU, from the kernel's command line and modprobe's files."""
    modules = machine.os.kernel_modules if machine.os else None
    module = None if modules is None else "amdttm" if "amdttm" in modules else "ttm"
    limit = number_option(machine, module or "ttm", "pages_limit")
    size = number_option(machine, "amdgpu", "gttsize")
    both = None if limit is None or size is None else "none" not in (limit, size)
    return {
        "module": module,
        "pages_limit_set": limit,
        "gttsize_set": size,
        "both_set": both,
        "foreign_module_option": _foreign_option(machine, module),
    }


def _foreign_option(machine: Machine, module: str | None) -> str | None:
    if module is None:
        return None
    other = "ttm" if module == "amdttm" else "amdttm"
    there = has_options(machine, other)
    return None if there is None else other if there else "none"
