"""amdgpu_firmware_info, as the driver amdgpu shows it in debugfs to root: one line for each firmware of a card."""

from __future__ import annotations

import re

_LINE = re.compile(r"(\w[\w ]*?) feature version: \d{1,10}, firmware version: (0x[0-9a-fA-F]{1,8})")
_OF_CARD = re.compile(r"\bdev=([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b")


def read_firmware_info(text: str) -> dict[str, int]:
    """The version of each firmware by its name (`MES`, `SDMA0`); 0 stands for one that the card does not have."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match:
            found.setdefault(match[1], int(match[2], 16))
    return found


def card_of_name(text: str) -> str | None:
    """The PCI address in the file `name` beside it: `amdgpu dev=0000:c6:00.0 unique=0000:c6:00.0`."""
    match = _OF_CARD.search(text)
    return match[1] if match else None
