"""Which shell the doctor was called from, where shells write commands differently: on Windows."""

from __future__ import annotations

import sys

import psutil

_SHELLS = {"cmd.exe": "cmd", "powershell.exe": "powershell", "pwsh.exe": "powershell"}

#: Between the shell and this process stand launchers: `amd-doctor.exe`, `py.exe`, `python.exe`.
_MOST_PARENTS = 6


def calling_shell() -> str | None:
    """`cmd` or `powershell`; None where neither called, or this is not Windows."""
    return None if sys.platform != "win32" else _first_shell()


def _first_shell() -> str | None:
    try:
        names = (parent.name().lower() for parent in psutil.Process().parents()[:_MOST_PARENTS])
        return next((_SHELLS[name] for name in names if name in _SHELLS), None)
    except psutil.Error:
        return None
