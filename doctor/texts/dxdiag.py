"""`dxdiag /t`: the system, the processor, the memory, and a display device for every screen of every adapter.

Its labels are English in every language of Windows; the date of a driver is not. What names the machine or its owner is
not read. The number of CPUs is that of one processor group: up to 32 are surely all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

MIB = 1024 * 1024

#: A processor group holds at most 64 CPUs; more are split evenly, into groups of at least 33.
_SURELY_ALL_CPUS = 32

_FIELD = re.compile(r"([A-Z][\w /'().-]{1,40}?):\s*(.*)")
_RULE = re.compile(r"\s*-{3,}\s*")
_SYSTEM = re.compile(r"(Windows .+?)(?: 32-bit| 64-bit)? \((\d{1,2}\.\d), Build (\d{4,5})\).*")
_PROCESSOR = re.compile(r"([^(]*(?:\([^(]*)*?)\((\d{1,4}) CPUs\)(?:, ~.*|,?)")
_MEMORY = re.compile(r"(\d{1,8}) ?MB(?: RAM)?")
_KEY = re.compile(r"VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", re.IGNORECASE | re.ASCII)
_ID = re.compile(r"0x([0-9A-F]{4})", re.IGNORECASE | re.ASCII)
_DRIVER = re.compile(r"(\d{1,4}(?:\.\d{1,6}){3})(?: .*)?")
_DATE = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})\b.*")
_SCHEDULING = re.compile(r"(?:.*\s)?Enabled:(True|False)\s*")

_OF_SYSTEM = ("Operating System", "Processor", "Available OS Memory")

#: In the order of the text, which tells where one device ends even if its first line is missing.
_OF_DEVICE = (
    *("Card name", "Chip type", "Device Key", "Dedicated Memory", "Shared Memory", "Driver Version"),
    *("Hardware Scheduling", "Driver Date/Size", "Vendor ID", "Device ID"),
)


class DisplayDevice(msgspec.Struct, frozen=True):
    """One adapter. `screens` is how many devices of dxdiag it stands for: it lists an adapter once per screen."""

    name: str
    pci_id: str | None = None  # 1002:744c
    dedicated_bytes: int | None = None
    shared_bytes: int | None = None
    driver_version: str | None = None
    driver_date: str | None = None  # 2024-11-29; None where day and month cannot be told apart
    hardware_scheduling: bool | None = None
    screens: int = 1


class Dxdiag(msgspec.Struct, frozen=True):
    """The facts as they stand there. `first` and `end` are the lines they stand on, `end` behind the last."""

    product: str | None = None  # Windows 11 Pro
    kernel: str | None = None  # 10.0.22631
    build: int | None = None
    processor: str | None = None
    cpus: int | None = None  # of one processor group
    total_bytes: int | None = None
    devices: tuple[DisplayDevice, ...] = ()
    first: int = 0
    end: int = 0

    @property
    def logical_cpus(self) -> int | None:
        """All CPUs of the machine; None where there may be further groups."""
        return self.cpus if self.cpus is not None and self.cpus <= _SURELY_ALL_CPUS else None


def looks_like_dxdiag(text: str) -> bool:
    """Whether one of its lines is there that hardly anything else writes."""
    return any(words in text for words in ("Card name:", "Available OS Memory:", " CPUs)", ", Build "))


def read_dxdiag(text: str) -> Dxdiag | None:
    """The first output of dxdiag in a text, or a piece of it; None where there is none. Never raises.

    The last line counts only where a newline ends it.
    """
    system: dict[str, str] = {}
    devices: list[dict[str, str]] = []
    places: list[int] = []
    in_device = False
    for at, line in enumerate(text.split("\n")[:-1]):
        found = _FIELD.fullmatch(line.strip())
        label, value = (found[1], found[2]) if found else ("", "")
        if label == "Card name":
            in_device = bool(value)
            devices += [{}] if value else []
        elif _RULE.fullmatch(line) or (label == "Description" and in_device):
            in_device = False  # sound and input devices have drivers, too
        if in_device and label in _OF_DEVICE and _is_next(devices[-1], label):
            devices[-1][label] = value
            places.append(at)
        elif label in _OF_SYSTEM and label not in system and _means_something(label, value):
            system[label] = value
            places.append(at)
    if not places:
        return None
    return _read(system, devices, min(places), max(places) + 1)


def _is_next(device: Mapping[str, str], label: str) -> bool:
    """Lines of another device would come out of the order."""
    return not device or _OF_DEVICE.index(label) > max(_OF_DEVICE.index(known) for known in device)


def _means_something(label: str, value: str) -> bool:
    """These labels are words that others use as well."""
    pattern = {"Operating System": _SYSTEM, "Processor": _PROCESSOR}.get(label, _MEMORY)
    return pattern.fullmatch(value) is not None


def _read(system: Mapping[str, str], devices: Sequence[Mapping[str, str]], first: int, end: int) -> Dxdiag:
    windows = _SYSTEM.fullmatch(system.get("Operating System", ""))
    processor = _PROCESSOR.fullmatch(system.get("Processor", ""))
    return Dxdiag(
        product=windows[1] if windows else None,
        kernel=f"{windows[2]}.{windows[3]}" if windows else None,
        build=int(windows[3]) if windows else None,
        processor=" ".join(processor[1].split()) if processor else None,
        cpus=int(processor[2]) or None if processor else None,
        total_bytes=_bytes(system.get("Available OS Memory")),
        devices=_distinct(_device(device) for device in devices),
        first=first,
        end=end,
    )


def _device(fields: Mapping[str, str]) -> DisplayDevice:
    driver = _DRIVER.fullmatch(fields.get("Driver Version", ""))
    scheduling = _SCHEDULING.fullmatch(fields.get("Hardware Scheduling", ""))
    return DisplayDevice(
        name=" ".join(fields["Card name"].split()),
        pci_id=_pci_id(fields),
        dedicated_bytes=_bytes(fields.get("Dedicated Memory")),
        shared_bytes=_bytes(fields.get("Shared Memory")),
        driver_version=driver[1] if driver else None,
        driver_date=_date(fields.get("Driver Date/Size", "")),
        hardware_scheduling=scheduling[1] == "True" if scheduling else None,
    )


def _distinct(devices: Iterable[DisplayDevice]) -> tuple[DisplayDevice, ...]:
    """Each adapter once. Two cards of one kind look the same as one with two screens."""
    counted: dict[DisplayDevice, int] = {}
    for device in devices:
        counted[device] = counted.get(device, 0) + 1
    return tuple(msgspec.structs.replace(device, screens=screens) for device, screens in counted.items())


def _pci_id(fields: Mapping[str, str]) -> str | None:
    key = _KEY.search(fields.get("Device Key", ""))
    if key is not None:
        return f"{key[1]}:{key[2]}".lower()
    vendor, device = _ID.fullmatch(fields.get("Vendor ID", "")), _ID.fullmatch(fields.get("Device ID", ""))
    known = vendor is not None and device is not None and vendor[1] != "0000"
    return f"{vendor[1]}:{device[1]}".lower() if known and vendor and device else None


def _bytes(text: str | None) -> int | None:
    found = _MEMORY.fullmatch(text or "")
    return int(found[1]) * MIB if found else None


def _date(text: str) -> str | None:
    """`2024-11-29` of a date as some language of Windows writes it. 3/4/2024 may be in March or in April."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    first, second, third = int(found[1]), int(found[3]), int(found[4])
    if first > 1900:
        return _iso(first, second, third)
    if found[2] == "." or first > 12 or first == second:
        return _iso(third, second, first)
    return _iso(third, first, second) if second > 12 else None


def _iso(year: int, month: int, day: int) -> str | None:
    fits = 1990 <= year <= 2100 and 1 <= month <= 12 and 1 <= day <= 31
    return f"{year:04d}-{month:02d}-{day:02d}" if fits else None
