"""`rocm examine --json` of AMD's rocm-cli (`crates/rocm-core/src/examine.rs`, field names of 2026-11).

What must not be taken at its word there:
- `gfx_target` may be a guess from the product's name (see `gpu_target_of`), and releases of mid-2026 leave it empty
  although rocminfo lists the GPU (ROCm/rocm-cli#393);
- `is_apu: false` stands beside every target but gfx1103 and gfx115x, also beside older APUs;
- `pci_id` is an address (`0000:03:00.0`) on Linux and a PnP id on Windows;
- `user_can_read: false` comes from the mode alone, and an access control list may open the node all the same;
- `in_container: false` is no proof, and neither is `amdgpu_loaded: false` where the driver is built in;
- `adrenalin_version` is the version of the driver;
- an empty `framework_arch_list` only says that no GPU was available.
The user's name and PATH are not read.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from doctor.knowledge.env_vars import env_variable
from doctor.texts.rocm_smi import json_in

_MARKS = ('"gfx_target"', '"rocminfo_status"', '"in_render_group"', '"framework_arch_list"')

_GFX = re.compile(r"gfx[0-9a-f]{3,5}")
_GUESSES = frozenset({"gfx1103", "gfx1150", "gfx1151"})
_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
_ID = re.compile(r"(?:PCI\\)?(?:VEN_)?([0-9a-f]{4})(?::|&DEV_)([0-9a-f]{4})(?:&.*)?", re.IGNORECASE)


class ExaminedGpu(msgspec.Struct, frozen=True):
    name: str = ""
    gfx_target: str = ""
    pci_id: str = ""
    is_apu: bool | None = None
    is_amd: bool = False

    @property
    def address(self) -> str | None:
        """`0000:03:00.0`"""
        return self.pci_id.lower() if _ADDRESS.fullmatch(self.pci_id) else None

    @property
    def device(self) -> str | None:
        """`1002:744c`"""
        found = _ID.fullmatch(self.pci_id)
        return f"{found[1]}:{found[2]}".lower() if found else None


class ExaminedNode(msgspec.Struct, frozen=True):
    path: str
    exists: bool
    mode: str = ""
    owner_group: str = ""
    user_can_read: bool | None = None
    user_can_write: bool | None = None


class Summary(msgspec.Struct, frozen=True):
    """Later releases add it; its target comes from the kernel."""

    detected_gfx_target: str | None = None


class Examination(msgspec.Struct, frozen=True):
    """The fields that are read. An empty text is what the tool writes for a fact it does not know."""

    os_family: str
    gpus: tuple[ExaminedGpu, ...]
    distro_id: str = ""
    distro_version: str = ""
    kernel_release: str = ""
    kernel_cmdline: str = ""
    is_wsl: bool = False
    cpu_vendor: str = ""
    cpu_model: str = ""
    amdgpu_blacklisted_in: tuple[str, ...] = ()
    kfd: ExaminedNode | None = None
    render_devices: tuple[ExaminedNode, ...] = ()
    user_groups: tuple[str, ...] = ()
    rocm_version: str = ""
    rocminfo_status: str = ""
    adrenalin_version: str = ""
    msvc_redist_present: bool | None = None
    framework: str = ""
    framework_version: str = ""
    framework_rocm_version: str = ""
    framework_arch_list: tuple[str, ...] = ()
    framework_notes: tuple[str, ...] = ()
    env: dict[str, str] = {}
    in_container: bool = False
    container_kind: str = ""
    probe_failures: tuple[str, ...] = ()
    summary: Summary | None = None

    @property
    def amd_gpus(self) -> tuple[ExaminedGpu, ...]:
        return tuple(gpu for gpu in self.gpus if gpu.is_amd)


def looks_like_rocm_examine(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def read_rocm_examine(text: str) -> Examination | None:
    """The examination in a text; None where there is none, or one of another shape. Never raises."""
    plain: Any = json_in(text) if looks_like_rocm_examine(text) else None
    try:
        found = msgspec.convert(plain, Examination)
    except (msgspec.ValidationError, RecursionError):
        return None
    known = {name: value for name, value in found.env.items() if name != "PATH" and env_variable(name) is not None}
    return msgspec.structs.replace(found, env=known)


def gpu_target_of(examination: Examination, gpu: ExaminedGpu) -> str | None:
    """The target of a GPU, where it is sure: not where several targets were dealt out to several GPUs by their order,
    nor where a name was taken for one (every "Krackan" for gfx1150, which is Strix Point)."""
    detected = examination.summary.detected_gfx_target if examination.summary else None
    alone = len(examination.amd_gpus) == 1
    if alone and detected and _GFX.fullmatch(detected):
        return detected
    gfx = gpu.gfx_target.partition(":")[0]
    if not _GFX.fullmatch(gfx) or (gfx in _GUESSES and "krackan" in gpu.name.lower()):
        return None
    same = {other.gfx_target.partition(":")[0] for other in examination.amd_gpus} == {gfx}
    return gfx if alone or same else None
