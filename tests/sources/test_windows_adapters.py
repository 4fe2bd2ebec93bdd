"""The list of graphics adapters, read through COM tables as Windows lays them out. Runs on every 64-bit system."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from doctor.sources import live_windows
from doctor.sources.base import Missing
from doctor.sources.windows_adapters import _Description
from tests.sources.fake_dxgi import Dxgi, description
from tests.sources.fake_windows import Dll, loader

MIB = 1 << 20
RADEON = description("AMD Radeon RX 7700S", 0x1002, 0x7480, 8176 * MIB, 15900 * MIB, luid=0x1A2B)
IGPU = description("AMD Radeon(TM) 780M", 0x1002, 0x15BF, 512 * MIB, 15900 * MIB, luid=0x1A2C)
SOFTWARE = description("Microsoft Basic Render Driver", 0x1414, 0x008C, 0, 15900 * MIB, luid=0x1A2D, flags=2)
ACCESS_DENIED = 0x80070005 - 2**32


def adapters(dxgi: Dxgi) -> Any:
    return live_windows.api("dxgi-adapters", dxgi.dlls())


def all_released(dxgi: Dxgi) -> bool:
    return dxgi.factory.released == 1 and all(adapter.released == 1 for adapter in dxgi.adapters)


def test_the_description_is_laid_out_as_windows_lays_it_out() -> None:
    assert ctypes.sizeof(_Description) == len(RADEON) == 312


def test_every_adapter_is_told_in_the_order_of_dxgi() -> None:
    dxgi = Dxgi([IGPU, RADEON, SOFTWARE])
    assert adapters(dxgi) == [
        {
            "index": 0, "name": "AMD Radeon(TM) 780M", "vendor_id": 0x1002, "device_id": 0x15BF,
            "dedicated_bytes": 512 * MIB, "dedicated_system_bytes": 0, "shared_bytes": 15900 * MIB,
            "luid": "00000000:00001a2c", "software": False,
        },
        {
            "index": 1, "name": "AMD Radeon RX 7700S", "vendor_id": 0x1002, "device_id": 0x7480,
            "dedicated_bytes": 8176 * MIB, "dedicated_system_bytes": 0, "shared_bytes": 15900 * MIB,
            "luid": "00000000:00001a2b", "software": False,
        },
        {
            "index": 2, "name": "Microsoft Basic Render Driver", "vendor_id": 0x1414, "device_id": 0x008C,
            "dedicated_bytes": 0, "dedicated_system_bytes": 0, "shared_bytes": 15900 * MIB,
            "luid": "00000000:00001a2d", "software": True,
        },
    ]  # fmt: skip
    assert all_released(dxgi)


def test_no_adapter_at_all_is_an_answer() -> None:
    dxgi = Dxgi([])
    assert adapters(dxgi) == []
    assert all_released(dxgi)


def test_a_factory_that_is_refused() -> None:
    """What Wine answers without a display."""
    answer = adapters(Dxgi([RADEON], created=0x887A0004 - 2**32))
    assert answer == Missing("probe-failed", "CreateDXGIFactory1 answered 0x887A0004")


def test_an_adapter_that_may_not_be_asked_leaves_no_half_list() -> None:
    dxgi = Dxgi([IGPU, ACCESS_DENIED, SOFTWARE])
    assert adapters(dxgi) == Missing("probe-failed", "GetDesc1 of adapter 1 answered 0x80070005")
    assert all_released(dxgi)


def test_a_list_that_breaks_off_is_no_list() -> None:
    dxgi = Dxgi([IGPU], last=ACCESS_DENIED)
    assert adapters(dxgi) == Missing("probe-failed", "EnumAdapters1(1) answered 0x80070005")
    assert all_released(dxgi)


def test_a_list_without_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    dxgi = Dxgi([IGPU] * 65)
    assert len(adapters(dxgi)) == 64


def test_a_windows_without_dxgi() -> None:
    assert live_windows.api("dxgi-adapters", loader()).reason == "probe-failed"
    assert live_windows.api("dxgi-adapters", loader(dxgi=Dll())).reason == "not-on-this-platform"


def test_a_bad_pointer_is_missing_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows ctypes turns an access violation into an OSError."""

    def violate(*_: object) -> int:
        raise OSError("exception: access violation reading 0x0000000000000000")

    answer = live_windows.api("dxgi-adapters", loader(dxgi=Dll(CreateDXGIFactory1=violate)))
    assert answer == Missing("probe-failed", "exception: access violation reading 0x0000000000000000")


def test_a_name_that_fills_its_field() -> None:
    told = adapters(Dxgi([description("X" * 200, 0x1002, 1, 0, 0)]))
    assert told[0]["name"] == "X" * 127
