"""Reads single files of a tree in a folder. Nothing but regular files is opened, and no link is followed by the system:
`doctor.sources.tree_paths.resolve` follows them, and stays inside the folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from doctor.sources.recording import FILE_CAP_BYTES
from doctor.sources.tree_paths import SIGNS

#: How deep and how wide a root is looked for: hwloc's and util-linux's trees lie one to three folders down.
_MAX_DEPTH = 3
_MAX_FOLDERS = 2000

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class FolderFiles:
    """The files below one root folder. What cannot be read is not there."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)

    def link(self, path: str) -> str | None:
        try:
            return os.readlink(self._root + path)  # noqa: PTH115  # a Path each time would double the cost
        except OSError:
            return None

    def data(self, path: str) -> bytes | None:
        try:
            # Opening a FIFO waits for its other end, and opening a device may do something: neither is opened.
            if not stat.S_ISREG(os.lstat(self._root + path).st_mode):
                return None
            with open(os.open(self._root + path, _FLAGS), "rb") as opened:
                return opened.read(FILE_CAP_BYTES)
        except OSError:
            return None

    def names(self, path: str) -> tuple[str, ...] | None:
        try:
            return tuple(sorted(os.listdir(self._root + path)))  # noqa: PTH208
        except OSError:
            return None


def tree_root(folder: Path) -> Path | None:
    """The folder that holds `proc/` or `sys/` of a machine: `folder`, or one a few levels below.

    Raises ValueError where several lie equally deep.
    """
    level, seen = [folder], 0
    for _ in range(_MAX_DEPTH + 1):
        found = [place for place in level if is_root(place)]
        if len(found) > 1:
            some = ", ".join(place.name for place in found[:3])
            raise ValueError(f"it holds {len(found)} machines: {some}; give one of them")
        if found:
            return found[0]
        level = [child for place in level for child in _folders(place)]
        seen += len(level)
        if seen > _MAX_FOLDERS:
            return None
    return None


def is_root(place: Path) -> bool:
    """Does this folder hold `proc/` or `sys/` of a machine, at its top?"""
    if any((place / top).is_symlink() for top in ("proc", "sys")):
        return False
    return any(os.path.lexists(place / sign) for sign in SIGNS)


def _folders(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
