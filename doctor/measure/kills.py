"""How often the kernel has killed a process for want of memory, as far as this process can tell.

A process that is killed so dies of SIGKILL, as it does when anybody kills it; only a counter tells the two apart.
"""

from __future__ import annotations

from doctor.sources.base import Missing, Source
from doctor.texts.cgroup import chain, read_memberships, read_mounts

#: Version 2 counts in the first, version 1 in the second; both are lines of `name number`.
_FILES = {2: "memory.events", 1: "memory.oom_control"}


def out_of_memory_kills(source: Source) -> int:
    """The sum of every counter that can be read: of the own control group, and of the whole system. Only a rise means
    anything."""
    return sum(_count(source, path) for path in (*_own_group(source), "/proc/vmstat"))


def _own_group(source: Source) -> tuple[str, ...]:
    own, mounts = source.text("/proc/self/cgroup"), source.text("/proc/self/mountinfo")
    if isinstance(own, Missing) or isinstance(mounts, Missing):
        return ()
    found = chain("memory", read_memberships(own), read_mounts(mounts))
    return () if found is None else tuple(f"{folder}/{_FILES[found.version]}" for folder in found.folders)


def _count(source: Source, path: str) -> int:
    text = source.text(path)
    for line in text.splitlines() if isinstance(text, str) else ():
        words = line.split()
        if len(words) == 2 and words[0] == "oom_kill" and words[1].isascii() and words[1].isdigit():
            return int(words[1])
    return 0
