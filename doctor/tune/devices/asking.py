"""One process of a device: what it runs, and what its rows say beside the CPU's answers."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from statistics import median

import msgspec

from doctor.measure.answers import wrong_answer
from doctor.measure.units import Answer, Outcome, Stage, Timing, UnitResult, Variant
from doctor.tune.arms import Arm
from doctor.tune.devices.ladder import Rung
from doctor.tune.devices.sizes import Row
from doctor.tune.meter import Booked, Meter, Step

STAGE: Stage = "devices"

#: Another device adds up in another order and with other instructions: its answers may lie so many times as far from
#: the CPU's as those of another setting of the CPU may.
_TOLERANCE_FACTOR = 10.0

_OUTCOMES: tuple[Outcome, ...] = ("wrong", "killed", "hung", "out-of-memory", "rubbish")


class Ran(msgspec.Struct, frozen=True):
    """A rung that was run, as a row, and its timing where there is one."""

    rung: Rung
    row: Row
    timing: Timing | None = None


class Answered(msgspec.Struct, frozen=True):
    """What one process gave. `ran`: the rungs that it came to. `left`: those behind a death of the process, which
    nobody knows anything of. `died`: it ended before its time."""

    ran: tuple[Ran, ...]
    left: tuple[Rung, ...] = ()
    died: bool = False
    seconds: float = 0.0


def ask(
    meter: Meter,
    arm: Arm,
    runs: Sequence[tuple[Rung, Variant]],
    limit_seconds: float,
    number: int = 0,
    reference: Mapping[str, Answer] | None = None,
) -> Generator[Step, UnitResult, Answered]:
    """Run rungs in one process of a device. `reference`: the CPU's answers by workload; None: this is the CPU."""
    booked = yield from run(meter, arm, [variant for _, variant in runs], limit_seconds, number)
    return answered(booked, runs, reference)


def run(
    meter: Meter, arm: Arm, variants: Sequence[Variant], limit_seconds: float, number: int = 0
) -> Generator[Step, UnitResult, Booked]:
    workloads = tuple(dict.fromkeys(name for variant in variants for name in variant.workloads))
    booked = yield from meter.measure_variants(
        arm, variants, workloads, 0.0, number, stage=STAGE, limit_seconds=limit_seconds
    )
    return booked


def answered(
    booked: Booked, runs: Sequence[tuple[Rung, Variant]], reference: Mapping[str, Answer] | None
) -> Answered:
    """The rows of a process. One that died is charged to the first rung without a row."""
    timings = {(timing.workload, timing.variant): timing for timing in booked.result.timings}
    ran: list[Ran] = []
    for at, (rung, variant) in enumerate(runs):
        timing = timings.get((rung.workload, variant.name))
        if timing is None:
            if booked.ok:
                row = failed_row(rung, "rubbish", "it was not told of")
            else:
                row = failed_row(rung, booked.result.outcome, booked.result.detail)
            left = () if booked.ok else tuple(rung for rung, _ in runs[at + 1 :])
            ran.append(Ran(rung, row))
            if not booked.ok:
                return Answered(tuple(ran), left, died=True, seconds=booked.result.wall_seconds)
        else:
            ran.append(Ran(rung, row_of(rung, timing, reference), timing))
    return Answered(tuple(ran), died=not booked.ok, seconds=booked.result.wall_seconds)


def row_of(rung: Rung, timing: Timing, reference: Mapping[str, Answer] | None) -> Row:
    """The row of one timing; `wrong` where its answer is not the CPU's."""
    held = timing.device.device_bytes if timing.device is not None else None
    if timing.failed:
        word, _, detail = timing.failed.partition(": ")
        outcome: Outcome = next((known for known in _OUTCOMES if known == word), "rubbish")
        return msgspec.structs.replace(failed_row(rung, outcome, detail or timing.failed), device_bytes=held)
    if not timing.seconds or min(timing.seconds) <= 0:
        return failed_row(rung, "rubbish", "it told no usable time")
    wrong = None if reference is None else _wrong(timing, reference)
    if wrong is not None:
        return failed_row(rung, "wrong", wrong)
    seconds = median(timing.seconds)
    own = timing.peak_resident_bytes
    return Row(rung.family, rung.size, timing.items / seconds, seconds, device_bytes=held, process_bytes=own)


def failed_row(rung: Rung, outcome: Outcome, detail: str) -> Row:
    return Row(rung.family, rung.size, outcome=outcome, detail=detail)


def _wrong(timing: Timing, reference: Mapping[str, Answer]) -> str | None:
    own = reference.get(timing.workload)
    if own is None:
        return None
    wider = Answer(own.values, own.tolerance * _TOLERANCE_FACTOR)
    return wrong_answer({timing.workload: wider}, UnitResult("ok", 0.0, (timing,)))
