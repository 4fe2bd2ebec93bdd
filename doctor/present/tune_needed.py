"""What an undecided run would have needed: pairs, and the budget that gives them."""

from __future__ import annotations

import math

from doctor.measure.verdict import Verdict
from doctor.tune.budget import MAX_PAIRS, SEARCH_SHARE, budget_for
from doctor.tune.result import TuneResult

#: Budgets are proposed in steps of this.
_STEP_SECONDS = 10


def deciding_verdict(result: TuneResult) -> Verdict | None:
    """The verdict that more pairs would decide: that of the chosen setting, if it is undecided."""
    first = next(iter(result.candidates), None)
    return first.verdict if first is not None and first.verdict.word == "undecided" and not first.failed else None


def deciding_budget_seconds(result: TuneResult) -> int | None:
    """About the smallest budget that gives the pairs that were missing. None where no budget does, or where nothing is
    known.

    The confirmation gets what the search leaves. Where the search ended by itself, it needs no longer than it did; else
    it may take its whole share.
    """
    verdict = deciding_verdict(result)
    if verdict is None or verdict.needed_pairs is None or not result.unit_seconds:
        return None
    if verdict.needed_pairs > MAX_PAIRS:
        return None
    group_seconds = result.unit_seconds * (1 + len(result.candidates))
    confirming = verdict.needed_pairs * group_seconds
    spent = result.spent_seconds if result.settings_seconds is None else result.settings_seconds
    settings = max(spent - result.pairs * group_seconds, 0.0) + confirming
    if any(report.fate in ("not-tried", "left") for report in result.arms):
        settings = max(settings, confirming / (1 - SEARCH_SHARE))
    budget = budget_for(settings, verdict.needed_pairs, bool(result.plan.trials))
    return max(math.ceil(budget / _STEP_SECONDS), 1) * _STEP_SECONDS
