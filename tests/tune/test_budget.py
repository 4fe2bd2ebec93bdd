"""The arithmetic of one wall-clock budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.measure.verdict import MIN_PAIRS
from doctor.tune.budget import (
    MAX_PAIRS,
    Division,
    additions_within,
    best_third,
    budget_for,
    confirming_groups,
    divide,
    most_pairs,
    settings_seconds,
    units_within,
)


def test_sixty_units_are_twelve_arms_and_twelve_pairs() -> None:
    assert divide(60, 12) == Division(units=60, pairs=12, search_units=36, arm_units=36, addition_units=0, arms=12)


def test_a_small_budget_takes_pairs_first_then_arms() -> None:
    assert divide(50, 12) == Division(50, pairs=10, search_units=30, arm_units=30, addition_units=0, arms=12)
    assert divide(40, 12) == Division(40, pairs=8, search_units=24, arm_units=24, addition_units=0, arms=11)
    assert divide(20, 12) == Division(20, pairs=8, search_units=4, arm_units=4, addition_units=0, arms=1)


def test_eight_pairs_and_one_round_are_the_least() -> None:
    assert divide(18, 12) == Division(18, pairs=8, search_units=2, arm_units=2, addition_units=0, arms=1)
    assert divide(17, 12) is None
    assert divide(26, 12, group=3) is not None and divide(25, 12, group=3) is None
    assert divide(60, 0) is None


def test_a_third_run_in_each_group_makes_fewer_groups() -> None:
    assert divide(60, 12, group=3) == Division(60, pairs=8, search_units=36, arm_units=36, addition_units=0, arms=12)


def test_additions_take_a_third_of_the_search_at_most_and_never_what_the_arms_or_twelve_pairs_need() -> None:
    few = divide(60, 4, additions=True)
    assert few == Division(60, pairs=12, search_units=36, arm_units=24, addition_units=36, arms=4)
    # Twelve arms need 26 units for two rounds, and 14 for two of the best four, the two that join, and the default.
    many = divide(100, 12, additions=True)
    assert many == Division(100, pairs=12, search_units=60, arm_units=40, addition_units=60, arms=12)
    tight = divide(60, 12, group=3, additions=True)
    assert tight == Division(60, pairs=8, search_units=36, arm_units=36, addition_units=24, arms=12)
    two_cpus = divide(39, 1, additions=True)
    assert two_cpus == Division(39, pairs=8, search_units=23, arm_units=15, addition_units=15, arms=1)
    assert [additions_within(units) for units in (0, 5, 6, 12)] == [0, 0, 1, 4]


@settings(deadline=None)
@given(st.integers(-5, 400), st.integers(0, 40), st.sampled_from([2, 3]), st.booleans())
def test_no_division_spends_more_than_there_is(units: int, arms: int, group: int, additions: bool) -> None:
    division = divide(units, arms, group, additions)
    if division is None:
        assert arms < 1 or units < MIN_PAIRS * group + 2
        return
    assert MIN_PAIRS <= division.pairs <= 12
    assert division.search_units + division.pairs * group <= units
    assert division.search_units <= 0.6 * units
    assert 1 <= division.arms <= arms
    # Two rounds of every arm and of the default fit, but where even one arm is too many.
    assert division.arms == 1 or 2 * (division.arms + 1) <= division.arm_units
    # The inequality of the design.
    assert division.arms == 1 or division.arms <= (units - group * division.pairs) / 2


@settings(deadline=None)
@given(st.integers(18, 300), st.integers(1, 30))
def test_more_budget_never_tries_less(units: int, arms: int) -> None:
    less, more = divide(units, arms), divide(units + 1, arms)
    assert less is not None and more is not None
    assert more.arms >= less.arms and more.pairs >= less.pairs


def test_units_are_counted_without_losing_one_to_rounding() -> None:
    assert units_within(180.0 - 2 * 2.4, 2.4) == 73
    assert units_within(7.19, 2.4) == 2
    assert units_within(-3.0, 2.4) == 0 and units_within(10.0, 0.0) == 0


def test_the_confirmation_takes_its_share_within_its_bounds() -> None:
    assert confirming_groups(72.0, 72.0, 4.8, MAX_PAIRS) == 15
    assert confirming_groups(10.0, 10.0, 4.8, MAX_PAIRS) == MIN_PAIRS
    assert confirming_groups(9999.0, 9999.0, 4.8, MAX_PAIRS) == MAX_PAIRS
    assert confirming_groups(72.0, 100.0, 4.8, most=14) == 14


def test_where_the_search_says_that_it_needs_more_it_takes_from_the_recommendations() -> None:
    assert confirming_groups(48.0, 96.0, 4.8, 14, needed_pairs=8) == 10, "the usual number does"
    assert confirming_groups(48.0, 96.0, 4.8, 14, needed_pairs=18) == 18
    assert confirming_groups(48.0, 96.0, 4.8, 14, needed_pairs=20) == 20, "all that is left"
    assert confirming_groups(48.0, 96.0, 4.8, 14, needed_pairs=21) == 10, "nothing, where even that would not do"


def test_the_settings_come_first_and_a_sixth_is_kept_for_the_rest() -> None:
    assert settings_seconds(180.0, advice=True) == 150.0 and settings_seconds(600.0, advice=True) == 500.0
    assert settings_seconds(130.0, advice=True) == 120.0 and settings_seconds(90.0, advice=True) == 90.0
    assert settings_seconds(180.0, advice=False) == 180.0
    assert [most_pairs(seconds, True) for seconds in (60.0, 180.0, 360.0, 999.0)] == [14, 14, 28, MAX_PAIRS]
    assert most_pairs(180.0, False) == MAX_PAIRS


@pytest.mark.parametrize(("live", "stay"), [(1, 1), (2, 1), (3, 1), (4, 2), (12, 4), (13, 5)])
def test_the_best_third_at_least_one(live: int, stay: int) -> None:
    assert best_third(range(live)) == tuple(range(stay))


@settings(deadline=None)
@given(st.floats(10.0, 800.0), st.integers(1, MAX_PAIRS), st.booleans())
def test_a_budget_that_is_asked_for_gives_what_it_was_asked_for(seconds: float, pairs: int, advice: bool) -> None:
    budget = budget_for(seconds, pairs, advice)
    assert settings_seconds(budget, advice) >= seconds - 1e-6
    assert most_pairs(budget + 1e-6, advice) >= pairs
