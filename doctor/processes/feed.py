"""Hands a text to a program that goes on in the background: whoever holds a clipboard does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_WINDOWS = os.name == "nt"


def feed(argv: Sequence[str], content: bytes, *, timeout_seconds: float) -> str:
    """Start `argv`, whose first word is an absolute path (else ValueError), with `content` on its stdin. `""` where it
    took that, else why not.

    Its output goes nowhere: xclip and wl-copy leave a child behind that would hold a pipe open. That child lives on.
    """
    if not Path(argv[0]).is_absolute():
        raise ValueError(f"not an absolute path: {argv[0]}")
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=not _WINDOWS,
        )
    except OSError as error:
        return error.strerror or str(error)
    try:
        process.communicate(content, timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        return _ended(process, f"no answer within {timeout_seconds:g} s")
    except OSError as error:
        return _ended(process, error.strerror or str(error))
    except BaseException:
        _ended(process, "")
        raise
    return "" if process.returncode == 0 else f"exit {process.returncode}"


def _ended(process: subprocess.Popen[bytes], why: str) -> str:
    process.kill()
    process.wait()
    return why
