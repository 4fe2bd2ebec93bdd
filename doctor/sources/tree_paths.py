"""Which paths of an archive or folder belong to a machine's tree, and where its links lead."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_MAX_HOPS = 40

#: What is kept of a tree, relative to its root. /proc has a folder for each process, /sys/kernel/debug may be huge.
_KEPT = re.compile(
    r"proc/[^/]+$|proc/(?:self|thread-self|1|sys|driver|bus|acpi|device-tree)/."
    r"|sys/(?:devices|class|bus|block|dev|firmware|fs|module|power|hypervisor)/."
    r"|sys/kernel/(?!debug/|tracing/|security/|slab/)."
    r"|run/udev/data/.|run/\.containerenv$|\.dockerenv$"
    r"|etc/(?:os-release|lsb-release|group|modprobe\.d/.)|usr/lib/os-release$|opt/rocm[^/]*/\.info/."
)
_TOPS = frozenset({"proc", "sys", "run", "etc", "usr", "opt", ".dockerenv"})

#: A root that has one of these speaks of a machine.
SIGNS = tuple(f"proc/{name}" for name in ("cpuinfo", "meminfo", "version", "cmdline", "stat", "self", "sys")) + tuple(
    f"sys/{name}" for name in ("devices", "class", "bus", "firmware", "fs/cgroup", "module", "kernel")
)


@lru_cache(maxsize=1)  # asked twice for each member
def split_root(name: str) -> tuple[str, str] | None:
    """An archive's member name as the root of its tree (`""` for the top) and the path below it.

    `None` for what no tree needs, and for a name that leaves the archive.
    """
    if leaves(name):
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    for at, part in enumerate(parts):
        if part in _TOPS:
            below = "/".join(parts[at:])
            if _KEPT.match(below):
                return "/".join(parts[:at]), below
    return None


def leaves(name: str) -> bool:
    """True for a member name that points outside the archive: absolute, or with `..` in it."""
    return name.startswith(("/", "\\")) or ".." in name.split("/") or name[1:3] in (":\\", ":/")


class Leaves(Exception):
    """A link that leads out of the tree, or in a circle."""


def resolve(path: str, link_of: Callable[[str], str | None]) -> str:
    """An absolute path of the tree with every link on the way followed. Absolute links start at the tree's root.

    `link_of` gives where a link points, None for what is no link. Raises Leaves.
    """
    todo = path.split("/")[::-1]
    done: list[str] = []
    hops = 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not done:
                raise Leaves(path)
            done.pop()
            continue
        done.append(part)
        target = link_of("/" + "/".join(done))
        if target is not None:
            hops += 1
            if hops > _MAX_HOPS:
                raise Leaves(path)
            done = [] if target.startswith("/") else done[:-1]
            todo += target.split("/")[::-1]
    return "/" + "/".join(done)
