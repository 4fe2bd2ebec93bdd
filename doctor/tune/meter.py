"""Hands out units one by one, and keeps the books: what was spent, what each arm costs, what the right answer is.

Search and confirmation are generators: they yield a `Step`, and are sent the result of its unit. So they run alike
over a real worker, a fake one, a simulated machine with a simulated clock, and a saved run.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from statistics import median

import msgspec

from doctor.machine.cpulist import parse_cpulist
from doctor.measure.answers import answers_of, wrong_answer
from doctor.measure.guard import Disturbance, disturbances
from doctor.measure.schedule import pad_bytes
from doctor.measure.units import DEFAULT, Answer, Setting, Stage, Unit, UnitResult, Variant, checked
from doctor.tune.arms import Arm
from doctor.tune.plan import Plan
from doctor.tune.recommendation import TuneFinding

#: A unit is given up when it takes this many times as long as the default does; before that is known, the whole
#: budget. Never earlier than `_LEAST_LIMIT_SECONDS`.
_LIMIT_FACTOR = 6.0
_LEAST_LIMIT_SECONDS = 30.0

#: Of the time until then, what may be spent on top for the least number of groups.
_MOST_OVERRUN = 0.5

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
    pinned: str = ""  # that importing torch took CPUs away from the process, in words

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
        self.own_items: Mapping[str, int] = {}
        self.findings: list[TuneFinding] = []
        self._costs: dict[str, list[float]] = {}

    @property
    def left_seconds(self) -> float:
        return self.plan.budget_seconds - self.spent_seconds

    def is_over(self, until_seconds: float, groups: int, least: int) -> bool:
        """Whether a confirmation ends behind so many groups, on a machine that became slower than they were planned
        for: at `until_seconds`, but not before the `least` that can prove anything; half as much later in any case.
        Groups that take long do so whichever side is faster, so this favours no verdict."""
        return self.spent_seconds >= until_seconds * (1.0 if groups >= least else 1.0 + _MOST_OVERRUN)

    def cost_of(self, arm: str) -> float:
        """Seconds of one unit of an arm; the default's where the arm has not run; 0 before anything has."""
        costs = self._costs.get(arm) or self._costs.get(DEFAULT)
        return median(costs) if costs else 0.0

    def forget_costs(self) -> None:
        """The first process of a run reads torch from the disk: what it cost says nothing about the next."""
        self._costs.clear()

    def measure(
        self, arm: Arm, stage: Stage, number: int, *, lenient: bool = False, may_pin: bool = False
    ) -> Generator[Step, UnitResult, Booked]:
        """Yield one unit, and book what it gave. `lenient`: another answer than the default's is not wrong by itself.

        An arm that leaves the process fewer CPUs than it was given, by importing torch, is wrong like one that computes
        something else, unless it `may_pin`: everything that it starts would share them. Where the default does it too,
        the user's own environment is the reason, and that is a finding.
        """
        result = checked((yield self._step(arm, stage, number)), self.plan.workloads)
        pinned = self._pinned(arm, result)
        if pinned and arm.name == DEFAULT:
            self._find_pinning(pinned)
        elif pinned and not may_pin and not self.findings and result.outcome == "ok":
            result = msgspec.structs.replace(result, outcome="wrong", detail=pinned)
        if result.outcome == "ok" and arm.name != DEFAULT and not lenient:
            wrong = wrong_answer(self.reference, result)
            if wrong is not None:
                result = msgspec.structs.replace(result, outcome="wrong", detail=wrong)
        elif result.outcome == "ok" and arm.name == DEFAULT:
            self.reference = self.reference or answers_of(result)
            self.default_threads = self.default_threads or result.threads
            self.own_items = self.own_items or {row.workload: round(row.items) for row in result.timings}
        self._costs.setdefault(arm.name, []).append(result.wall_seconds)
        return msgspec.structs.replace(self._booked(arm, result), pinned=pinned)

    def measure_variants(
        self,
        arm: Arm,
        variants: Sequence[Variant],
        workloads: Sequence[str],
        expected_seconds: float,
        number: int = 0,
        stage: Stage = "recommend",
        limit_seconds: float | None = None,
    ) -> Generator[Step, UnitResult, Booked]:
        """Yield one unit that times variants of an arm, and book what it gave, as it is. `limit_seconds`: when it is
        given up; else it follows from `expected_seconds`."""
        step = self._step(arm, stage, number)
        limit = limit_seconds or max(_LIMIT_FACTOR * expected_seconds, _LEAST_LIMIT_SECONDS)
        unit = msgspec.structs.replace(
            step.unit, workloads=tuple(workloads), variants=tuple(variants), limit_seconds=limit
        )
        return self._booked(arm, (yield msgspec.structs.replace(step, unit=unit)))

    def measure_whole(
        self, arm: Arm, workloads: Sequence[str], stage: Stage, limit_seconds: float
    ) -> Generator[Step, UnitResult, Booked]:
        """Yield one unit of other workloads than the run's, and book what it gave, as it is."""
        step = self._step(arm, stage, 0)
        unit = msgspec.structs.replace(step.unit, workloads=tuple(workloads), limit_seconds=limit_seconds)
        return self._booked(arm, (yield msgspec.structs.replace(step, unit=unit)))

    def _pinned(self, arm: Arm, result: UnitResult) -> str:
        given = arm.setting.cpus or self.plan.all_cpus
        if given is None or result.cpus is None:
            return ""
        left, all_of_it = len(parse_cpulist(result.cpus)), len(parse_cpulist(given))
        return f"importing torch leaves the process {left} of {all_of_it} CPUs" if left < all_of_it else ""

    def _find_pinning(self, pinned: str) -> None:
        if self.findings:
            return
        title = "Importing torch binds the process, and everything that it starts, to fewer CPUs"
        advice = "Take OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY and KMP_AFFINITY out of your environment."
        self.findings.append(TuneFinding("import-pins", title, f"with your environment {pinned}", advice))

    def _booked(self, arm: Arm, result: UnitResult) -> Booked:
        self.spent_seconds += result.wall_seconds
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
