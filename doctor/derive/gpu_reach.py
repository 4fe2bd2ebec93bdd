"""What stands between a process and an AMD GPU, and the way in: groups, containers, the kernel, variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.derive.gpu_access import GpuAccessFacts, gpu_access_facts
from doctor.derive.truth import known_count
from doctor.derive.versions import release_below
from doctor.derive.visible_devices import masks_in
from doctor.knowledge.gfx import gfx_row
from doctor.machine.model import Fact, Gpu, Machine
from doctor.machine.unknowns import is_partial

#: Drivers beside which there can be no /dev/kfd for a card: an old one, and those that give it to a guest.
_OTHER_DRIVERS = ("radeon", "vfio-pci", "pci-stub")

#: Releases of ROCm that look at /dev/dxg only when told to (README of ROCm/librocdxg); later ones do by themselves.
_SWITCH_SINCE, _NO_SWITCH_SINCE = (7,), (7, 13)

#: Older kernels lack a fix for gfx1151 (rocm.docs.amd.com, AMD Strix Halo system optimization).
_STRIX_HALO_KERNEL = (6, 18, 4)

_KEPT_MASK = "HIP_VISIBLE_DEVICES"


class GpuReachFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "container_without_nodes": ("os.container", "nodes"),
        "closed": ("nodes",),
        "join_group": ("nodes", "os.group_ids", "os.container"),
        "log_in_again": ("nodes", "os.groups_in_file"),
        "kfd_gpus": ("gpus", "gpus.kernel_driver", "gpus.gfx"),
        "amdgpu_loaded": ("os.kernel_modules",),
        "amdgpu_blacklisted": ("os.blacklisted_modules",),
        "nomodeset": ("os.kernel_cmdline",),
        "strix_halo_kernel_old": ("os.kernel",),
        "needs_dxg_switch": ("torch.hip",),
        **dict.fromkeys(("several_masks", "spare_variables"), ("env",)),
    }
    container_without_nodes: bool | None = None  # a container that was not given the nodes of a GPU
    closed: bool = False  # it is known that no GPU can be opened, so nothing runs on one yet
    join_group: str | None = None  # the group that opens the nodes, where joining it is what is missing
    log_in_again: bool = False  # the user is known to be in that group, and this session to be older
    kfd_gpus: int | None = None  # AMD GPUs that /dev/kfd should exist for
    amdgpu_loaded: bool | None = None
    amdgpu_blacklisted: bool | None = None  # modprobe's files or the kernel's command line keep it from loading
    nomodeset: bool | None = None  # on the kernel's command line
    strix_halo_kernel_old: bool | None = None  # by its number; a distribution may have taken the fix over
    needs_dxg_switch: bool | None = None  # in WSL this torch's ROCm needs HSA_ENABLE_DXG_DETECTION=1
    several_masks: bool | None = None  # more than one of the *_VISIBLE_DEVICES is set
    spare_variables: tuple[str, ...] | None = None  # those beside HIP_VISIBLE_DEVICES, where that is set too


def gpu_reach_facts(machine: Machine, today: date | None = None) -> GpuReachFacts:
    access, system = gpu_access_facts(machine), machine.os
    modules = system.kernel_modules if system else None
    blacklisted = system.blacklisted_modules if system else None
    cmdline = system.kernel_cmdline if system else None
    return GpuReachFacts(
        container_without_nodes=container_without_nodes(machine, access),
        closed=access.accessible is False,
        join_group=_join_group(machine, access),
        log_in_again=access.session_is_older is True,
        kfd_gpus=_kfd_gpus(machine),
        amdgpu_loaded=None if modules is None else "amdgpu" in modules,
        amdgpu_blacklisted=None if blacklisted is None else "amdgpu" in blacklisted,
        nomodeset=None if cmdline is None else "nomodeset" in cmdline.split(),
        strix_halo_kernel_old=_kernel_below(system.kernel if system else None, _STRIX_HALO_KERNEL),
        needs_dxg_switch=_needs_dxg_switch(machine.torch.hip if machine.torch else None),
        several_masks=_several_masks(machine),
        spare_variables=_spare_variables(machine),
    )


def _kernel_below(kernel: str | None, bound: tuple[int, int, int]) -> bool | None:
    match = re.match(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,4}))?", kernel or "")
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0)) < bound


def _needs_dxg_switch(hip: str | None) -> bool | None:
    older, below = release_below(hip, _SWITCH_SINCE), release_below(hip, _NO_SWITCH_SINCE)
    return None if older is None or below is None else below and not older


def _several_masks(machine: Machine) -> bool | None:
    if machine.env is None:
        return None
    return len(masks_in(machine.env)) > 1 or (None if is_partial(machine, "env") else False)


def _spare_variables(machine: Machine) -> tuple[str, ...] | None:
    masks = masks_in(machine.env or {})
    return tuple(name for name in masks if name != _KEPT_MASK) or None if _KEPT_MASK in masks else None


def container_without_nodes(machine: Machine, access: GpuAccessFacts) -> bool | None:
    system = machine.os
    if system is None or system.kind in ("windows", "macos") or system.container == "none":
        return None if system is None else False
    return None if system.container is None else access.missing


def _join_group(machine: Machine, access: GpuAccessFacts) -> str | None:
    """None in a container: the group of the host has no name there, or the wrong one."""
    if machine.os is None or machine.os.container != "none" or access.session_is_older:
        return None
    return access.denied_group if access.group_would_help and access.denied_group not in ("none", "root") else None


def _kfd_gpus(machine: Machine) -> int | None:
    if machine.gpus is None:
        return None
    return known_count((gpu for gpu in machine.gpus if gpu.vendor == "amd"), _should_have_kfd)


def _should_have_kfd(gpu: Gpu) -> bool | None:
    if gpu.kernel_driver in _OTHER_DRIVERS:
        return False
    return True if gpu.kernel_driver == "amdgpu" or gfx_row(gpu.gfx) is not None else None
