"""`uma/carveout_options` of an amdgpu device (Linux 7.0 and later, where the board allows it): the sizes of the
carve-out that the kernel itself can set for the next boot.

    0: Minimum (512 MB)
    1:  (1 GB)
"""

from __future__ import annotations

import re

_LINE = re.compile(r"\s*\d{1,3}:.*\((\d{1,7}) ?(MB|GB)\)\s*")
_UNITS = {"MB": 1 << 20, "GB": 1 << 30}


def read_carveout_options(text: str) -> tuple[int, ...]:
    """The sizes in bytes, in the order of their indices. Never raises; other lines are passed over."""
    found = (_LINE.fullmatch(line) for line in text.splitlines())
    return tuple(int(match[1]) * _UNITS[match[2]] for match in found if match)
