"""Results of whole runs, as the real search and confirmation give them over a fake worker with noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from functools import cache

from doctor.measure.units import DEFAULT, Readings, Setting, Unit
from doctor.tune.arms import Arm
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from doctor.tune.run import course
from tests.tune.fake import Failure, FakeWorker, drive, gemm, plan_of, threads

_ONE_CCX, _SPREAD = "0-5,12-17", "0-2,6-8,12-14,18-20"

MASKED = Arm("threads-6-ccx0", Setting({"OMP_NUM_THREADS": "6"}, _ONE_CCX), "6 threads: one CCX (number 0)")
#: Twelve cores in two CCXs.
CHIP = (
    Arm("threads-24", Setting({"OMP_NUM_THREADS": "24", "MKL_DYNAMIC": "FALSE"}), "24 threads: all CPUs"),
    MASKED,
    Arm("threads-3-ccx0", Setting({"OMP_NUM_THREADS": "3"}, _ONE_CCX), "3 threads: half a CCX (number 0)"),
    Arm("threads-6-spread6", Setting({"OMP_NUM_THREADS": "6"}, _SPREAD), "6 threads: 6 cores spread over the CCXs"),
    Arm("threads-6", Setting({"OMP_NUM_THREADS": "6"}), "6 threads: half of the cores"),
    Arm("threads-9", Setting({"OMP_NUM_THREADS": "9"}), "9 threads: three quarters of the cores"),
    Arm("threads-1", Setting({"OMP_NUM_THREADS": "1"}), "1 thread: one thread"),
)
_ALONE = f"{MASKED.name} without its mask"

Seconds = Mapping[str, float]


def _slow_minutes(sd: float, seed: int) -> Callable[[Unit], float]:
    """Noise that wanders, the same for all settings: a factor on the time of each unit in turn."""
    draw, level, factors = random.Random(seed), 0.0, []
    for _ in range(400):
        level = 0.6 * level + 0.8 * draw.gauss(0, sd)
        factors.append(math.exp(level))
    return lambda unit: factors[unit.number]


def _run(
    seconds: Seconds,
    arms: tuple[Arm, ...] = CHIP,
    *,
    sd: float = 0.01,
    seed: int = 1,
    budget_seconds: float = 180.0,
    readings: Callable[[Unit], Readings] = lambda unit: Readings(),
    **more: dict[tuple[str, str], Failure],
) -> TuneResult:
    table = {name: {"gemm-1024": each} for name, each in {DEFAULT: 1.0, **seconds}.items()}
    fake = FakeWorker(table, noise=_slow_minutes(sd, seed), readings=readings, **more)  # type: ignore[arg-type]
    plan = Plan(seed=seed, workloads=("gemm-1024",), arms=arms, budget_seconds=budget_seconds, default_threads=12)
    return drive(course(plan), fake)


def _busy(unit: Unit) -> Readings:
    return Readings(other_load_share=0.4, other_processes=("firefox", "steam"), clock_mhz=(4700.0, 3200.0))


def _slower_on_one() -> TuneResult:
    seconds = {
        DEFAULT: {"mlp-train": 1.0, "conv-train": 1.0},
        "threads-8": {"mlp-train": 0.6, "conv-train": 1.25},
    }
    plan = Plan(seed=4, workloads=("mlp-train", "conv-train"), arms=threads(8))
    return drive(course(plan), FakeWorker(seconds, noise=_slow_minutes(0.005, 4)))


def _lucky_in_the_search() -> TuneResult:
    calm = _slow_minutes(0.01, 1)
    seconds = gemm(default=1.0, threads_4=1.2)

    def noise(unit: Unit) -> float:
        return calm(unit) * (0.7 if (unit.stage, unit.arm) == ("search", "threads-4") else 1.0)

    return drive(course(plan_of(threads(4))), FakeWorker(seconds, noise=noise))


@cache
def cases() -> dict[str, TuneResult]:
    """One result for every way in which a run ends."""
    slow = {"threads-24": 1.3, "threads-1": 5.0, "threads-3-ccx0": 1.4, "threads-6-spread6": 1.1, "threads-9": 0.97}
    few = threads(2, 4, 8)
    out: dict[tuple[str, str], Failure] = {
        ("threads-8", "search"): ("out-of-memory", ""),
        ("threads-2", "search"): ("hung", "it did not end in time (timeout after 30 s)"),
    }
    dies: dict[tuple[str, str], Failure] = {("threads-4", "confirm"): ("killed", "SIGILL")}
    broken: dict[tuple[str, str], Failure] = {(DEFAULT, "cost"): ("killed", "SIGILL while gemm-1024 ran")}
    nothing = FakeWorker(gemm(default=1.0), threads=4)
    return {
        "faster": _run({**slow, "threads-6": 0.89}),
        "faster-with-mask": _run({**slow, MASKED.name: 0.82, _ALONE: 0.92}, sd=0.03),
        "faster-with-mask-only": _run({**slow, MASKED.name: 0.8, _ALONE: 1.06}),
        "slower-on-one": _slower_on_one(),
        "same": _run({**slow, "threads-9": 0.995}),
        "slower": _lucky_in_the_search(),
        "undecided": _run(slow, sd=0.06, seed=5),
        "undecided-raw": _run({**slow, "threads-6": 0.8}, sd=0.25, seed=9),
        "busy": _run({"threads-4": 0.8}, few, readings=_busy),
        "failed-in-confirmation": _run({"threads-4": 0.8}, few, fails=dies),
        "some-failed": _run({"threads-4": 0.8}, few, fails=out),
        "small-budget": _run({"threads-12": 0.8}, threads(*range(1, 12)), budget_seconds=60.0),
        "budget-too-small": _run({}, few, budget_seconds=30.0),
        "default-failed": _run({}, few, fails=broken),
        "nothing-to-try": drive(course(plan_of(threads(4))), nothing),
    }
