"""A Ctrl-C that comes while a child is started: it waits for that moment, and takes the child along."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from doctor.processes.interrupts import held_back
from doctor.processes.run import Child

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")


def gone(pid: int, within_seconds: float = 10) -> bool:
    end = time.monotonic() + within_seconds
    while time.monotonic() < end:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def test_it_comes_at_the_end() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), held_back():
        signal.raise_signal(signal.SIGINT)
        steps.append("went on")
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_one_nothing_happens() -> None:
    with held_back():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_hold_nothing_back() -> None:
    seen = []

    def started() -> None:
        with held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=started)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


@posix_only
def test_a_child_that_was_just_started_goes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen] = []
    honest = subprocess.Popen

    def interrupted(*args: object, **options: object) -> subprocess.Popen:
        started.append(honest(*args, **options))  # type: ignore[call-overload]
        signal.raise_signal(signal.SIGINT)  # before anybody knows of it
        return started[0]

    monkeypatch.setattr("doctor.processes.run.subprocess.Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Child([sys.executable, "-c", "import time; time.sleep(600)"])
    assert gone(started[0].pid)


@posix_only
def test_the_child_itself_can_be_interrupted(tmp_path: Path) -> None:
    """What holds the signal back here is not inherited."""
    on = threading.Event()
    code = "import time; print(1, flush=True); time.sleep(600)"
    child = Child([sys.executable, "-c", code], on_line=lambda _: on.set())
    assert on.wait(60) and child._process is not None
    child._process.send_signal(signal.SIGINT)
    assert child.wait(60).outcome in ("signal", "exited")
    assert b"KeyboardInterrupt" in child._kept["stderr"]
