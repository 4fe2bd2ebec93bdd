"""What pairs of runs prove about one candidate: faster, slower, same, or undecided.

The margins are fixed. A margin that grew with the noise would make noise look like equality.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import Literal

import msgspec

from doctor.measure.statistics import Paired

Word = Literal["faster", "slower", "same", "undecided"]

#: Each claim of *faster* and each of *slower* is wrong at most this often.
CLAIM_ALPHA = 0.005
#: Each side of the interval that must lie inside the margin of *same*: 90 % in all.
SAME_ALPHA = 0.05
#: Each side of the interval that is printed: 95 % in all.
PRINTED_ALPHA = 0.025
#: In logarithms, so that swapping candidate and default mirrors the verdict exactly.
FASTER_MARGIN = math.log(1.02)
SAME_MARGIN = math.log(1.03)
#: The fewest pairs whose extreme outcome is rarer than `CLAIM_ALPHA`: 1/256.
MIN_PAIRS = 8
#: More pairs than this nobody runs: the answer is then "more than".
MAX_NEEDED_PAIRS = 1000

#: How much wider the interval of n normal differences is than the limit for many, times n: at 5 %, and what each tenth
#: of that adds. Fitted to exact bounds of simulated normal samples, n = 12 to 40: within 5 % of the width from 0.25 %
#: on, within 11 % below.
_EXCESS, _EXCESS_PER_TENTH = 1.2, 1.1


class Verdict(msgspec.Struct, frozen=True):
    """One candidate against the default. Gains are of throughput: 0.25 is a quarter more work in the same time.

    `gain_low` and `gain_high` are the two-sided 95 % interval; None where so few pairs allow no bound.
    `needed_pairs` stands beside *undecided*: about as many pairs as would have decided it, had they scattered like
    these; None where these are too few to tell. `MAX_NEEDED_PAIRS` means that many or more.
    """

    word: Word
    pairs: int
    gain: float | None
    gain_low: float | None = None
    gain_high: float | None = None
    needed_pairs: int | None = None


def least_pairs(claim_alpha: float) -> int:
    """The fewest pairs whose extreme outcome is rare enough to be claimed; never fewer than `MIN_PAIRS`."""
    return max(MIN_PAIRS, math.ceil(-math.log2(claim_alpha)))


def judge(log_ratios: Sequence[float], claim_alpha: float = CLAIM_ALPHA) -> Verdict:
    """The verdict on `log(time of the candidate) - log(time of the default)`, one per pair, all finite.

    `claim_alpha`: how often *faster*, and how often *slower*, may be wrong.
    """
    if not log_ratios:
        return Verdict("undecided", 0, None, needed_pairs=None)
    paired = Paired(log_ratios)
    word = _word(paired, claim_alpha)
    printed = paired.bounds(PRINTED_ALPHA)
    return Verdict(
        word=word,
        pairs=paired.n,
        gain=gain_of(paired.estimate),
        gain_low=_finite_gain(printed.high),
        gain_high=_finite_gain(printed.low),
        needed_pairs=_needed_pairs(paired, claim_alpha) if word == "undecided" else None,
    )


def gain_of(log_ratio: float) -> float:
    """The gain in throughput of a logarithm of a ratio of times."""
    return math.exp(-log_ratio) - 1


def _finite_gain(log_ratio: float) -> float | None:
    return gain_of(log_ratio) if math.isfinite(log_ratio) else None


def _word(paired: Paired, claim_alpha: float) -> Word:
    if paired.n < MIN_PAIRS:
        return "undecided"
    claim, same = paired.bounds(claim_alpha), paired.bounds(SAME_ALPHA)
    if claim.high < -FASTER_MARGIN:
        return "faster"
    if claim.low > FASTER_MARGIN:
        return "slower"
    if same.low > -SAME_MARGIN and same.high < SAME_MARGIN:
        return "same"
    return "undecided"


def _needed_pairs(paired: Paired, claim_alpha: float) -> int | None:
    """The smallest number of pairs at which the expected interval decides."""
    now = paired.bounds(SAME_ALPHA)
    if not math.isfinite(now.low):
        return None
    center = abs(paired.estimate)
    spread = (now.high - now.low) / 2 / _half_width(paired.n, SAME_ALPHA)
    counts = range(max(paired.n + 1, least_pairs(claim_alpha)), MAX_NEEDED_PAIRS)
    return counts.start + bisect_left(counts, True, key=lambda pairs: _would_decide(center, spread, pairs, claim_alpha))


def pairs_to_claim(log_ratio: float, spread: float, claim_alpha: float = CLAIM_ALPHA) -> int:
    """About how many pairs call a candidate *faster* whose true log-ratio this is, with differences of the standard
    deviation `spread`; `MAX_NEEDED_PAIRS` where that many or more would not."""
    counts = range(least_pairs(claim_alpha), MAX_NEEDED_PAIRS)
    claims = bisect_left(counts, True, key=lambda pairs: _claims(-log_ratio, spread, pairs, claim_alpha))
    return counts.start + claims


def _claims(center: float, spread: float, pairs: int, claim_alpha: float) -> bool:
    return center - spread * _half_width(pairs, claim_alpha) > FASTER_MARGIN


def _would_decide(center: float, spread: float, pairs: int, claim_alpha: float) -> bool:
    return _claims(center, spread, pairs, claim_alpha) or center + spread * _half_width(pairs, SAME_ALPHA) < SAME_MARGIN


def _half_width(pairs: int, alpha: float) -> float:
    """Half the expected interval of `pairs` normal differences of standard deviation 1, each side at `alpha`."""
    excess = _EXCESS + _EXCESS_PER_TENTH * math.log10(SAME_ALPHA / alpha)
    return _limit(alpha) * (1 + excess / pairs) / math.sqrt(pairs)


@cache
def _limit(alpha: float) -> float:
    """For many differences of standard deviation 1, times the square root of their number."""
    return -NormalDist().inv_cdf(alpha) * math.sqrt(math.pi / 3)


