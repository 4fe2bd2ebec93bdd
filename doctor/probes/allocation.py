"""How memory can be handed to programs: the kernel's transparent huge pages, and allocators to preload. Linux only."""

from __future__ import annotations

import re

from doctor.machine.model import Memory
from doctor.probes.found import Found
from doctor.sources.base import Missing, Source

_HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
_CHOSEN = re.compile(r"\[(always|madvise|never)\]")

#: The folders of distributions: Debian and Ubuntu, Fedora, Arch, built by hand.
_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
#: The run-time names, as packages without development files have them. The minimal tcmalloc has no profiler.
_LIBRARIES = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libjemalloc.so.2")


def probe(source: Source) -> Found:
    """Two fields of the area `memory`."""
    if source.origin.platform != "linux":
        return Found()
    mode, found = _huge_pages(source), _allocators(source)
    memory = Memory(transparent_huge_pages=mode, allocators=found)
    if memory == Memory():
        return Found()
    origins = {"memory.transparent_huge_pages": _HUGE_PAGES} if mode else {}
    return Found({"memory": memory}, origins=origins)


def _huge_pages(source: Source) -> str | None:
    """The mode; `never` for a kernel that was built without them."""
    text = source.text(_HUGE_PAGES)
    if isinstance(text, Missing):
        return "never" if text.reason == "absent" else None
    chosen = _CHOSEN.search(text)
    return chosen.group(1) if chosen else None


def _allocators(source: Source) -> tuple[str, ...] | None:
    """One path of each library, in the order of `_LIBRARIES`; None where the source cannot tell."""
    paths = []
    for name in _LIBRARIES:
        for folder in _FOLDERS:
            access = source.access(f"{folder}/{name}")
            if isinstance(access, Missing):
                if access.reason != "absent":
                    return None
            elif access.exists and access.readable:
                paths.append(f"{folder}/{name}")
                break
    return tuple(paths)
