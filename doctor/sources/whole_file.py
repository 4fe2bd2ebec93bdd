"""Writes a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


def write_whole(path: Path, content: bytes, *, mode: int = 0o666, keep_mode: bool = False) -> None:
    """Write a file, or replace an older one. Raises OSError.

    The temporary file lies in the same folder, so that the last step is one rename; it is gone after a Ctrl-C or a
    full disk. A link is followed: the file it leads to is replaced. `mode`: what the umask leaves of it, the file gets.
    `keep_mode`: an older file's own mode, and its owner where that may be given, stay.
    """
    whole = path.resolve()
    temporary = whole.with_name(f".{whole.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            if keep_mode:
                _like(whole, opened.fileno())
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        temporary.replace(whole)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _like(older: Path, descriptor: int) -> None:
    """Give an open file the mode and owner of an older one, as far as the system knows and allows that."""
    if not hasattr(os, "fchown") or not older.exists():
        return
    found = older.stat()
    with contextlib.suppress(OSError):
        os.fchown(descriptor, found.st_uid, found.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
