"""`/proc/meminfo`: how much memory there is and how much of it programs can still get."""

from __future__ import annotations

import re

_LINE = re.compile(r"(MemTotal|MemAvailable):\s*(\d{1,15}) kB\b")


def read_meminfo(text: str) -> tuple[int | None, int | None]:
    """(total, available) in bytes; None for a line that is not there. `kB` are 1024 bytes. Never raises."""
    found = {match.group(1): int(match.group(2)) * 1024 for match in map(_LINE.match, text.splitlines()) if match}
    return found.get("MemTotal"), found.get("MemAvailable")
