"""What whole runs over simulated machines get right, as counted by `benchmark.py tune`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from doctor.measure.units import Setting
from doctor.measure.verdict import FASTER_MARGIN, Verdict, gain_of
from doctor.tune.recommendation import Recommendation

from .chips import CHIPS, TWO_CPUS, Chip
from .experiment import Truth
from .landscapes import Landscape, all_equal, exhaustive, hills, objective, one_faster, published, tune
from .noise import Noise

_ROUNDING = 1e-9

#: The landscapes of a chip, by the name of the experiment; the seeds go through them in turn.
EXPERIMENTS: dict[str, Callable[[Chip], list[Landscape]]] = {
    "all equal": all_equal,
    "all but the default +2 %": partial(all_equal, gain=math.expm1(FASTER_MARGIN)),
    "one +20 %": partial(one_faster, gain=0.20),
    "published": published,
    "hills": hills,
}


@dataclass(frozen=True)
class Claim:
    """One candidate of one run: what was true, and what was said."""

    true_gain: float
    word: str
    gain: float
    covered: bool  # the printed interval holds the true gain

    @property
    def false_faster(self) -> bool:
        """*faster* says: by more than the margin."""
        return self.word == "faster" and self.true_gain <= gain_of(-FASTER_MARGIN) + _ROUNDING


@dataclass(frozen=True)
class Run:
    claims: tuple[Claim, ...]
    advice: Mapping[str, Claim]  # of the recommendations that were tried, by axis
    found: bool  # what is exported is as fast as the best arm, to 2 %
    exported: bool
    regret: float  # of what is exported, else of the default, against the best of the exhaustive search
    units: int

    @property
    def false_faster(self) -> bool:
        return any(claim.false_faster for claim in (*self.claims, *self.advice.values()))


@dataclass(frozen=True)
class Known:
    """A landscape with what is true in it."""

    landscape: Landscape
    truth: Truth
    default: float
    best_arm: float
    best: float

    @staticmethod
    def of(landscape: Landscape) -> Known:
        truth = landscape.truth()
        tried = [Setting(), *(arm.setting for arm in landscape.arms)]
        best_arm = min(objective(truth, setting) for setting in tried)
        every = [] if landscape.log_ratios is not None else exhaustive(landscape.chip)
        best = min([best_arm, *(objective(truth, setting) for setting in every)])
        return Known(landscape, truth, objective(truth, Setting()), best_arm, best)

    def regret(self, setting: Setting) -> float:
        return math.expm1(objective(self.truth, setting) - self.best)


@dataclass
class Cell:
    """All runs of one chip under one experiment and noise level."""

    chip: str
    experiment: str
    level: float
    runs: list[Run] = field(default_factory=list)


def one_run(known: Known, series: Noise, seed: int, budget_seconds: float) -> Run:
    result = tune(known.landscape, known.truth, series, seed, budget_seconds)
    claims = [
        _claim(candidate.verdict, gain_of(objective(known.truth, candidate.setting) - known.default))
        for candidate in result.candidates
    ]
    advice = {
        row.axis: _claim(row.verdict, gain_of(known.landscape.advice(_options_of(row))))
        for row in result.recommendations
        if row.verdict is not None
    }
    chosen = result.export
    at = known.default if chosen is None else objective(known.truth, chosen.setting)
    return Run(
        claims=tuple(claims),
        advice=advice,
        found=chosen is not None and at <= known.best_arm + FASTER_MARGIN,
        exported=chosen is not None,
        regret=math.expm1(at - known.best),
        units=result.units,
    )


def _claim(verdict: Verdict, true_gain: float) -> Claim:
    low = -1.0 if verdict.gain_low is None else verdict.gain_low
    high = math.inf if verdict.gain_high is None else verdict.gain_high
    gain = math.nan if verdict.gain is None else verdict.gain
    return Claim(true_gain, verdict.word, gain, covered=low <= true_gain <= high)


def _options_of(row: Recommendation) -> dict[str, str]:
    """What was compared with the base: the size stands in the title."""
    return {"autocast": "bfloat16"} if row.axis == "dtype" else {"batch": row.title.split()[2]}


def one_cell(
    chip_at: int | None, experiment: str, level: float, residuals: Noise, seeds: range, budget_seconds: float
) -> Cell:
    """`chip_at`: index into CHIPS; None for the machine of two CPUs."""
    chip = TWO_CPUS if chip_at is None else CHIPS[chip_at]
    series = residuals.scaled(level)
    knowns = [Known.of(landscape) for landscape in EXPERIMENTS[experiment](chip)]
    runs = [one_run(knowns[seed % len(knowns)], series, seed, budget_seconds) for seed in seeds]
    return Cell(chip.name, experiment, level, runs)
