"""How one wall-clock budget is divided: how many pairs, how many arms, and when the search must stop.

Everything is counted in units (processes) of the cost that was measured first. The confirmation needs a group of
runs at a time: the default and one candidate, or the default and two (see `doctor.tune.confirm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from doctor.measure.verdict import MIN_PAIRS

T = TypeVar("T")

DEFAULT_SECONDS = 180.0
DEFAULT_PAIRS = 12
#: Beyond this an interval gains little: its width falls with the square root.
MAX_PAIRS = 40
SEARCH_SHARE = 0.6
#: Of the search, where there is something to try on top of the best arm.
_ARMS_SHARE = 2 / 3
#: The rounds that every arm is promised before anything is thrown out.
FIRST_ROUNDS = 2
#: A rounding error of the clock must not cost a unit.
_SLACK = 1e-6


class Division(msgspec.Struct, frozen=True):
    """`units` are left to spend. `search_units` of them at most go to the search, `arm_units` of those to the arms and
    the rest to additions; `pairs` groups are kept for the confirmation. The first `arms` arms are tried."""

    units: int
    pairs: int
    search_units: int
    arm_units: int
    arms: int


def divide(units: int, arms: int, group: int = 2, additions: bool = False) -> Division | None:
    """Divide `units` among at most `arms` arms; None where 8 groups and one round with one arm do not fit.

    `group`: the runs of one group of the confirmation, 2 or 3. Twelve groups are kept, fewer (at least 8) where they
    would take more than the search leaves. Every arm is promised two rounds, the default runs in each: arms <=
    (units - group x pairs) / 2 - 1.
    """
    if arms < 1 or units < MIN_PAIRS * group + 2:
        return None
    searchable = int(units * SEARCH_SHARE)
    pairs = max(MIN_PAIRS, min(DEFAULT_PAIRS, (units - searchable) // group))
    search_units = min(searchable, units - pairs * group)
    arm_units = int(search_units * _ARMS_SHARE) if additions else search_units
    return Division(units, pairs, search_units, arm_units, arms=min(arms, max(arm_units // FIRST_ROUNDS - 1, 1)))


def additions_within(units: int) -> int:
    """How many additions can be tried: two rounds of each, of the arm they are added to, and of the default."""
    return max(units // FIRST_ROUNDS - 2, 0)


def units_within(seconds: float, unit_seconds: float) -> int:
    """How many units of a cost fit."""
    return max(int(seconds / unit_seconds + _SLACK), 0) if unit_seconds > 0 else 0


def confirming_groups(seconds_left: float, group_seconds: float) -> int:
    """How many groups the confirmation runs: all that fit into what the search left, at least 8 even where it left
    less. Fixed before the first, so that no result can decide when it stops."""
    return max(MIN_PAIRS, min(units_within(seconds_left, group_seconds), MAX_PAIRS))


def best_third(ordered: Sequence[T]) -> tuple[T, ...]:
    """The first third of what is ordered best first, rounded up: at least one."""
    return tuple(ordered[: max(1, (len(ordered) + 2) // 3)])
