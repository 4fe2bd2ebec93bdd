"""Hands out units one by one, and keeps the books: what was spent, what each arm costs, what the right answer is.

Search and confirmation are generators: they yield a `Step`, and are sent the result of its unit. So they run alike
over a real worker, a fake one, a simulated machine with a simulated clock, and a saved run.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from statistics import median

import msgspec

from doctor.measure.answers import answers_of, wrong_answer
from doctor.measure.guard import Disturbance, disturbances
from doctor.measure.schedule import pad_bytes
from doctor.measure.units import DEFAULT, Answer, Setting, Stage, Unit, UnitResult, checked
from doctor.tune.arms import Arm
from doctor.tune.plan import Plan

#: A unit is given up when it takes this many times as long as the default does; before that is known, the whole
#: budget. Never earlier than `_LEAST_LIMIT_SECONDS`.
_LIMIT_FACTOR = 6.0
_LEAST_LIMIT_SECONDS = 30.0

DEFAULT_ARM = Arm(DEFAULT, Setting(), "as it is now")


class Step(msgspec.Struct, frozen=True):
    """The next unit, and how far the run is."""

    unit: Unit
    spent_seconds: float
    budget_seconds: float
    live: int  # arms that are still in the search, or candidates
    leader: str | None  # the arm that leads the search, or is being confirmed


class Booked(msgspec.Struct, frozen=True):
    """One measured arm: its result, checked, and its disturbances."""

    arm: str
    result: UnitResult
    disturbed: tuple[Disturbance, ...] = ()

    @property
    def ok(self) -> bool:
        return self.result.outcome == "ok"

    @property
    def failure(self) -> str:
        """How it failed, in words: `killed: SIGSEGV`."""
        return f"{self.result.outcome}: {self.result.detail}" if self.result.detail else self.result.outcome


class Meter:
    """The books of one run. Everything in them follows from the plan and the results so far."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.count = 0
        self.spent_seconds = 0.0
        self.live = len(plan.arms)
        self.leader: str | None = None
        self.disturbed: list[Disturbance] = []
        self.reference: Mapping[str, Answer] = {}
        self.default_threads = plan.default_threads
        self._costs: dict[str, list[float]] = {}

    @property
    def left_seconds(self) -> float:
        return self.plan.budget_seconds - self.spent_seconds

    def cost_of(self, arm: str) -> float:
        """Seconds of one unit of an arm; the default's where the arm has not run; 0 before anything has."""
        costs = self._costs.get(arm) or self._costs.get(DEFAULT)
        return median(costs) if costs else 0.0

    def forget_costs(self) -> None:
        """The first process of a run reads torch from the disk: what it cost says nothing about the next."""
        self._costs.clear()

    def measure(self, arm: Arm, stage: Stage, number: int) -> Generator[Step, UnitResult, Booked]:
        """Yield one unit, and book what it gave."""
        result = checked((yield self._step(arm, stage, number)), self.plan.workloads)
        if result.outcome == "ok" and arm.name != DEFAULT:
            wrong = wrong_answer(self.reference, result)
            if wrong is not None:
                result = msgspec.structs.replace(result, outcome="wrong", detail=wrong)
        elif result.outcome == "ok":
            self.reference = self.reference or answers_of(result)
            self.default_threads = self.default_threads or result.threads
        self.spent_seconds += result.wall_seconds
        self._costs.setdefault(arm.name, []).append(result.wall_seconds)
        found = disturbances(result.readings)
        self.disturbed += found
        return Booked(arm.name, result, found)

    def _step(self, arm: Arm, stage: Stage, number: int) -> Step:
        known = self.cost_of(DEFAULT)
        unit = Unit(
            number=self.count,
            stage=stage,
            round=number,
            arm=arm.name,
            setting=arm.setting,
            workloads=self.plan.workloads,
            pad_bytes=pad_bytes(self.plan.seed, self.count),
            limit_seconds=max(_LIMIT_FACTOR * known if known else self.plan.budget_seconds, _LEAST_LIMIT_SECONDS),
        )
        self.count += 1
        return Step(unit, self.spent_seconds, self.plan.budget_seconds, self.live, self.leader)
