"""The table of memory bus widths."""

from __future__ import annotations

import pytest

from doctor.knowledge.memory_bus import memory_bus_bits, memory_bus_table


@pytest.mark.parametrize(
    ("family", "model", "name", "bits"),
    [
        (25, 97, "AMD Ryzen 9 7950X 16-Core Processor", 128),
        (23, 160, "AMD Ryzen 5 7520U with Radeon Graphics", 64),
        (23, 96, None, 128),
        (26, 112, "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", 256),
        (23, 49, "AMD Ryzen Threadripper 3970X 32-Core Processor", 256),
        (23, 49, "AMD Ryzen Threadripper PRO 3995WX 64-Cores", 512),
        (23, 49, "AMD EPYC 7502P 32-Core Processor", 512),
        (23, 49, None, None),  # Rome and Threadripper share the model
        (25, 17, "AMD EPYC 9124 16-Core Processor", 768),
        (25, 160, "AMD EPYC 8534P 64-Core Processor", 384),
        (23, 32, "AMD Athlon Silver 3050U", None),  # one channel or two, by package
        (6, 154, "12th Gen Intel(R) Core(TM) i7-1270P", None),
        (None, None, "AMD Ryzen 9 7950X 16-Core Processor", None),
    ],
)
def test_bits(family: int | None, model: int | None, name: str | None, bits: int | None) -> None:
    assert memory_bus_bits(family, model, name) == bits


def test_rows_are_sane() -> None:
    for row in memory_bus_table().rows:
        assert row.first_model <= row.last_model <= 255
        assert row.bits % 64 == 0


def test_no_row_is_hidden_by_one_before_it() -> None:
    """A row with a name must stand before a row of the same models whose name is part of it."""
    rows = memory_bus_table().rows
    for at, row in enumerate(rows):
        for before in rows[:at]:
            same = before.family == row.family and before.first_model <= row.first_model <= before.last_model
            assert not (same and before.name.lower() in row.name.lower()), row.what
