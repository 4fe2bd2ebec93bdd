"""What follows from how torch was installed and what it is asked to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.derive.versions import parsed, release_below
from doctor.machine.model import Fact, Machine, NoneWord, Package
from doctor.machine.unknowns import is_partial

#: Torch wheels from here on were built against NumPy 2 (pytorch#131668: on Windows only from 2.4.1 on).
_NUMPY2_SINCE = (2, 3)
_NUMPY2_SINCE_ON_WINDOWS = (2, 4, 1)
_NUMPY_COMPLAINT = re.compile(r"_ARRAY_API not found|compiled using NumPy 1\.x", re.IGNORECASE)
#: What torch also says where NumPy is not installed, or is broken in another way.
_NUMPY_MISSED = re.compile(r"failed to initialize numpy|numpy is not available", re.IGNORECASE)
_NO_NUMPY = re.compile(r"No module named '?numpy\b")
#: `numpy>=1.23; python_version < "3.13"`, but not `numpy-stl`, nor `numpy; extra == "opt"`.
_ASKS_FOR_NUMPY = re.compile(r"\s*numpy(?![\w.-]*[\w])(?!.*;.*\bextra\b)", re.IGNORECASE)
_WHEEL_INDEX = re.compile(r"cpu|cu\d{2,4}|rocm\d(\.\d{1,2}){1,2}")

#: Who builds torch against the NumPy that it installs.
_BUILD_THEIR_OWN = ("conda", "distro", "source")


class PytorchFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cpu_backend": ("intent.backend", "torch.build", "torch.is_available"),
        "numpy_too_new": ("packages.numpy.version", "torch.version", "os.kind"),
        "numpy_complaint": ("torch.import_error", "exercises", "packages.numpy.version", "torch.version", "os.kind"),
        "numpy_unused": ("packages",),
        "bf16_time_ratio": ("measurements.dtype.float32_seconds", "measurements.dtype.bfloat16_seconds"),
        "reinstall_index_url": ("torch.version", "packages.torch.installer"),
    }
    cpu_backend: bool | None = None  # is it the CPU that does the work?
    numpy_too_new: bool | None = None  # NumPy 2 beside a wheel that was built against NumPy 1
    numpy_complaint: bool = False  # torch was seen to say so
    numpy_unused: bool = False  # no installed package asks for NumPy
    bf16_time_ratio: float | NoneWord = "none"  # measured: bfloat16 takes this many times as long as float32
    reinstall_index_url: str | None = None  # where this very wheel comes from


def pytorch_facts(machine: Machine, today: date | None = None) -> PytorchFacts:
    return PytorchFacts(
        cpu_backend=cpu_backend(machine),
        numpy_too_new=_numpy_too_new(machine),
        numpy_complaint=_numpy_complaint(machine),
        numpy_unused=_numpy_unused(machine.packages or {}),
        bf16_time_ratio=_bf16_time_ratio(machine),
        reinstall_index_url=_reinstall_index_url(machine),
    )


def cpu_backend(machine: Machine) -> bool | None:
    """Does the CPU do the work? What the user asked for decides, else what the build can use."""
    asked = machine.intent.backend if machine.intent else None
    if asked not in (None, "auto"):
        return asked == "cpu"
    torch = machine.torch
    directml = machine.torch_directml.installed if machine.torch_directml else None
    if torch is None or torch.is_available:
        return None if torch is None else False
    no_gpu_in_torch = torch.build == "cpu" or torch.is_available is False
    on_windows_or_wsl = machine.os is not None and (machine.os.kind == "windows" or bool(machine.os.wsl))
    if directml is None and machine.os is not None and machine.os.kind is not None and not on_windows_or_wsl:
        directml = False
    return True if no_gpu_in_torch and directml is False else None


def _numpy_too_new(machine: Machine) -> bool | None:
    packages, torch = machine.packages, machine.torch
    if packages is None or torch is None:
        return None
    numpy, wheel = packages.get("numpy"), packages.get("torch", Package())
    if any(row.name == "numpy-bridge" and row.outcome == "ok" for row in machine.exercises or ()):
        return False
    if numpy is None:
        return None if is_partial(machine, "packages") else False
    if wheel.installer in _BUILD_THEIR_OWN or numpy.installer in _BUILD_THEIR_OWN or torch.build == "source":
        return False
    system = machine.os.kind if machine.os else None
    numpy1 = release_below(numpy.version, (2,))
    older = release_below(torch.version, _NUMPY2_SINCE)
    if older is False and system != "linux":
        older_on_windows = release_below(torch.version, _NUMPY2_SINCE_ON_WINDOWS)
        older = older_on_windows if system == "windows" or older_on_windows is False else None
    if numpy1 or older is False:
        return False
    return None if numpy1 is None or older is None else True


def _numpy_complaint(machine: Machine) -> bool:
    said = [machine.torch.import_error if machine.torch else None, *(row.detail for row in machine.exercises or ())]
    heard = [text for text in said if text and not _NO_NUMPY.search(text)]
    if any(_NUMPY_COMPLAINT.search(text) for text in heard):
        return True
    return _numpy_too_new(machine) is not False and any(_NUMPY_MISSED.search(text) for text in heard)


def _numpy_unused(packages: Mapping[str, Package]) -> bool:
    """True only where the requirements of every package are known, and none asks for NumPy."""
    if "numpy" not in packages or any(package.requires is None for package in packages.values()):
        return False
    return not any(asks_for_numpy(line) for package in packages.values() for line in package.requires or ())


def asks_for_numpy(requirement: str) -> bool:
    """Does a line of a package's requirements ask for NumPy, and not only for an extra?"""
    return _ASKS_FOR_NUMPY.match(requirement) is not None


def _bf16_time_ratio(machine: Machine) -> float | NoneWord:
    times = machine.measurements.dtype if machine.measurements else None
    if times is None or times.bfloat16_seconds is None or not times.float32_seconds:
        return "none"
    return times.bfloat16_seconds / times.float32_seconds


def _reinstall_index_url(machine: Machine) -> str | None:
    """The index of a released pip wheel; None for nightlies, AMD's own wheels, conda, distributions and own builds."""
    torch, wheel = machine.torch, (machine.packages or {}).get("torch", Package())
    version = parsed(torch.version if torch else None)
    if torch is None or version is None or version.is_prerelease or wheel.installer not in ("pip", "uv"):
        return None
    if version.local is None:
        return "https://pypi.org/simple" if torch.hip == "none" else None
    return f"https://download.pytorch.org/whl/{version.local}" if _WHEEL_INDEX.fullmatch(version.local) else None
