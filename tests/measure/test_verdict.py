"""The four verdicts: their margins, their symmetry, and how often they are wrong."""

from __future__ import annotations

import math
import random
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.measure.verdict import (
    FASTER_MARGIN,
    MAX_NEEDED_PAIRS,
    MIN_PAIRS,
    Verdict,
    gain_of,
    judge,
    least_pairs,
    pairs_to_claim,
)
from scripts.simulated.noise import Residuals, from_start, recorded, scaled, synthetic

RATIOS = st.lists(st.floats(-1, 1), min_size=MIN_PAIRS, max_size=20)
MIRROR = {"faster": "slower", "slower": "faster", "same": "same", "undecided": "undecided"}


def around(center: float, step: float, count: int) -> list[float]:
    return [center + step * (at - (count - 1) / 2) for at in range(count)]


@pytest.mark.parametrize(
    ("gain", "word"), [(0.25, "faster"), (0.031, "faster"), (0.0, "same"), (0.005, "same"), (-0.1, "slower")]
)
def test_twelve_steady_pairs_say_what_is_true(gain: float, word: str) -> None:
    verdict = judge(around(-math.log1p(gain), 0.0005, 12))
    assert verdict.word == word and verdict.needed_pairs is None
    assert verdict.gain == pytest.approx(gain)
    assert verdict.gain_low is not None and verdict.gain_high is not None
    assert verdict.gain_low < gain < verdict.gain_high


def test_the_margins_are_two_and_three_percent() -> None:
    eight = [1.0] * 8
    assert judge([-math.log(1.021) * each for each in eight]).word == "faster"
    # Between the two: too little to call faster, and well inside what is called the same.
    assert judge([-math.log(1.019) * each for each in eight]).word == "same"
    assert judge([-FASTER_MARGIN * each for each in eight]).word == "same"
    assert judge([math.log(1.021) * each for each in eight]).word == "slower"


def test_a_margin_does_not_grow_with_noise() -> None:
    noisy = around(0.0, 0.05, 12)
    assert judge(noisy).word == "undecided", "noise is not equality"
    assert judge([each / 50 for each in noisy]).word == "same"


def test_same_means_within_three_percent_both_ways() -> None:
    """The 90 % interval of eight evenly spaced differences ends two steps from their middle."""
    for center in (0.01, -0.01):
        assert judge(around(center, 0.007, 8)).word == "same"
        assert judge(around(center, 0.0125, 8)).word == "undecided"


@pytest.mark.parametrize("pairs", range(MIN_PAIRS))
def test_fewer_than_eight_pairs_decide_nothing(pairs: int) -> None:
    assert judge([-1.0] * pairs).word == judge([0.0] * pairs).word == "undecided"
    assert judge([-1.0] * MIN_PAIRS).word == "faster"


def test_no_pairs_have_no_gain() -> None:
    assert judge([]) == Verdict("undecided", 0, None)


@settings(deadline=None)
@given(RATIOS)
def test_swapping_the_arms_mirrors_the_verdict(ratios: list[float]) -> None:
    verdict, mirrored = judge(ratios), judge([-each for each in ratios])
    assert mirrored.word == MIRROR[verdict.word]
    assert verdict.gain is not None and mirrored.gain is not None
    assert (1 + verdict.gain) * (1 + mirrored.gain) == pytest.approx(1)
    assert mirrored.needed_pairs == verdict.needed_pairs


#: Whole sixty-fourths, whose sums and differences are exact.
LOG_TIMES = st.integers(-200, 200).map(lambda whole: whole / 64)


@settings(deadline=None)
@given(st.lists(st.tuples(LOG_TIMES, LOG_TIMES), min_size=8, max_size=16), LOG_TIMES)
def test_a_slower_machine_changes_nothing(times: list[tuple[float, float]], shift: float) -> None:
    """All log times shifted by the same amount: every difference, and so every verdict, stays."""
    before = judge([candidate - default for candidate, default in times])
    assert judge([(candidate + shift) - (default + shift) for candidate, default in times]) == before


@settings(deadline=None)
@given(RATIOS, st.floats(0.001, 0.5))
def test_more_gain_never_takes_a_faster_away(ratios: list[float], more: float) -> None:
    if judge(ratios).word == "faster":
        assert judge([each - more for each in ratios]).word == "faster"


@settings(deadline=None)
@given(RATIOS)
def test_a_faster_always_prints_an_interval_beyond_the_margin(ratios: list[float]) -> None:
    verdict = judge(ratios)
    if verdict.word == "faster":
        assert verdict.gain_low is not None and verdict.gain is not None and verdict.gain_high is not None
        assert 0.02 < verdict.gain_low <= verdict.gain <= verdict.gain_high


def test_exactly_one_coin_in_two_hundred_may_call_equals_faster() -> None:
    """All 4,096 tosses of twelve pairs of equal arms under a strong drift: the share of *faster*, with no margin at
    all, is at most the promised 0.5 %; with the margin it can only be less."""
    drift = [0.1 * 1.5**at for at in range(12)]
    words = [judge([s * d for s, d in zip(signs, drift, strict=True)]).word for signs in product((-1, 1), repeat=12)]
    assert words.count("faster") <= 0.005 * len(words)
    assert words.count("faster") == words.count("slower") > 0, "the test is not so strict that it cannot fail"


