"""libdrm's `amdgpu.ids`: the product name of a card, by device id and revision.

    744C,   C8,     AMD Radeon RX 7900 XTX
"""

from __future__ import annotations

import re

_LINE = re.compile(r"\s*([0-9A-Fa-f]{4})\s*,\s*([0-9A-Fa-f]{2})\s*,\s*(\S.*?)\s*")


def product_name(text: str, pci_id: str, revision: int) -> str | None:
    """The name of `1002:744c` in a revision; None where the list does not have the pair. Never raises."""
    vendor, _, device = pci_id.lower().partition(":")
    if vendor != "1002":
        return None
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match and match[1].lower() == device and int(match[2], 16) == revision:
            return match[3]
    return None
