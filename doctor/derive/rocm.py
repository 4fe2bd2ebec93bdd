"""ROCm and its libraries: do they belong together, and which HSA runtime does PyTorch take?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.machine.model import Fact, Machine, Package, Rocm
from doctor.machine.unknowns import is_partial

_ROCM_FOLDER = re.compile(r"rocm-?(\d+)(?=[./]|$)")
_SHARED_LIBRARY = re.compile(r"(lib[\w+-]+?)\.so(?:\.(\d+))?(?:\.|$)")

#: Libraries of which a process must not hold two copies.
_ONE_OF_EACH = ("libamdhip64", "librocblas", "libhsa-runtime64", "libMIOpen")

#: What WSL takes from Windows; without either no GPU is reached.
WSL_NEEDS = ("libdxcore.so", "libd3d12.so")


class RocmFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "major": ("rocm.version",),
        "torch_major": ("torch.hip",),
        "foreign_library_path": ("rocm.library_path", "torch.hip", "rocm.version"),
        "loaded_twice": ("rocm.loaded",),
        "torch_uses_system": ("packages", "torch.bundles"),
        "wheel_has_hsa_runtime": ("torch.bundles",),
        "hsa_runtime_from": ("rocm.hsa_runtime", "torch.bundles"),
        "wsl2": ("os.wsl",),
        "wsl_missing": ("rocm.wsl_libraries",),
        "wsl_nvidia": ("rocm.wsl_libraries",),
        "dxg_enabled": ("env",),
    }
    major: int | None = None  # of the ROCm of the system; 0: none
    torch_major: int | None = None  # of the ROCm that torch was built for; 0: none
    foreign_library_path: str | None = None  # a folder in LD_LIBRARY_PATH of another ROCm than torch's; "none"
    loaded_twice: str | None = None  # a library of which the process of torch holds two copies: "libamdhip64"; "none"
    torch_uses_system: bool | None = None  # this torch brings no ROCm of its own (a distribution's build)
    wheel_has_hsa_runtime: bool | None = None  # torch/lib holds libhsa-runtime64
    hsa_runtime_from: str | None = None  # where torch takes it from: wheel, rocm (/opt), distribution, none
    wsl2: bool | None = None
    wsl_missing: str | None = None  # what /usr/lib/wsl/lib lacks, in words; "none"
    wsl_nvidia: bool | None = None  # the Windows driver in there is NVIDIA's
    dxg_enabled: bool | None = None  # HSA_ENABLE_DXG_DETECTION=1


def rocm_facts(machine: Machine, today: date | None = None) -> RocmFacts:
    rocm = machine.rocm or Rocm()
    torch_major = _major(machine.torch.hip if machine.torch else None)
    bundled = _bundles_hsa(machine)
    libraries = rocm.wsl_libraries
    return RocmFacts(
        major=_major(rocm.version),
        torch_major=torch_major,
        foreign_library_path=_foreign(rocm, torch_major),
        loaded_twice=None if rocm.loaded is None else _twice(rocm.loaded),
        torch_uses_system=_uses_system(machine, bundled),
        wheel_has_hsa_runtime=bundled,
        hsa_runtime_from=_runtime_from(rocm.hsa_runtime, bundled),
        wsl2=None if machine.os is None or machine.os.wsl is None else machine.os.wsl == 2,
        wsl_missing=None if libraries is None else _listed([name for name in WSL_NEEDS if name not in libraries]),
        wsl_nvidia=None if libraries is None else any(name.startswith("libcuda") for name in libraries),
        dxg_enabled=_dxg_enabled(machine),
    )


def _major(version: str | None) -> int | None:
    if version == "none":
        return 0
    match = re.match(r"(\d{1,3})\.", version or "")
    return int(match[1]) if match else None


def _dxg_enabled(machine: Machine) -> bool | None:
    told = (machine.env or {}).get("HSA_ENABLE_DXG_DETECTION")
    return None if machine.env is None or (told is None and is_partial(machine, "env")) else told == "1"


def _foreign(rocm: Rocm, torch_major: int | None) -> str | None:
    """A folder without a number in its name is that of the system's ROCm."""
    if rocm.library_path is None:
        return None
    unsure = False
    for folder in rocm.library_path:
        named = _ROCM_FOLDER.search(folder)
        major = int(named[1]) if named else _major(rocm.version)
        if major is None or torch_major is None:
            unsure = True
        elif major != torch_major:
            return folder
    return None if unsure else "none"


def _twice(loaded: tuple[str, ...]) -> str:
    files: dict[str, set[str]] = {}
    for file in loaded:
        match = _SHARED_LIBRARY.match(file)
        if match and match[1] in _ONE_OF_EACH:
            files.setdefault(match[1], set()).add(file)
    return next((name for name, copies in sorted(files.items()) if len(copies) > 1), "none")


def _bundles_hsa(machine: Machine) -> bool | None:
    bundles = machine.torch.bundles if machine.torch else None
    return None if bundles is None else any(name.startswith("libhsa-runtime64") for name in bundles)


def _uses_system(machine: Machine, bundled: bool | None) -> bool | None:
    if bundled is not None:
        return not bundled
    installer = (machine.packages or {}).get("torch", Package()).installer
    return True if installer == "distro" else None


def _runtime_from(path: str | None, bundled: bool | None) -> str | None:
    """The wheel's own goes before any other: its libraries look beside themselves first."""
    if bundled or (path or "").endswith(("/torch/lib/libhsa-runtime64.so", "/torch/lib/libhsa-runtime64.so.1")):
        return "wheel"
    if path is None or bundled is None:
        return None
    if path == "none":
        return "none"
    return "rocm" if path.startswith("/opt/") else "distribution"


def _listed(names: list[str]) -> str:
    return " and ".join(names) or "none"
