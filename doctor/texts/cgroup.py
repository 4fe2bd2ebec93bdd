"""Control groups: which ones a process is in, where they are mounted, and what their limit files say.

Formats: cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of the Linux kernel. Readers return None
for a text that they cannot understand; a limit that is known to be absent is the string `"none"`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from doctor.machine.cpulist import parse_cpulist

_ESCAPE = re.compile(r"\\([0-7]{3})")

#: Version 1 writes "no limit" as the largest multiple of the page size that fits 63 bits.
_NO_LIMIT_BYTES = 1 << 60


class Membership(msgspec.Struct, frozen=True):
    """The group of one hierarchy that a process is in. `controllers` is empty for version 2."""

    version: int
    controllers: frozenset[str]
    path: str


class Mount(msgspec.Struct, frozen=True):
    """A mounted hierarchy, or a part of one: the group `root` is the folder `point`."""

    version: int
    controllers: frozenset[str]
    root: str
    point: str


class Chain(msgspec.Struct, frozen=True):
    """The folders of a process's own group and of every group above it that can be seen, the own one first."""

    version: int
    folders: tuple[str, ...]


def read_memberships(text: str) -> tuple[Membership, ...]:
    """/proc/<pid>/cgroup: lines of `id:controllers:path`. Lines of another form are passed over."""
    found = []
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) != 3 or not parts[0].isdigit() or not parts[2].startswith("/"):
            continue
        names = frozenset(name for name in parts[1].split(",") if name)
        found.append(Membership(1 if names else 2, names, parts[2]))
    return tuple(found)


def read_mounts(text: str) -> tuple[Mount, ...]:
    """The control group mounts of /proc/<pid>/mountinfo. Where two things are mounted on one point, the later wins."""
    by_point: dict[str, Mount | None] = {}
    for line in text.splitlines():
        front, dash, back = line.partition(" - ")
        fields, kind = front.split(" "), back.split(" ")
        if not dash or len(fields) < 6 or len(kind) < 3:
            continue
        root, point = _unescaped(fields[3]), _unescaped(fields[4])
        if kind[0] == "cgroup2":
            by_point[point] = Mount(2, frozenset(), root, point)
        elif kind[0] == "cgroup":
            by_point[point] = Mount(1, frozenset(kind[2].split(",")), root, point)
        else:
            by_point[point] = None
    return tuple(mount for mount in by_point.values() if mount is not None)


def _unescaped(field: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)


def chain(controller: str, memberships: Sequence[Membership], mounts: Sequence[Mount]) -> Chain | None:
    """The groups whose limits on `controller` bind this process. None where none of its groups can be seen.

    A controller belongs to one hierarchy: to version 1 where a line of version 1 names it, else to version 2. Where
    the own group lies outside of what is mounted (a control group namespace of somebody else), nothing that can be
    read here is known to bind this process.
    """
    own = next((group for group in memberships if controller in group.controllers), None)
    own = own or next((group for group in memberships if group.version == 2), None)
    if own is None:
        return None
    usable = [
        (mount, folders)
        for mount in mounts
        if mount.version == own.version and (own.version == 2 or controller in mount.controllers)
        if (folders := _folders(own.path, mount))
    ]
    if not usable:
        return None
    # A second mount of the same hierarchy (the host's, under /host) may lie outside of the paths that are ever read.
    usable.sort(key=lambda pair: (not pair[0].point.startswith("/sys/fs/cgroup"), len(_names(pair[0].root))))
    return Chain(own.version, usable[0][1])


def _folders(path: str, mount: Mount) -> tuple[str, ...]:
    """`path` and what is above it as folders below a mount, own one first; empty where the mount does not hold it."""
    own, root = _names(path), _names(mount.root)
    if own[: len(root)] != root:
        return ()
    below = own[len(root) :]
    if ".." in below:
        return ()
    point = mount.point.rstrip("/")
    return tuple("/".join([point, *below[:depth]]) for depth in range(len(below), -1, -1))


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def read_cpu_max(text: str) -> float | Literal["none"] | None:
    """`cpu.max` of version 2, `"$MAX $PERIOD"` in microseconds, as a number of CPUs."""
    words = text.split()
    if len(words) not in (1, 2):
        return None
    return read_cfs(words[0], words[1] if len(words) == 2 else "100000")


def read_cfs(quota: str, period: str) -> float | Literal["none"] | None:
    """Quota and period in microseconds as a number of CPUs. `max` (version 2) and -1 (version 1) mean no limit."""
    if quota.strip() in ("max", "-1"):
        return "none"
    microseconds, per = _natural(quota), _natural(period)
    if not microseconds or not per:
        return None
    return round(microseconds / per, 4)


def read_limit(text: str) -> int | Literal["none"] | None:
    """`memory.max`, `pids.max` or `memory.limit_in_bytes`: a number, or no limit."""
    if text.strip() == "max":
        return "none"
    number = _natural(text)
    if number is None:
        return None
    return "none" if number >= _NO_LIMIT_BYTES else number


def read_cpus(text: str) -> frozenset[int] | None:
    """A `cpuset` file; the empty set means that the group above decides."""
    try:
        return parse_cpulist(text)
    except ValueError:
        return None


def read_throttling(text: str) -> tuple[int, int] | None:
    """`nr_periods` and `nr_throttled` of `cpu.stat`; None where the group has no quota to count."""
    rows = dict(line.split(None, 1) for line in text.splitlines() if len(line.split()) == 2)
    periods, throttled = _natural(rows.get("nr_periods", "")), _natural(rows.get("nr_throttled", ""))
    return None if periods is None or throttled is None else (periods, throttled)


def _natural(text: str) -> int | None:
    word = text.strip()
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 20 else None
