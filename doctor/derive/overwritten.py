"""A ROCm build of PyTorch that another package put something else in the place of, and what is left of it.

What is left proves that a ROCm build was wanted; the GPU need not be known. `rocm-bootstrap` proves nothing: it is a
table that other tools use (this one too).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import ClassVar

from packaging.requirements import InvalidRequirement, Requirement

from doctor.derive.wheels import PARTNERS
from doctor.knowledge.rocm_wheels import index_of_rocm
from doctor.machine.model import Fact, Machine, Package
from doctor.machine.unknowns import is_partial

#: Packages that only a ROCm build of torch brings along (of PyTorch: triton; of AMD: the rest).
_LEFTOVER = re.compile(r"(pytorch-)?triton-rocm|rocm-sdk-core|rocm-sdk-libraries(-.+)?|rocm-sdk-device-.+|amd-torch.*")
#: What carries the build in its version. AMD's triton has everybody's name: `triton 3.7.1+git0263a6a6.rocm7.14.0`.
_BUILT_FOR_A_GPU = ("torchvision", "torchaudio", "triton")
_LOCAL_ROCM = re.compile(r"rocm(\d{1,2}(?:\.\d{1,2}){1,2})")
_OTHER_BUILD = re.compile(r"cpu|cu\d{2,4}")

#: Packages that one command installs carry times close to each other.
_SAME_INSTALL_SECONDS = 900


class OverwrittenFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("rocm_leftovers", "foreign_partners", "by_package", "restore_index_url", "restore_packages"), ("packages",)
    )
    rocm_leftovers: tuple[str, ...] | None = None  # what only a ROCm build brings: "torchvision 0.20.1+rocm6.2"
    foreign_partners: tuple[str, ...] | None = None  # torchvision and torchaudio of a CPU or CUDA build
    by_package: str | None = None  # installed right beside torch, and asks for any torch: it probably brought this one
    restore_index_url: str | None = None  # where the ROCm build came from, told by what is left of it
    restore_packages: tuple[str, ...] | None = None  # what belongs together, as far as it is installed


def overwritten_facts(machine: Machine, today: date | None = None) -> OverwrittenFacts:
    packages = machine.packages
    if packages is None:
        return OverwrittenFacts()
    local = {name: _local(packages[name]) for name in _BUILT_FOR_A_GPU if name in packages}
    rocm = [name for name, part in local.items() if "rocm" in part]
    foreign = [name for name, part in local.items() if _OTHER_BUILD.fullmatch(part)]
    leftovers = [name for name in packages if _LEFTOVER.fullmatch(name.lower())]
    return OverwrittenFacts(
        rocm_leftovers=_named(machine, packages, (*leftovers, *rocm)),
        foreign_partners=_named(machine, packages, foreign),
        by_package=package_beside_torch(packages),
        restore_index_url=_restore_index([local[name] for name in rocm], packages.get("torch")),
        restore_packages=tuple(name for name in PARTNERS if name == "torch" or name in packages),
    )


def _local(package: Package) -> str:
    return (package.version or "").partition("+")[2]


def _named(machine: Machine, packages: Mapping[str, Package], names: Sequence[str]) -> tuple[str, ...] | None:
    """Each with its version. That there is none is not known where only some packages were told."""
    if not names and is_partial(machine, "packages"):
        return None
    return tuple(f"{name} {packages[name].version or ''}".strip() for name in names)


def _restore_index(partners: list[str], torch: Package | None) -> str | None:
    """The index of the one ROCm release that torch's partners, or torch itself, were built for."""
    locals_ = partners or [_local(torch or Package())]
    releases = {match[1] for part in locals_ if (match := _LOCAL_ROCM.fullmatch(part))}
    return index_of_rocm(releases.pop()) if len(releases) == 1 else None


def package_beside_torch(packages: Mapping[str, Package]) -> str | None:
    """Of those that ask for a torch without naming the one, the one whose installation is next to torch's."""
    when = _time(packages.get("torch", Package()))
    if when is None:
        return None
    near = []
    for name, package in packages.items():
        time = _time(package)
        if name in PARTNERS or time is None or not any(_asks_for_any_torch(text) for text in package.requires or ()):
            continue
        seconds = abs((time - when).total_seconds())
        if seconds <= _SAME_INSTALL_SECONDS:
            near.append((seconds, name))
    return min(near, key=lambda row: row[0])[1] if near else None


def _asks_for_any_torch(text: str) -> bool:
    if "torch" not in text.lower():  # hundreds of packages ask for something else, and each takes long to parse
        return False
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return False
    pinned = any(each.operator in ("==", "===") and "*" not in each.version for each in wanted.specifier)
    optional = wanted.marker is not None and "extra" in str(wanted.marker)
    return wanted.name.lower() == "torch" and not pinned and not optional


def _time(package: Package) -> datetime | None:
    try:
        when = datetime.fromisoformat((package.installed_at or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)
