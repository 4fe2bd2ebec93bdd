"""The search: its rounds, what it throws out, what it chooses, and what it does about failures."""

from __future__ import annotations

import math
import random

import pytest

from doctor.measure.units import DEFAULT, Answer, Setting, Unit
from doctor.tune.arms import Addition, Arm
from doctor.tune.meter import DEFAULT_ARM, Meter
from doctor.tune.search import Searched, noise_of, search, search_additions
from tests.tune.fake import FakeWorker, drive, gemm, plan_of, threads

TWELVE = threads(*range(1, 13))


def searched(worker: FakeWorker, arms: tuple[Arm, ...] = TWELVE, until_seconds: float = 72.0) -> Searched:
    """72 seconds are 36 units of the fake's two seconds."""
    return drive(search(Meter(plan_of(arms)), arms, until_seconds), worker)


def fates(found: Searched) -> dict[str, str]:
    return {report.name: report.fate for report in found.reports}


def test_two_rounds_of_all_then_two_of_the_best_third() -> None:
    worker = FakeWorker(gemm(default=2.0, threads_7=1.0, threads_3=1.1, threads_9=1.2, threads_1=1.3))
    found = searched(worker)
    rounds = worker.arms("search")
    assert [len(each) for each in rounds] == [13, 13, 5, 5]
    assert all(sorted(each) == sorted([DEFAULT, *(arm.name for arm in TWELVE)]) for each in rounds[:2])
    assert set(rounds[2]) == {DEFAULT, "threads-7", "threads-3", "threads-9", "threads-1"} == set(rounds[3])
    assert found.chosen is not None and found.chosen.name == "threads-7" and found.rounds == 4
    told = fates(found)
    assert told["threads-7"] == "chosen" and told["threads-3"] == "left" and told["threads-5"] == "out"


def test_the_order_of_a_round_is_random_and_stored_in_the_seed() -> None:
    worker, again = FakeWorker(gemm(default=1.0)), FakeWorker(gemm(default=1.0))
    searched(worker)
    searched(again)
    assert worker.ran == again.ran
    first, second = worker.arms("search")[:2]
    assert first != second != sorted(second)
    assert [unit.number for unit in worker.ran] == list(range(36))


def test_it_ends_when_one_is_left() -> None:
    worker = FakeWorker(gemm(default=2.0, threads_2=1.0))
    found = searched(worker, threads(1, 2, 3), until_seconds=1000.0)
    assert [len(each) for each in worker.arms("search")] == [4, 4]
    assert found.chosen is not None and found.chosen.name == "threads-2"


def test_counts_between_the_leader_and_its_neighbours_join_after_the_cut() -> None:
    """1, 4 and 16 threads are far apart; the best is 8, which no arm asks for."""
    worker = FakeWorker(gemm(default=2.0, threads_1=3.0, threads_4=1.2, threads_16=1.3, threads_8=1.0, threads_2=1.8))
    found = searched(worker, threads(1, 4, 16), until_seconds=1000.0)
    rounds = worker.arms("search")
    assert [sorted(each) for each in rounds[:2]] == [[DEFAULT, "threads-1", "threads-16", "threads-4"]] * 2
    assert [sorted(each) for each in rounds[2:4]] == [[DEFAULT, "threads-2", "threads-4", "threads-8"]] * 2
    assert found.chosen is not None and found.chosen.setting.variables == {"OMP_NUM_THREADS": "8"}
    assert fates(found)["threads-8"] == "chosen" and fates(found)["threads-4"] == "out"


def test_what_joins_is_compared_over_the_rounds_of_all() -> None:
    """The rounds before it joined were three times as slow: that must not make it look fast."""
    worker = FakeWorker(
        gemm(default=2.0, threads_4=1.0, threads_16=1.3, threads_8=1.05, threads_2=1.8),
        noise=lambda unit: 3.0 if unit.round < 2 else 1.0,
    )
    found = searched(worker, threads(1, 4, 16), until_seconds=1000.0)
    assert found.chosen is not None and found.chosen.name == "threads-4"


def test_a_default_that_slows_down_does_not_make_what_joins_look_fast() -> None:
    worker = FakeWorker(
        gemm(default=2.0, threads_4=1.0, threads_16=1.3, threads_8=1.05, threads_2=1.8),
        noise=lambda unit: 3.0 if unit.round >= 2 and unit.arm == DEFAULT else 1.0,
    )
    found = searched(worker, threads(1, 4, 16), until_seconds=1000.0)
    assert found.chosen is not None and found.chosen.name == "threads-4"


