"""Starts one child and tells how it ended. Absolute path, no shell, closed stdin, a timeout, a cap on its output.

The child leads its own process group, and the whole group is ended with it: on a timeout, and when this process ends
while the child still runs.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from doctor.processes.affinity import bind, inherited
from doctor.processes.interrupts import held_back

DEFAULT_CAP_BYTES = 4 * 1024 * 1024
_GRACE_SECONDS = 0.5
#: On Windows a Ctrl-C is noticed only between two waits.
_SLICE_SECONDS = 0.2
_WINDOWS = os.name == "nt"

#: Windows status codes that a broken DLL or an illegal instruction ends a process with.
_WINDOWS_STATUS = {
    0xC0000005: "ACCESS_VIOLATION",
    0xC0000006: "IN_PAGE_ERROR",
    0xC000001D: "ILLEGAL_INSTRUCTION",
    0xC000007B: "INVALID_IMAGE_FORMAT",
    0xC000008E: "FLOAT_DIVIDE_BY_ZERO",
    0xC0000094: "INTEGER_DIVIDE_BY_ZERO",
    0xC0000096: "PRIVILEGED_INSTRUCTION",
    0xC00000FD: "STACK_OVERFLOW",
    0xC0000135: "DLL_NOT_FOUND",
    0xC0000139: "ENTRYPOINT_NOT_FOUND",
    0xC000013A: "CONTROL_C",
    0xC0000142: "DLL_INIT_FAILED",
    0xC0000374: "HEAP_CORRUPTION",
    0xC0000409: "STACK_BUFFER_OVERRUN",
}


class Ended(msgspec.Struct, frozen=True):
    """How a child ended. `outcome` is `exited`, `signal`, `timeout` or `not-started`."""

    outcome: str
    status: int | None  # the exit status of an `exited` child
    name: str  # "exit 3", "SIGFPE", "ILLEGAL_INSTRUCTION", "timeout after 5 s", or why it did not start
    stdout: bytes
    stderr: bytes
    truncated: bool
    seconds: float

    @property
    def ok(self) -> bool:
        return self.outcome == "exited" and self.status == 0


class Child:
    """A running child whose output is read by threads, so that the caller can do other work meanwhile."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        cap_bytes: int = DEFAULT_CAP_BYTES,
        on_line: Callable[[bytes], None] | None = None,
        on_error_line: Callable[[bytes], None] | None = None,
        affinity: Collection[int] | None = None,
    ) -> None:
        """Start `argv`, whose first word is an absolute path (else ValueError). `on_line` is called from another
        thread for each line of stdout, also for those behind the cap; a line of more than 64 KiB comes in pieces;
        `on_error_line` likewise for stderr. `affinity`: the only CPUs that the child may use, set from outside."""
        self._began = time.monotonic()
        self._ended_at = self._began
        self._cap = cap_bytes
        self._on_line = {"stdout": on_line, "stderr": on_error_line}
        self._truncated = False
        self._kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._process: subprocess.Popen[bytes] | None = None
        self._failure = ""
        self._readers: list[threading.Thread] = []
        self._over = threading.Event()
        if not Path(argv[0]).is_absolute():
            raise ValueError(f"not an absolute path: {argv[0]}")
        try:
            with held_back():
                self._start(argv, env, cwd, affinity)
        except (OSError, ValueError) as error:
            self.kill()
            self._process, self._failure = None, getattr(error, "strerror", None) or str(error)
        except BaseException:
            self.kill()
            raise

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, affinity: Collection[int] | None
    ) -> None:
        with inherited(affinity):
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=not _WINDOWS,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if _WINDOWS else 0,
            )
        _RUNNING.add(self)
        for stream, pipe in (("stdout", self._process.stdout), ("stderr", self._process.stderr)):
            reader = threading.Thread(target=self._read, args=(stream, pipe), daemon=True)
            reader.start()
            self._readers.append(reader)
        threading.Thread(target=self._watch, args=(self._process,), daemon=True).start()
        if _WINDOWS and affinity is not None:
            bind(self._process.pid, affinity)

    def _read(self, stream: str, pipe: IO[bytes]) -> None:
        kept, on_line = self._kept[stream], self._on_line[stream]
        with pipe:
            for line in iter(lambda: pipe.readline(65536), b""):
                room = self._cap - len(kept)
                if len(line) > room:
                    self._truncated = True
                kept += line[: max(room, 0)]
                if on_line is not None:
                    on_line(line)

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        # Popen.wait with a timeout sleeps up to 50 ms between two looks; a thread that waits without one wakes at once.
        process.wait()
        self._ended_at = time.monotonic()
        self._over.set()

    def wait(self, timeout_seconds: float) -> Ended:
        """Wait until the child ends, at most `timeout_seconds` from its start; then end its whole group."""
        if self._process is None:
            return Ended("not-started", None, self._failure, b"", b"", False, 0.0)
        try:
            timed_out = not self._ends_before(self._began + timeout_seconds)
        finally:
            self.kill()
        for reader in self._readers:
            # A grandchild that left the group may hold the pipe open: what was read by then is what there is.
            reader.join(_GRACE_SECONDS)
        outcome, status, name = _named(None if timed_out else self._process.returncode, timeout_seconds)
        return Ended(
            outcome,
            status,
            name,
            bytes(self._kept["stdout"]),
            bytes(self._kept["stderr"]),
            self._truncated,
            self._ended_at - self._began,
        )

    def _ends_before(self, deadline: float) -> bool:
        while not self._over.wait(min(max(deadline - time.monotonic(), 0.0), _SLICE_SECONDS)):
            if time.monotonic() >= deadline:
                return False
        return True

    def kill(self) -> None:
        """End the child and its group. Harmless when it has ended already."""
        if self._process is None or self not in _RUNNING:
            return
        if _WINDOWS:
            _kill_tree(self._process)
        else:
            # The group may outlive its leader: a child that left a daemon behind must not leave it running.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        if not self._over.wait(_GRACE_SECONDS):
            self._ended_at = time.monotonic()
        _RUNNING.discard(self)


#: Children that nobody has waited for or killed yet.
_RUNNING: set[Child] = set()


def kill_running() -> None:
    """End every child that still runs. Called when this process ends."""
    for child in list(_RUNNING):
        child.kill()


atexit.register(kill_running)


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Windows knows no process groups to kill: end what the child started, then the child."""
    import psutil

    if process.poll() is not None:
        return
    below: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error, OSError):
        below = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(OSError):
        process.kill()
    for started in below:
        with contextlib.suppress(psutil.Error, OSError):
            started.kill()


def _named(code: int | None, timeout_seconds: float) -> tuple[str, int | None, str]:
    """Outcome, exit status and name of a return code; None is a child that had to be ended."""
    if code is None:
        return "timeout", None, f"timeout after {timeout_seconds:g} s"
    if code < 0:
        try:
            return "signal", None, signal.Signals(-code).name
        except ValueError:
            return "signal", None, f"signal {-code}"
    if code >= 0xC0000000:
        return "signal", None, _WINDOWS_STATUS.get(code, f"status 0x{code:08X}")
    return "exited", code, f"exit {code}"


def run(
    argv: Sequence[str],
    *,
    timeout_seconds: float,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    cap_bytes: int = DEFAULT_CAP_BYTES,
    affinity: Collection[int] | None = None,
) -> Ended:
    """Start `argv`, wait for it, tell how it ended."""
    return Child(argv, env=env, cwd=cwd, cap_bytes=cap_bytes, affinity=affinity).wait(timeout_seconds)
