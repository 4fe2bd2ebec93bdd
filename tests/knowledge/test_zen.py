from __future__ import annotations

from itertools import pairwise

import pytest

from doctor.knowledge.microarchitectures import microarchitectures
from doctor.knowledge.zen import ZenRow, silicon_has, zen_row, zen_table
from doctor.machine.model import Isa


def row_of(family: int, model: int, vendor: str = "AuthenticAMD") -> ZenRow:
    row = zen_row(vendor, family, model)
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("family", "model", "generation", "width"),
    [
        (16, 9, "K10", 128),
        (21, 1, "Bulldozer", 128),
        (21, 0x65, "Excavator", 128),
        (22, 0x30, "Puma", 128),
        (23, 1, "Zen", 128),
        (23, 8, "Zen+", 128),
        (23, 0x18, "Zen+", 128),
        (23, 0x71, "Zen 2", 256),
        (23, 0x90, "Zen 2", 256),
        (25, 0x21, "Zen 3", 256),
        (25, 0x08, "Zen 3", 256),
        (25, 0x44, "Zen 3+", 256),
        (25, 0x61, "Zen 4", 256),
        (25, 0x78, "Zen 4 + Zen 4c", 256),
        (25, 0xA0, "Zen 4c", 256),
        (26, 0x24, "Zen 5 + Zen 5c", 256),
        (26, 0x44, "Zen 5", 512),
        (26, 0x70, "Zen 5", 512),
        (26, 0x11, "Zen 5c", 512),
    ],
)
def test_rows(family: int, model: int, generation: str, width: int) -> None:
    row = row_of(family, model)
    assert (row.generation, row.vector_width_bits) == (generation, width)


@pytest.mark.parametrize(
    ("family", "model"),
    [
        *((26, model) for model in (0x30, 0x50, 0x80, 0xC0)),
        *((27, 0), (25, 0xB0), (23, 0x85), (16, 3), (15, 107), (None, 1), (25, None)),
    ],
)
def test_an_unknown_model_is_no_row(family: int | None, model: int | None) -> None:
    assert zen_row("AuthenticAMD", family, model) is None


def test_other_vendors_have_no_row() -> None:
    assert zen_row("GenuineIntel", 25, 0x61) is None
    assert zen_row(None, 25, 0x61) is None
    assert row_of(24, 1, "HygonGenuine").generation == "Zen (Hygon)"


def test_only_zen_4_and_later_have_avx512() -> None:
    for row in zen_table().rows:
        is_new = row.generation.startswith(("Zen 4", "Zen 5"))
        assert ("avx512f" in silicon_has(row)) == is_new, row
        assert ("avx_vnni" in silicon_has(row)) == row.generation.startswith("Zen 5"), row


def test_512_bits_only_with_avx512() -> None:
    for row in zen_table().rows:
        assert row.vector_width_bits in (128, 256, 512)
        assert row.vector_width_bits < 512 or "avx512f" in silicon_has(row)


def test_ranges_do_not_overlap() -> None:
    ordered = sorted(zen_table().rows, key=lambda row: (row.family, row.models))
    for row in ordered:
        assert row.models[0] <= row.models[1]
    for before, after in pairwise(ordered):
        assert before.family < after.family or before.models[1] < after.models[0], (before, after)


def test_instruction_sets_name_fields_of_the_document() -> None:
    table = zen_table()
    assert {row.isa for row in table.rows} == set(table.instruction_sets)
    for fields in table.instruction_sets.values():
        assert set(fields) <= set(Isa.__struct_fields__)


def test_the_table_is_dated() -> None:
    assert zen_table().date == "2026-11-30"
    assert {"generations", "widths", "instruction_sets"} <= set(zen_table().sources)


def test_archspecs_table_is_there() -> None:
    by_name = {entry.name: entry for entry in microarchitectures()}
    assert {"x86_64", "x86_64_v3", "zen", "zen4", "zen5", "bulldozer", "haswell"} <= set(by_name)
    assert by_name["zen4"].ancestors == {"zen3", "zen2", "zen", "x86_64_v4", "x86_64_v3", "x86_64_v2", "x86_64"}
    assert "aarch64" not in by_name
    assert "pentium4" not in by_name
