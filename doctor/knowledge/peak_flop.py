"""Operations per cycle of a core at its peak (`rules/knowledge/peak_flop.yaml`)."""

from __future__ import annotations

from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed

#: The registers of AVX2 hold no more; on a wider datapath they fill half of it.
_AVX2_BITS = 256


class PeakFlopRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    vector_width_bits: int
    flop_per_cycle: int
    generations: tuple[str, ...]


class PeakFlopTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: tuple[str, ...]
    date: str
    rows: tuple[PeakFlopRow, ...]


@cache
def peak_flop_table() -> PeakFlopTable:
    """The table. Raises BadFile where it cannot be read."""
    return read_typed(rules_folder() / "knowledge" / "peak_flop.yaml", PeakFlopTable)


def flop_per_cycle(generation: str | None, vector_width_bits: int | None, *, avx512: bool) -> int | None:
    """float32 operations of one core in one cycle; None for a generation that the table does not have at this width.

    `avx512`: whether programs may use the 512-bit registers.
    """
    for row in peak_flop_table().rows:
        if generation in row.generations and row.vector_width_bits == vector_width_bits:
            usable = row.vector_width_bits if avx512 else min(row.vector_width_bits, _AVX2_BITS)
            return row.flop_per_cycle * usable // row.vector_width_bits
    return None
