"""How many L3 groups (AMD: CCX) a package has, from its model and its cores (`rules/knowledge/l3_groups.yaml`).

For texts that tell the cores and not the caches. It holds on bare metal only, with every core switched on: a hypervisor
makes up caches as it likes. What the table leaves open is unknown: a Ryzen 3 3100 has two groups and a 3300X one.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed

_WORDS = {"Dual": 2, "Triple": 3, "Quad": 4, "Six": 6, "Eight": 8}
_NAMED_CORES = re.compile(rf"\b(\d{{1,3}}|{'|'.join(_WORDS)})-Cores?\b")


class L3Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """See the head of the table for each field."""

    family: int
    models: tuple[int, int]
    name: str = ""
    units: int | None = None
    unit_cores: int | None = None
    groups: int
    cores: int
    mib: int | None = None
    unequal: bool = False


class L3Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]
    date: str
    rows: tuple[L3Row, ...]


@cache
def l3_table() -> L3Table:
    """The whole table. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "l3_groups.yaml", L3Table)


def l3_row(family: int | None, model: int | None, name: str | None) -> L3Row | None:
    """The row of an AMD processor, or None where the table does not know it."""
    if family is None or model is None:
        return None
    rows = (row for row in l3_table().rows if row.family == family and row.models[0] <= model <= row.models[1])
    return next((row for row in rows if row.name in (name or "")), None)


def named_cores(name: str | None) -> int | None:
    """The cores that a processor's own name tells: 16 of `AMD Ryzen 9 5950X 16-Core Processor`."""
    found = _NAMED_CORES.search(name or "")
    return None if found is None else _WORDS.get(found[1]) or int(found[1])


def groups_in_package(row: L3Row, cores: int, name: str | None, l3_mib: float | None = None) -> int | None:
    """L3 groups of a package with `cores` cores and, where that is known, `l3_mib` of L3 in all; None where the table
    leaves more than one answer.

    A package of several dies must have as many cores as its name says: only then is the same number on each die.
    """
    units = row.units if row.unit_cores is None else -(-cores // row.unit_cores)
    if not units or cores < 1:
        return None
    if (units > 1 or row.unit_cores is not None) and (named_cores(name) != cores or cores % units):
        return None
    fewest = -(-cores // units // row.cores) if row.groups else 0
    if row.mib is not None and l3_mib is not None:
        fewest = max(fewest, int(-(-l3_mib // (units * row.mib))))
    return row.groups * units if fewest == row.groups else None


def cores_are_equal(row: L3Row | None, cores: int, groups: int, name: str | None) -> bool:
    """Whether each of several groups of a package has the same number of cores: all are full, or none is off."""
    if row is None or row.unequal or not groups or cores % groups:
        return False
    return cores == groups * row.cores or named_cores(name) == cores


def sizes_are_equal(row: L3Row | None, name: str | None) -> bool:
    """Whether several groups of a package have the same size. X3D: one of two dies has the larger cache."""
    return row is not None and not row.unequal and name is not None and "X3D" not in name.upper()
