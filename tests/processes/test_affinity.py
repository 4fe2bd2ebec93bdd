"""A child bound to its CPUs from outside: it has no moment without the mask, and nobody else has the mask."""

from __future__ import annotations

import contextlib
import os
import sys

import pytest

from doctor.processes.run import Child, run

if not hasattr(os, "sched_getaffinity"):
    pytest.skip("needs sched_setaffinity, which only Linux has", allow_module_level=True)

TOLD = "import os; print(sorted(os.sched_getaffinity(0)))"
OWN = frozenset(os.sched_getaffinity(0))


def started(affinity: object, code: str = TOLD):
    return run([sys.executable, "-c", code], timeout_seconds=20, affinity=affinity)  # type: ignore[arg-type]


@pytest.mark.parametrize("cpu", sorted(OWN)[:3])
def test_the_child_has_the_mask_and_its_children_inherit_it(cpu: int) -> None:
    deeper = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TOLD!r}])"
    assert started({cpu}).stdout.split() == [f"[{cpu}]".encode()]
    assert started({cpu}, deeper).stdout.split() == [f"[{cpu}]".encode()]


def test_this_process_keeps_its_own() -> None:
    child = Child([sys.executable, "-c", TOLD], affinity={min(OWN)})
    assert os.sched_getaffinity(0) == OWN
    assert child.wait(20).ok
    assert os.sched_getaffinity(0) == OWN


def test_a_thread_that_reads_its_output_keeps_the_own_mask_too() -> None:
    seen: list[set[int]] = []

    def on_line(_: bytes) -> None:
        seen.append(os.sched_getaffinity(0))

    child = Child([sys.executable, "-c", TOLD], affinity={min(OWN)}, on_line=on_line)
    assert child.wait(20).ok
    assert seen == [set(OWN)]


def test_without_a_mask_the_child_inherits() -> None:
    assert started(None).stdout.decode().strip() == str(sorted(OWN))


@pytest.mark.parametrize("cpus", [set(), {65535}, {min(OWN), 65534}])
def test_cpus_that_are_not_to_be_had_start_nothing(cpus: set[int]) -> None:
    ended = started(cpus)
    assert ended.outcome == "not-started"
    assert ended.name == "it may not use all of the CPUs it was meant for"
    assert os.sched_getaffinity(0) == OWN


def test_a_program_that_does_not_start_leaves_the_own_mask(tmp_path) -> None:
    assert run([str(tmp_path / "missing")], timeout_seconds=5, affinity={min(OWN)}).outcome == "not-started"
    assert os.sched_getaffinity(0) == OWN


#: Waits until it is bound, as a program of Windows that takes its time to load anything.
UNTIL_BOUND = f"""
import os, time
end = time.monotonic() + 20
while os.sched_getaffinity(0) != {{{min(OWN)}}} and time.monotonic() < end:
    time.sleep(0.01)
{TOLD}
"""


@pytest.fixture
def as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.processes.run._WINDOWS", True)
    monkeypatch.setattr("doctor.processes.run.inherited", contextlib.nullcontext)


def test_as_on_windows_the_child_is_bound_right_behind_its_start(as_on_windows: None) -> None:
    assert started({min(OWN)}, UNTIL_BOUND).stdout.split() == [f"[{min(OWN)}]".encode()]


def test_as_on_windows_a_child_that_cannot_be_bound_is_ended(as_on_windows: None) -> None:
    ended = started({65535}, "import time; time.sleep(600)")
    assert ended.outcome == "not-started"
    assert ended.name.startswith("it could not be bound to its CPUs")
