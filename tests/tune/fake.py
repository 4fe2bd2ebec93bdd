"""A worker that starts nothing: seconds per arm, failures on demand, a clock that is a number, a list of what ran."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from doctor.measure.units import Answer, Outcome, Readings, Setting, Timing, Unit, UnitResult
from doctor.tune.arms import Arm
from doctor.tune.meter import Step
from doctor.tune.plan import Plan
from doctor.tune.run import Experiment

T = TypeVar("T")

#: How a unit fails: its outcome and detail.
Failure = tuple[Outcome, str]


#: What a variant is: the options of the unit's setting and its own.
Options = Mapping[str, str]


@dataclass
class Net:
    """A workload with a batch, as it behaves under options. `speed`: items per second. `bytes_of`: the memory of the
    process with a batch. `largest`: a larger batch raises for want of memory; `kills_above`: one above this ends the
    process.
    """

    own: int = 32
    speed: Callable[[Options], float] = lambda options: 1000.0
    bytes_of: Callable[[int], int] = lambda batch: 300_000_000 + 1_000_000 * batch
    largest: int = 1 << 30
    kills_above: int = 1 << 30
    loss: Callable[[Options], float | None] = lambda options: 0.5
    answer: Callable[[Options], Answer | None] = lambda options: Answer((1.0, 2.0), 1e-3)
    raises: Mapping[str, str] = field(default_factory=dict)  # by option: how it fails

    def row(self, workload: str, options: Options, variant: str, factor: float) -> Timing:
        batch = int(options.get("batch", self.own))
        failed = next((told for name, told in self.raises.items() if name in options), "")
        if batch > self.largest:
            failed = "out-of-memory: can't allocate memory"
        if failed:
            return Timing(workload, (), variant=variant, failed=failed)
        items = batch * int(options.get("accumulate", "1"))
        seconds = items / self.speed(options) * factor
        answer, loss = self.answer(options), self.loss(options)
        peak = self.bytes_of(batch)
        return Timing(workload, (seconds,), answer, items, variant=variant, loss=loss, peak_resident_bytes=peak)


@dataclass
class FakeWorker:
    """`seconds`: of each workload, by arm; an arm that is not named runs as the default does. `noise` is a factor on
    every time of a unit. `fails`: by arm and stage, every time. `nets`: workloads that have a batch, in every unit.
    """

    seconds: Mapping[str, Mapping[str, float]]
    cost_seconds: Mapping[str, float] = field(default_factory=dict)
    noise: Callable[[Unit], float] = lambda unit: 1.0
    fails: Mapping[tuple[str, str], Failure] = field(default_factory=dict)
    readings: Callable[[Unit], Readings] = lambda unit: Readings()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    threads: int | None = None
    cpus: Callable[[Unit], str | None] = lambda unit: None
    nets: Mapping[str, Net] = field(default_factory=dict)
    variant_noise: Callable[[Unit, str], float] = lambda unit, variant: 1.0
    variant_seconds: float = 0.3
    flop: Mapping[str, float] = field(default_factory=dict)
    moved_bytes: Mapping[str, float] = field(default_factory=dict)
    ran: list[Unit] = field(default_factory=list)

    def measure(self, unit: Unit) -> UnitResult:
        self.ran.append(unit)
        cost = self.cost_seconds.get(unit.arm, 2.0)
        failure = self.fails.get((unit.arm, unit.stage))
        if failure is not None:
            return UnitResult(failure[0], cost, detail=failure[1], readings=self.readings(unit))
        if unit.variants:
            return self._variants(unit)
        times = self.seconds.get(unit.arm, self.seconds["default"])
        answer = self.answers.get(unit.arm, self.answers.get("default"))
        options = unit.setting.options
        timings = tuple(
            self.nets[name].row(name, options, "", self.noise(unit) * times.get(name, 1.0))
            if name in self.nets
            else Timing(name, (times[name] * self.noise(unit),), answer)
            for name in unit.workloads
        )
        return UnitResult("ok", cost, timings, self.readings(unit), self.threads, cpus=self.cpus(unit))

    def _variants(self, unit: Unit) -> UnitResult:
        rows: list[Timing] = []
        for variant in unit.variants:
            options = {**unit.setting.options, **variant.options}
            for name in variant.workloads or unit.workloads:
                net = self.nets.get(name)
                if net is None:
                    seconds = self.seconds.get(unit.arm, self.seconds["default"]).get(name, 1.0)
                    work = {"flop": self.flop.get(name), "moved_bytes": self.moved_bytes.get(name)}
                    rows.append(Timing(name, (seconds,), variant=variant.name, **work))
                    continue
                if int(options.get("batch", net.own)) > net.kills_above:
                    detail = "SIGKILL: the memory was used up"
                    return UnitResult("out-of-memory", 1.0, tuple(rows), self.readings(unit), detail=detail)
                factor = self.noise(unit) * self.variant_noise(unit, variant.name)
                rows.append(net.row(name, options, variant.name, factor))
        cost = 1.0 + self.variant_seconds * len(rows)
        return UnitResult("ok", cost, tuple(rows), self.readings(unit), self.threads, cpus=self.cpus(unit))

    def arms(self, stage: str) -> list[list[str]]:
        """The arms that ran in each round of a stage, in their order."""
        rounds: dict[int, list[str]] = {}
        for unit in self.ran:
            if unit.stage == stage:
                rounds.setdefault(unit.round, []).append(unit.arm)
        return list(rounds.values())


@dataclass
class Slowing:
    """A worker on a machine that becomes slow: from the unit of that number on, each takes `times` as long in all. What
    is compared stays as it is."""

    worker: Experiment
    number: int
    times: float

    def measure(self, unit: Unit) -> UnitResult:
        result = self.worker.measure(unit)
        slow = self.times if unit.number >= self.number else 1.0
        return msgspec.structs.replace(result, wall_seconds=result.wall_seconds * slow)


def drive(steps: Generator[Step, UnitResult, T], worker: Experiment) -> T:
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