def tossed(series: Residuals, seed: int, pairs: int, log_ratio: float) -> list[float]:
    """Adjacent pairs out of a series of residuals, as the confirmation takes them."""
    draw = random.Random(seed)
    values = from_start(series, draw.randrange(len(series)))
    taken = [(next(values), next(values)) for _ in range(pairs)]
    return [log_ratio + (one - two if draw.random() < 0.5 else two - one) for one, two in taken]


def shares(series: Residuals, log_ratio: float, runs: int = 2000) -> dict[str, float]:
    words = [judge(tossed(series, seed, 12, log_ratio)).word for seed in range(runs)]
    return {word: words.count(word) / runs for word in ("faster", "slower", "same", "undecided")}


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.35])
def test_equal_arms_on_recorded_noise_are_not_called_faster(shared: Path, sd: float) -> None:
    series = scaled(recorded(shared / "corpus" / "timing" / "aa96.json"), sd)
    assert shares(series, 0.0)["faster"] <= 0.005
    # The hardest of equal cases: exactly as fast as the margin. Half of one percent, and the chance of 2,000 runs.
    assert shares(series, -FASTER_MARGIN)["faster"] <= 0.01


def test_a_fifth_more_on_recorded_noise_is_found_and_never_called_the_same(shared: Path) -> None:
    series = recorded(shared / "corpus" / "timing" / "aa96.json")
    assert shares(scaled(series, 0.03), -math.log(1.2))["faster"] >= 0.99
    assert shares(series, -math.log(1.2))["same"] == 0


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.35])
def test_the_same_on_noise_of_our_own(sd: float) -> None:
    series = scaled(synthetic(), sd)
    assert shares(series, 0.0)["faster"] <= 0.005 and shares(series, -FASTER_MARGIN)["faster"] <= 0.01
    assert shares(series, -math.log(1.2))["same"] == 0


def needed(ratios: list[float]) -> int:
    verdict = judge(ratios)
    assert verdict.word == "undecided" and verdict.needed_pairs is not None
    return verdict.needed_pairs


def test_the_pairs_it_would_have_needed_are_about_what_it_takes() -> None:
    """Normal noise, a gain that twelve pairs mostly miss: with as many pairs as were asked for, about half finds it."""
    draw = random.Random(5)
    gain, sd = 0.10, 0.15

    def sample(pairs: int) -> list[float]:
        return [draw.gauss(-math.log1p(gain), sd) for _ in range(pairs)]

    asked = sorted(needed(ratios) for ratios in (sample(12) for _ in range(300)) if judge(ratios).word == "undecided")
    middle = asked[len(asked) // 2]
    found = sum(judge(sample(middle)).word == "faster" for _ in range(300)) / 300
    assert 0.3 < found < 0.9


def test_more_noise_needs_more_pairs_and_hopeless_noise_says_so() -> None:
    steps = [0.03, 0.05, 0.1]
    asked = [needed(around(-0.1, step, 12)) for step in steps]
    assert 12 < asked[0] < asked[1] < asked[2]
    assert needed(around(0.0, 0.5, 12)) == 1000
    assert judge([-0.1, 0.1]).needed_pairs is None, "two pairs tell nothing about their scatter"


def test_gains_are_of_throughput() -> None:
    assert gain_of(math.log(0.5)) == pytest.approx(1.0), "half the time is twice the work"


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-1, 1), min_size=8, max_size=12))
def test_needed_pairs_are_more_than_there_were(ratios: list[float]) -> None:
    verdict = judge(ratios)
    if verdict.needed_pairs is not None:
        assert verdict.needed_pairs > verdict.pairs


@pytest.mark.parametrize("claims", [1, 2, 3, 5, 10])
def test_a_smaller_risk_needs_more_pairs_and_exactly_that_many_may_claim(claims: int) -> None:
    alpha = 0.005 / claims
    least = least_pairs(alpha)
    assert judge([-0.5] * least, alpha).word == "faster"
    assert judge([-0.5] * (least - 1), alpha).word != "faster"
    coins = [judge([sign * 0.5 for sign in signs], alpha).word for signs in product((1, -1), repeat=least)]
    assert coins.count("faster") / 2**least <= alpha


def test_the_pairs_that_a_claim_takes_are_about_what_it_takes() -> None:
    """Of normal differences, about half of the runs with that many pairs claim it."""
    draw = random.Random("pairs to claim")
    for gain, spread in ((0.2, 0.15), (0.8, 0.5), (0.1, 0.06)):
        pairs = pairs_to_claim(-math.log1p(gain), spread)
        runs = [judge([draw.gauss(-math.log1p(gain), spread) for _ in range(pairs)]).word for _ in range(300)]
        assert 0.35 < runs.count("faster") / 300 < 0.75, (gain, spread, pairs)
    assert pairs_to_claim(-0.5, 0.001) == MIN_PAIRS
    assert pairs_to_claim(-math.log(1.01), 0.01) == MAX_NEEDED_PAIRS, "below the margin no number of pairs claims"
    assert pairs_to_claim(-0.5, 0.001, 0.0025) == 9
