"""The confirmation: adjacent runs in tossed order, one verdict per candidate, and what may be exported."""

from __future__ import annotations

import math
import random

import pytest

from doctor.measure.units import DEFAULT, Readings, Setting, Unit
from doctor.tune.arms import Arm
from doctor.tune.confirm import Confirmed, confirm
from doctor.tune.meter import Meter
from doctor.tune.plan import Plan
from tests.tune.fake import FakeWorker, Slowing, drive, gemm, plan_of

MASKED = Arm("threads-8-ccx0", Setting({"OMP_NUM_THREADS": "8"}, "0-7"))
ALONE = Arm("threads-8-ccx0 without its mask", Setting({"OMP_NUM_THREADS": "8"}))
FAST = gemm(default=1.0) | {MASKED.name: {"gemm": 0.8}, ALONE.name: {"gemm": 1.0}}


def jitter(unit: Unit) -> float:
    """Half a percent, another one for every unit."""
    return math.exp(0.005 * random.Random(unit.number).uniform(-1, 1))


def confirmed(worker: FakeWorker, groups: int = 12, *candidates: Arm) -> Confirmed:
    plan = plan_of([MASKED])
    return drive(confirm(Meter(plan), candidates or (MASKED,), groups), worker)


def test_pairs_stand_side_by_side_in_tossed_order() -> None:
    worker = FakeWorker(FAST, noise=jitter)
    confirmed(worker, 40)
    groups = worker.arms("confirm")
    assert [sorted(group) for group in groups] == [sorted([DEFAULT, MASKED.name])] * 40
    first = [group[0] for group in groups].count(DEFAULT)
    assert 10 <= first <= 30
    assert all(unit.setting == (MASKED.setting if unit.arm == MASKED.name else Setting()) for unit in worker.ran)


def test_a_faster_setting_is_confirmed_with_its_gain() -> None:
    (candidate,) = confirmed(FakeWorker(FAST, noise=jitter)).candidates
    assert candidate.verdict.word == "faster" and candidate.verdict.pairs == 12 and candidate.exportable
    assert candidate.verdict.gain == pytest.approx(0.25, abs=0.01)
    assert candidate.setting == MASKED.setting


def test_two_candidates_share_the_default_and_are_judged_apart() -> None:
    worker = FakeWorker(FAST, noise=jitter)
    found = confirmed(worker, 12, MASKED, ALONE)
    assert [len(group) for group in worker.arms("confirm")] == [3] * 12
    masked, alone = found.candidates
    assert (masked.verdict.word, alone.verdict.word) == ("faster", "same")
    assert masked.exportable and not alone.exportable
    assert len(found.default_log_seconds) == 12


def test_fewer_than_eight_groups_are_undecided() -> None:
    assert confirmed(FakeWorker(FAST, noise=jitter), 7).candidates[0].verdict.word == "undecided"


def test_a_candidate_that_fails_once_is_not_exported_and_not_run_again() -> None:
    fails = {(MASKED.name, "confirm"): ("killed", "SIGSEGV")}
    worker = FakeWorker(FAST, noise=jitter, fails=fails)  # type: ignore[arg-type]
    masked, alone = confirmed(worker, 12, MASKED, ALONE).candidates
    assert masked.failed == "killed: SIGSEGV" and not masked.exportable and masked.verdict.word == "undecided"
    assert alone.failed == "" and alone.verdict.pairs == 12
    assert sum(unit.arm == MASKED.name for unit in worker.ran) == 1


class FailsLate(FakeWorker):
    """The candidate is killed in its last group."""

    def measure(self, unit: Unit):  # type: ignore[no-untyped-def]
        self.fails = {(MASKED.name, "confirm"): ("killed", "SIGKILL")} if unit.round == 11 else {}
        return super().measure(unit)


def test_eleven_fast_pairs_do_not_make_up_for_one_death() -> None:
    (candidate,) = confirmed(FailsLate(FAST, noise=jitter)).candidates
    assert candidate.verdict.word == "faster" and candidate.verdict.pairs == 11
    assert candidate.failed and not candidate.exportable


def test_it_ends_when_every_candidate_has_failed() -> None:
    fails = {(MASKED.name, "confirm"): ("hung", "")}
    worker = FakeWorker(FAST, fails=fails)  # type: ignore[arg-type]
    assert confirmed(worker).groups == 1 and len(worker.ran) == 2


class FailsInGroups(FakeWorker):
    """The default is killed in some groups."""

    groups: frozenset[int] = frozenset()

    def measure(self, unit: Unit):  # type: ignore[no-untyped-def]
        self.fails = {(DEFAULT, "confirm"): ("killed", "SIGKILL")} if unit.round in self.groups else {}
        return super().measure(unit)


def test_a_pair_without_a_default_is_no_pair() -> None:
    worker = FailsInGroups(FAST, noise=jitter)
    worker.groups = frozenset({0, 5})
    (candidate,) = confirmed(worker).candidates
    assert candidate.verdict.pairs == 10 and candidate.verdict.word == "faster"
    worker = FailsInGroups(FAST, noise=jitter)
    worker.groups = frozenset(range(5))
    assert confirmed(worker).candidates[0].verdict.word == "undecided"


