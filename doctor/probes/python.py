"""The target Python and what is installed for it. Everything here is told by its files; nothing was imported."""

from __future__ import annotations

from doctor.machine.model import Package, Python
from doctor.probes.found import Found, unknown
from doctor.probes.interpreter import ORIGIN, Distribution, Interpreter, interpreter
from doctor.sources.base import Missing, Source

#: What tools write into the INSTALLER file of a package, and the word of the machine document.
_DISTRIBUTORS = ("debian", "ubuntu", "rpm", "dnf", "apt", "pacman", "portage", "nix", "guix", "homebrew", "brew")

#: Only Debian's own tools install here.
_DEBIAN_PACKAGES = "/usr/lib/python3/dist-packages"


def probe(source: Source) -> Found:
    """`python` and `packages`."""
    told = interpreter(source)
    if isinstance(told, Missing):
        return Found(unknowns=(unknown("python", told), unknown("packages", told)))
    facts = {"python": _python(told), "packages": _packages(told)}
    return Found(facts, origins={"python": ORIGIN, "packages": ORIGIN})


def _python(told: Interpreter) -> Python:
    return Python(
        version=told.version,
        implementation=told.implementation,
        bits=told.bits,
        machine=told.machine,
        free_threaded=told.free_threaded,
        venv=told.venv,
        manager=_manager(told),
        executable=told.path or told.executable,
        chosen_by=told.chosen_by,
        others_with_torch=told.others_with_torch,
    )


def _manager(told: Interpreter) -> str | None:
    """Who installs packages for this Python, as far as its files tell."""
    if told.prefix is None:
        return None
    parts = told.prefix.replace("\\", "/").split("/")
    if "uv" in (told.pyvenv or {}):
        return "uv"
    if told.conda is not None:
        return "conda"
    if "pypoetry" in parts:
        return "poetry"
    if told.venv:
        return "pip"
    # Pythons that uv downloads are marked as externally managed as well; they lie in a folder of uv's.
    if told.externally_managed and "uv" in parts:
        return "uv"
    return "system" if told.externally_managed or told.prefix == "/usr" else "pip"


def _packages(told: Interpreter) -> dict[str, Package] | None:
    """Every installed package by its normalised name; what only conda knows of (libraries, mostly) as well."""
    if told.packages is None:
        return None
    by_conda = {record.name.lower(): record for record in told.conda or ()}
    packages = {
        record.name.lower(): Package(version=record.version, installer="conda") for record in by_conda.values()
    }
    for package in told.packages:
        record = by_conda.get(_conda_name(package.name))
        same = record is not None and record.version == (package.version or "").partition("+")[0]
        packages[package.name] = Package(
            version=package.version,
            installer=_installer(package, from_conda=same),
            requires=package.requires,
            installed_at=package.installed_at,
        )
    return dict(sorted(packages.items()))


def _conda_name(name: str) -> str:
    return "pytorch" if name == "torch" else name


def _installer(package: Distribution, *, from_conda: bool) -> str | None:
    """Conda and uv sign like pip does; a package of the system's own manager signs as it likes, or not at all."""
    words = (package.installer or "").split()
    signed = words[0].lower() if words else None
    if signed is None and from_conda:
        return "conda"
    if signed in _DISTRIBUTORS or (signed is None and package.location == _DEBIAN_PACKAGES):
        return "distro"
    return signed
