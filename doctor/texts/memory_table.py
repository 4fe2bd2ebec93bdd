"""What every reader of memory modules returns, whichever format it reads, and how it cleans what firmware writes.

Firmware fills fields it does not know with words of its own ("To Be Filled By O.E.M.", "Array1_PartNumber0"). Serial
and asset numbers are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from doctor.machine.model import Cpu, MemoryModule, MemorySlot

MIB = 1024 * 1024

#: A speed above this is not one (16-bit fields full of ones).
_MAX_MTS = 30_000

_PLACEHOLDER = re.compile(
    r"not (?:specified|provided|available|installed)|unknown|undefined|unspecified|none|n/?a|null|"
    r"no (?:dimm|module installed)|\[?empty\]?|<.*>|-+|0+|f+|default string|to be filled by o\.?e\.?m\.?|"
    r"(?:array\d+_)?part_?num(?:ber)?\d*|module_?part_?number\d*|(?:module)?manufacturer\d*",
    re.IGNORECASE,
)

#: Types of a memory device that are no main memory (SMBIOS 3.7, table 78).
_STORAGE_TYPES = frozenset({"flash", "rom", "eeprom", "feprom", "eprom", "vram", "cdram", "sgram"})


class MemoryDevice(msgspec.Struct, frozen=True):
    """One memory device as firmware describes it: a module, or an empty slot (`present` False)."""

    present: bool
    locator: str | None = None
    bank: str | None = None
    size_bytes: int | None = None
    type: str | None = None
    form_factor: str | None = None
    width_bits: int | None = None
    speed_mts: int | None = None
    configured_mts: int | None = None
    manufacturer: str | None = None
    part_number: str | None = None


class Processor(msgspec.Struct, frozen=True):
    """One populated processor socket as firmware describes it."""

    manufacturer: str | None = None
    name: str | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None


class MemoryTable(msgspec.Struct, frozen=True):
    """What a text says about memory. No devices at all means that it says nothing."""

    devices: tuple[MemoryDevice, ...] = ()
    processors: tuple[Processor, ...] = ()

    @property
    def modules(self) -> tuple[MemoryModule, ...]:
        return tuple(
            MemoryModule(
                locator=device.locator,
                bank=device.bank,
                size_bytes=device.size_bytes,
                type=device.type,
                form_factor=device.form_factor,
                width_bits=device.width_bits,
                speed_mts=device.speed_mts,
                configured_mts=device.configured_mts,
                manufacturer=device.manufacturer,
                part_number=device.part_number,
            )
            for device in self.devices
            if device.present
        )

    @property
    def empty_slots(self) -> tuple[MemorySlot, ...]:
        return tuple(
            MemorySlot(locator=device.locator, bank=device.bank) for device in self.devices if not device.present
        )

    @property
    def cpu(self) -> Cpu | None:
        """The processor, where its maker is one that the name can be trusted of; virtual machines invent theirs."""
        known = [processor for processor in self.processors if _vendor(processor)]
        if not known:
            return None
        first = known[0]
        return Cpu(
            vendor=_vendor(first),
            name=first.name,
            family=first.family,
            model=first.model,
            stepping=first.stepping,
            sockets=len(known),
        )


def _vendor(processor: Processor) -> str | None:
    maker = (processor.manufacturer or "").lower()
    if "advanced micro devices" in maker or re.search(r"\b(?:authentic)?amd\b", maker):
        return "AuthenticAMD"
    if "hygon" in maker:
        return "HygonGenuine"
    return "GenuineIntel" if "intel" in maker else None


def is_main_memory(device_type: str | None) -> bool:
    """False for a device type that is storage (firmware lists its own flash among the memory devices)."""
    return (device_type or "").lower() not in _STORAGE_TYPES


def cleaned(text: str | None, limit: int = 80) -> str | None:
    """A word of the firmware without padding and control characters; None where it says nothing."""
    printable = "".join(character if character.isprintable() else " " for character in text or "")
    plain = " ".join(printable.split())[:limit].strip()
    return None if not plain or _PLACEHOLDER.fullmatch(plain) else plain


def type_name(text: str | None) -> str | None:
    """`DDR5`, `LPDDR4` …; None for "Other", "Unknown" and what a reader older than the module calls out of spec."""
    plain = cleaned(text, 30)
    return None if plain is None or plain.lower() in ("other", "reserved", "out of spec") else plain


def transfers(value: int | None) -> int | None:
    """A speed field in MT/s; None for zero and for fields full of ones."""
    return value if value is not None and 0 < value <= _MAX_MTS else None


def width(value: int | None) -> int | None:
    """A width field in bits; None where it is no width."""
    return value if value is not None and 8 <= value <= 2048 else None


def signature(eax: int) -> tuple[int, int, int]:
    """(family, model, stepping) of a CPUID signature, extended fields added (AMD manual 24594, CPUID Fn0000_0001)."""
    family, model = eax >> 8 & 0xF, eax >> 4 & 0xF
    if family == 0xF:
        family += eax >> 20 & 0xFF
    if family >= 0xF or family == 6:
        model |= (eax >> 16 & 0xF) << 4
    return family, model, eax & 0xF


def main_memory(devices: Iterable[MemoryDevice]) -> tuple[MemoryDevice, ...]:
    """The devices that are main memory."""
    return tuple(device for device in devices if is_main_memory(device.type))
