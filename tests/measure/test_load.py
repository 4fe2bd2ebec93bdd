"""Whose CPU time it is: recorded counters, and this machine with a child that keeps a CPU busy."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import ClassVar

import psutil
import pytest

from doctor.measure.load import (
    BusyProcess,
    Snapshot,
    busiest,
    busy_processes,
    cpu_times,
    own_family,
    proc_stat_rows,
    snapshot,
)
from doctor.processes.run import Child

STAT = """cpu  1461643 79052 269401 655898 12609 0 4170 1859 0 0
cpu0 701090 38219 125137 371929 4239 0 133 955 0 0
cpu2 760553 40832 144263 283968 8370 1 4037 904 7 8
intr 1 2 3
"""
SPIN = "print('on', flush=True)\nwhile True: pass"


def test_rows_go_by_the_number_of_the_cpu() -> None:
    rows = proc_stat_rows(STAT, 100)
    assert set(rows) == {0, 2}
    assert rows[2]["user"] == 7605.53
    assert (rows[2]["iowait"], rows[2]["irq"], rows[2]["steal"]) == (83.70, 0.01, 9.04)


def test_times_of_this_machine_go_on() -> None:
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    before = cpu_times(cpus)
    deadline = time.monotonic() + 20
    while cpu_times(cpus).busy <= before.busy and time.monotonic() < deadline:
        sum(range(10000))
    after = cpu_times(cpus)
    assert after.busy > before.busy
    assert after.all > before.all >= before.busy + before.stolen
    assert cpu_times(()).all == 0.0


def at(seconds: float, **processes: float) -> Snapshot:
    """`chrome_2=1.5`: the second process of that program, and its CPU seconds."""
    rows = {}
    for number, (name, used) in enumerate(processes.items(), start=10):
        rows[number, 1.0] = name.partition("_")[0], used
    return Snapshot(seconds, rows)


def test_shares_are_of_all_cpus_and_processes_of_one_name_count_together() -> None:
    before, after = at(0.0, idle=5.0, chrome_1=1.0, chrome_2=1.0), at(2.0, idle=5.0, chrome_1=1.6, chrome_2=1.2)
    assert busiest(before, after, 4) == (BusyProcess("chrome", pytest.approx(0.1)),)


def test_who_started_meanwhile_counts_and_the_three_busiest_are_named() -> None:
    after = at(1.0, a=0.2, b=0.5, c=0.9, d=0.4, e=0.01)
    assert [process.name for process in busiest(at(0.0), after, 1)] == ["c", "b", "d"]
    assert [process.name for process in busiest(at(0.0), after, 1, but={12, 11})] == ["d", "a"]


def test_a_process_with_the_number_of_one_that_ended_is_another_one() -> None:
    before, after = Snapshot(0.0, {(10, 1.0): ("old", 50.0)}), Snapshot(1.0, {(10, 9.0): ("new", 0.5)})
    assert busiest(before, after, 1) == (BusyProcess("new", 0.5),)


def test_no_time_at_all_divides_by_nothing() -> None:
    assert busiest(at(1.0, a=1.0), at(1.0, a=1.0), 0) == ()


def test_threads_of_the_kernel_have_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Process:
        pid = 7
        info: ClassVar = {
            "name": "kworker/u8:2+flush-254:0",
            "cpu_times": psutil.cpu_times(),
            "create_time": 1.0,
        }

    monkeypatch.setattr("doctor.measure.load.psutil.process_iter", lambda attributes: [Process])
    assert [name for name, _ in snapshot().processes.values()] == ["kworker"]


def spinning() -> Child:
    on = threading.Event()
    child = Child([sys.executable, "-c", SPIN], on_line=lambda _: on.set())
    assert on.wait(60)
    return child


def only_family(monkeypatch: pytest.MonkeyPatch, family: frozenset[int]) -> None:
    """As if nobody else ran here."""
    everybody = psutil.process_iter
    monkeypatch.setattr(
        "doctor.measure.load.psutil.process_iter",
        lambda attributes: (process for process in everybody(attributes) if process.pid in family),
    )


def test_own_children_are_not_other_peoples_load(monkeypatch: pytest.MonkeyPatch) -> None:
    child = spinning()
    try:
        family = own_family()
        only_family(monkeypatch, family)
        assert busy_processes(1, 0.3) == ()
    finally:
        child.kill()


def test_a_busy_stranger_is_named_without_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    child = spinning()
    try:
        only_family(monkeypatch, own_family())
        # As if somebody else had started it.
        monkeypatch.setattr("doctor.measure.load.own_family", lambda: frozenset({os.getpid()}))
        deadline, found = time.monotonic() + 30, False
        while not found and time.monotonic() < deadline:
            found = any("python" in process.name.lower() for process in busy_processes(1, 0.2))
        assert found
        assert not any("import" in process.name for process in busy_processes(1, 0.2))
    finally:
        child.kill()
