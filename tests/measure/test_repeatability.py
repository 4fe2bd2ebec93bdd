"""The default against itself: how well a machine repeats itself, and whether it drifts."""

from __future__ import annotations

import math
import random

import pytest

from doctor.measure.repeatability import repeatability


def alternating(step: float, count: int) -> list[float]:
    """Every later run differs from the earlier by a little more, up and down in turn."""
    return [0.0 if at % 2 == 0 else step * (at + 1) * (-1) ** (at // 2) for at in range(count)]


@pytest.mark.parametrize("runs", [0, 2, 7])
def test_fewer_than_four_pairs_say_nothing(runs: int) -> None:
    assert repeatability([0.0] * runs) is None


def test_four_pairs_say_it_with_less_confidence_and_eight_with_95_percent() -> None:
    four, eight = repeatability([0.0] * 8), repeatability([0.0] * 17)
    assert four is not None and eight is not None
    assert (four.pairs, four.level, four.within) == (4, 0.875, 0.0)
    assert (eight.pairs, eight.level) == (8, 0.95)


def test_a_steady_machine_is_not_disturbed_and_a_noisy_one_is() -> None:
    steady, noisy = repeatability(alternating(0.001, 24)), repeatability(alternating(0.02, 24))
    assert steady is not None and noisy is not None
    assert steady.within < 0.05 and not steady.drifts and not steady.disturbed
    assert noisy.within > 0.05 and not noisy.drifts and noisy.disturbed


def test_a_machine_that_slows_down_drifts() -> None:
    slowing = repeatability([0.01 * at + 0.0001 * at**2 for at in range(12)])
    assert slowing is not None and slowing.drifts and slowing.disturbed
    assert slowing.within < 0.05, "it is the drift that disturbs, not the size"


def test_few_pairs_may_not_call_it_a_drift() -> None:
    """Four differences of one sign happen once in eight runs on a steady machine."""
    four = repeatability([0.0, 0.001, 0.0, 0.002, 0.0, 0.003, 0.0, 0.004])
    assert four is not None and not four.drifts


def test_steady_machines_are_rarely_said_to_drift() -> None:
    draw = random.Random(1)
    said = [repeatability([draw.gauss(0, 0.01) for _ in range(24)]) for _ in range(1000)]
    assert sum(each is not None and each.drifts for each in said) <= 70, "5 %, and the chance of 1,000 runs"


def test_within_is_a_change_of_speed() -> None:
    halved = repeatability([0.0, math.log(0.5)] * 8)
    assert halved is not None and halved.within == pytest.approx(1.0)
