"""Ends what this process started and what that started, when it is asked to stop in the middle."""

from __future__ import annotations

import contextlib

import psutil


def end_descendants() -> None:
    """Kill every process below this one. Each child leads its own group, so a Ctrl-C at the terminal spares it."""
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                process.kill()
