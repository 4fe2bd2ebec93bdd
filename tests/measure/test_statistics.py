"""Exact signed-rank statistics: against enumeration of every sign pattern, and against published tables."""

from __future__ import annotations

import math
from itertools import product
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.measure.statistics import Paired, critical_value, signed_rank_counts, walsh_averages

#: Few values, so that ties and zeros are common.
DIFFERENCES = st.lists(st.integers(-6, 6).map(lambda whole: whole / 4), min_size=1, max_size=9)
ANY_DIFFERENCES = st.lists(st.floats(-5, 5), min_size=1, max_size=30)


def counts_by_enumeration(n: int) -> list[int]:
    counts = [0] * (n * (n + 1) // 2 + 1)
    for signs in product((0, 1), repeat=n):
        counts[sum(rank for rank, sign in enumerate(signs, 1) if sign)] += 1
    return counts


@pytest.mark.parametrize("n", range(1, 11))
def test_the_distribution_is_that_of_all_sign_patterns(n: int) -> None:
    assert list(signed_rank_counts(n)) == counts_by_enumeration(n)


#: One-sided critical values of the Wilcoxon signed-rank test as tables print them (e.g. Siegel & Castellan, 1988).
TABLES = {
    0.005: {7: None, 8: 0, 9: 1, 10: 3, 11: 5, 12: 7, 13: 9, 14: 12, 15: 15, 16: 19, 20: 37, 25: 68},
    0.025: {5: None, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 15: 25, 20: 52, 25: 89},
    0.05: {4: None, 5: 0, 6: 2, 7: 3, 8: 5, 9: 8, 10: 10, 12: 17, 15: 30, 20: 60, 25: 100},
}


@pytest.mark.parametrize(("alpha", "n"), [(alpha, n) for alpha, rows in TABLES.items() for n in rows])
def test_critical_values_are_those_of_the_tables(alpha: float, n: int) -> None:
    assert critical_value(n, alpha) == TABLES[alpha][n]


@pytest.mark.parametrize("n", range(1, 40))
@pytest.mark.parametrize("alpha", [0.005, 0.025, 0.05])
def test_a_critical_value_is_the_largest_that_keeps_the_level(n: int, alpha: float) -> None:
    counts, at = signed_rank_counts(n), critical_value(n, alpha)
    below = 0 if at is None else at + 1
    assert sum(counts[:below]) <= alpha * 2**n < sum(counts[: below + 1])


@settings(deadline=None)
@given(DIFFERENCES)
def test_estimate_and_bounds_are_order_statistics_of_all_pair_means(differences: list[float]) -> None:
    n = len(differences)
    means = sorted((differences[i] + differences[j]) / 2 for i in range(n) for j in range(i, n))
    paired = Paired(differences)
    assert walsh_averages(differences) == means
    assert paired.estimate == pytest.approx(median(means), abs=1e-12)
    bounds, at = paired.bounds(0.05), critical_value(n, 0.05)
    if at is None:
        assert (bounds.low, bounds.high) == (-math.inf, math.inf)
    else:
        assert (bounds.low, bounds.high) == (means[at], means[len(means) - 1 - at])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 5), min_size=5, max_size=9), st.sampled_from([0.005, 0.025, 0.05]))
def test_ties_and_zeros_never_make_a_bound_bold(sizes: list[int], alpha: float) -> None:
    """Of all sign patterns of the same sizes, at most alpha may put a bound beyond 0: that is what exact means here."""
    beyond = 0
    for signs in product((-1, 1), repeat=len(sizes)):
        bounds = Paired([sign * size for sign, size in zip(signs, sizes, strict=True)]).bounds(alpha)
        beyond += bounds.low > 0
    assert beyond <= alpha * 2 ** len(sizes)


def test_without_ties_the_level_is_used_up() -> None:
    sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
    patterns = [[s * size for s, size in zip(signs, sizes, strict=True)] for signs in product((-1, 1), repeat=8)]
    assert sum(Paired(pattern).bounds(0.005).low > 0 for pattern in patterns) == 1
    # W <= 5 of 8 ranks: 10 of 256 patterns, the published 0.039.
    assert sum(Paired(pattern).bounds(0.05).low > 0 for pattern in patterns) == 10


@settings(deadline=None)
@given(ANY_DIFFERENCES, st.floats(-3, 3))
def test_a_shift_shifts_everything(differences: list[float], shift: float) -> None:
    still, moved = Paired(differences), Paired([each + shift for each in differences])
    assert moved.estimate == pytest.approx(still.estimate + shift, abs=1e-9)
    assert moved.bounds(0.05).low == pytest.approx(still.bounds(0.05).low + shift, abs=1e-9)


@settings(deadline=None)
@given(ANY_DIFFERENCES)
def test_the_order_is_nothing_and_a_mirror_mirrors(differences: list[float]) -> None:
    paired, mirrored = Paired(differences), Paired([-each for each in reversed(differences)])
    assert mirrored.estimate == pytest.approx(-paired.estimate, abs=1e-12)
    assert mirrored.bounds(0.05).high == pytest.approx(-paired.bounds(0.05).low, abs=1e-12)


@settings(deadline=None)
@given(ANY_DIFFERENCES)
def test_a_stricter_level_never_narrows(differences: list[float]) -> None:
    strict, printed, loose = (Paired(differences).bounds(alpha) for alpha in (0.005, 0.025, 0.05))
    assert strict.low <= printed.low <= loose.low and loose.high <= printed.high <= strict.high


def test_too_few_differences_bound_nothing_but_can_be_told_with_their_own_risk() -> None:
    paired = Paired([0.1, 0.3, -0.2, 0.0])
    assert paired.bounds(0.025).high == math.inf
    bounds, risk = paired.widest(0.025)
    assert (bounds.low, bounds.high, risk) == (-0.2, 0.3, 1 / 16)


@pytest.mark.parametrize("differences", [[], [0.1, math.nan], [math.inf]])
def test_what_is_no_difference_is_refused(differences: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        Paired(differences)