BUSY, HOT = Readings(other_load_share=0.5), Readings(temperature_celsius=99.0)


def disturbed(readings: Readings, groups: frozenset[int], groups_in_all: int = 12) -> Confirmed:
    """In some groups the candidate, and only it, runs ten times as long, and says why."""

    def noise(unit: Unit) -> float:
        return jitter(unit) * (10.0 if unit.round in groups and unit.arm == MASKED.name else 1.0)

    def read(unit: Unit) -> Readings:
        return readings if unit.round in groups and unit.arm == MASKED.name else Readings()

    return confirmed(FakeWorker(FAST, noise=noise, readings=read), groups_in_all)


def test_groups_that_another_process_disturbed_are_left_out_if_enough_are_left() -> None:
    few = disturbed(BUSY, frozenset({1, 4, 6}))
    assert few.left_out == 3 and few.candidates[0].verdict.pairs == 9
    assert few.candidates[0].verdict.word == "faster"
    many = disturbed(BUSY, frozenset(range(4)))
    assert many.left_out == 0 and many.candidates[0].verdict.pairs == 12
    at_the_least = disturbed(BUSY, frozenset({0}), groups_in_all=8)
    assert at_the_least.left_out == 0 and at_the_least.candidates[0].verdict.pairs == 8


def test_heat_that_a_setting_may_have_made_itself_is_kept() -> None:
    hot = disturbed(HOT, frozenset({1, 4, 6}))
    assert hot.left_out == 0 and hot.candidates[0].verdict.pairs == 12
    assert hot.candidates[0].verdict.word != "faster"


def two_workloads(gemm_seconds: float, triad_seconds: float) -> Confirmed:
    plan = Plan(seed=1, workloads=("gemm", "triad"), arms=(MASKED,))
    seconds = {DEFAULT: {"gemm": 1.0, "triad": 1.0}, MASKED.name: {"gemm": gemm_seconds, "triad": triad_seconds}}
    return drive(confirm(Meter(plan), [MASKED], 12), FakeWorker(seconds, noise=jitter))


def test_slower_on_one_workload_is_shown_and_not_exported() -> None:
    """Published on a 7950X3D: +25 % on one model, -34 % on another. Here the first wins by far."""
    (candidate,) = two_workloads(0.5, 1.34).candidates
    assert candidate.verdict.word == "faster" and candidate.verdict.gain == pytest.approx(0.222, abs=0.01)
    assert candidate.slower_on == ("triad",) and not candidate.exportable
    assert candidate.by_workload["gemm"].word == "faster"


def test_the_same_on_one_workload_is_exported() -> None:
    (candidate,) = two_workloads(0.8, 1.0).candidates
    assert candidate.slower_on == () and candidate.exportable
    assert candidate.verdict.gain == pytest.approx(1 / math.sqrt(0.8) - 1, abs=0.01)
    words = {name: verdict.word for name, verdict in candidate.by_workload.items()}
    assert words == {"gemm": "faster", "triad": "same"}


def test_the_variables_alone_are_only_called_faster_behind_a_whole_that_is() -> None:
    """Two claims in a fixed order share the risk of one."""
    seconds = gemm(default=1.0) | {MASKED.name: {"gemm": 1.0}, ALONE.name: {"gemm": 0.8}}
    masked, alone = confirmed(FakeWorker(seconds, noise=jitter), 12, MASKED, ALONE).candidates
    assert masked.verdict.word == "same" and alone.withheld
    assert alone.verdict.word == "undecided" and not alone.exportable
    assert alone.verdict.gain == pytest.approx(0.25, abs=0.01), "what was measured is told all the same"
    both = gemm(default=1.0) | {MASKED.name: {"gemm": 0.8}, ALONE.name: {"gemm": 0.8}}
    assert [each.withheld for each in confirmed(FakeWorker(both, noise=jitter), 12, MASKED, ALONE).candidates] == [
        False, False
    ]


def test_a_whole_that_fails_leaves_its_claim_to_the_variables() -> None:
    seconds = gemm(default=1.0) | {MASKED.name: {"gemm": 0.8}, ALONE.name: {"gemm": 0.8}}
    fails = {(MASKED.name, "confirm"): ("killed", "SIGSEGV")}
    _, alone = confirmed(FakeWorker(seconds, noise=jitter, fails=fails), 12, MASKED, ALONE).candidates  # type: ignore[arg-type]
    assert alone.verdict.word == "faster" and alone.exportable and not alone.withheld


@pytest.mark.parametrize(
    ("times", "pairs"),
    [
        (3.0, 15),  # 180 s hold 15 groups of 12 s
        (6.0, 8),  # the least number takes somewhat longer than that
        (20.0, 4),  # half as long again, and no longer
    ],
)
def test_a_machine_that_becomes_slow_ends_the_confirmation_with_the_budget(times: float, pairs: int) -> None:
    worker = Slowing(FakeWorker(FAST, noise=jitter), 0, times)
    found = drive(confirm(Meter(plan_of([MASKED])), (MASKED,), 40), worker)
    assert found.groups == found.candidates[0].verdict.pairs
    assert abs(found.groups - pairs) <= 1, found.groups
    assert found.candidates[0].verdict.word == ("faster" if found.groups >= 8 else "undecided")
