"""AMD's CPU generations by family and model (`rules/knowledge/zen.yaml`)."""

from __future__ import annotations

from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed


class ZenRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models `models[0]` to `models[1]` of one family. What a hypervisor hides or a BIOS cuts is not in here."""

    family: int
    models: tuple[int, int]
    generation: str
    codename: str
    isa: str
    vector_width_bits: int
    dumps: int
    linux: str | None = None
    l3_per_die: int | None = None
    one_die: bool = False
    hybrid: bool = False


class ZenTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`instruction_sets` maps a row's `isa` to the fields of `Isa` that the silicon has; it has no others."""

    source: str
    sources: dict[str, str]
    date: str
    instruction_sets: dict[str, tuple[str, ...]]
    rows: tuple[ZenRow, ...]


@cache
def zen_table() -> ZenTable:
    """The whole table. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "zen.yaml", ZenTable)


def zen_row(vendor: str | None, family: int | None, model: int | None) -> ZenRow | None:
    """The row of a CPU, or None where it is no AMD (or Hygon) CPU or the table does not know the model."""
    if vendor not in ("AuthenticAMD", "HygonGenuine") or family is None or model is None:
        return None
    for row in zen_table().rows:
        if row.family == family and row.models[0] <= model <= row.models[1]:
            return row
    return None


def silicon_has(row: ZenRow) -> frozenset[str]:
    """The names of the `Isa` fields that chips of this row have."""
    return frozenset(zen_table().instruction_sets[row.isa])
