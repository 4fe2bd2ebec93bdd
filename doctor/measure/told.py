"""What the worker in the target's process told, and how its end is to be named."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from doctor.machine.cpulist import format_cpulist
from doctor.measure.units import Answer, DeviceCheck, Grown, Outcome, Readings, Timing, UnitResult
from doctor.processes.run import Ended
from doctor.sources.inside import signal_of_status, telling_line

_NO_MEMORY = re.compile(r"\bMemoryError\b|OutOfMemoryError|out of memory|bad_alloc|can(?:no|')t allocate memory", re.I)

#: The worker ends itself with it when it has run for too long.
_OWN_END = "SIGALRM"


class Imported(msgspec.Struct, frozen=True, tag="imported", tag_field="event"):
    version: str | None
    seconds: float
    cpus: list[int] | None


class Begun(msgspec.Struct, frozen=True, tag="begin", tag_field="event"):
    workload: str
    variant: str


class Timed(msgspec.Struct, frozen=True, tag="timed", tag_field="event"):
    workload: str
    variant: str
    seconds: tuple[float, ...]
    values: tuple[float, ...]
    tolerance: float
    items: float
    flop: float | None
    moved_bytes: float | None
    loss: float | None
    peak_resident_bytes: int | None


class Failed(msgspec.Struct, frozen=True, tag="failed", tag_field="event"):
    workload: str
    variant: str
    outcome: Literal["wrong", "killed", "out-of-memory", "rubbish"]
    detail: str


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="event"):
    threads: int | None
    cpus: list[int] | None
    clock_mhz: tuple[float, ...] | None
    switches_voluntary: int | None
    switches_involuntary: int | None
    peak_resident_bytes: int | None
    cpu_seconds: float


class OnDevice(msgspec.Struct, frozen=True, tag="device", tag_field="event"):
    workload: str
    variant: str
    fell_back: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    device_bytes: int | None = None
    gradients_off: float | None = None
    parameters: int | None = None
    without_gradient: int | None = None
    still: int | None = None

    @property
    def check(self) -> DeviceCheck:
        return DeviceCheck(
            self.fell_back,
            self.warned,
            self.device_bytes,
            self.gradients_off,
            self.parameters,
            self.without_gradient,
            self.still,
        )


class Grew(msgspec.Struct, frozen=True, tag="grew", tag_field="event"):
    bytes: int
    dedicated_bytes: int | None = None
    shared_bytes: int | None = None
    free_bytes: int | None = None


class Filled(msgspec.Struct, frozen=True, tag="filled", tag_field="event"):
    workload: str
    variant: str
    ended: str
    detail: str


Event = Imported | Begun | Timed | Failed | Done | OnDevice | Grew | Filled


def read_events(stdout: bytes) -> tuple[Event, ...]:
    """The lines that are events; others come from whoever else writes there."""
    found = (_decoded(line) for line in stdout.splitlines() if line.startswith(b"{"))
    return tuple(event for event in found if event is not None)


def _decoded(line: bytes) -> Event | None:
    try:
        event: Event = msgspec.json.decode(line, type=Event)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return event


def last(events: Iterable[Event], kind: type[Any]) -> Any:
    """The last event of a kind, or None."""
    return next((event for event in reversed(tuple(events)) if isinstance(event, kind)), None)


def timings_of(events: Iterable[Event], *, with_failures: bool) -> tuple[Timing, ...]:
    """One row per run that was timed; where the process went on behind a failure, one for each failure too."""
    rows, checks = [], {}
    for event in events:
        if isinstance(event, OnDevice):
            checks[event.workload, event.variant] = event.check
        elif isinstance(event, Timed):
            rows.append(
                Timing(
                    event.workload,
                    event.seconds,
                    Answer(event.values, event.tolerance),
                    event.items,
                    event.flop,
                    event.moved_bytes,
                    event.variant,
                    event.loss,
                    peak_resident_bytes=event.peak_resident_bytes,
                    device=checks.get((event.workload, event.variant)),
                )
            )
        elif isinstance(event, Failed) and with_failures and event.workload:
            failed = f"{event.outcome}: {event.detail}"
            check = checks.get((event.workload, event.variant))
            rows.append(Timing(event.workload, (), variant=event.variant, failed=failed, device=check))
    return tuple(rows)


def ending(events: tuple[Event, ...], ended: Ended, *, goes_on: bool, memory_kills: int) -> tuple[Outcome, str]:
    """The outcome of a unit and why. `memory_kills`: how many processes the kernel killed meanwhile for their memory;
    `goes_on`: a failed run did not end the process."""
    where = _where(events)
    if ended.outcome == "timeout" or ended.name == _OWN_END:
        return "hung", f"it did not end in time{where} ({ended.name})"
    died = died_of(ended, memory_kills, where)
    if died is not None:
        return died
    failed = last(events, Failed)
    if failed is not None and not (goes_on and last(events, Done) is not None):
        # A process of a DataLoader may be the one that was killed.
        if memory_kills and "killed by signal" in failed.detail:
            return "out-of-memory", failed.detail
        return failed.outcome, failed.detail
    if last(events, Done) is not None:
        return "ok", ""
    if ended.outcome == "not-started":
        return "rubbish", f"it does not start: {ended.name}"
    said = telling_line(ended.stderr)
    outcome: Outcome = "out-of-memory" if lacks_memory(said) else "rubbish"
    return outcome, f"{ended.name} without an answer{where}" + (f" ({said})" if said else "")


def lacks_memory(said: str) -> bool:
    """Whether these words are of a program that got no memory."""
    return _NO_MEMORY.search(said) is not None


def died_of(ended: Ended, memory_kills: int, where: str = "") -> tuple[Outcome, str] | None:
    """Outcome and reason where a signal ended the process; None where none did."""
    killer = ended.name if ended.outcome == "signal" else signal_of_status(ended.status)
    if killer is None:
        return None
    said = telling_line(ended.stderr)
    if lacks_memory(said) or (killer == "SIGKILL" and memory_kills):
        return "out-of-memory", f"{killer}: the memory was used up{where}"
    return "killed", f"{killer}{where}" + (f" ({said})" if said else "")


def _where(events: tuple[Event, ...]) -> str:
    """What was at work last, in words."""
    begun = last(events, Begun)
    if begun is None:
        return " while it was imported" if last(events, Imported) is None else ""
    own = (begun.workload, begun.variant)
    over = any(
        isinstance(event, Timed | Failed | Filled) and (event.workload, event.variant) == own for event in events
    )
    return "" if over else f" while {begun.workload} ran"


def result_of(
    events: tuple[Event, ...], ended: Ended, around: Readings, *, goes_on: bool, memory_kills: int, wall_seconds: float
) -> UnitResult:
    """The result of a unit, from its lines, its end and what was read around it."""
    outcome, detail = ending(events, ended, goes_on=goes_on, memory_kills=memory_kills)
    filled = last(events, Filled)
    if filled is not None and outcome == "ok":
        detail = f"{filled.ended}: {filled.detail}"
    done, imported = last(events, Done), last(events, Imported)
    readings = around
    if done is not None:
        readings = msgspec.structs.replace(
            around,
            clock_mhz=done.clock_mhz,
            switches_voluntary=done.switches_voluntary,
            switches_involuntary=done.switches_involuntary,
            peak_resident_bytes=done.peak_resident_bytes,
        )
    return UnitResult(
        outcome,
        wall_seconds,
        timings_of(events, with_failures=goes_on),
        readings,
        threads=None if done is None else done.threads,
        detail=detail,
        grown=tuple(
            Grown(event.bytes, event.dedicated_bytes, event.shared_bytes, event.free_bytes)
            for event in events
            if isinstance(event, Grew)
        ),
        cpus=None if imported is None or imported.cpus is None else format_cpulist(imported.cpus),
    )
