"""The peak of a core, against the formula and the rows of the table of generations."""

from __future__ import annotations

import pytest

from doctor.knowledge.peak_flop import flop_per_cycle, peak_flop_table
from doctor.knowledge.zen import zen_table


@pytest.mark.parametrize(
    ("generation", "bits", "avx512", "flop"),
    [
        ("Zen", 128, False, 16),
        ("Zen 2", 256, False, 32),
        ("Zen 4", 256, True, 32),
        ("Zen 4", 256, False, 32),
        ("Zen 5", 512, True, 64),
        ("Zen 5", 512, False, 32),
        ("Zen 5 + Zen 5c", 256, True, 32),
        ("Zen 5", 256, True, None),
        ("Zen 9", 512, True, None),
        ("Bulldozer", 128, False, None),
        (None, None, False, None),
    ],
)
def test_the_peak_of_a_core(generation: str | None, bits: int | None, avx512: bool, flop: int | None) -> None:
    assert flop_per_cycle(generation, bits, avx512=avx512) == flop


def test_every_row_is_two_units_of_fused_multiply_adds() -> None:
    for row in peak_flop_table().rows:
        assert row.flop_per_cycle == 2 * (row.vector_width_bits // 32) * 2


def test_every_zen_that_amd_sells_has_a_peak() -> None:
    for row in zen_table().rows:
        if row.generation.startswith("Zen") and "Hygon" not in row.generation:
            assert flop_per_cycle(row.generation, row.vector_width_bits, avx512=True) is not None, row.codename
