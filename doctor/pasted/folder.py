"""The inputs in a folder: one machine for each file, and one for each tree of `proc/` and `sys/`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from doctor.sources.tree_folder import is_root

#: How deep folders are looked through: a site, a rack, a host.
MAX_DEPTH = 4


def inputs_in(folder: Path, *, depth: int = MAX_DEPTH) -> Iterator[Path]:
    """Every input in a folder and the folders below it, by name; the folder itself where it is the tree of a machine.

    Hidden files are passed over, and links to folders are not followed. A folder further down that cannot be listed
    is given as it is. Raises OSError where `folder` itself cannot be.
    """
    if is_root(folder):
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError:
        if depth == MAX_DEPTH:
            raise
        yield folder
        return
    for name, is_folder in found:
        if name.startswith("."):
            continue
        if not is_folder:
            if not (folder / name).is_dir():
                yield folder / name
        elif depth > 0:
            yield from inputs_in(folder / name, depth=depth - 1)
