"""The batch size on paper: which sizes, how memory grows, where the knee is, what stands in for what does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.tune.batch import (
    BatchFound,
    first_sizes,
    fits,
    knee,
    next_sizes,
    predicted_bytes,
    steps_of,
    still_rising,
    timing_seconds,
)
from doctor.tune.recommendation import BatchPoint

MB = 1_000_000


def points(**speeds: float | None) -> tuple[BatchPoint, ...]:
    """`b64=900.0`: items per second at 64; None: it did not fit. Memory: 300 MB and 2 MB a sample."""
    found = []
    for name, speed in speeds.items():
        batch = int(name[1:])
        failed = "" if speed is not None else "out-of-memory"
        found.append(BatchPoint(batch, speed, 300 * MB + 2 * MB * batch if speed is not None else None, failed))
    return tuple(found)


def test_the_first_sizes_are_the_workloads_own_and_two_doublings() -> None:
    assert first_sizes(128) == (128, 256, 512) and first_sizes(1) == (1, 2, 4)


def test_the_knee_is_the_smallest_within_five_percent_of_the_best() -> None:
    assert knee(points(b32=500.0, b64=900.0, b128=940.0, b256=1000.0)) == 256
    assert knee(points(b32=500.0, b64=950.0, b128=960.0, b256=1000.0)) == 64
    assert knee(points(b32=1000.0, b64=990.0, b128=None)) == 32
    assert knee(points(b32=None)) is None and knee(()) is None


def test_the_sweep_goes_on_while_one_of_the_last_two_doublings_paid() -> None:
    rising = points(b32=500.0, b64=700.0, b128=900.0, b256=1000.0, b512=1060.0)
    assert still_rising(rising) and next_sizes(rising, 1) == (1024, 2048)
    flat = points(b32=500.0, b64=700.0, b128=1000.0, b256=1020.0, b512=1040.0)
    assert not still_rising(flat) and next_sizes(flat, 1) == ()
    falling = points(b32=500.0, b64=1000.0, b128=900.0, b256=800.0)
    assert next_sizes(falling, 1) == ()
    assert next_sizes(points(b32=500.0, b64=1000.0, b128=None), 1) == (), "a size that failed ends it"
    later = points(b128=1000.0, b256=1200.0, b512=1210.0)
    assert next_sizes(later, 1) == (1024, 2048) and next_sizes(later, 2) == (), "one flat doubling ends it later"
    assert next_sizes(rising, 3) == () and next_sizes((), 0) == ()


def test_memory_is_predicted_on_the_line_through_the_last_points() -> None:
    found = points(b64=1.0, b128=1.0, b256=1.0)
    assert predicted_bytes(found, 1024) == 300 * MB + 2 * MB * 1024
    floor = (BatchPoint(64, 1.0, 900 * MB), BatchPoint(128, 1.0, 900 * MB), BatchPoint(256, 1.0, 1100 * MB))
    predicted = predicted_bytes(floor, 512)
    assert predicted == pytest.approx(1100 * MB + 256 * (200 * MB / 128)), "the steepest slope, not the mean"
    assert predicted_bytes(points(b64=1.0), 128) is None


def test_what_is_not_predicted_or_too_far_off_is_not_tried() -> None:
    found = points(b64=1.0, b128=1.0)
    limit = 300 * MB + 2 * MB * 512
    assert fits(found, 512, limit) and not fits(found, 512, limit - 1)
    assert not fits(found, 1024, 1 << 50), "eight times the largest that ran"
    assert not fits(found, 256, None) and not fits(points(b64=1.0), 128, 1 << 50) and not fits((), 2, 1 << 50)


def test_a_size_costs_time_in_proportion() -> None:
    assert timing_seconds(points(b64=100.0, b128=128.0), 1024) == pytest.approx(12 * 8.0)
    assert timing_seconds((), 64) == 0.0


def test_accumulation_makes_up_what_does_not_fit() -> None:
    assert steps_of(256, 64) == 4 and steps_of(300, 64) == 5 and steps_of(65, 64) == 1
    found = BatchFound(32, points(b32=1.0, b64=1.0, b128=None), too_large=128, why="it would take 9 GiB")
    assert found.largest == 64 and found.knee == 32


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4096), st.floats(0.1, 1e6)), min_size=1, max_size=8, unique_by=lambda t: t[0]))
def test_the_knee_is_never_slower_than_it_says(sizes: list[tuple[int, float]]) -> None:
    found = [BatchPoint(batch, speed, 1000 + batch) for batch, speed in sizes]
    chosen = knee(found)
    by_size = {point.batch: point.items_per_second or 0.0 for point in found}
    assert chosen is not None and by_size[chosen] >= 0.95 * max(by_size.values())
    assert all(speed < 0.95 * max(by_size.values()) for size, speed in by_size.items() if size < chosen)
