"""The GPUs of Windows: what DXGI lists, with the driver that the registry's display class names for each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from doctor.machine.model import Gpu, Windows
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source
from doctor.sources.windows_guids import DISPLAY_CLASS

_API = "dxgi-adapters"
_CLASS = rf"HKLM\SYSTEM\CurrentControlSet\Control\Class\{{{DISPLAY_CLASS}}}"
_DRIVER_KEY = re.compile(r"\d{4}")
_PCI_ID = re.compile(r"VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", re.IGNORECASE)
_AMERICAN_DATE = re.compile(r"(\d{1,2})-(\d{1,2})-(\d{4})")
_AMD = "1002"


class Adapter(msgspec.Struct, frozen=True):
    """One row of the answer. Fields of a newer version are passed over."""

    index: int
    name: str
    vendor_id: int
    device_id: int
    dedicated_bytes: int
    shared_bytes: int
    luid: str = ""
    software: bool = False

    @property
    def pci_id(self) -> str:
        return f"{self.vendor_id:04x}:{self.device_id:04x}"


class Driver(msgspec.Struct, frozen=True):
    """One installed driver. That of a card that was taken out stays in the registry."""

    pci_id: str
    version: str | None = None
    date: str | None = None
    adrenalin: str | None = None


def probe(source: Source) -> Found:
    """The areas `gpus` (without the software adapter) and `windows.adrenalin`."""
    adapters, drivers = _adapters(source), _drivers(source)
    if isinstance(adapters, Missing):
        # What a source does not hold, no user of it can help.
        rows = () if adapters.reason == "not-in-source" else (unknown("gpus", adapters),)
        return Found(_windows(drivers), rows, {"windows.adrenalin": _CLASS})
    gpus = tuple(_gpu(adapter, drivers) for adapter in adapters)
    present = [driver for driver in drivers if driver.pci_id in {gpu.pci_id for gpu in gpus}]
    origins = {"gpus": "DXGI", "gpus.driver_version": _CLASS, "windows.adrenalin": _CLASS}
    return Found({"gpus": gpus, **_windows(present)}, origins=origins)


def _adapters(source: Source) -> Sequence[Adapter] | Missing:
    """Real adapters, each once. Raises msgspec.ValidationError for an answer of another shape."""
    told = source.api(_API)
    if isinstance(told, Missing):
        return told
    listed = [adapter for adapter in msgspec.convert(told, tuple[Adapter, ...]) if not adapter.software]
    return tuple({adapter.luid or str(adapter.index): adapter for adapter in reversed(listed)}.values())[::-1]


def _gpu(adapter: Adapter, drivers: Sequence[Driver]) -> Gpu:
    driver = next((driver for driver in drivers if driver.pci_id == adapter.pci_id), Driver(adapter.pci_id))
    return Gpu(
        name=adapter.name or None,
        pci_id=adapter.pci_id,
        dedicated_bytes=adapter.dedicated_bytes,
        shared_bytes=adapter.shared_bytes,
        adapter_index=adapter.index,
        driver_version=driver.version,
        driver_date=driver.date,
    )


def _windows(drivers: Sequence[Driver]) -> dict[str, Windows]:
    """The Adrenalin release of an AMD driver; no area at all where none tells."""
    told = (driver.adrenalin for driver in drivers if driver.pci_id.startswith(_AMD) and driver.adrenalin)
    adrenalin = next(told, None)
    return {} if adrenalin is None else {"windows": Windows(adrenalin=adrenalin)}


def _drivers(source: Source) -> tuple[Driver, ...]:
    names = source.registry_keys(_CLASS)
    keys = [] if isinstance(names, Missing) else [name for name in names if _DRIVER_KEY.fullmatch(name)]
    return tuple(driver for key in keys if (driver := _driver(source, rf"{_CLASS}\{key}")) is not None)


def _driver(source: Source, key: str) -> Driver | None:
    found = _PCI_ID.search(_text(source, key, "MatchingDeviceId") or "")
    if found is None:  # the basic display adapter, a remote one
        return None
    return Driver(
        pci_id=f"{found[1]}:{found[2]}".lower(),
        version=_text(source, key, "DriverVersion"),
        date=_date(_text(source, key, "DriverDate")),
        adrenalin=_text(source, key, "RadeonSoftwareVersion"),
    )


def _text(source: Source, key: str, value: str) -> str | None:
    answer = source.registry(key, value)
    return answer.strip() or None if isinstance(answer, str) else None


def _date(text: str | None) -> str | None:
    """`2024-11-29` of `11-29-2024`, as every Windows writes it; anything else as it is."""
    found = _AMERICAN_DATE.fullmatch(text or "")
    return text if found is None else f"{found[3]}-{int(found[1]):02d}-{int(found[2]):02d}"
