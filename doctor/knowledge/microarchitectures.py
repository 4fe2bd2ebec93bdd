"""archspec's table of microarchitectures and the CPU features each needs, as data.

The JSON file inside the installed archspec is read directly: `import archspec.cpu` takes 25 ms, and its `detect`
module looks at the running machine. Only the x86-64 part is kept.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

ROOT = "x86_64"


class Microarchitecture(msgspec.Struct, frozen=True):
    """One entry. `ancestors` are all entries whose code it runs; `vendor` is `generic` for the x86-64 levels."""

    name: str
    vendor: str
    features: frozenset[str]
    ancestors: frozenset[str]


class _Entry(msgspec.Struct):
    parents: list[str] = msgspec.field(name="from")
    vendor: str
    features: list[str]


class _File(msgspec.Struct):
    microarchitectures: dict[str, _Entry]


@cache
def microarchitectures() -> tuple[Microarchitecture, ...]:
    """The x86-64 entries, the generic root among them. Empty where archspec or its table is not installed."""
    try:
        text = (files("archspec") / "json" / "cpu" / "microarchitectures.json").read_bytes()
        entries = msgspec.json.decode(text, type=_File).microarchitectures
    except (ModuleNotFoundError, OSError, msgspec.MsgspecError):
        return ()
    found = []
    for name, entry in entries.items():
        ancestors = _ancestors(name, entries)
        if ROOT in ancestors | {name}:
            found.append(Microarchitecture(name, entry.vendor, frozenset(entry.features), ancestors))
    return tuple(found)


def _ancestors(name: str, entries: dict[str, _Entry]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(entries[name].parents)
    while waiting:
        parent = waiting.pop()
        if parent not in found and parent in entries:
            found.add(parent)
            waiting += entries[parent].parents
    return frozenset(found)
