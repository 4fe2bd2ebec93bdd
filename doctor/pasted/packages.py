"""Lists of packages as facts: `pip list`, `pip freeze`, `conda list`, and the rows of collect_env."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from doctor.machine.model import Machine, Package, Python, Torch, TorchDirectml
from doctor.pasted.parts import Part, PartReader
from doctor.texts.conda_list import CondaList, build_of, by_pip, is_conda_headline, pip_name, read_conda_list
from doctor.texts.package_row import ListedPackage
from doctor.texts.pip_list import PipList, is_frozen, is_pip_headline, read_pip_freeze, read_pip_list

_DIRECTML = "torch-directml"


def packages_of(pip: Sequence[ListedPackage], conda: Sequence[ListedPackage] | None) -> dict[str, Package]:
    """Every package by the name that pip gives it. pip lists what conda installed as well; only conda knows which."""
    rows = {pip_name(row): row for row in conda or ()}
    found = {
        name: Package(version=row.version, installer="pip" if by_pip(row) else "conda") for name, row in rows.items()
    }
    for package in pip:
        row = rows.get(package.normal_name)
        found[package.normal_name] = Package(version=package.version, installer=_installer(package, row))
    return dict(sorted(found.items()))


def _installer(package: ListedPackage, row: ListedPackage | None) -> str | None:
    if row is None:
        return None
    if by_pip(row):
        return "pip"
    return "conda" if row.version == package.version.partition("+")[0] else None


def directml_of(packages: dict[str, Package], *, whole: bool) -> TorchDirectml | None:
    """What a list says of the plugin: that it is missing only where the list holds every name like it."""
    package = packages.get(_DIRECTML)
    if package is not None:
        return TorchDirectml(installed=True, version=package.version)
    return TorchDirectml(installed=False) if whole else None


def torch_of(packages: dict[str, Package], conda: Sequence[ListedPackage], *, whole: bool) -> Torch | None:
    """What a list says of PyTorch. The version of a wheel may lack the local part that PyTorch itself states."""
    package = packages.get("torch")
    if package is None:
        # A list that has torchvision and no torch lacks a row.
        return Torch(installed=False) if whole and not any("torch" in name for name in packages) else None
    row = next((row for row in conda if pip_name(row) == "torch" and not by_pip(row)), None)
    build = build_of(row) if row is not None else None
    if build is None:
        return Torch(installed=True, version=package.version)
    return Torch(installed=True, version=package.version, build=build[0], cuda=build[1], hip="none")


def _part(kind: str, machine: Machine, span: tuple[int, int], *, whole: bool) -> Part:
    areas = ("packages", "torch", "torch_directml", "python")
    origins = {area: kind for area in areas if getattr(machine, area) is not None}
    return Part(kind, machine, origins, span, partial=() if whole else ("packages",))


def read_pip(text: str) -> Part | None:
    """The first list of pip's in a text."""
    *lines, _ = text.split("\n")
    for at, line in enumerate(lines):
        listed: PipList | None = None
        if is_pip_headline(line):
            listed = read_pip_list(lines, at)
        elif is_frozen(line) and (at == 0 or not is_frozen(lines[at - 1])):
            listed = read_pip_freeze(lines, at)
        if listed is not None:
            packages = packages_of(listed.packages, None)
            return _part("pip-list", _machine(packages, (), listed.whole), (at, listed.end), whole=listed.whole)
    return None


def read_conda(text: str) -> Part | None:
    """The first list of conda's in a text."""
    *lines, _ = text.split("\n")
    for at, line in enumerate(lines):
        listed: CondaList | None = read_conda_list(lines, at) if is_conda_headline(line) else None
        if listed is not None:
            packages = packages_of((), listed.packages)
            machine = _machine(packages, listed.packages, listed.whole)
            return _part("conda-list", machine, (at, listed.end), whole=listed.whole)
    return None


def _machine(packages: dict[str, Package], conda: Sequence[ListedPackage], whole: bool) -> Machine:
    facts: dict[str, Any] = {
        "packages": packages,
        "torch": torch_of(packages, conda, whole=whole),
        "torch_directml": directml_of(packages, whole=whole),
    }
    python = packages.get("python") if conda else None
    if python is not None:
        facts["python"] = Python(version=python.version, manager="conda")
    return Machine(**facts)


def _mentions(*words: str) -> Callable[[str], bool]:
    return lambda text: any(word in text for word in words)


PIP_READER = PartReader("pip-list", _mentions("==", "Package ", " list", " freeze"), read_pip)
CONDA_READER = PartReader("conda-list", _mentions("packages in environment", "Name ", "name "), read_conda)
