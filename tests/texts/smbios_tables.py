"""Writes SMBIOS structures, to test what reads them. Layout: DMTF DSP0134 3.7, sections 7.5, 7.17 and 7.18."""

from __future__ import annotations

import struct

from doctor.texts.memory_table import MIB, MemoryDevice
from doctor.texts.smbios import SMBIOS_TYPES

SYSTEM_MEMORY, FLASH_MEMORY = 3, 6
END = b"\x7f\x04\xfe\xff\0\0"

_FORM_FACTORS = {"Other": 1, None: 2, "DIMM": 9, "Row Of Chips": 11, "SODIMM": 13}
_TYPES = {name: number for number, name in SMBIOS_TYPES.items()}


def structure(kind: int, handle: int, fields: bytes, strings: tuple[str, ...] = ()) -> bytes:
    texts = b"".join(text.encode() + b"\0" for text in strings) or b"\0"
    return struct.pack("<BBH", kind, 4 + len(fields), handle) + fields + texts + b"\0"


def array(handle: int, use: int = SYSTEM_MEMORY, devices: int = 2) -> bytes:
    return structure(16, handle, struct.pack("<BBBIHH", 3, use, 3, 0x8000000, 0xFFFE, devices))


def device(row: MemoryDevice, handle: int = 0x11, array_handle: int = 0x10, length: int = 0x5C) -> bytes:
    """A memory device with the given fields, cut to `length` as older SMBIOS versions have it. String 3 is a serial."""
    texts = (row.locator or "", row.bank or "", "S3RIAL", row.manufacturer or "", row.part_number or "", "ASSET")
    numbers = [0] * len(texts)
    kept = []
    for at, text in enumerate(texts):
        if text:
            kept.append(text)
            numbers[at] = len(kept)
    mebibytes = (row.size_bytes or 0) // MIB
    size = 0 if not row.present else 0xFFFF if row.size_bytes is None else min(mebibytes, 0x7FFF)
    fields = struct.pack(
        "<HHHHHBBBBBHHBBBBBIHHHH",
        *(array_handle, 0xFFFE, row.width_bits or 0xFFFF, row.width_bits or 0xFFFF, size),
        *(_FORM_FACTORS[row.form_factor], 0, numbers[0], numbers[1], _TYPES.get(row.type or "", 2), 0x80),
        *(min(row.speed_mts or 0, 0xFFFF), numbers[3], numbers[2], numbers[5], numbers[4], 2),
        *(mebibytes if size == 0x7FFF else 0, row.configured_mts or 0, 1200, 1200, 1200),
    )
    fields += bytes(0x54 - 4 - len(fields)) + struct.pack("<II", 0, 0)
    return structure(17, handle, fields[: length - 4], tuple(kept))


def processor(eax: int, maker: str, name: str, status: int = 0x41) -> bytes:
    fields = struct.pack("<BBBBQB", 1, 3, 0x6B, 2, eax | 0x178BFBFF << 32, 3) + bytes(7) + struct.pack("<B", status)
    fields += bytes(0x30 - 4 - len(fields))
    return structure(4, 4, fields, ("AM5", maker, name))
