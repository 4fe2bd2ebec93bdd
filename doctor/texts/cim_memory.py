"""The rows of Win32_PhysicalMemory and Win32_PhysicalMemoryArray, as `ConvertTo-Json` writes them.

A class with one instance is an object, with several a list. The documentation says MHz; Windows copies the numbers of
the SMBIOS table, which are MT/s. Only filled slots have a row; the array tells how many slots there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.texts.memory_table import (
    MemoryDevice,
    MemoryTable,
    cleaned,
    main_memory,
    transfers,
    type_name,
    width,
)
from doctor.texts.smbios import SMBIOS_TYPES

#: Win32_PhysicalMemory.FormFactor: CIM numbers, not those of SMBIOS.
_FORM_FACTORS = {7: "SIMM", 8: "DIMM", 9: "TSOP", 12: "SODIMM", 13: "SRIMM"}


def read_cim_memory(rows: Any) -> MemoryTable:
    """The modules in the rows of Win32_PhysicalMemory (an object or a list). Never raises."""
    return MemoryTable(devices=main_memory(_device(row) for row in _instances(rows) if _is_module(row)))


def read_cim_slots(rows: Any) -> int | None:
    """How many slots the rows of Win32_PhysicalMemoryArray speak of; None where they do not. Use 3 is main memory."""
    counts = [_whole(row.get("MemoryDevices")) for row in _instances(rows) if _whole(row.get("Use")) in (3, None)]
    known = [count for count in counts if count is not None and 0 < count <= 1024]
    return sum(known) if known else None


def _instances(rows: Any) -> list[Mapping[str, Any]]:
    listed = rows if isinstance(rows, list) else [rows]
    return [row for row in listed if isinstance(row, Mapping)]


def _is_module(row: Mapping[str, Any]) -> bool:
    return any(name in row for name in ("Capacity", "DeviceLocator", "PartNumber"))


def _device(row: Mapping[str, Any]) -> MemoryDevice:
    return MemoryDevice(
        present=True,
        locator=cleaned(_text(row.get("DeviceLocator"))),
        bank=cleaned(_text(row.get("BankLabel"))),
        size_bytes=_whole(row.get("Capacity")) or None,
        type=type_name(SMBIOS_TYPES.get(_whole(row.get("SMBIOSMemoryType")) or 0)),
        form_factor=_FORM_FACTORS.get(_whole(row.get("FormFactor")) or 0),
        width_bits=width(_whole(row.get("DataWidth"))),
        speed_mts=transfers(_whole(row.get("Speed"))),
        configured_mts=transfers(_whole(row.get("ConfiguredClockSpeed"))),
        manufacturer=cleaned(_text(row.get("Manufacturer"))),
        part_number=cleaned(_text(row.get("PartNumber"))),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    """A number, also one written as text: 64-bit values come as either."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else None
