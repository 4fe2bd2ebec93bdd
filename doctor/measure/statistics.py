"""Exact statistics of paired log-ratios: the Hodges-Lehmann estimate and the bounds of the signed-rank test.

One difference is `log(time of the candidate) - log(time of the default)` of two runs that stood side by side, their
order tossed by a coin. If the candidate were only the default times a constant, each difference would be as likely to
lie above the logarithm of that constant as below, by the same amount, whatever the machine did meanwhile: the toss
makes it so. Under that hypothesis the signed-rank statistic has a known distribution, which is enumerated here.

Zeros and ties need no rule of their own. The bounds are order statistics of the Walsh averages (the means of all
pairs of differences, each with itself too); equal differences and differences of zero stay in, and make a bound
cautious, never too bold. See E. L. Lehmann, "Nonparametrics: Statistical Methods Based on Ranks" (1975), section 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import msgspec


class Bounds(msgspec.Struct, frozen=True):
    """A lower and an upper bound; infinite where so few differences allow none at the level asked for."""

    low: float
    high: float


@cache
def signed_rank_counts(n: int) -> tuple[int, ...]:
    """How many of the 2**n sign patterns give each value 0 … n(n+1)/2 of the signed-rank statistic."""
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for value, count in enumerate(counts):
            longer[value + rank] += count
        counts = longer
    return tuple(counts)


@cache
def critical_value(n: int, alpha: float) -> int | None:
    """The largest w with P(W <= w) <= alpha for n differences; None where even P(W <= 0) is larger."""
    allowed = alpha * 2**n
    below = 0
    for value, count in enumerate(signed_rank_counts(n)):
        below += count
        if below > allowed:
            return value - 1 if value else None
    return None


def walsh_averages(differences: Sequence[float]) -> list[float]:
    """The means of all pairs, each difference with itself too, in ascending order."""
    ordered = sorted(differences)
    return sorted([(a + b) / 2 for at, a in enumerate(ordered) for b in ordered[at:]])


class Paired:
    """Differences with what the estimate and the bounds are read from. Shape: one float per pair, in any order."""

    def __init__(self, differences: Sequence[float]) -> None:
        """Raises ValueError where there is no difference, or one that is not finite."""
        if not differences or not all(map(math.isfinite, differences)):
            raise ValueError("paired differences must be finite, and at least one")
        self.n = len(differences)
        self._walsh = walsh_averages(differences)

    @property
    def estimate(self) -> float:
        """The Hodges-Lehmann estimate: the median of the Walsh averages."""
        count = len(self._walsh)
        return (self._walsh[(count - 1) // 2] + self._walsh[count // 2]) / 2

    def bounds(self, alpha: float) -> Bounds:
        """Each bound alone is wrong with a probability of at most `alpha`; both together at most `2 * alpha`."""
        at = critical_value(self.n, alpha)
        if at is None:
            return Bounds(-math.inf, math.inf)
        return Bounds(self._walsh[at], self._walsh[-1 - at])

    def widest(self, alpha: float) -> tuple[Bounds, float]:
        """The bounds at `alpha`, or where that few pairs allow none, the widest there are; and what each risks."""
        at = critical_value(self.n, alpha)
        if at is None:
            return Bounds(self._walsh[0], self._walsh[-1]), 0.5**self.n
        return self.bounds(alpha), alpha
