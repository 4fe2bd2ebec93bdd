"""Holds a Ctrl-C back for the moment in which a child is started.

An exception out of a signal handler can come between any two steps. Where it came inside Popen, the child would run
and nobody would know of it. Blocking the signal is no way: the child would inherit that.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_HELD_BACK = ("SIGINT", "SIGTERM", "SIGHUP")


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """What these signals do is done at the end. Handlers run in the main thread only: others have nothing to hold."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    handlers = {}
    for name in _HELD_BACK:
        number = getattr(signal, name, None)
        handler = signal.getsignal(number) if number is not None else None
        if number is not None and callable(handler):
            handlers[number] = handler
            signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in reversed(handlers.items()):
            signal.signal(number, handler)
        for number, frame in came:
            handlers[signal.Signals(number)](number, frame)