def test_nothing_joins_where_two_more_rounds_do_not_fit() -> None:
    worker = FakeWorker(gemm(default=2.0, threads_4=1.0))
    searched(worker, threads(1, 4, 16), until_seconds=16.0 + 15.9)
    assert [len(each) for each in worker.arms("search")] == [4, 4]
    searched(worker := FakeWorker(gemm(default=2.0, threads_4=1.0)), threads(1, 4, 16), until_seconds=16.0 + 16.0)
    assert [len(each) for each in worker.arms("search")] == [4, 4, 4, 4]


def test_one_arm_runs_once_for_its_answer() -> None:
    worker = FakeWorker(gemm(default=2.0))
    assert searched(worker, threads(4), 1000.0).rounds == 1
    assert len(worker.ran) == 2


def test_a_round_that_would_not_end_in_time_is_not_begun_but_the_first() -> None:
    worker = FakeWorker(gemm(default=2.0))
    searched(worker, until_seconds=51.9)
    assert [len(each) for each in worker.arms("search")] == [13]
    searched(worker := FakeWorker(gemm(default=2.0)), until_seconds=1.0)
    assert [len(each) for each in worker.arms("search")] == [13]


def test_a_costly_arm_counts_with_its_own_cost() -> None:
    costs = {"threads-1": 20.0}
    worker = FakeWorker(gemm(default=2.0), costs)
    searched(worker, threads(1, 2, 3), until_seconds=30.0 + 26.0)
    assert len(worker.arms("search")) == 2
    searched(worker := FakeWorker(gemm(default=2.0), costs), threads(1, 2, 3), until_seconds=30.0 + 20.0)
    assert len(worker.arms("search")) == 1, "a second round costs 26 seconds, not four times the default"


def test_a_slow_minute_does_not_count_against_whoever_ran_in_it() -> None:
    """One round three times as slow as the others: the ranking is that of the rounds' own medians."""
    arms = threads(1, 2, 3, 4)
    worker = FakeWorker(
        gemm(default=1.2, threads_1=1.0, threads_2=1.1, threads_3=1.3, threads_4=1.4),
        noise=lambda unit: 3.0 if unit.round == 0 else 1.0,
    )
    found = searched(worker, arms, until_seconds=1000.0)
    assert found.chosen is not None and found.chosen.name == "threads-1"
    ratios = {report.name: report.log_ratio for report in found.reports}
    assert ratios["threads-1"] == pytest.approx(math.log(1.0 / 1.2))
    assert ratios["threads-4"] == pytest.approx(math.log(1.4 / 1.2))


def test_equals_are_taken_in_their_order_of_priority() -> None:
    found = searched(FakeWorker(gemm(default=1.0)), threads(8, 4, 2, 1))
    assert found.chosen is not None and found.chosen.name == "threads-8"


@pytest.mark.parametrize(
    ("outcome", "detail", "told"),
    [
        ("killed", "SIGSEGV", "killed: SIGSEGV"),
        ("hung", "timeout after 30 s", "hung: timeout after 30 s"),
        ("out-of-memory", "", "out-of-memory"),
        ("rubbish", "no JSON", "rubbish: no JSON"),
    ],
)
def test_an_arm_that_fails_is_out_and_the_others_go_on(outcome: str, detail: str, told: str) -> None:
    fast = gemm(default=2.0, threads_1=0.1, threads_2=1.0)
    worker = FakeWorker(fast, fails={("threads-1", "search"): (outcome, detail)})  # type: ignore[dict-item]
    found = searched(worker, threads(1, 2, 3, 4), until_seconds=1000.0)
    assert found.chosen is not None and found.chosen.name == "threads-2"
    assert fates(found)["threads-1"] == "failed"
    assert next(report.detail for report in found.reports if report.name == "threads-1") == told
    assert sum(unit.arm == "threads-1" for unit in worker.ran) == 1


def test_a_wrong_answer_disqualifies_the_fastest() -> None:
    arms, plan = threads(1, 2), plan_of(threads(1, 2))
    answers = {"default": Answer((1.0, 2.0), 1e-3), "threads-1": Answer((1.0, 2.1), 1e-3)}
    worker = FakeWorker(gemm(default=2.0, threads_1=0.1, threads_2=1.0), answers=answers)
    meter = Meter(plan)
    drive(meter.measure(DEFAULT_ARM, "cost", 0), worker)
    found = drive(search(meter, arms, 1000.0), worker)
    assert found.chosen is not None and found.chosen.name == "threads-2"
    failed = next(report for report in found.reports if report.name == "threads-1")
    assert failed.fate == "failed" and failed.detail.startswith("wrong: gemm is off by 0.05")


def test_a_default_that_fails_in_a_round_costs_that_round_only() -> None:
    worker = FakeWorker(
        gemm(default=2.0, threads_1=1.0), fails={("default", "search"): ("killed", "SIGKILL")}
    )
    found = searched(worker, threads(1, 2))
    assert found.chosen is not None and found.chosen.name == "threads-1"
    assert all(report.log_ratio is None for report in found.reports)


