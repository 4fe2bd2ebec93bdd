"""The text of `dmidecode`: memory arrays (type 16), memory devices (17) and processors (4).

Read are all dialects from 2.x to 3.6: "Configured Clock Speed" and "Configured Memory Speed", MHz and MT/s for the
same number, sizes in MB and GB, the quiet form (`-q`, no handles), lost indentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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

_ARRAY, _DEVICE, _PROCESSOR = "Physical Memory Array", "Memory Device", "Processor Information"
_TITLES = (_ARRAY, _DEVICE, _PROCESSOR)

_HANDLE = re.compile(r"Handle (0x[0-9A-Fa-f]{1,8})\b")
_FIELD = re.compile(r"([A-Z][A-Za-z0-9 /-]{0,60}):(?: |$)(.*)")
_SIZE = re.compile(r"(\d{1,9})\s*(bytes|[kKMGT]i?B)\b")
_NUMBER = re.compile(r"(\d{1,6})\s*(?:MT/s|MHz|bits?)\b")
_SIGNATURE = re.compile(r"Family (\d{1,3}), Model (\d{1,3}), Stepping (\d{1,3})")
_ID_BYTES = re.compile(r"((?:[0-9A-Fa-f]{2} ){3}[0-9A-Fa-f]{2})\b")

_UNITS = {"bytes": 1, "k": 1024, "m": MIB, "g": 1024 * MIB, "t": 1024 * 1024 * MIB}

#: A field that stands below the title, first come first kept. Serial and asset numbers are not among them.
_WANTED = frozenset(
    {"Array Handle", "Use", "Size", "Locator", "Bank Locator", "Type", "Form Factor", "Data Width", "Speed"}
    | {"Configured Memory Speed", "Configured Clock Speed", "Manufacturer", "Part Number"}
    | {"Version", "Signature", "ID", "Status"}
)


def read_dmidecode(text: str) -> MemoryTable:
    """The memory and processors in a text of dmidecode. Never raises; a text of something else gives an empty table."""
    other_arrays, devices, processors = set(), [], []
    for title, handle, fields in _sections(text):
        if title == _ARRAY and fields.get("Use", "System Memory") != "System Memory":
            other_arrays.add(handle)
        elif title == _DEVICE:
            devices.append((fields.get("Array Handle", "").lower(), _device(fields)))
        elif title == _PROCESSOR and "Unpopulated" not in fields.get("Status", ""):
            processors.append(_processor(fields))
    kept = (device for array, device in devices if not array or array not in other_arrays)
    return MemoryTable(devices=main_memory(kept), processors=tuple(processors))


def _sections(text: str) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """(title, handle or "", fields) of every section that is wanted."""
    title, handle, fields = "", "", dict[str, str]()
    for line in [*text.splitlines(), ""]:
        plain = line.strip()
        found = _HANDLE.match(plain)
        if not plain or found or plain in _TITLES:
            if title:
                yield title, handle, fields
            title, fields = plain if plain in _TITLES else "", {}
            # A blank line ends a section, and the next handle with it; the title follows right behind its handle.
            handle = found.group(1).lower() if found else handle if title else ""
        elif title and (field := _FIELD.match(plain)) and field.group(1) in _WANTED:
            fields.setdefault(field.group(1), field.group(2).strip())


def _device(fields: Mapping[str, str]) -> MemoryDevice:
    size = fields.get("Size", "")
    return MemoryDevice(
        present=not re.search(r"no module installed|not installed", size, re.IGNORECASE),
        locator=cleaned(fields.get("Locator")),
        bank=cleaned(fields.get("Bank Locator")),
        size_bytes=_bytes(size),
        type=type_name(fields.get("Type")),
        form_factor=cleaned(fields.get("Form Factor")),
        width_bits=width(_number(fields.get("Data Width"))),
        speed_mts=transfers(_number(fields.get("Speed"))),
        configured_mts=transfers(
            _number(fields.get("Configured Memory Speed") or fields.get("Configured Clock Speed"))
        ),
        manufacturer=cleaned(fields.get("Manufacturer")),
        part_number=cleaned(fields.get("Part Number")),
    )


def _processor(fields: Mapping[str, str]) -> Processor:
    family: int | None = None
    model: int | None = None
    stepping: int | None = None
    if found := _SIGNATURE.search(fields.get("Signature", "")):
        family, model, stepping = (int(number) for number in found.groups())
    elif found := _ID_BYTES.match(fields.get("ID", "")):
        family, model, stepping = signature(int.from_bytes(bytes.fromhex(found.group(1)), "little"))
    return Processor(
        manufacturer=cleaned(fields.get("Manufacturer")),
        name=cleaned(fields.get("Version")),
        family=family,
        model=model,
        stepping=stepping,
    )


def _bytes(text: str) -> int | None:
    found = _SIZE.match(text)
    if not found or int(found.group(1)) == 0:
        return None
    unit = found.group(2)
    return int(found.group(1)) * _UNITS[unit if unit == "bytes" else unit[0].lower()]


def _number(text: str | None) -> int | None:
    found = _NUMBER.match(text or "")
    return int(found.group(1)) if found else None
