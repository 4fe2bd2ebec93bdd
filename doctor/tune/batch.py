"""The batch size: which sizes to look at, how memory grows with them, and where more of it stops to pay.

Everything here is of the search: estimates that choose, and never claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from doctor.tune.recommendation import BatchPoint

#: The smallest size that gives this share of the best speed is enough.
KNEE_SHARE = 0.95
#: Doubling that gains less than this does not pay.
_RISE = 0.05
#: Further than this from the largest size that ran, memory is not predicted.
_FARTHEST = 4
#: Steps that one timing takes at least: warm-up and blocks.
_STEPS = 12
_MOST_ROUNDS = 3


class BatchFound(msgspec.Struct, frozen=True):
    """`own` is what the workload does by itself. `too_large`: a size that was wanted or would have paid, and does not
    fit; `largest` is then the largest that ran."""

    own: int
    points: tuple[BatchPoint, ...]
    too_large: int | None = None
    why: str = ""

    @property
    def knee(self) -> int | None:
        return knee(self.points)

    @property
    def largest(self) -> int | None:
        return max((point.batch for point in self.points if not point.failed), default=None)


def first_sizes(own: int) -> tuple[int, ...]:
    """The workload's own and two doublings, in ascending order: memory can only be read as it grows."""
    return own, 2 * own, 4 * own


def next_sizes(points: Sequence[BatchPoint], rounds: int) -> tuple[int, ...]:
    """The next two doublings. After the first sweep one of the last two has to have paid, later the last one."""
    ran = _ran(points)
    if not ran or rounds >= _MOST_ROUNDS or any(point.failed for point in points):
        return ()
    if not still_rising(points, doublings=2 if rounds <= 1 else 1):
        return ()
    return 2 * ran[-1].batch, 4 * ran[-1].batch


def still_rising(points: Sequence[BatchPoint], doublings: int = 2) -> bool:
    """Did one of the last doublings gain more than a little over everything before it?"""
    speeds = [point.items_per_second or 0.0 for point in _ran(points)]
    if len(speeds) <= doublings:
        return len(speeds) > 0
    return max(speeds[-doublings:]) > (1 + _RISE) * max(speeds[:-doublings])


def knee(points: Sequence[BatchPoint]) -> int | None:
    ran = _ran(points)
    best = max((point.items_per_second or 0.0 for point in ran), default=0.0)
    return next((point.batch for point in ran if (point.items_per_second or 0.0) >= KNEE_SHARE * best), None)


def predicted_bytes(points: Sequence[BatchPoint], batch: int) -> int | None:
    """The memory of a larger size, on the straight line through the last points; None where fewer than two tell.

    Of the slopes between neighbours the steepest counts: at first new memory fills what others have given back.
    """
    known = [(point.batch, point.peak_resident_bytes) for point in _ran(points) if point.peak_resident_bytes]
    if len(known) < 2:
        return None
    slopes = [(high - low) / (large - small) for (small, low), (large, high) in pairwise(known)]
    largest, peak = known[-1]
    return int(peak + max(*slopes, 0.0) * (batch - largest))


def fits(points: Sequence[BatchPoint], batch: int, limit_bytes: int | None) -> bool:
    """Whether a size may be tried. What cannot be predicted is not."""
    largest = max((point.batch for point in _ran(points)), default=0)
    predicted = predicted_bytes(points, batch)
    return batch <= _FARTHEST * largest and limit_bytes is not None and predicted is not None \
        and predicted <= limit_bytes


def timing_seconds(points: Sequence[BatchPoint], batch: int) -> float:
    """About how long it takes to time a size: in proportion to the largest that ran."""
    ran = _ran(points)
    speed = ran[-1].items_per_second if ran else None
    return _STEPS * batch / speed if speed else 0.0


def steps_of(too_large: int, largest: int) -> int:
    """How many steps of the largest size make up the one that does not fit."""
    return max(round(too_large / largest), 1)


def _ran(points: Sequence[BatchPoint]) -> list[BatchPoint]:
    return sorted((point for point in points if not point.failed), key=lambda point: point.batch)
