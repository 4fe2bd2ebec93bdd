"""A raw SMBIOS table: memory arrays (type 16), memory devices (17) and processors (4), after DMTF DSP0134 3.7.

Accepted are the bare table (`/sys/firmware/dmi/tables/DMI`), a dump that starts with an entry point (`_SM3_`, `_SM_`,
`_DMI_`, as `dmidecode --dump-bin` writes it), and what Windows answers to GetSystemFirmwareTable('RSMB', 0): the table
behind a header of eight bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doctor.texts.memory_table import (
    MIB,
    MemoryDevice,
    MemoryTable,
    Processor,
    cleaned,
    main_memory,
    signature,
    transfers,
    type_name,
    width,
)

_PROCESSOR, _ARRAY, _DEVICE, _END = 4, 16, 17, 127
_SYSTEM_MEMORY = 3
_POPULATED = 0x40

#: More structures than any machine has; a table of zeros must not keep a reader busy.
_MAX_STRUCTURES = 4096

#: DSP0134 table 77, spelled as dmidecode does.
_FORM_FACTORS = {
    **dict(enumerate(("Other", "Unknown", "SIMM", "SIP", "Chip", "DIP", "ZIP", "Proprietary Card", "DIMM"), start=1)),
    **dict(enumerate(("TSOP", "Row Of Chips", "RIMM", "SODIMM", "SRIMM", "FB-DIMM", "Die", "CAMM"), start=10)),
}

#: DSP0134 table 78; 0x15 to 0x17 are reserved.
SMBIOS_TYPES = {
    **dict(enumerate(("DRAM", "EDRAM", "VRAM", "SRAM", "RAM", "ROM", "Flash", "EEPROM", "FEPROM", "EPROM"), start=3)),
    **dict(enumerate(("CDRAM", "3DRAM", "SDRAM", "SGRAM", "RDRAM", "DDR", "DDR2", "DDR2 FB-DIMM"), start=0x0D)),
    **dict(enumerate(("DDR3", "FBD2", "DDR4", "LPDDR", "LPDDR2", "LPDDR3", "LPDDR4"), start=0x18)),
    **dict(enumerate(("Logical non-volatile device", "HBM", "HBM2", "DDR5", "LPDDR5", "HBM3"), start=0x1F)),
}


class _Structure(msgspec.Struct, frozen=True):
    type: int
    handle: int
    body: bytes  # the formatted area, header included
    strings: tuple[str, ...]

    def number(self, offset: int, size: int) -> int | None:
        """The little-endian number at `offset`; None where the structure is too old to have it."""
        if offset + size > len(self.body):
            return None
        return int.from_bytes(self.body[offset : offset + size], "little")

    def string(self, offset: int) -> str | None:
        index = self.number(offset, 1) or 0
        return cleaned(self.strings[index - 1]) if 0 < index <= len(self.strings) else None


def read_smbios(data: bytes) -> MemoryTable:
    """The memory and processors of a table. Never raises; bytes of something else give an empty table."""
    other_arrays, devices, processors = set(), [], []
    for structure in _structures(_table(data)):
        if structure.type == _ARRAY and structure.number(0x05, 1) not in (_SYSTEM_MEMORY, None):
            other_arrays.add(structure.handle)
        elif structure.type == _DEVICE and len(structure.body) >= 0x15:
            devices.append((structure.number(0x04, 2), _device(structure)))
        elif structure.type == _PROCESSOR and (status := structure.number(0x18, 1)) is not None and status & _POPULATED:
            processors.append(_processor(structure))
    kept = (device for array, device in devices if array not in other_arrays)
    return MemoryTable(devices=main_memory(kept), processors=tuple(processors))


def _table(data: bytes) -> bytes:
    """The structures, without the entry point or the header of Windows in front of them."""
    if data[:5] == b"_SM3_" and len(data) >= 0x18:
        return data[int.from_bytes(data[0x10:0x18], "little") or 0x18 :]
    if data[:4] == b"_SM_" and len(data) >= 0x1F:
        return data[int.from_bytes(data[0x18:0x1C], "little") or 0x1F :]
    if data[:5] == b"_DMI_" and len(data) >= 0x0F:
        return data[int.from_bytes(data[0x08:0x0C], "little") or 0x0F :]
    # Windows: calling method, major version, minor version, DMI revision, then the table's length. A bare table cannot
    # look like that: its second byte is the length of a structure, which is four or more.
    length = int.from_bytes(data[4:8], "little")
    if len(data) >= 8 and data[1] in (2, 3) and 0 < length <= len(data) - 8:
        return data[8 : 8 + length]
    return data


def _structures(table: bytes) -> Iterator[_Structure]:
    at = 0
    for _ in range(_MAX_STRUCTURES):
        length = table[at + 1] if at + 4 <= len(table) else 0
        if length < 4 or at + length > len(table) or table[at] == _END:
            return
        end = table.find(b"\0\0", at + length)
        if end < 0:
            return
        strings = table[at + length : end].decode("utf-8", "replace").split("\0") if end > at + length else []
        yield _Structure(
            type=table[at],
            handle=int.from_bytes(table[at + 2 : at + 4], "little"),
            body=table[at : at + length],
            strings=tuple(strings),
        )
        at = end + 2


def _device(structure: _Structure) -> MemoryDevice:
    size = structure.number(0x0C, 2)
    return MemoryDevice(
        present=size != 0,
        locator=structure.string(0x10),
        bank=structure.string(0x11),
        size_bytes=_size_bytes(structure),
        type=type_name(SMBIOS_TYPES.get(structure.number(0x12, 1) or 0)),
        form_factor=cleaned(_FORM_FACTORS.get(structure.number(0x0E, 1) or 0)),
        width_bits=width(structure.number(0x0A, 2)),
        speed_mts=_speed(structure, 0x15, 0x54),
        configured_mts=_speed(structure, 0x20, 0x58),
        manufacturer=structure.string(0x17),
        part_number=structure.string(0x1A),
    )


def _size_bytes(structure: _Structure) -> int | None:
    size = structure.number(0x0C, 2)
    if not size or size == 0xFFFF:
        return None
    if size == 0x7FFF:
        return ((structure.number(0x1C, 4) or 0) & 0x7FFFFFFF) * MIB or None
    return (size & 0x7FFF) * (1024 if size & 0x8000 else MIB)


def _speed(structure: _Structure, offset: int, extended: int) -> int | None:
    speed = structure.number(offset, 2)
    return transfers(structure.number(extended, 4) if speed == 0xFFFF else speed)


def _processor(structure: _Structure) -> Processor:
    eax = structure.number(0x08, 4)
    family, model, stepping = signature(eax) if eax else (None, None, None)
    return Processor(
        manufacturer=structure.string(0x07),
        name=structure.string(0x10),
        family=family,
        model=model,
        stepping=stepping,
    )
