"""Which wheel of PyTorch belongs here, as far as the tables prove it: index, name and Python.

Download.pytorch.org goes before AMD's index where both have the target. An index counts only where the table names it,
where a release on it is known for certain to have code for the target, and where the newest release on it is not known
to lack it: pip takes the newest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar

import msgspec
from packaging.version import Version

from doctor.derive.gfx_support import covered
from doctor.derive.gpus import gpu_facts
from doctor.derive.versions import parsed
from doctor.knowledge.gfx import gfx_row, wheel_table
from doctor.knowledge.rocm_wheels import PytorchIndex, rocm_wheels
from doctor.machine.model import Fact, Machine, Package

#: Packages that must come from the index that torch comes from.
PARTNERS = ("torch", "torchvision", "torchaudio")

#: Who installs torch from somewhere else than an index of wheels.
NOT_FROM_AN_INDEX = ("conda", "distro", "source")

_X86_64 = ("x86_64", "AMD64")
_X86_VENDORS = ("AuthenticAMD", "GenuineIntel", "HygonGenuine")


class WheelSource(msgspec.Struct, frozen=True):
    """An index, what to ask it for, and the first and last Python that it has wheels for."""

    index_url: str
    requirement: str
    first_python: Version
    last_python: Version

    def has(self, python: Version) -> bool:
        return self.first_python <= python <= self.last_python


class WheelFacts(Fact, frozen=True):
    """Of the GPU to compute on (`derived.gpu.main`). An index or a requirement that no table proves is unknown."""

    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **dict.fromkeys(("rocm_index_url", "rocm_requirement"), ("gpus", "gpus.gfx", "python.version", "os.kind")),
        **dict.fromkeys(("python_fit", "newest_python_version"), ("python.version", "gpus", "gpus.gfx", "os.kind")),
        "installed_packages": ("packages",),
        "from_an_index": ("packages.torch.installer",),
    }
    rocm_index_url: str | None = None  # the index to install from
    rocm_requirement: str | None = None  # what to install from it: "torch", "torch[device-gfx1103]"
    python_fit: str | None = None  # is a ROCm wheel for this GPU and system for this Python? fits, too-old, too-new
    newest_python_version: str | None = None  # the newest Python that one is for
    installed_packages: tuple[str, ...] | None = None  # torch and its partners, as far as they are installed
    from_an_index: bool = True  # torch is not known to come from conda, a distribution or an own build


def wheel_facts(machine: Machine, today: date | None = None) -> WheelFacts:
    main = gpu_facts(machine).main
    installable = from_an_index(machine)
    sources = sources_for(machine, main.gfx if main is not None else None)
    best = best_source(machine, sources) if installable else None
    return WheelFacts(
        rocm_index_url=best.index_url if best else None,
        rocm_requirement=best.requirement if best else None,
        python_fit=_python_fit(machine, sources),
        newest_python_version=_text(max((source.last_python for source in sources), default=None)),
        installed_packages=_installed(machine),
        from_an_index=installable,
    )


def from_an_index(machine: Machine) -> bool:
    """False for a torch that is known to come from somewhere else."""
    installer = (machine.packages or {}).get("torch", Package()).installer
    built = machine.torch.build if machine.torch else None
    return installer not in NOT_FROM_AN_INDEX and built != "source"


def sources_for(machine: Machine, gfx: str | None) -> tuple[WheelSource, ...]:
    """Every source of a ROCm wheel with code for a target on this system, the one to prefer first."""
    system = machine.os
    if gfx is None or system is None or system.kind not in ("linux", "windows") or not _is_x86_64(machine):
        return ()
    # In WSL the wheels of download.pytorch.org bring a runtime that knows nothing of /dev/dxg.
    found = _on_pytorch_org(gfx) if system.kind == "linux" and system.wsl == 0 else []
    return (*found, *_on_amds_index(gfx, system.kind)) if not system.wsl else ()


def best_source(machine: Machine, sources: Sequence[WheelSource]) -> WheelSource | None:
    """The first source for this Python; None where there is none, or the Python is unknown."""
    python = python_release(machine)
    return next((source for source in sources if python is not None and source.has(python)), None)


def python_release(machine: Machine) -> Version | None:
    """`3.12` of `3.12.3`; None where it is unknown, and for the builds without a lock: no table has those."""
    python = machine.python
    version = parsed(python.version if python else None)
    if python is None or version is None or python.free_threaded or python.implementation not in (None, "cpython"):
        return None
    return Version(f"{version.major}.{version.minor}")


def _is_x86_64(machine: Machine) -> bool:
    arch = machine.python.machine if machine.python else None
    return arch in _X86_64 if arch else machine.cpu is not None and machine.cpu.vendor in _X86_VENDORS


def _on_pytorch_org(gfx: str) -> list[WheelSource]:
    """Newest index first."""
    rows = [row for row in rocm_wheels().pytorch if row.index is not None]
    indexes = list(dict.fromkeys(row.index for row in reversed(rows) if row.index is not None))
    found = [_of_index(index, [row for row in rows if row.index == index], gfx) for index in indexes]
    return [source for source in found if source is not None]


def _of_index(index: str, rows: Sequence[PytorchIndex], gfx: str) -> WheelSource | None:
    has = [_has_code(row, gfx, certain=True) for row in rows]
    if not any(has) or not _has_code(rows[-1], gfx, certain=False):
        return None
    return WheelSource(index, "torch", Version(rows[-1].python[0]), Version(rows[-1].python[1]))


def _has_code(row: PytorchIndex, gfx: str, certain: bool) -> bool:
    """Has the release, as built for the ROCm of its index, code for the target?"""
    wheels = [
        wheel
        for wheel in wheel_table().rows
        if wheel.torch == row.torch and row.rocm[0] in wheel.rocm and (wheel.certain or not certain)
    ]
    return any(covered(gfx, wheel.archs) for wheel in wheels)


def _on_amds_index(gfx: str, system: str) -> list[WheelSource]:
    row, amd = gfx_row(gfx), rocm_wheels().amd
    if row is None or row.amd_extra is None or system not in amd.systems:
        return []
    if system == "windows" and row.windows is None:
        return []
    return [WheelSource(amd.index, f"torch[{row.amd_extra}]", Version(amd.python[0]), Version(amd.python[1]))]


def _python_fit(machine: Machine, sources: Sequence[WheelSource]) -> str | None:
    """A Python that is newer than the table may have wheels of a release that came later."""
    python = python_release(machine)
    if python is None or not sources:
        return None
    if any(source.has(python) for source in sources):
        return "fits"
    return "too-new" if python > max(source.last_python for source in sources) else "too-old"


def _installed(machine: Machine) -> tuple[str, ...] | None:
    if machine.packages is None:
        return ("torch",) if machine.torch is not None and machine.torch.installed else None
    return tuple(name for name in PARTNERS if name in machine.packages) or None


def _text(version: Version | None) -> str | None:
    return None if version is None else str(version)
