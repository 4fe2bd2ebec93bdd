"""Can the target's Python have PyTorch at all?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.derive.versions import parsed
from doctor.knowledge.python_support import wheels_for
from doctor.machine.model import Fact, Machine, Python

#: The first CPython that exists without its global lock.
_FIRST_FREE_THREADED = (3, 13)


class PythonFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "has_wheels": ("python.version", "python.machine", "os.kind"),
        "newest_version": ("python.machine", "os.kind"),
    }
    has_wheels: bool | None = None  # some release of torch has a wheel for this Python on this platform
    newest_version: str | None = None  # the newest Python that has one here: "3.15"


def python_facts(machine: Machine, today: date | None = None) -> PythonFacts:
    python, system = machine.python, machine.os.kind if machine.os else None
    if python is None or system is None or python.machine is None:
        return PythonFacts(has_wheels=_has_wheels(python))
    tags = wheels_for(system, python.machine)
    if tags is None:
        return PythonFacts(has_wheels=_has_wheels(python))
    # `cp315` before `cp315t`, and both behind `cp39`: the table is in ascending order.
    newest = [tag for tag in tags if not tag.endswith("t")][-1]
    return PythonFacts(has_wheels=_has_wheels(python, tags), newest_version=_version_of(newest))


def _has_wheels(python: Python | None, tags: Mapping[str, object] | None = None) -> bool | None:
    """False where there can be no wheel; without the platform's tags only what holds on every platform is known."""
    if python is None:
        return None
    if python.bits == 32 or python.implementation not in (None, "cpython"):
        return False
    version = parsed(python.version)
    if tags is None or version is None or len(version.release) < 2:
        return None
    tag = f"cp{version.release[0]}{version.release[1]}"
    if python.free_threaded is not None or version.release[:2] < _FIRST_FREE_THREADED:
        return (f"{tag}t" if python.free_threaded else tag) in tags
    with_lock, without_lock = tag in tags, f"{tag}t" in tags
    return with_lock if with_lock == without_lock else None


def _version_of(tag: str) -> str:
    return f"{tag[2]}.{tag[3:]}"
