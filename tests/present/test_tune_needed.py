"""The budget that would have decided an undecided run is checked by running it."""

from __future__ import annotations

import math
import random

import msgspec
import pytest

from doctor.measure.units import Unit
from doctor.measure.verdict import MAX_NEEDED_PAIRS
from doctor.present.tune_needed import deciding_budget_seconds, deciding_verdict
from doctor.tune.result import TuneResult
from doctor.tune.run import course
from tests.present.tune_results import cases
from tests.tune.fake import FakeWorker, drive, gemm, plan_of, threads


def _run(seed: int, budget_seconds: float, counts: tuple[int, ...]) -> TuneResult:
    def noise(unit: Unit) -> float:
        return math.exp(random.Random(f"{seed} {unit.number} {unit.arm}").gauss(0, 0.10))

    worker = FakeWorker(gemm(default=1.0, threads_4=0.9), noise=noise)
    return drive(course(plan_of(threads(*counts), budget_seconds)), worker)


def _undecided(counts: tuple[int, ...]) -> tuple[int, TuneResult]:
    """The first run of 60 s that some more pairs would have decided, and its seed."""
    for seed in range(100):
        result = _run(seed, 60.0, counts)
        verdict = deciding_verdict(result)
        if verdict is not None and verdict.pairs < (verdict.needed_pairs or 0) < 40:
            return seed, result
    raise AssertionError("no such run")


@pytest.mark.parametrize("counts", [(4,), (2, 4, 8), tuple(range(1, 13))])
def test_the_proposed_budget_gives_the_pairs_that_were_missing(counts: tuple[int, ...]) -> None:
    seed, short = _undecided(counts)
    needed = short.candidates[0].verdict.needed_pairs
    budget = deciding_budget_seconds(short)
    assert needed is not None and budget is not None and budget > 60 and budget % 10 == 0
    again = _run(seed, float(budget), counts)
    assert 0.8 * needed <= again.pairs <= 2 * needed + 2, "about enough, and not far too much"


def test_what_no_budget_decides_proposes_none() -> None:
    result = cases()["undecided-raw"]
    first = result.candidates[0]
    for needed in (MAX_NEEDED_PAIRS, None):
        verdict = msgspec.structs.replace(first.verdict, needed_pairs=needed)
        other = msgspec.structs.replace(first, verdict=verdict)
        assert deciding_budget_seconds(msgspec.structs.replace(result, candidates=(other,))) is None


@pytest.mark.parametrize("name", ["faster", "same", "slower-on-one", "default-failed", "failed-in-confirmation"])
def test_a_run_that_is_decided_needs_nothing_more(name: str) -> None:
    assert deciding_verdict(cases()[name]) is None and deciding_budget_seconds(cases()[name]) is None
