"""Binds a child to some CPUs from outside, so that whatever it loads finds it bound already."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator


@contextlib.contextmanager
def inherited(affinity: Collection[int] | None) -> Iterator[None]:
    """Linux: whoever is started inside inherits these CPUs from this thread, and has no moment without them. Other
    threads of this process keep theirs. Raises OSError where not all of the CPUs are to be had."""
    if affinity is None or os.name == "nt":
        yield
        return
    if not hasattr(os, "sched_setaffinity"):
        raise OSError("this system cannot bind a process to CPUs")
    own = os.sched_getaffinity(0)
    try:
        # CPUs that are offline or not allowed are left out in silence, and an error where none is left.
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, affinity)
        if os.sched_getaffinity(0) != set(affinity):
            raise OSError("it may not use all of the CPUs it was meant for")
        yield
    finally:
        os.sched_setaffinity(0, own)


def bind(pid: int, affinity: Collection[int]) -> None:
    """Windows: a child inherits the CPUs of the process, not of the thread that starts it, so it is bound right behind
    its start, long before it has loaded anything. Raises OSError."""
    import psutil

    try:
        psutil.Process(pid).cpu_affinity(sorted(affinity))
    except (psutil.Error, OSError, ValueError) as error:
        raise OSError(f"it could not be bound to its CPUs: {error}") from error
