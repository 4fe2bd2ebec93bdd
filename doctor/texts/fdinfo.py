"""What the kernel tells of an open file that is a GPU: /proc/<pid>/fdinfo/<fd>, with the counters of its driver.

Format: Documentation/gpu/drm-usage-stats.rst of the kernel. One client may stand behind several files.
"""

from __future__ import annotations

import re

import msgspec

_LINE = re.compile(r"^drm-([a-z-]+?)(?:-([a-z0-9]+))?:\s*(.+)$")
_AMOUNT = re.compile(r"(\d{1,20})\s*(KiB|MiB|ns)?")
_UNITS = {None: 1, "KiB": 1 << 10, "MiB": 1 << 20, "ns": 1}
#: The older and the newer name of what is held.
_HELD = ("memory", "resident", "total")
_PARTS = ("vram", "gtt")


class Client(msgspec.Struct, frozen=True):
    """`busy_ns`: of all its engines together. `held_bytes`: of the card's own memory and what is shared."""

    driver: str
    device: str  # 0000:03:00.0
    number: str
    busy_ns: int = 0
    held_bytes: int = 0


def read_fdinfo(text: str) -> Client | None:
    """The client of one file; None where the file is no GPU, or its driver counts nothing."""
    if "drm-driver:" not in text:
        return None
    plain: dict[str, str] = {}
    busy = 0
    held: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        found = _LINE.match(line.strip())
        if found is None:
            continue
        kind, what, value = found[1], found[2], found[3].strip()
        if kind == "engine" and what and not what.startswith("capacity"):
            busy += _amount(value)
        elif kind in _HELD and what in _PARTS:
            held.setdefault(kind, {})[what] = _amount(value)
        else:
            plain[kind if what is None else f"{kind}-{what}"] = value
    if "driver" not in plain or "client-id" not in plain:
        return None
    parts = next((held[kind] for kind in _HELD if kind in held), {})
    return Client(plain["driver"][:40], plain.get("pdev", "")[:40], plain["client-id"][:40], busy, sum(parts.values()))


def _amount(value: str) -> int:
    found = _AMOUNT.match(value)
    return int(found[1]) * _UNITS[found[2]] if found else 0
