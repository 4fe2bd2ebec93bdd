"""How the end of a unit is named, from what the worker told and how its process ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doctor.measure.told import ending, read_events, result_of, timings_of
from doctor.measure.units import Readings
from doctor.processes.run import Ended

IMPORTED = {"event": "imported", "version": "2.9.0", "seconds": 1.2, "cpus": [0, 1, 2, 8]}
DONE = {
    "event": "done",
    "threads": 4,
    "cpus": [0],
    "clock_mhz": [4100.0, 4200.5],
    "switches_voluntary": 3,
    "switches_involuntary": 5,
    "peak_resident_bytes": 1000,
    "cpu_seconds": 2.5,
}


def begin(name: str, variant: str = "") -> dict[str, Any]:
    return {"event": "begin", "workload": name, "variant": variant}


def timed(name: str, variant: str = "") -> dict[str, Any]:
    return {
        "event": "timed",
        "workload": name,
        "variant": variant,
        "seconds": [0.5, 0.25],
        "values": [1, 2.5],
        "tolerance": 0.001,
        "items": 8,
        "flop": 10.0,
        "moved_bytes": None,
        "loss": 0.125,
        "peak_resident_bytes": 900,
        "cost": {"build": 0.1},
    }


def failed(name: str, outcome: str, detail: str, variant: str = "") -> dict[str, Any]:
    return {"event": "failed", "workload": name, "variant": variant, "outcome": outcome, "detail": detail}


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def ended(outcome: str = "exited", status: int | None = 0, name: str = "exit 0", stderr: str = "") -> Ended:
    return Ended(outcome, status, name, b"", stderr.encode(), False, 2.0)


def told(events: tuple[dict, ...], end: Ended, *, goes_on: bool = False, memory_kills: int = 0) -> tuple[str, str]:
    return ending(read_events(lines(*events)), end, goes_on=goes_on, memory_kills=memory_kills)


def test_a_whole_answer() -> None:
    events = read_events(lines(IMPORTED, begin("gemm-512"), timed("gemm-512"), DONE))
    result = result_of(events, ended(), Readings(power_source="ac"), goes_on=False, memory_kills=0, wall_seconds=2.25)
    assert (result.outcome, result.detail, result.wall_seconds) == ("ok", "", 2.25)
    assert (result.threads, result.cpus) == (4, "0-2,8")
    (timing,) = result.timings
    assert (timing.workload, timing.seconds, timing.items) == ("gemm-512", (0.5, 0.25), 8)
    assert timing.answer is not None and timing.answer.values == (1, 2.5)
    assert (timing.loss, timing.peak_resident_bytes) == (0.125, 900)
    readings = result.readings
    assert (readings.power_source, readings.clock_mhz) == ("ac", (4100.0, 4200.5))
    assert (readings.switches_voluntary, readings.switches_involuntary, readings.peak_resident_bytes) == (3, 5, 1000)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"{}",
        b"[1, 2]",
        b'{"event": "timed"}',
        b'{"event": "other"}',
        b'{"event": "imported", "version": 3, "seconds": 1, "cpus": null}',
        b'{"event": "begin", "workload": NaN, "variant": ""}',
        b'{"event": "begin", "workload": "\xff", "variant": ""}',
        b'{"a":' * 5000,
        b"begin gemm-512",
        b"\x00\xff",
    ],
)
def test_lines_that_are_none_are_passed_over(line: bytes) -> None:
    assert read_events(line + b"\n" + lines(DONE)) == read_events(lines(DONE))


@pytest.mark.parametrize(
    ("events", "end", "outcome", "detail"),
    [
        ((IMPORTED, begin("triad")), ended("timeout", None, "timeout after 30 s"),
         "hung", "it did not end in time while triad ran (timeout after 30 s)"),
        ((), ended("timeout", None, "timeout after 30 s"),
         "hung", "it did not end in time while it was imported (timeout after 30 s)"),
        ((IMPORTED,), ended("signal", None, "SIGALRM"), "hung", "it did not end in time (SIGALRM)"),
        ((IMPORTED, begin("triad")), ended("signal", None, "SIGSEGV"), "killed", "SIGSEGV while triad ran"),
        ((), ended("signal", None, "SIGILL"), "killed", "SIGILL while it was imported"),
        ((IMPORTED, begin("triad"), timed("triad"), begin("fit")), ended("signal", None, "SIGABRT", "free(): failed"),
         "killed", "SIGABRT while fit ran (free(): failed)"),
        ((IMPORTED, begin("triad")), ended("exited", 139, "exit 139"), "killed", "SIGSEGV while triad ran"),
        ((IMPORTED,), ended("signal", None, "ACCESS_VIOLATION"), "killed", "ACCESS_VIOLATION"),
        ((IMPORTED, begin("fit")),
         ended("signal", None, "SIGABRT", "terminate called after throwing an instance of 'std::bad_alloc'"),
         "out-of-memory", "SIGABRT: the memory was used up while fit ran"),
        ((IMPORTED, begin("fit"), failed("fit", "wrong", "no gradient")), ended(), "wrong", "no gradient"),
        ((failed("", "rubbish", "PyTorch is not installed in this Python"),), ended(),
         "rubbish", "PyTorch is not installed in this Python"),
        ((), ended("not-started", None, "Permission denied"), "rubbish", "it does not start: Permission denied"),
        ((), ended("exited", 1, "exit 1", "Fatal Python error: init_fs_encoding"),
         "rubbish", "exit 1 without an answer while it was imported (Fatal Python error: init_fs_encoding)"),
        ((IMPORTED, begin("fit"), timed("fit")), ended(), "rubbish", "exit 0 without an answer"),
        ((), ended("exited", 127, "exit 127", "cannot allocate memory for thread-local data: ABORT"), "out-of-memory",
         "exit 127 without an answer while it was imported (cannot allocate memory for thread-local data: ABORT)"),
    ],
)  # fmt: skip
def test_ends_are_named(events: tuple[dict, ...], end: Ended, outcome: str, detail: str) -> None:
    assert told(events, end) == (outcome, detail)


def test_only_a_counter_tells_who_sent_the_signal() -> None:
    killed = ended("signal", None, "SIGKILL")
    assert told((IMPORTED, begin("fit")), killed) == ("killed", "SIGKILL while fit ran")
    assert told((IMPORTED, begin("fit")), killed, memory_kills=1) == (
        "out-of-memory",
        "SIGKILL: the memory was used up while fit ran",
    )
    # Somebody else's death is no reason for a crash.
    assert told((IMPORTED, begin("fit")), ended("signal", None, "SIGSEGV"), memory_kills=1)[0] == "killed"


def test_a_process_of_a_data_loader_may_be_the_one_that_was_killed() -> None:
    died = failed("fit", "rubbish", "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.")
    assert told((IMPORTED, begin("fit"), died), ended())[0] == "rubbish"
    assert told((IMPORTED, begin("fit"), died), ended(), memory_kills=1)[0] == "out-of-memory"


def test_where_it_goes_on_a_failed_run_is_a_row_and_no_end() -> None:
    events = (IMPORTED, begin("fit", "a"), failed("fit", "out-of-memory", "9 bytes", "a"), begin("fit", "b"),
              timed("fit", "b"), DONE)  # fmt: skip
    assert told(events, ended(), goes_on=True) == ("ok", "")
    rows = timings_of(read_events(lines(*events)), with_failures=True)
    assert [(row.variant, row.failed, row.seconds) for row in rows] == [
        ("a", "out-of-memory: 9 bytes", ()),
        ("b", "", (0.5, 0.25)),
    ]
    assert told(events[:-1], ended("signal", None, "SIGSEGV"), goes_on=True)[0] == "killed"
