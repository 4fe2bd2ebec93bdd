"""Writes a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, or replace an older one. Raises OSError.

    The temporary file lies in the same folder, so that the last step is one rename; it is gone after a Ctrl-C or a
    full disk. A link is followed: the file it leads to is replaced.
    """
    whole = path.resolve()
    temporary = whole.with_name(f".{whole.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        temporary.replace(whole)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
