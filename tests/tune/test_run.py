"""Whole runs: how they end, what they promise about time, and that a run cut short goes on as if nothing happened."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.measure.units import DEFAULT, Measured, Setting, Unit, UnitResult
from doctor.tune.arms import Addition, Arm
from doctor.tune.log import BadLog, first_line, next_line, read_log
from doctor.tune.meter import Step
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from doctor.tune.run import OtherRun, course, events
from doctor.tune.trials import Trial
from tests.tune.fake import FakeWorker, drive, gemm, plan_of, threads

MASKED = Arm("threads-4-ccx0", Setting({"OMP_NUM_THREADS": "4"}, "0-3"))
ARMS = (*threads(2, 4, 8), MASKED)


def jitter(unit: Unit) -> float:
    return math.exp(0.005 * random.Random(unit.number).uniform(-1, 1))


def worker(**seconds: float) -> FakeWorker:
    return FakeWorker(gemm(default=1.0, **seconds), noise=jitter)


def run(plan: Plan, fake: FakeWorker) -> TuneResult:
    return drive(course(plan), fake)


def test_a_setting_that_is_faster_ends_as_export() -> None:
    fake = worker(threads_4=0.8)
    result = run(plan_of(ARMS), fake)
    assert result.ending == "confirmed" and result.export is not None
    assert result.export.setting == Setting({"OMP_NUM_THREADS": "4"}) == result.export_variables.setting  # type: ignore[union-attr]
    assert [unit.stage for unit in fake.ran[:3]] == ["cost", "cost", "search"]
    assert result.units == len(fake.ran) and result.unit_seconds == 2.0
    assert result.repeatability is not None and not result.disturbed
    assert 160 < result.spent_seconds <= 180


def test_nothing_to_gain_ends_as_keep_the_default() -> None:
    result = run(plan_of(ARMS), worker())
    assert result.ending == "confirmed" and result.export is None and result.export_variables is None
    assert [candidate.verdict.word for candidate in result.candidates][:1] == ["same"]


def test_a_mask_that_is_faster_is_exported_for_run_only() -> None:
    result = run(plan_of(ARMS), worker(threads_4_ccx0=0.7))
    assert [candidate.setting.cpus for candidate in result.candidates] == ["0-3", None]
    assert result.export is not None and result.export.setting == MASKED.setting
    assert result.export_variables is None, "the variables alone were not faster"


def test_both_are_exported_where_both_are_faster() -> None:
    fake = FakeWorker(
        {**gemm(default=1.0, threads_4_ccx0=0.7), "threads-4-ccx0 without its mask": {"gemm": 0.8}}, noise=jitter
    )
    result = run(plan_of((MASKED,)), fake)
    assert result.export is not None and result.export.setting.cpus == "0-3"
    assert result.export_variables is not None and result.export_variables.setting.cpus is None
    assert result.export_variables.verdict.gain == pytest.approx(0.25, abs=0.01)


def test_the_confirmation_takes_what_the_search_left_and_the_budget_holds() -> None:
    fake = worker(threads_4=0.8)
    result = run(plan_of(threads(3, 4, 5), budget_seconds=100.0), fake)
    # 2 cost units, 2 rounds of 4, then one arm is left: (50 - 10) / 2 pairs.
    assert result.pairs == 20 and result.spent_seconds == 100.0


def test_a_cold_first_process_does_not_shrink_the_budget() -> None:
    fake = worker(threads_4=0.8)
    plain = fake.measure

    def measure(unit: Unit) -> UnitResult:
        fake.cost_seconds = {DEFAULT: 15.0} if unit.number == 0 else {}
        return plain(unit)

    fake.measure = measure  # type: ignore[method-assign]
    result = run(plan_of(ARMS, budget_seconds=90.0), fake)
    assert result.unit_seconds == 2.0 and result.export is not None


@pytest.mark.parametrize(("arms", "least"), [(threads(4), 4.0 + 18 * 2.0), ((MASKED,), 4.0 + 26 * 2.0)])
def test_below_eight_pairs_and_one_round_the_budget_is_too_small(arms: tuple[Arm, ...], least: float) -> None:
    fake = worker()
    result = run(plan_of(arms, budget_seconds=least - 0.1), fake)
    assert result.ending == "budget-too-small" and result.needed_seconds == least
    assert len(fake.ran) == 2, "two units tell the cost, and no more is spent"
    assert run(plan_of(arms, budget_seconds=least), worker()).ending == "confirmed"


def test_a_small_budget_says_what_it_did_not_try() -> None:
    result = run(plan_of(threads(*range(1, 13)), budget_seconds=60.0), worker(threads_12=0.1))
    tried = [report.name for report in result.arms if report.fate != "not-tried"]
    assert tried == ["threads-1", "threads-2", "threads-3", "threads-4", "threads-5"]
    assert [report.name for report in result.arms][len(tried) :] == [f"threads-{count}" for count in range(6, 13)]


def test_an_arm_that_was_cut_and_joined_later_is_told_once() -> None:
    """Five arms fit; the sixth lies between the leader and its neighbour, and the arms turn out to cost less."""
    arms = threads(1, 16, 64, 256, 2, 32)
    fake = worker(threads_16=0.7, threads_32=0.5)
    fake.cost_seconds = {arm.name: 0.5 for arm in arms}
    result = run(plan_of(arms, budget_seconds=60.0), fake)
    told = [(report.name, report.fate) for report in result.arms if report.name == "threads-32"]
    assert told == [("threads-32", "chosen")]


@pytest.mark.parametrize("outcome", ["killed", "hung", "out-of-memory", "rubbish"])
def test_a_default_that_does_not_run_ends_it(outcome: str) -> None:
    fake = FakeWorker(gemm(default=1.0), fails={(DEFAULT, "cost"): (outcome, "why")})  # type: ignore[dict-item]
    result = run(plan_of(ARMS), fake)
    assert (result.ending, result.detail) == ("default-failed", f"{outcome}: why")
    assert len(fake.ran) == 1


def test_without_arms_or_with_failing_arms_only_there_is_nothing_to_try() -> None:
    nothing = run(plan_of(()), worker())
    assert (nothing.ending, nothing.units) == ("nothing-to-try", 0)
    fails = {("threads-4", "search"): ("killed", "SIGILL")}
    failed = run(plan_of(threads(4)), FakeWorker(gemm(default=1.0), fails=fails))  # type: ignore[arg-type]
    assert failed.ending == "nothing-to-try" and failed.arms[0].detail == "killed: SIGILL"


def test_what_the_default_turns_out_to_be_is_not_tried_again() -> None:
    fake = FakeWorker(gemm(default=1.0), threads=4)
    result = run(plan_of(threads(3, 4, 5)), fake)
    assert [report.name for report in result.arms] == ["threads-3", "threads-5"]
    assert "threads-4" not in {unit.arm for unit in fake.ran}


def test_a_unit_may_take_six_times_as_long_as_the_default_before_it_is_hung() -> None:
    fake = FakeWorker(gemm(default=1.0), cost_seconds={DEFAULT: 10.0})
    run(plan_of(threads(4), budget_seconds=400.0), fake)
    assert [unit.limit_seconds for unit in fake.ran[:3]] == [400.0, 400.0, 60.0]


def test_an_addition_is_chosen_on_top_and_confirmed_as_one() -> None:
    added = "threads-4 + passive"
    fake = FakeWorker({**gemm(default=1.0, threads_4=0.8), added: {"gemm": 0.7}}, noise=jitter)
    additions = (Addition("passive", {"OMP_WAIT_POLICY": "PASSIVE"}), Addition("pages", {"THP_MEM_ALLOC_ENABLE": "1"}))
    result = run(plan_of(threads(3, 4, 5), additions=additions), fake)
    assert result.export is not None
    assert result.export.setting.variables == {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "PASSIVE"}
    assert result.export.verdict.gain == pytest.approx(1 / 0.7 - 1, abs=0.02)
    small = run(plan_of(threads(2, 4, 8), additions=additions, budget_seconds=44.0), worker())
    assert [(report.name, report.fate) for report in small.arms][-2:] == [
        ("passive", "not-tried"),
        ("pages", "not-tried"),
    ]


def noisy(unit: Unit) -> float:
    return math.exp(0.15 * random.Random(f"b {unit.number}").gauss(0, 1))


def test_a_gain_that_needs_more_pairs_takes_them_from_the_recommendations() -> None:
    """The search saw a gain of about a third, and noise that fourteen pairs do not see through."""
    trial = Trial("interop", "one inter-op thread", ("gemm",), options={"interop_threads": "1"})
    fake = FakeWorker(gemm(default=1.0, threads_4=0.75), noise=noisy)
    result = run(plan_of(threads(3, 4, 5), budget_seconds=180.0, trials=(trial,)), fake)
    assert 14 < result.pairs < 40 and result.spent_seconds <= 180
    quiet = run(plan_of(threads(3, 4, 5), budget_seconds=180.0, trials=(trial,)), worker(threads_4=0.75))
    assert quiet.pairs == 14 and quiet.export is not None
    assert (quiet.settings_seconds or 0.0) <= 150.0


def test_additions_are_tried_alone_where_no_thread_count_is() -> None:
    pages = Addition("pages", {"THP_MEM_ALLOC_ENABLE": "1"}, "huge pages")
    wait = Addition("wait", {"OMP_WAIT_POLICY": "ACTIVE"}, for_threads=True)
    result = run(plan_of((), additions=(pages, wait)), FakeWorker(gemm(default=1.0, pages=0.8), noise=jitter))
    assert result.export is not None and result.export.setting.variables == {"THP_MEM_ALLOC_ENABLE": "1"}
    assert {report.name for report in result.arms} == {"pages", "wait"}
    single = run(plan_of((), additions=(pages, wait), default_threads=1), FakeWorker(gemm(default=1.0), noise=jitter))
    assert {report.name for report in single.arms} == {"pages"}


def test_additions_go_on_top_of_the_default_where_no_thread_count_comes_up_to_it() -> None:
    pages = Addition("pages", {"THP_MEM_ALLOC_ENABLE": "1"}, "huge pages")
    plan = plan_of(threads(1), additions=(pages,), default_threads=2)
    fake = FakeWorker(gemm(default=1.0, threads_1=1.3, pages=0.8), noise=jitter)
    result = run(plan, fake)
    assert result.export is not None and result.export.setting.variables == {"THP_MEM_ALLOC_ENABLE": "1"}
    assert [(report.name, report.fate) for report in result.arms] == [("threads-1", "left"), ("pages", "chosen")]
    assert not any("+" in unit.arm for unit in fake.ran)
    # What slows the default down even more is not chosen: the better of the two is confirmed.
    result = run(plan, FakeWorker(gemm(default=1.0, threads_1=1.3, pages=1.5), noise=jitter))
    assert [each.name for each in result.candidates] == ["threads-1"]


def test_an_addition_for_threads_is_not_tried_on_top_of_one_thread() -> None:
    wait = Addition("wait", {"OMP_WAIT_POLICY": "ACTIVE"}, for_threads=True)
    fake = worker(threads_1=0.5)
    run(plan_of(threads(1, 8), additions=(wait,)), fake)
    assert not any("wait" in unit.arm for unit in fake.ran)
    fake = worker(threads_8=0.5)
    run(plan_of(threads(1, 8), additions=(wait,)), fake)
    assert any(unit.arm == "threads-8 + wait" for unit in fake.ran)


def saved_run(plan: Plan, fake: FakeWorker) -> tuple[list[Measured], TuneResult]:
    given = list(events(plan, fake))
    assert isinstance(given[-1], TuneResult) and given[-1] is not None
    assert [type(each) for each in given[:-1]] == [Step, Measured] * (len(given) // 2)
    return [each for each in given if isinstance(each, Measured)], given[-1]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 89))
def test_a_run_cut_short_anywhere_goes_on_to_the_same_result(cut: int) -> None:
    plan = plan_of(ARMS)
    whole, result = saved_run(plan, worker(threads_4=0.8))
    kept = whole[: min(cut, len(whole))]
    again = worker(threads_4=0.8)
    assert list(events(plan, again, kept))[-1] == result
    assert again.ran == [measured.unit for measured in whole[len(kept) :]], "nothing is measured twice"


def test_a_run_survives_its_file_even_if_the_last_line_was_cut_off() -> None:
    plan = plan_of(ARMS, subject={"hardware": "abc"})
    whole, result = saved_run(plan, worker(threads_4_ccx0=0.7))
    text = first_line(plan) + b"".join(map(next_line, whole))
    read = read_log(text)
    assert read.plan == plan and list(read.events) == whole
    assert list(events(read.plan, FakeWorker({}), read.events)) == [result], "all was there: nothing is measured"
    cut = read_log(text[:-20])
    assert list(cut.events) == whole[:-1]


def test_ctrl_c_in_a_unit_keeps_what_was_measured_before() -> None:
    plan, fake, kept = plan_of(ARMS), worker(threads_4=0.8), []
    plain = fake.measure

    def measure(unit: Unit) -> UnitResult:
        if unit.number == 20:
            raise KeyboardInterrupt
        return plain(unit)

    fake.measure = measure  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        for event in events(plan, fake):
            if isinstance(event, Measured):
                kept.append(event)
    assert [measured.unit.number for measured in kept] == list(range(20))
    _, result = saved_run(plan, worker(threads_4=0.8))
    assert list(events(plan, worker(threads_4=0.8), kept))[-1] == result


def test_events_of_another_plan_are_refused() -> None:
    whole, _ = saved_run(plan_of(ARMS), worker())
    other = Plan(seed=2, workloads=("gemm",), arms=ARMS)
    with pytest.raises(OtherRun, match="the saved run is another one"):
        list(events(other, worker(), whole))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "its first line is missing"),
        (b'{"schema": "amd-doctor/tune-log/1"', "its first line is missing"),
        (b"{}\n", "line 1"),
        (b"\xff\xfe\n", "line 1"),
        (first_line(plan_of(ARMS)).replace(b"tune-log/1", b"tune-log/9"), "its schema is 'amd-doctor/tune-log/9'"),
        (first_line(plan_of(ARMS)) + b'{"unit": 3}\n', "line 2"),
        (b"[" * 100_000 + b"\n", "line 1"),
    ],
)
def test_what_is_no_saved_run_is_told_in_a_sentence(data: bytes, told: str) -> None:
    with pytest.raises(BadLog, match="not a saved run") as error:
        read_log(data)
    assert told in str(error.value)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_a_bad_log(data: bytes) -> None:
    for text in (data, first_line(plan_of(ARMS)) + data):
        try:
            read_log(text)
        except BadLog:
            continue


@pytest.mark.parametrize(
    "wrong",
    [
        {"workloads": ()},
        {"workloads": ("gemm", "gemm")},
        {"arms": threads(4, 4)},
        {"arms": (Arm(DEFAULT, Setting()),)},
    ],
)
def test_a_plan_that_cannot_be_run_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="plan"):
        Plan(**{"seed": 1, "workloads": ("gemm",), "arms": threads(4), **wrong})  # type: ignore[arg-type]
