"""The width of a processor's memory bus (`rules/knowledge/memory_bus.yaml`)."""

from __future__ import annotations

from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed


class MemoryBusRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    family: int
    first_model: int
    last_model: int
    bits: int
    what: str
    name: str = ""


class MemoryBusTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: tuple[str, ...]
    date: str
    rows: tuple[MemoryBusRow, ...]


@cache
def memory_bus_table() -> MemoryBusTable:
    """The table. Raises BadFile where it cannot be read."""
    return read_typed(rules_folder() / "knowledge" / "memory_bus.yaml", MemoryBusTable)


def memory_bus_bits(family: int | None, model: int | None, name: str | None) -> int | None:
    """Bits of the memory bus of one package; None for a processor that the table does not know.

    A row with a name needs the processor's own name: Threadripper, EPYC and Ryzen share models.
    """
    if family is None or model is None:
        return None
    for row in memory_bus_table().rows:
        fits = row.family == family and row.first_model <= model <= row.last_model
        if fits and row.name.lower() in (name or "").lower():
            return row.bits
    return None
