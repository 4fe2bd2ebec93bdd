"""What is shown while a run goes on, over real runs of the search and confirmation with a clock that is a number."""

from __future__ import annotations

import re

import pytest

from doctor.measure.units import Measured, UnitResult
from doctor.present.terminal import Look, plain
from doctor.present.tune_progress import Progress, followed, progress_lines, stage_words
from doctor.tune.meter import Step
from doctor.tune.result import TuneResult
from doctor.tune.run import events
from tests.present.tune_results import MASKED
from tests.tune.fake import FakeWorker, gemm, plan_of, threads

ARMS = (*threads(2, 4, 8), MASKED)


def _course(worker: FakeWorker | None = None) -> tuple[list[Progress], list[str]]:
    """The progress after each event, and the lines that a pipe gets."""
    plan = plan_of(ARMS)
    fake = worker or FakeWorker(gemm(default=1.0, threads_4=0.8, threads_2=0.9))
    seen, said, now = [Progress(plan.workloads)], [], 1000.0
    for event in events(plan, fake):
        if isinstance(event, TuneResult):
            break
        now += event.result.wall_seconds if isinstance(event, Measured) else 0.0
        seen.append(followed(seen[-1], event, now))
        words = stage_words(seen[-2], seen[-1])
        said += [words] if words else []
    return seen, said


def _picture(progress: Progress, now: float | None = None, look: Look | None = None) -> list[str]:
    look = look or Look()
    lines = progress_lines(progress, progress.began_seconds if now is None else now, look)
    return plain(lines, look).splitlines()


def test_a_pipe_gets_a_line_for_each_stage() -> None:
    _, said = _course()
    assert said == [
        "measuring what one process costs; at most 3 min in all",
        "search: 4 settings against the default; at most 2 min 56 s left",
        "round 5: 3 settings in the race, 4 threads leads",
        "confirming 4 threads; at most 2 min left",
    ]
    assert all(len(f"amd-doctor: {line}") <= 80 for line in said)


def test_the_picture_says_stage_leader_and_what_is_live() -> None:
    seen, _ = _course()
    late = next(each for each in reversed(seen) if each.stage == "search")
    text = "\n".join(_picture(late))
    assert "search, round" in text
    assert "leads:  4 threads, about +25 % so far (an estimate)" in text
    confirming = seen[-1]
    assert "confirmation, pair" in _picture(confirming)[0]
    assert "pairs:  4 threads against the default" in _picture(confirming)[1]
    assert not any("%" in line for each in seen if each.stage == "confirm" for line in _picture(each)), "no early claim"


def test_time_runs_while_a_unit_runs_and_never_below_zero() -> None:
    seen, _ = _course()
    first = next(each for each in seen if each.step is not None)
    assert first.left_seconds(first.began_seconds) == 180.0
    assert first.left_seconds(first.began_seconds + 50) == 130.0
    assert "at most 2 min 10 s left" in _picture(first, first.began_seconds + 50)[0]
    assert first.left_seconds(first.began_seconds + 500) == 0.0
    assert "the budget is over" in _picture(first, first.began_seconds + 500)[0]
    bars = [_picture(each)[0].count("━") for each in seen if isinstance(each.step, Step)]
    assert bars == sorted(bars), "the bar never goes back"


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_the_picture_keeps_to_its_lines(columns: int) -> None:
    seen, _ = _course()
    for progress in seen:
        lines = _picture(progress, look=Look(columns=columns))
        assert 1 <= len(lines) <= 4
        assert all(len(line) < columns for line in lines), lines
        assert all(line.isascii() for line in _picture(progress, look=Look(columns=columns, ascii=True)))


def test_rubbish_and_failures_are_followed_too() -> None:
    def measure(unit):  # type: ignore[no-untyped-def]
        return UnitResult("ok", 2.0) if unit.arm == "threads-8" else plain_measure(unit)

    fake = FakeWorker(gemm(default=1.0, threads_4=0.8), fails={("threads-2", "search"): ("killed", "SIGILL")})
    plain_measure = fake.measure
    fake.measure = measure  # type: ignore[method-assign]
    seen, said = _course(fake)
    assert said[-1].startswith("confirming 4 threads")
    assert all(_picture(each) for each in seen)


def test_before_anything_ran_it_says_so() -> None:
    assert _picture(Progress(("gemm",))) == ["Starting ..."]
    seen, _ = _course()
    begun = next(each for each in seen if each.stage == "search")
    assert re.search(r"leads:\s+nothing yet", "\n".join(_picture(begun)))
