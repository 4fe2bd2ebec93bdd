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
#: With recommendations still to come, and the default budget; more in proportion to a larger one.
_PAIRS_BESIDE_ADVICE = 14
SEARCH_SHARE = 0.6
#: Of the search, where there is something to try on top of the best arm: at least so much belongs to the arms.
_ARMS_SHARE = 2 / 3
#: What is kept for the recommendations, of what lies beyond the seconds that are promised to the settings.
_ADVICE_SHARE = 1 / 6
_SETTINGS_FIRST_SECONDS = 120.0
#: The rounds that every arm is promised before anything is thrown out.
FIRST_ROUNDS = 2
#: A rounding error of the clock must not cost a unit.
_SLACK = 1e-6


class Division(msgspec.Struct, frozen=True):
    """`units` are left to spend. `search_units` of them at most go to the search: `arm_units` to the arms, and what is
    left below `addition_units` to additions. `pairs` groups are kept for the confirmation. The first `arms` arms are
    tried."""

    units: int
    pairs: int
    search_units: int
    arm_units: int
    addition_units: int
    arms: int


def settings_seconds(budget_seconds: float, advice: bool) -> float:
    """By when the search and the confirmation of settings are to be over. They come first: below 120 s they get
    everything, above that a sixth of the budget is kept for the recommendations, where there are any to measure."""
    kept = min(_ADVICE_SHARE * budget_seconds, max(budget_seconds - _SETTINGS_FIRST_SECONDS, 0.0))
    return budget_seconds - kept if advice else budget_seconds


def most_pairs(budget_seconds: float, advice: bool) -> int:
    """How many groups the confirmation takes at most. Beyond about 14 an interval gains less than a first
    recommendation tells."""
    if not advice:
        return MAX_PAIRS
    return min(max(int(_PAIRS_BESIDE_ADVICE * budget_seconds / DEFAULT_SECONDS), _PAIRS_BESIDE_ADVICE), MAX_PAIRS)


def budget_for(settings: float, pairs: int, advice: bool) -> float:
    """The budget that leaves `settings` seconds for search and confirmation, and lets that take so many pairs."""
    if not advice:
        return settings
    below = settings / (1 - _ADVICE_SHARE) if settings > _SETTINGS_FIRST_SECONDS else settings
    return max(below, DEFAULT_SECONDS * pairs / _PAIRS_BESIDE_ADVICE if pairs > _PAIRS_BESIDE_ADVICE else 0.0)


def divide(units: int, arms: int, group: int = 2, additions: bool = False) -> Division | None:
    """Divide `units` among at most `arms` arms; None where 8 groups and one round with one arm do not fit.

    `group`: the runs of one group of the confirmation, 2 or 3. Twelve groups are kept, fewer (at least 8) where they
    would take more than the search leaves; additions never take the twelve away. Every arm is promised two rounds, the
    default runs in each: arms <= (units - group x pairs) / 2 - 1.
    """
    if arms < 1 or units < MIN_PAIRS * group + 2:
        return None
    searchable = int(units * SEARCH_SHARE)
    pairs = max(MIN_PAIRS, min(DEFAULT_PAIRS, (units - searchable) // group))
    search_units = min(searchable, units - pairs * group)
    arm_units = min(max(int(search_units * _ARMS_SHARE), _wished(arms)), search_units) if additions else search_units
    return Division(
        units=units,
        pairs=pairs,
        search_units=search_units,
        arm_units=arm_units,
        addition_units=max(min(search_units, units - DEFAULT_PAIRS * group), 0) if additions else 0,
        arms=min(arms, max(arm_units // FIRST_ROUNDS - 1, 1)),
    )


def _wished(arms: int) -> int:
    """The units of two rounds of all arms, and of two more of the best third, the counts that join, and the default."""
    if arms == 1:
        return FIRST_ROUNDS
    return FIRST_ROUNDS * (arms + 1) + FIRST_ROUNDS * (len(best_third(range(arms))) + 2 + 1)


def additions_within(units: int) -> int:
    """How many additions can be tried: two rounds of each, of the arm they are added to, and of the default."""
    return max(units // FIRST_ROUNDS - 2, 0)


def units_within(seconds: float, unit_seconds: float) -> int:
    """How many units of a cost fit."""
    return max(int(seconds / unit_seconds + _SLACK), 0) if unit_seconds > 0 else 0


def confirming_groups(
    share_seconds: float, left_seconds: float, group_seconds: float, most: int, needed_pairs: int | None = None
) -> int:
    """How many groups the confirmation runs: all that fit into its share, at most `most`; at least 8 even where they do
    not fit. Where the search says that this would not do, and that what is left of the whole budget would, it takes
    more from what is kept for the recommendations. Fixed before the first, from the search alone, so that no result
    can decide when it stops.
    """
    usual = max(MIN_PAIRS, min(units_within(share_seconds, group_seconds), most))
    fitting = min(units_within(left_seconds, group_seconds), MAX_PAIRS)
    if needed_pairs is None or needed_pairs > fitting:
        return usual
    return max(usual, needed_pairs)


def best_third(ordered: Sequence[T]) -> tuple[T, ...]:
    """The first third of what is ordered best first, rounded up: at least one."""
    return tuple(ordered[: max(1, (len(ordered) + 2) // 3)])
