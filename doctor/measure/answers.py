"""Whether a setting still computes what the default computes. A wrong answer disqualifies, however fast it came."""

from __future__ import annotations

import math
from collections.abc import Mapping

from doctor.measure.units import Answer, UnitResult


def answers_of(result: UnitResult) -> dict[str, Answer]:
    """The answers by workload."""
    return {timing.workload: timing.answer for timing in result.timings if timing.answer is not None}


def wrong_answer(reference: Mapping[str, Answer], result: UnitResult) -> str | None:
    """One sentence about the first workload whose numbers differ from the default's; None where none does.

    A workload that answered with no numbers in the default is not compared. The wider of the two tolerances holds: a
    setting that calculates in a lower type says so with its own.
    """
    answers = answers_of(result)
    for workload, wanted in reference.items():
        given = answers.get(workload)
        if given is None or len(given.values) != len(wanted.values):
            return f"{workload} answered with {0 if given is None else len(given.values)} numbers, not with "\
                f"{len(wanted.values)}"
        if not all(map(math.isfinite, given.values)):
            return f"{workload} answered with a number that is not finite"
        off = max((abs(one - other) for one, other in zip(given.values, wanted.values, strict=True)), default=0.0)
        scale = max(map(abs, wanted.values), default=0.0)
        tolerance = max(wanted.tolerance, given.tolerance)
        if off > tolerance * scale:
            return f"{workload} is off by {off / scale if scale else math.inf:.1g} of its largest number; "\
                f"{tolerance:g} is allowed"
    return None
