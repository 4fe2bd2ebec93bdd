"""What a document does not know: its rows of `unknowns`, and maps of which only some names were told."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.machine.model import Machine, UnknownFact

#: Maps in which a missing name means "not set" and "not installed", unless a row of `unknowns` is about the map.
MAPS = ("env", "packages")


def without_known_unknowns(machine: Machine) -> Machine:
    """The machine with one row per unknown fact (the first), sorted, and none for a fact that is known after all."""
    rows: dict[str, UnknownFact] = {}
    for row in machine.unknowns or ():
        if row.fact not in rows and not is_known(machine, row.fact):
            rows[row.fact] = row
    ordered = tuple(sorted(rows.values(), key=lambda row: row.fact))
    return msgspec.structs.replace(machine, unknowns=ordered)


def is_known(value: Any, dotted: str) -> bool:
    """True where `dotted` leads to a value. In a mapping the rest may be one key (`nodes./dev/kfd.gid`); a list knows
    a field when each of its items does."""
    if value is None or not dotted:
        return value is not None
    if isinstance(value, tuple):
        return all(is_known(item, dotted) for item in value)
    if isinstance(value, dict):
        return any(
            is_known(inner, dotted.removeprefix(key).removeprefix("."))
            for key, inner in value.items()
            if dotted == key or dotted.startswith(key + ".")
        )
    name, _, rest = dotted.partition(".")
    return is_known(getattr(value, name, None), rest)


def is_partial(machine: Any, name: str) -> bool:
    """Is a map there (`"env"`, `"packages"`), and were only some of its names told? A name that is missing in it is
    then unknown.

    A pasted text lists what its author's program prints, and may be cut. Asked of a `Machine` or of a part of one.
    """
    told = getattr(machine, name, None) is not None
    return told and any(row.fact == name for row in getattr(machine, "unknowns", None) or ())
