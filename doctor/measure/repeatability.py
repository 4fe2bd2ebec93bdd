"""A/A: the default paired with itself. It says how well the machine repeats itself; it is never added to an interval.

The pairs are the default's own runs of the confirmation: of every two groups in a row, the later run against the
earlier. In the order of time, so that a machine that slows down shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.measure.statistics import Paired
from doctor.measure.verdict import PRINTED_ALPHA, gain_of

MIN_PAIRS = 4
#: A machine that repeats itself worse than this is called disturbed.
LIMIT = 0.05


class Repeatability(msgspec.Struct, frozen=True):
    """`within` is the bound farthest from 0 of the interval of the later run against the earlier, as a change of
    speed: 0.04 is ±4 %. `level` is the interval's confidence: 0.95, or less where so few pairs allow no more."""

    pairs: int
    within: float
    level: float
    drifts: bool  # the interval excludes 0; told only at 0.95, from six pairs on

    @property
    def disturbed(self) -> bool:
        return self.drifts or self.within > LIMIT


def repeatability(log_seconds: Sequence[float]) -> Repeatability | None:
    """From the default's runs in the order of measuring; None below four pairs."""
    pairs = len(log_seconds) // 2
    if pairs < MIN_PAIRS:
        return None
    paired = Paired([log_seconds[2 * at + 1] - log_seconds[2 * at] for at in range(pairs)])
    bounds, risk = paired.widest(PRINTED_ALPHA)
    within = max(abs(gain_of(bounds.low)), abs(gain_of(bounds.high)))
    excludes_zero = bounds.low > 0 or bounds.high < 0
    return Repeatability(pairs, within, 1 - 2 * risk, drifts=excludes_zero and risk <= PRINTED_ALPHA)
