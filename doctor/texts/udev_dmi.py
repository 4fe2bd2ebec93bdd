"""The memory modules in the udev database: `/run/udev/data/+dmi:id`, or `udevadm info /sys/class/dmi/id`.

systemd 248 and later store there what `dmi_memory_id` reads out of the SMBIOS table at boot, readable for everyone:
`E:MEMORY_DEVICE_0_SIZE=17179869184`, `E:MEMORY_DEVICE_1_PRESENT=0` (an empty slot), `E:MEMORY_ARRAY_NUM_DEVICES=4`.
Source: systemd, src/udev/dmi_memory_id/dmi_memory_id.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.texts.memory_table import (
    MemoryDevice,
    MemoryTable,
    cleaned,
    main_memory,
    transfers,
    type_name,
    width,
)

_FIELD = re.compile(r"E:\s?MEMORY_DEVICE_(\d{1,4})_([A-Z_]+)=(.*)")


def read_udev_dmi(text: str) -> MemoryTable:
    """The memory devices. Never raises; a text of something else gives an empty table."""
    rows: dict[int, dict[str, str]] = {}
    for line in text.splitlines():
        if found := _FIELD.match(line.strip()):
            rows.setdefault(int(found.group(1)), {}).setdefault(found.group(2), found.group(3).strip())
    return MemoryTable(devices=main_memory(_device(rows[at]) for at in sorted(rows)))


def _device(fields: Mapping[str, str]) -> MemoryDevice:
    return MemoryDevice(
        present=fields.get("PRESENT") != "0",
        locator=cleaned(fields.get("LOCATOR")),
        bank=cleaned(fields.get("BANK_LOCATOR")),
        size_bytes=_number(fields.get("SIZE")) or None,
        type=type_name(fields.get("TYPE")),
        form_factor=cleaned(fields.get("FORM_FACTOR")),
        width_bits=width(_number(fields.get("DATA_WIDTH"))),
        speed_mts=transfers(_number(fields.get("SPEED_MTS"))),
        configured_mts=transfers(_number(fields.get("CONFIGURED_SPEED_MTS"))),
        manufacturer=cleaned(fields.get("MANUFACTURER")),
        part_number=cleaned(fields.get("PART_NUMBER")),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None
