"""The graphics adapters of Windows as DXGI lists them, by COM calls through ctypes. No device is opened.

COM interfaces are tables of functions; the numbers below are the places of those functions, as dxgi.h declares them.
A call that fails is `Missing` with its HRESULT; where the pointer itself is bad, ctypes raises OSError, and
`live_windows.api` turns that into `Missing`.
"""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from doctor.sources.base import Json, Missing

_FACTORY = uuid.UUID("770aae78-f26f-4dba-a829-253c83d1b387")  # IDXGIFactory1
_RELEASE = 2  # of every interface
_ENUM_ADAPTERS = 12  # IDXGIFactory1::EnumAdapters1
_GET_DESCRIPTION = 10  # IDXGIAdapter1::GetDesc1

_NOT_FOUND = 0x887A0002  # DXGI_ERROR_NOT_FOUND: no adapter of that number
_SOFTWARE = 2  # DXGI_ADAPTER_FLAG_SOFTWARE
_MOST_ADAPTERS = 64

_UINT = ctypes.c_uint32
_HRESULT = ctypes.c_int32
_POINTER = ctypes.c_void_p
_PROTOTYPE: Any = getattr(ctypes, "WINFUNCTYPE", ctypes.CFUNCTYPE)


class _Description(ctypes.Structure):
    """DXGI_ADAPTER_DESC1."""

    _fields_ = (
        ("name", ctypes.c_uint16 * 128),
        ("vendor", _UINT),
        ("device", _UINT),
        ("subsystem", _UINT),
        ("revision", _UINT),
        ("dedicated_bytes", ctypes.c_size_t),
        ("dedicated_system_bytes", ctypes.c_size_t),
        ("shared_bytes", ctypes.c_size_t),
        ("luid_low", _UINT),
        ("luid_high", ctypes.c_int32),
        ("flags", _UINT),
    )


def dxgi_adapters(dlls: Callable[[str], Any]) -> Json | Missing:
    """Every adapter in the order of DXGI: {"index", "name", "vendor_id", "device_id", "dedicated_bytes",
    "dedicated_system_bytes", "shared_bytes", "luid", "software"}. An adapter that is listed twice has one LUID."""
    factory = _created_factory(dlls("dxgi"))
    if isinstance(factory, Missing):
        return factory
    try:
        rows = list(_rows(factory))
    finally:
        _method(factory, _RELEASE, result=_UINT)(factory)
    return next((row for row in rows if isinstance(row, Missing)), rows)


def _created_factory(dxgi: Any) -> _POINTER | Missing:
    create = dxgi.CreateDXGIFactory1
    create.argtypes, create.restype = [_POINTER, _POINTER], _HRESULT
    factory, wanted = _POINTER(), ctypes.create_string_buffer(_FACTORY.bytes_le, 16)
    status = create(ctypes.byref(wanted), ctypes.byref(factory))
    if status < 0 or not factory.value:
        return _failed("CreateDXGIFactory1", status)
    return factory


def _rows(factory: _POINTER) -> Iterator[Json | Missing]:
    """One row per adapter; Missing where an adapter could not be asked."""
    enumerate_adapters = _method(factory, _ENUM_ADAPTERS, _UINT, _POINTER)
    for index in range(_MOST_ADAPTERS):
        adapter = _POINTER()
        status = enumerate_adapters(factory, index, ctypes.byref(adapter))
        if status & 0xFFFFFFFF == _NOT_FOUND:
            return
        if status < 0 or not adapter.value:
            yield _failed(f"EnumAdapters1({index})", status)
            return
        try:
            yield _described(index, adapter)
        finally:
            _method(adapter, _RELEASE, result=_UINT)(adapter)


def _described(index: int, adapter: _POINTER) -> Json | Missing:
    told = _Description()
    status = _method(adapter, _GET_DESCRIPTION, _POINTER)(adapter, ctypes.byref(told))
    if status < 0:
        return _failed(f"GetDesc1 of adapter {index}", status)
    return {
        "index": index,
        "name": bytes(told.name).decode("utf-16-le", "replace").split("\0")[0].strip(),
        "vendor_id": told.vendor,
        "device_id": told.device,
        "dedicated_bytes": told.dedicated_bytes,
        "dedicated_system_bytes": told.dedicated_system_bytes,
        "shared_bytes": told.shared_bytes,
        "luid": f"{told.luid_high & 0xFFFFFFFF:08x}:{told.luid_low:08x}",
        "software": bool(told.flags & _SOFTWARE),
    }


def _method(interface: _POINTER, place: int, *arguments: Any, result: Any = _HRESULT) -> Any:
    """A function of a COM interface, by its place in the table."""
    table = ctypes.cast(interface, ctypes.POINTER(_POINTER))[0]
    address = ctypes.cast(_POINTER(table), ctypes.POINTER(_POINTER))[place]
    return _PROTOTYPE(result, _POINTER, *arguments)(address)


def _failed(call: str, status: int) -> Missing:
    return Missing("probe-failed", f"{call} answered 0x{status & 0xFFFFFFFF:08X}")
