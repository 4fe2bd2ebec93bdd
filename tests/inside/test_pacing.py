"""Warm-up and blocks over a clock that is a number."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "doctor" / "inside" / "pacing.py"


@pytest.fixture(scope="module")
def pacing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pacing_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Simulated:
    """A workload whose steps take these seconds, one after another; the last goes on for ever."""

    def __init__(self, *seconds: float) -> None:
        self.now = 0.0
        self.steps = 0
        self._seconds: Iterator[float] = chain(seconds, repeat(seconds[-1]))

    def step(self) -> None:
        self.steps += 1
        self.now += next(self._seconds)

    def clock(self) -> float:
        return self.now


@pytest.fixture
def watch_of(pacing: ModuleType) -> Callable[..., object]:
    def made(work: Simulated, wait: float = 0.0, overhead: float = 0.0) -> object:
        def finish(_: object) -> None:
            work.now += wait

        return pacing.Stopwatch(work.step, finish, work.clock, overhead)

    return made


@pytest.fixture
def pace(pacing: ModuleType):
    return pacing.Pace(block_seconds=0.02, blocks=8, least_blocks=3, warm_up_seconds=1.0, most_seconds=2.5)


def test_a_steady_workload_is_warm_at_once(pacing: ModuleType, watch_of, pace) -> None:
    work = Simulated(0.006)
    assert pacing.warm_up(watch_of(work), pace) == pytest.approx(0.006)
    assert work.steps == 6  # three chunks of a step, and three more that agree


def test_steps_that_get_faster_are_waited_for(pacing: ModuleType, watch_of, pace) -> None:
    falling = [0.1 * 0.8**n for n in range(12)] + [0.006]
    work = Simulated(*falling)
    assert pacing.warm_up(watch_of(work), pace) == pytest.approx(0.006)
    assert work.steps >= 15


def test_a_workload_that_never_settles_ends_with_its_time(pacing: ModuleType, watch_of, pace) -> None:
    work = Simulated(*[0.01 * 1.3 ** (n % 17) for n in range(500)])
    pacing.warm_up(watch_of(work), pace)
    assert 1.0 <= work.now < 2.0


def test_a_step_of_many_seconds_is_done_once(pacing: ModuleType, watch_of, pace) -> None:
    work = Simulated(40.0)
    assert pacing.warm_up(watch_of(work), pace) == 40.0
    assert work.steps == 1


def test_tiny_steps_are_timed_in_chunks(pacing: ModuleType, watch_of, pace) -> None:
    work = Simulated(1e-6)
    assert pacing.warm_up(watch_of(work), pace) == pytest.approx(1e-6)
    assert 0.03 < work.now < 0.1


def test_steps_that_take_no_time_end_too(pacing: ModuleType, watch_of, pace) -> None:
    """As with a clock that stands still: the time never passes, the number of steps is bounded."""
    work = Simulated(0.0)
    short = pacing.Pace(0.02, 2, 1, 1.0, 2.5)
    pacing._MOST_STEPS, before = 1000, pacing._MOST_STEPS
    try:
        assert pacing.warm_up(watch_of(work), short) == 0.0
        assert pacing.blocks(watch_of(work), short, 0.0, lambda: None) == [0.0, 0.0]
    finally:
        pacing._MOST_STEPS = before


@pytest.mark.parametrize(("step_seconds", "steps"), [(0.006, 4), (0.02, 1), (0.5, 1), (0.0001, 200)])
def test_a_block_is_as_long_as_it_has_to_be(
    pacing: ModuleType, watch_of, pace, step_seconds: float, steps: int
) -> None:
    work, ran = Simulated(step_seconds), []
    seconds = pacing.blocks(watch_of(work), pace, step_seconds, lambda: ran.append(work.steps))
    assert ran[:3] == [0, steps, 2 * steps]
    assert seconds == pytest.approx([step_seconds] * len(seconds))


@pytest.mark.parametrize(("step_seconds", "blocks"), [(0.02, 8), (0.3, 8), (0.5, 6), (1.0, 3), (60.0, 3)])
def test_slow_steps_give_fewer_blocks_but_three(
    pacing: ModuleType, watch_of, pace, step_seconds: float, blocks: int
) -> None:
    assert len(pacing.blocks(watch_of(Simulated(step_seconds)), pace, step_seconds, lambda: None)) == blocks


def test_waiting_for_a_device_is_part_of_the_time_and_its_empty_cost_is_not(
    pacing: ModuleType, watch_of, pace
) -> None:
    watch = watch_of(Simulated(0.1), wait=0.02, overhead=0.015)
    assert watch.seconds(2) == pytest.approx(0.205)


def test_what_happens_before_a_block_is_not_timed(pacing: ModuleType, watch_of, pace) -> None:
    work = Simulated(0.02)

    def before() -> None:
        work.now += 0.004

    assert pacing.blocks(watch_of(work), pace, 0.02, before) == pytest.approx([0.02] * 8)


def test_longer_blocks_leave_the_rest_as_it_is(pacing: ModuleType, pace) -> None:
    assert pace.with_blocks_of(0.2).block_seconds == 0.2
    assert pace.with_blocks_of(0.001).block_seconds == 0.02
    assert vars(pace.with_blocks_of(0.2)) == {**vars(pace), "block_seconds": 0.2}
