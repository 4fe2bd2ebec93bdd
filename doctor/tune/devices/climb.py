"""Climbs the ladders of one device, all of its families at a time: a fresh process for each rung, because memory that
was given back is not whole again (ROCm), or is not given back (DirectML).

It ends for a family where a size is refused or ends the device, where a step would take too long, or where the memory
of the machine itself would run short.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from doctor.measure.units import Answer, DeviceCheck, Timing, UnitResult, Variant
from doctor.tune.arms import Arm
from doctor.tune.batch import predicted_bytes
from doctor.tune.devices.asking import Answered, Ran, ask, failed_row
from doctor.tune.devices.checks import wrong_training
from doctor.tune.devices.ladder import Family, Rung
from doctor.tune.devices.sizes import Row, knee_neighbours, of_family
from doctor.tune.meter import Meter, Step
from doctor.tune.recommendation import BatchPoint

#: A step that is foreseen to take longer is not tried: three of them are timed at least.
_LONGEST_STEP_SECONDS = 2.0
#: On the CPU several rungs share one process while they are cheap.
_CPU_TOGETHER = 3
#: A process is given up at so many times what the last one took, but not before.
_LIMIT_FACTOR = 5.0
_LEAST_LIMIT_SECONDS = 25.0

TO_DEVICE, FROM_DEVICE = "transfer-to", "transfer-from"
_TRANSFERS = tuple(Rung(name, 0, name) for name in (TO_DEVICE, FROM_DEVICE))

#: Ends that say something about the device, where no smaller size ran.
_BAD = ("wrong", "killed", "hung")
#: A size that hangs is too large for the driver's patience; a device that hangs again is a broken one.
_MOST_HANGS = 2


class Climb:
    """What is known of one device so far."""

    def __init__(self, meter: Meter, arm: Arm, families: Sequence[Family]) -> None:
        self.meter = meter
        self.arm = arm
        self.families = {family.name: family for family in families}
        self.next = dict.fromkeys(self.families, 0)
        self.rows: list[Row] = []
        self.timings: list[Timing] = []
        self.bad: Row | None = None
        self.hangs = 0
        self.last_seconds = self.slowest_seconds = 0.0
        self.units = 0

    @property
    def checks(self) -> dict[str, DeviceCheck]:
        """By family, the last look that held more than times."""
        found: dict[str, DeviceCheck] = {}
        for timing in self.timings:
            if timing.device is not None:
                found.setdefault(timing.workload, timing.device)
        return found

    @property
    def answers(self) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for timing in self.timings:
            if timing.answer is not None:
                found.setdefault(timing.workload, timing.answer)
        return found

    def speed_of(self, workload: str) -> float | None:
        """Bytes per second of a workload that moves some."""
        rows = [t for t in self.timings if t.workload == workload and t.seconds and t.moved_bytes]
        return max((t.moved_bytes or 0.0) / min(t.seconds) for t in rows) if rows else None

    def of_family(self, name: str) -> tuple[Row, ...]:
        return of_family(self.rows, name)

    def points(self, name: str) -> list[BatchPoint]:
        """Sizes with the memory of the process, to foresee that of larger ones."""
        family = self.families[name]
        sizes = {rung.workload + str(rung.options): rung.size for rung in family.rungs}
        found = {}
        for timing in self.timings:
            size = sizes.get(timing.workload + str({"batch": f"{timing.items:.0f}"}))
            if size is not None and timing.peak_resident_bytes:
                found[size] = BatchPoint(size, 1.0, timing.peak_resident_bytes)
        return list(found.values())

    def take(self, given: Answered) -> None:
        self.units += 1
        self.last_seconds = given.seconds
        self.slowest_seconds = max(self.slowest_seconds, given.seconds)
        for ran in given.ran:
            if ran.timing is not None:
                self.timings.append(ran.timing)
            if ran.rung.family in self.families:
                row = _checked(ran)
                self.rows.append(row)
                self._settle(row)
            elif not ran.row.ran:
                self.bad = self.bad or ran.row

    def _settle(self, row: Row) -> None:
        """A family that failed climbs no further; where that speaks of the device, it is kept."""
        if row.ran:
            return
        self.next.pop(row.family, None)
        self.hangs += row.outcome == "hung"
        smaller = any(other.ran for other in self.of_family(row.family))
        often = row.outcome == "hung" and self.hangs >= _MOST_HANGS
        if row.outcome == "wrong" or often or (row.outcome in _BAD and not smaller):
            self.bad = self.bad or row


def _checked(ran: Ran) -> Row:
    """The row, as `wrong` where the loss came out right and the gradients or the weights did not."""
    check = ran.timing.device if ran.timing is not None else None
    words = None if check is None or not ran.row.ran else wrong_training(check)
    return ran.row if words is None else failed_row(ran.rung, "wrong", words)


def climbed_on_cpu(
    climb: Climb, until_seconds: float, first_limit_seconds: float, free_bytes: int | None
) -> Generator[Step, UnitResult, None]:
    """The CPU: the first rungs in one process, each further one in its own."""
    together = _CPU_TOGETHER
    while climb.next and (climb.units == 0 or climb.meter.spent_seconds < until_seconds):
        rungs: list[Rung] = []
        for _ in range(together):
            for rung in _next_rungs(climb, {rung.family: rung for rung in rungs}, climb, free_bytes):
                rungs.append(rung)
                climb.next[rung.family] += 1
        together = 1
        if not rungs:
            return
        yield from _run(climb, rungs, first_limit_seconds, None)


def climbed(
    climb: Climb,
    cpu: Climb,
    until_seconds: float,
    first_limit_seconds: float,
    free_bytes: int | None,
) -> Generator[Step, UnitResult, None]:
    """A GPU. Its first process also times copies and looks at gradients; where that goes wrong, it is the last."""
    reference = cpu.answers
    while climb.next and climb.bad is None and (climb.units == 0 or climb.meter.spent_seconds < until_seconds):
        first = climb.units == 0
        rungs = _next_rungs(climb, {}, cpu, free_bytes)
        for rung in rungs:
            climb.next[rung.family] += 1
        if not rungs:
            return
        yield from _run(climb, [*(_TRANSFERS if first else ()), *rungs], first_limit_seconds, reference, check=first)


def refined(
    climb: Climb, cpu: Climb, first_limit_seconds: float, free_bytes: int | None
) -> Generator[Step, UnitResult, None]:
    """What lies half way to the neighbours of each knee: one process of the device, and one of the CPU for the same."""
    rungs = []
    for family in climb.families.values():
        if family.unit == "batch" and family.counts:
            rows = climb.of_family(family.name)
            beside = [family.at(size) for size in knee_neighbours(rows)]
            rungs += [rung for rung in beside if not (_too_long(rows, rung) or _too_much(cpu, rung, free_bytes))]
    if not rungs or climb.bad is not None:
        return
    yield from _run(climb, rungs, first_limit_seconds, cpu.answers)
    known = {(row.family, row.size) for row in cpu.rows}
    ran = {(row.family, row.size) for row in climb.rows if row.ran}
    missing = [rung for rung in rungs if (rung.family, rung.size) in ran - known]
    missing = [rung for rung in missing if not _too_long(cpu.of_family(rung.family), rung)]
    if missing:
        yield from _run(cpu, missing, first_limit_seconds, None)


def _next_rungs(climb: Climb, taken: Mapping[str, Rung], memory_of: Climb, free_bytes: int | None) -> list[Rung]:
    """The next rung of every family that may go on. `taken`: rungs of the same process, below them."""
    found = []
    for name, at in list(climb.next.items()):
        family = climb.families[name]
        if at >= len(family.rungs):
            del climb.next[name]
            continue
        rung = family.rungs[at]
        if _too_long(climb.of_family(name), rung) or _too_much(memory_of, rung, free_bytes):
            if name not in taken:
                del climb.next[name]
            continue
        found.append(rung)
    return found


def _too_long(rows: Sequence[Row], rung: Rung) -> bool:
    ran = [row for row in rows if row.step_seconds and row.size]
    if not ran or not rung.size:
        return False
    last = ran[-1]
    return (last.step_seconds or 0.0) * rung.size / last.size > _LONGEST_STEP_SECONDS


def _too_much(memory_of: Climb, rung: Rung, free_bytes: int | None) -> bool:
    """Whether the machine's own memory would run short, as far as the CPU's processes let foresee it."""
    if free_bytes is None or not rung.size or rung.family not in memory_of.families:
        return False
    predicted = predicted_bytes(memory_of.points(rung.family), rung.size)
    return predicted is not None and predicted > free_bytes


def _run(
    climb: Climb,
    rungs: Sequence[Rung],
    first_limit_seconds: float,
    reference: Mapping[str, Answer] | None,
    *,
    check: bool = False,
) -> Generator[Step, UnitResult, None]:
    """The rungs in one process; what stood behind a death in a second one."""
    left = list(rungs)
    for _ in range(len(rungs)):
        limit = first_limit_seconds
        if climb.last_seconds:
            limit = min(max(_LIMIT_FACTOR * climb.slowest_seconds, _LEAST_LIMIT_SECONDS), first_limit_seconds)
        runs = [(rung, _variant(rung, check)) for rung in left]
        given = yield from ask(climb.meter, climb.arm, runs, limit, climb.units, reference)
        climb.take(given)
        left = [rung for rung in given.left if rung.family in climb.next or rung.family not in climb.families]
        if not left or climb.bad is not None:
            return


def _variant(rung: Rung, check: bool) -> Variant:
    return rung.variant(check="1") if check and rung.family not in (TO_DEVICE, FROM_DEVICE) else rung.variant()