def test_nothing_is_chosen_where_everything_fails() -> None:
    fails = {(f"threads-{count}", "search"): ("killed", "SIGILL") for count in (1, 2)}
    worker = FakeWorker(gemm(default=1.0), fails=fails)  # type: ignore[arg-type]
    found = searched(worker, threads(1, 2))
    assert found.chosen is None and set(fates(found).values()) == {"failed"}


BASE = threads(8)[0]
ADDED = tuple(
    Addition(name, {name.upper(): "1"}).on(BASE) for name in ("passive", "pages", "allocator", "capability")
)


def added(worker: FakeWorker, until_seconds: float = 100.0) -> Searched:
    # Between 8 and the default's 16 threads lies a count that must not join here.
    meter = Meter(plan_of((BASE,), default_threads=16))
    return drive(search_additions(meter, BASE, ADDED, until_seconds, first_round=4), worker)


def test_an_addition_carries_the_variables_of_what_it_is_added_to() -> None:
    assert ADDED[0].name == "threads-8 + passive"
    assert ADDED[0].setting.variables == {"OMP_NUM_THREADS": "8", "PASSIVE": "1"}
    masked = Addition("x", {"X": None}).on(Arm("a", Setting({"OMP_NUM_THREADS": "4"}, "0-3")))
    assert masked.setting.cpus == "0-3" and masked.setting.variables["X"] is None


def test_the_base_runs_in_every_round_beside_what_is_added() -> None:
    worker = FakeWorker({**gemm(default=2.0, threads_8=1.0), "threads-8 + pages": {"gemm": 0.9}})
    found = added(worker, until_seconds=24.0 + 8.0)
    rounds = worker.arms("search")
    assert [len(each) for each in rounds] == [6, 6, 4]
    assert all({DEFAULT, "threads-8", "threads-8 + pages"} <= set(each) for each in rounds)
    assert {unit.round for unit in worker.ran} == {4, 5, 6}, "the rounds of the run are counted on"
    assert found.chosen is not None and found.chosen.name == "threads-8 + pages"


def test_an_addition_that_is_hardly_faster_is_not_taken() -> None:
    worker = FakeWorker({**gemm(default=2.0, threads_8=1.0), "threads-8 + pages": {"gemm": 0.985}})
    found = added(worker)
    assert found.chosen is BASE
    assert [report.fate for report in found.reports].count("chosen") == 0


def test_an_addition_that_wins_by_luck_in_some_rounds_is_not_taken() -> None:
    """Two rounds, one won by far, one lost by little: its median is far ahead."""
    lucky = ADDED[1].name
    seconds = {**gemm(default=2.0, threads_8=1.0), **{arm.name: {"gemm": 1.5} for arm in ADDED}, lucky: {"gemm": 1.0}}
    worker = FakeWorker(seconds, noise=lambda unit: {4: 0.7, 5: 1.01}[unit.round] if unit.arm == lucky else 1.0)
    found = added(worker, until_seconds=24.0)
    ahead = next(report for report in found.reports if report.name == lucky)
    assert ahead.rounds == 2 and ahead.log_ratio is not None and ahead.log_ratio < math.log(0.9 / 2.0)
    assert found.chosen is BASE


def test_a_base_that_fails_ends_it() -> None:
    worker = FakeWorker(gemm(default=2.0), fails={("threads-8", "search"): ("out-of-memory", "")})
    found = added(worker)
    assert found.chosen is None
    assert fates(found)["threads-8"] == "failed"


def test_the_noise_of_a_search_is_that_between_runs_of_one_arm() -> None:
    """Neither what an arm costs nor what a round costs is noise."""
    draw = random.Random("noise of a search")
    arms = {f"a{at}": draw.uniform(-1, 1) for at in range(12)}
    rounds = {number: draw.uniform(-1, 1) for number in range(6)}
    times = {name: {at: own + slow + draw.gauss(0, 0.03) for at, slow in rounds.items()} for name, own in arms.items()}
    assert noise_of(times) == pytest.approx(0.03, rel=0.25)
    short = {"late": {5: 3.0}, **times}
    assert noise_of(short) == noise_of(times), "an arm that joined late says nothing"
    assert noise_of({"a": {0: 1.0}, "b": {0: 2.0}}) is None and noise_of({"a": {0: 1.0, 1: 2.0}}) is None


def test_a_search_tells_its_noise_and_one_round_tells_none() -> None:
    def jitter(unit: Unit) -> float:
        return math.exp(0.02 * random.Random(unit.number).uniform(-1, 1))

    noisy = searched(FakeWorker(gemm(default=2.0), noise=jitter))
    assert noisy.noise is not None and noisy.noise == pytest.approx(0.02 / math.sqrt(3), rel=0.4)
    assert searched(FakeWorker(gemm(default=2.0)), threads(4), 1000.0).noise is None
