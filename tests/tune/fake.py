"""A worker that starts nothing: seconds per arm, failures on demand, a clock that is a number, a list of what ran."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from doctor.measure.units import Answer, Outcome, Readings, Setting, Timing, Unit, UnitResult
from doctor.tune.arms import Arm
from doctor.tune.meter import Step
from doctor.tune.plan import Plan

T = TypeVar("T")

#: How a unit fails: its outcome and detail.
Failure = tuple[Outcome, str]


@dataclass
class FakeWorker:
    """`seconds`: of each workload, by arm; an arm that is not named runs as the default does. `noise` is a factor on
    every time of a unit. `fails`: by arm and stage, every time.
    """

    seconds: Mapping[str, Mapping[str, float]]
    cost_seconds: Mapping[str, float] = field(default_factory=dict)
    noise: Callable[[Unit], float] = lambda unit: 1.0
    fails: Mapping[tuple[str, str], Failure] = field(default_factory=dict)
    readings: Callable[[Unit], Readings] = lambda unit: Readings()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    threads: int | None = None
    ran: list[Unit] = field(default_factory=list)

    def measure(self, unit: Unit) -> UnitResult:
        self.ran.append(unit)
        cost = self.cost_seconds.get(unit.arm, 2.0)
        failure = self.fails.get((unit.arm, unit.stage))
        if failure is not None:
            return UnitResult(failure[0], cost, detail=failure[1], readings=self.readings(unit))
        times = self.seconds.get(unit.arm, self.seconds["default"])
        answer = self.answers.get(unit.arm, self.answers.get("default"))
        timings = tuple(Timing(name, (times[name] * self.noise(unit),), answer) for name in unit.workloads)
        return UnitResult("ok", cost, timings, self.readings(unit), self.threads)

    def arms(self, stage: str) -> list[list[str]]:
        """The arms that ran in each round of a stage, in their order."""
        rounds: dict[int, list[str]] = {}
        for unit in self.ran:
            if unit.stage == stage:
                rounds.setdefault(unit.round, []).append(unit.arm)
        return list(rounds.values())


def drive(steps: Generator[Step, UnitResult, T], worker: FakeWorker) -> T:
    """Send every step's result until the generator returns."""
    try:
        step = next(steps)
        while True:
            step = steps.send(worker.measure(step.unit))
    except StopIteration as end:
        value: T = end.value
        return value


def threads(*counts: int) -> tuple[Arm, ...]:
    return tuple(Arm(f"threads-{count}", Setting({"OMP_NUM_THREADS": str(count)})) for count in counts)


def plan_of(arms: Sequence[Arm], budget_seconds: float = 180.0, **more: object) -> Plan:
    return Plan(seed=1, workloads=("gemm",), arms=tuple(arms), budget_seconds=budget_seconds, **more)  # type: ignore[arg-type]


def gemm(**seconds: float) -> dict[str, dict[str, float]]:
    """Seconds of the one workload, by arm; `threads_8` names the arm `threads-8`."""
    return {name.replace("_", "-"): {"gemm": value} for name, value in seconds.items()}
