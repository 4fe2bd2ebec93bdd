"""Starts the user's own command in the place of this process: its terminal, its signals, its exit status.

Where the system can, the process becomes the command (POSIX exec): same process id, same group in the foreground of
the terminal, so job control, Ctrl-C and the exit status need no help. Windows cannot; there the command runs beside
this process, which waits and leaves with its status.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence

import psutil

#: Python ignores these for itself, and a command would inherit that.
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")


def own_cpus() -> frozenset[int] | None:
    """The CPUs that this process may use; None where the system has no such mask."""
    try:
        return frozenset(psutil.Process().cpu_affinity() or ())  # type: ignore[no-untyped-call,unused-ignore]
    except (AttributeError, psutil.Error, OSError):
        return None


def replace_this_process(
    program: str, argv: Sequence[str], *, env: Mapping[str, str], cpus: Iterable[int] | None = None
) -> int:
    """Become `program` with exactly `env`, on `cpus` only; returns only on Windows, with the exit status of the
    command. `argv[0]` is the name that the command sees. Raises OSError where it cannot be started.

    The mask is set on this process first, because a child inherits it: there is no moment without it.
    """
    if cpus is not None:
        psutil.Process().cpu_affinity(sorted(cpus))
    _flush()
    if sys.platform == "win32":
        return _waited_for(program, argv, env)
    for name in _IGNORED_BY_PYTHON:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    return os.execve(program, list(argv), dict(env))


def _waited_for(program: str, argv: Sequence[str], env: Mapping[str, str]) -> int:
    # Ctrl-C and Ctrl-Break reach every process of the console: what they mean is the command's to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGBREAK"):
        signal.signal(signal.SIGBREAK, signal.SIG_IGN)
    process = subprocess.Popen([program, *argv[1:]], env=dict(env))
    status = process.wait()
    # A status such as 0xC0000005 is negative where a C int is asked for.
    return status - (1 << 32) if status >= 1 << 31 else status


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
