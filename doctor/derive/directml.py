"""torch-directml and what stands around it: is it wanted, can this Python have it, does it fit the torch beside it?

Beside it stand, each with its own docstring:
    derived.directml_adapters    which adapter it takes, and which has the most memory (`directml_adapters.py`)
    derived.directml_exercises   what its exercises came to (`directml_exercises.py`)
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

import msgspec

from doctor.derive.truth import negated
from doctor.derive.versions import parsed
from doctor.knowledge.directml import directml_release, directml_table, last_directml_release
from doctor.knowledge.gfx import gfx_row
from doctor.machine.model import Fact, Machine, Package, Python, TorchDirectml
from doctor.machine.unknowns import is_partial

_PACKAGE = "torch-directml"
_X86_64 = ("amd64", "x86_64")


class DirectmlFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "installed": ("torch_directml.installed",),
        "wanted": ("intent.backend", "torch_directml.installed", "gpus"),
        "python_has_wheel": ("python.version", "python.machine", "os.kind"),
        "mismatched": ("torch.version", "torch_directml.requires_torch", "torch_directml.version"),
        "wanted_torch_version": ("torch_directml.requires_torch", "torch_directml.version"),
        "wanted_torchvision_version": ("torch_directml.requires_torchvision", "torch_directml.version"),
        "beside_rocm": ("torch.hip", "torch.version"),
        "pins_matter": ("torch.hip", "torch.version", "intent.backend"),
        "rocm_gfx": ("gpus.gfx", "os.kind"),
    }
    installed: bool | None = None
    wanted: bool | None = None  # the user computes on DirectML, or means to
    python_has_wheel: bool | None = None  # some release has a wheel for this Python, on Windows or WSL
    newest_python_version: str | None = None  # the newest that the last release has a wheel for: "3.12"
    last_version: str | None = None  # of the last release that there is
    last_released: str | None = None
    last_torch_version: str | None = None
    wanted_torch_version: str | None = None  # what the installed release asks for
    wanted_torchvision_version: str | None = None
    mismatched: tuple[str, ...] | None = None  # what does not fit it, in words
    beside_rocm: bool | None = None  # the torch beside it is built for ROCm
    pins_matter: bool | None = None  # False: that torch for ROCm is what the user computes with
    rocm_gfx: str | None = None  # targets of this machine that AMD has ROCm wheels for on Windows: "gfx1102", or "none"


def directml_facts(machine: Machine, today: date | None = None) -> DirectmlFacts:
    last = last_directml_release()
    torch, torchvision = _pins(machine.torch_directml or TorchDirectml())
    return DirectmlFacts(
        installed=directml_installed(machine),
        wanted=directml_wanted(machine),
        python_has_wheel=_python_has_wheel(machine),
        newest_python_version=_newest_python(last.windows),
        last_version=last.version,
        last_released=last.released,
        last_torch_version=last.torch,
        wanted_torch_version=torch,
        wanted_torchvision_version=torchvision,
        mismatched=_mismatched(machine, torch, torchvision),
        beside_rocm=_beside_rocm(machine),
        pins_matter=True if _asked_for_directml(machine) else negated(_beside_rocm(machine)),
        rocm_gfx=_rocm_gfx(machine),
    )


def complete_directml(machine: Machine) -> Machine:
    """`torch_directml` where packages or exercises tell that it is there, and what its release asks for by table."""
    directml = machine.torch_directml or TorchDirectml()
    package = _package(machine, _PACKAGE)
    listed = machine.packages is not None and (package is not None or not is_partial(machine, "packages"))
    if directml.installed is None and (listed or _exercised(machine)):
        directml = msgspec.structs.replace(directml, installed=package is not None or _exercised(machine))
    if directml.version is None and package is not None and directml.installed:
        directml = msgspec.structs.replace(directml, version=package.version)
    if directml.installed:
        torch, torchvision = _pins(directml)
        directml = msgspec.structs.replace(directml, requires_torch=torch, requires_torchvision=torchvision)
    return machine if directml == TorchDirectml() else msgspec.structs.replace(machine, torch_directml=directml)


def _exercised(machine: Machine) -> bool:
    return any((row.device or "").startswith("privateuseone") for row in machine.exercises or ())


def directml_installed(machine: Machine) -> bool | None:
    return machine.torch_directml.installed if machine.torch_directml else None


def directml_wanted(machine: Machine) -> bool | None:
    """What the user asked for decides; else an installed plugin is there to be used. Where it could not run, where
    another way to a GPU is installed, and where there is no AMD GPU, nobody needs to be asked."""
    asked = machine.intent.backend if machine.intent else None
    if asked not in (None, "auto"):
        return asked == "directml"
    if directml_installed(machine):
        return True
    torch, gpus = machine.torch, machine.gpus
    other_way = torch is not None and (bool(torch.is_available) or torch.hip not in (None, "none"))
    no_amd_gpu = gpus is not None and not any(gpu.vendor == "amd" for gpu in gpus)
    return False if _cannot_run(machine) or other_way or no_amd_gpu else None


def _cannot_run(machine: Machine) -> bool:
    system = machine.os
    return system is not None and (system.kind == "macos" or (system.kind == "linux" and system.wsl == 0))


def _python_has_wheel(machine: Machine) -> bool | None:
    """Of any release. None where this cannot be told, and on systems that have no DirectML."""
    python, system = machine.python, machine.os.kind if machine.os else None
    if python is None or system not in ("windows", "linux"):
        return None
    if _is_no_x86_64_cpython(python):
        return False
    version = parsed(python.version)
    if version is None or len(version.release) < 2:
        return None
    tag = f"cp{version.release[0]}{version.release[1]}"
    return any(tag in release.tags(system) for release in directml_table().rows)


def _is_no_x86_64_cpython(python: Python) -> bool:
    another_machine = python.machine is not None and python.machine.lower() not in _X86_64
    another_kind = python.implementation not in (None, "cpython") or bool(python.free_threaded)
    return python.bits == 32 or another_machine or another_kind


def _newest_python(tags: tuple[str, ...]) -> str:
    minor = max(int(tag[3:]) for tag in tags)
    return f"3.{minor}"


def _pins(directml: TorchDirectml) -> tuple[str | None, str | None]:
    """torch and torchvision that it asks for: by its own metadata, else by table."""
    release = directml_release(directml.version)
    torch = directml.requires_torch or (release.torch if release else None)
    return torch, directml.requires_torchvision or (release.torchvision if release else None)


def _mismatched(machine: Machine, torch: str | None, torchvision: str | None) -> tuple[str, ...] | None:
    """What does not fit, in words. A release that asks for nothing fits everything."""
    if not directml_installed(machine):
        return None
    words = [text for text in (_torch_words(machine, torch), _conda_words(machine)) if text]
    vision = _package(machine, "torchvision")
    if torchvision is not None and vision is not None and _same_release(vision.version, torchvision) is False:
        words.append(f"torchvision is {vision.version}, it asks for {torchvision}")
    if words:
        return tuple(words)
    version = machine.torch_directml.version if machine.torch_directml else None
    asks_for_nothing = torch is None and directml_release(version) is not None
    known = torch is not None and machine.torch is not None and parsed(machine.torch.version) is not None
    return () if asks_for_nothing or known else None


def _torch_words(machine: Machine, wanted: str | None) -> str | None:
    torch = machine.torch
    if wanted is None or torch is None:
        return None
    if torch.installed is False:
        return f"torch is not installed, it asks for {wanted}"
    version = parsed(torch.version)
    if version is None:
        return None
    if _same_release(torch.version, wanted) is False:
        return f"torch is {torch.version}, it asks for {wanted}"
    # On Linux the release that it asks for is the one for CUDA.
    on_windows = machine.os is not None and machine.os.kind == "windows"
    if on_windows and (version.local or "").startswith("cu"):
        return f"torch is {torch.version}, it asks for the CPU build of {wanted}"
    return None


def _conda_words(machine: Machine) -> str | None:
    torch, plugin = _package(machine, "torch"), _package(machine, _PACKAGE)
    if torch is None or plugin is None or (torch.installer, plugin.installer) != ("conda", "pip"):
        return None
    return "torch comes from conda, it comes from pip"


def _same_release(found: str | None, wanted: str) -> bool | None:
    """Equal but for the local part (+cpu)."""
    one, other = parsed(found), parsed(wanted)
    return None if one is None or other is None else one.public == other.public


def _asked_for_directml(machine: Machine) -> bool:
    return machine.intent is not None and machine.intent.backend == "directml"


def _beside_rocm(machine: Machine) -> bool | None:
    torch = machine.torch
    version = parsed(torch.version) if torch else None
    if torch is None or torch.installed is False:
        return None if torch is None else False
    if torch.hip is not None:
        return torch.hip != "none"
    return None if version is None else (version.local or "").startswith("rocm")


def _rocm_gfx(machine: Machine) -> str | None:
    if machine.gpus is None or machine.os is None or machine.os.kind != "windows":
        return None
    targets = [gpu.gfx for gpu in machine.gpus if gpu.vendor == "amd"]
    if None in targets:
        return None
    found = [gfx for gfx in dict.fromkeys(targets) if (row := gfx_row(gfx)) is not None and row.windows is not None]
    return " ".join(str(gfx) for gfx in found) or "none"


def _package(machine: Machine, name: str) -> Package | None:
    packages = machine.packages or {}
    return packages.get(name) or packages.get(name.replace("-", "_"))
