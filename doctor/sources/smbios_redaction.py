"""Takes serial numbers, asset tags and UUIDs out of an SMBIOS table when it is read.

Only the structures that the doctor reads stay; the others may hold a service tag in any of their strings. A string
is blanked and keeps its length, so that every offset and every string number stays true.
Layout: DMTF DSP0134 3.7, sections 6.1 (structures), 7.2 (UUID), 7.3, 7.4, 7.5, 7.18 (serial numbers, asset tags).
"""

from __future__ import annotations

import struct

#: In front of the table of GetSystemFirmwareTable('RSMB'): calling method, version, revision, length of the table.
_RAW_HEADER = struct.Struct("<BBBBI")

_BIOS, _SYSTEM, _BOARD, _CHASSIS, _PROCESSOR, _CACHE = 0, 1, 2, 3, 4, 7
_MEMORY_ARRAY, _MEMORY_DEVICE, _ARRAY_ADDRESS, _DEVICE_ADDRESS, _END = 16, 17, 19, 20, 127

#: The structures that stay, and where in each stand the numbers of the strings that are blanked.
_KEPT: dict[int, tuple[int, ...]] = {
    _BIOS: (),
    _SYSTEM: (0x07,),
    _BOARD: (0x07, 0x08),
    _CHASSIS: (0x07, 0x08),
    _PROCESSOR: (0x20, 0x21),
    _CACHE: (),
    _MEMORY_ARRAY: (),
    _MEMORY_DEVICE: (0x18, 0x19),
    _ARRAY_ADDRESS: (),
    _DEVICE_ADDRESS: (),
    _END: (),
}
_UUID = slice(0x08, 0x18)


def without_serials(raw: bytes) -> bytes | None:
    """The answer of GetSystemFirmwareTable('RSMB') without them, its length corrected; None where it is no table."""
    if len(raw) < _RAW_HEADER.size:
        return None
    method, major, minor, revision, length = _RAW_HEADER.unpack_from(raw)
    if length > len(raw) - _RAW_HEADER.size:
        return None
    table = structures_without_serials(raw[_RAW_HEADER.size : _RAW_HEADER.size + length])
    if table is None:
        return None
    return _RAW_HEADER.pack(method, major, minor, revision, len(table)) + table


def structures_without_serials(table: bytes) -> bytes | None:
    """A bare table (Linux: /sys/firmware/dmi/tables/DMI) without them; None where it cannot be taken apart."""
    kept = bytearray()
    at = 0
    while at + 4 <= len(table):
        kind, size = table[at], table[at + 1]
        end = table.find(b"\0\0", at + size)
        if size < 4 or end < 0:
            return None
        if kind in _KEPT:
            kept += _blanked(kind, table[at : at + size], table[at + size : end + 2])
        at = end + 2
        if kind == _END:
            break
    return bytes(kept) if kept else None


def _blanked(kind: int, body: bytes, strings: bytes) -> bytes:
    fields = bytearray(body)
    if kind == _SYSTEM:
        fields[_UUID] = bytes(len(fields[_UUID]))
    numbers = {body[offset] for offset in _KEPT[kind] if offset < len(body)}
    parts = strings.split(b"\0")
    for number in numbers - {0}:
        if number <= len(parts):
            parts[number - 1] = b" " * len(parts[number - 1])
    return bytes(fields) + b"\0".join(parts)
