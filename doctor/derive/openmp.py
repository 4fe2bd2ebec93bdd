"""Which OpenMP runtimes a process with torch and NumPy has loaded, and whether they get in each other's way.

Only libiomp5, libomp and libgomp count. Microsoft's vcomp stands beside any of them by design, `libiompstubs5md` is no
runtime, and OpenBLAS with pthreads has none. Runtimes that one package brings in one folder were built together: the
Windows wheel of torch has libiomp5md and libomp140 side by side. Two copies of libgomp alone are usual with wheels.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.machine.model import Fact, Library, Machine
from doctor.machine.unknowns import is_partial

_FAMILIES = {"libiomp": "libiomp5", "libomp": "libomp", "libgomp": "libgomp"}
_NO_RUNTIMES = ("libiompstubs", "libompd", "libomptarget")

#: What Intel's and LLVM's runtimes take for yes, by its first letters.
_YES = ("t", "y", "1", "on", "enabled", ".t")


class OpenmpFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "files": ("libraries",),
        "conflict": ("libraries",),
        "libgomp_copies": ("libraries",),
        "duplicates_allowed": ("env.KMP_DUPLICATE_LIB_OK",),
        "conflict_may_hide": ("env.KMP_DUPLICATE_LIB_OK",),
    }
    files: tuple[str, ...] | None = None  # of the runtimes that count
    conflict: bool | None = None  # more than one owner, and at least one runtime that is not libgomp
    libgomp_copies: int | None = None
    duplicates_allowed: bool | None = None  # KMP_DUPLICATE_LIB_OK says yes
    conflict_may_hide: bool | None = None  # … and what is loaded is not known


def openmp_facts(machine: Machine, today: date | None = None) -> OpenmpFacts:
    allowed = _duplicates_allowed(machine)
    if machine.libraries is None:
        return OpenmpFacts(duplicates_allowed=allowed, conflict_may_hide=allowed)
    runtimes = {_file(library): library for library in machine.libraries if _family(library) is not None}
    families = {_family(library) for library in runtimes.values()}
    return OpenmpFacts(
        files=tuple(runtimes),
        conflict=_conflict(list(runtimes.values()), families - {"libgomp"} != set()),
        libgomp_copies=sum(_family(library) == "libgomp" for library in runtimes.values()),
        duplicates_allowed=allowed,
        conflict_may_hide=False,
    )


def _duplicates_allowed(machine: Machine) -> bool | None:
    env = machine.env
    if env is None or ("KMP_DUPLICATE_LIB_OK" not in env and is_partial(machine, "env")):
        return None
    return env.get("KMP_DUPLICATE_LIB_OK", "").strip().lower().startswith(_YES)


def _family(library: Library) -> str | None:
    name = (library.name or "").lower()
    if library.kind != "openmp" or name.startswith(_NO_RUNTIMES):
        return None
    return next((family for prefix, family in _FAMILIES.items() if name.startswith(prefix)), None)


def _file(library: Library) -> str:
    return (library.path or library.name or "").replace("\\", "/")


def _conflict(runtimes: list[Library], not_libgomp_alone: bool) -> bool | None:
    if len(runtimes) < 2 or not not_libgomp_alone:
        return False
    owners = {_owner(library) for library in runtimes}
    return None if None in owners else len(owners) > 1


def _owner(library: Library) -> str | None:
    """The folder of a runtime, in one spelling; else the package that brought it."""
    folder = _file(library).rpartition("/")[0].lower()
    return folder or library.package
