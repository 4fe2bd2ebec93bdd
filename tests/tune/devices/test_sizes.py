"""Knee, limit and crossover of rows: what they say, and when they say nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.tune.devices.sizes import (
    Crossover,
    Row,
    crossover,
    knee,
    knee_neighbours,
    largest,
    to_accumulate,
    too_large,
)


def rows(*speeds: float | str, first: int = 4) -> tuple[Row, ...]:
    """Rows at 4, 16, 64 …; a word is how that size failed."""
    found = []
    for at, speed in enumerate(speeds):
        size = first * 4**at
        if isinstance(speed, str):
            found.append(Row("net", size, outcome=speed))  # type: ignore[arg-type]
        else:
            found.append(Row("net", size, speed, size / speed))
    return tuple(found)


def test_the_knee_is_the_smallest_size_near_the_best() -> None:
    assert knee(rows(10, 40, 96, 100, 99)) == 64
    assert knee(rows(10, 40, 90, 100, 99)) == 256
    assert knee(rows(10, "out-of-memory")) == 4
    assert knee(rows("out-of-memory")) is None


def test_a_size_that_ends_the_device_is_too_large_and_one_that_is_wrong_is_not() -> None:
    for how in ("out-of-memory", "killed", "hung"):
        refused = too_large(rows(10, 40, how))
        assert refused is not None and refused.size == 64
    assert too_large(rows(10, 40, "wrong")) is None
    assert too_large(rows("hung")) is None, "a device that runs nothing has no largest size"
    assert largest(rows(10, 40, "hung")) == 16


def test_between_the_rungs_lies_what_is_half_way_to_the_neighbours_of_the_knee() -> None:
    assert knee_neighbours(rows(10, 40, 90, 100, 60)) == (128, 512)
    assert knee_neighbours(rows(100, 90)) == (8,)
    assert knee_neighbours(rows(10, 40, 90, 100)) == (128, 512), "above the largest that was tried"
    assert knee_neighbours(rows(10, 40, 90, 100, "out-of-memory")) == (128, 512)
    assert knee_neighbours((*rows(10, 40), Row("net", 8, 20.0), Row("net", 32, 30.0))) == ()


@pytest.mark.parametrize(
    ("gpu", "cpu", "expected"),
    [
        ((50, 60, 70), (10, 10, 10), Crossover("always", 4, 64, 64)),
        ((5, 10.2, 70, 80), (10, 10, 10, 10), Crossover("from", 64, 256, 256)),
        ((20, 20, 8), (10, 10, 10), Crossover("up-to", 4, 16, 64)),
        ((5, 20, 8), (10, 10, 10), Crossover("between", 16, 16, 64)),
        ((5, 9, 10.4), (10, 10, 10), Crossover("never", largest=64)),
        ((5, 9, "out-of-memory"), (10, 10, 10), Crossover("never", largest=16, too_large=64)),
        ((5, 20, "hung"), (10, 10, 10), Crossover("from", 16, 16, 16, 64)),
        (("killed",), (10, 10), Crossover("unknown")),
    ],
)
def test_the_crossover_names_the_sizes_from_which_the_device_is_ahead(
    gpu: tuple[float | str, ...], cpu: tuple[float, ...], expected: Crossover
) -> None:
    assert crossover(rows(*gpu), rows(*cpu)) == expected


def test_of_two_stretches_the_longer_counts() -> None:
    assert crossover(rows(20, 5, 20, 20), rows(10, 10, 10, 10)) == Crossover("from", 64, 256, 256)


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=6), st.floats(0.01, 100))
def test_a_device_that_is_always_as_many_times_as_fast_never_crosses(speeds: list[float], factor: float) -> None:
    found = crossover(rows(*(speed * factor for speed in speeds)), rows(*speeds))
    assert found.word == ("always" if factor > 1.05 * (1 + 1e-9) else "never") or abs(factor - 1.05) < 1e-6


def test_what_does_not_fit_is_made_up_of_the_largest_that_does() -> None:
    assert to_accumulate(rows(10, 20, 30, "out-of-memory")) == (256, 64, 4)
    assert to_accumulate(rows(10, 20, 30, "out-of-memory"), wanted=500) == (512, 64, 8)
    assert to_accumulate(rows(10, 20, 30, "out-of-memory"), wanted=64) == (256, 64, 4), "64 fits"
    assert to_accumulate(rows(10, 20, 30)) is None
