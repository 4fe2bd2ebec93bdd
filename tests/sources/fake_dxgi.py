"""A dxgi.dll whose COM objects are tables of functions in memory, as on Windows."""

from __future__ import annotations

import ctypes
import struct
import uuid
from collections.abc import Sequence
from typing import Any

from tests.sources.fake_windows import Dll, loader, pointed

NOT_FOUND = 0x887A0002 - 2**32
_POINTER = ctypes.c_void_p
_PROTOTYPE: Any = getattr(ctypes, "WINFUNCTYPE", ctypes.CFUNCTYPE)


def description(
    name: str, vendor: int, device: int, dedicated: int, shared: int, luid: int = 1, flags: int = 0
) -> bytes:
    """DXGI_ADAPTER_DESC1 of a 64-bit process."""
    text = name.encode("utf-16-le")[:254].ljust(256, b"\0")
    return text + struct.pack("<4I3QIiI", vendor, device, 0, 0xC8, dedicated, 0, shared, luid, 0, flags) + bytes(4)


class Interface:
    """A COM object with a table of `size` functions, of which some are given; any other may not be called."""

    def __init__(self, size: int, **functions: Any) -> None:
        self.released = 0
        self._kept = [_PROTOTYPE(ctypes.c_uint32, _POINTER)(self._release)]
        table = [None] * size
        table[2] = self._kept[0]
        for name, function in functions.items():
            table[int(name.removeprefix("at"))] = function
            self._kept.append(function)
        self._table = (_POINTER * size)(*(ctypes.cast(each, _POINTER) if each else None for each in table))
        self._object = (_POINTER * 1)(ctypes.addressof(self._table))
        self.address = ctypes.addressof(self._object)

    def _release(self, this: int) -> int:
        assert this == self.address
        self.released += 1
        return 0


class Dxgi:
    """`answers`: for each adapter its description, or the HRESULT with which it may not be asked."""

    def __init__(self, answers: Sequence[bytes | int], *, created: int = 0, last: int = NOT_FOUND) -> None:
        self._created, self._last = created, last
        self.adapters = [self._adapter(answer) for answer in answers]
        enumerate_adapters = _PROTOTYPE(ctypes.c_int32, _POINTER, ctypes.c_uint32, ctypes.POINTER(_POINTER))
        self.factory = Interface(14, at12=enumerate_adapters(self._enumerate))

    def dlls(self) -> Any:
        return loader(dxgi=Dll(CreateDXGIFactory1=self._create))

    def _create(self, wanted: Any, factory: Any) -> int:
        assert uuid.UUID(bytes_le=bytes(pointed(wanted).raw)) == uuid.UUID("770aae78-f26f-4dba-a829-253c83d1b387")
        if self._created == 0:
            pointed(factory).value = self.factory.address
        return self._created

    def _enumerate(self, this: int, index: int, found: Any) -> int:
        if index >= len(self.adapters):
            return self._last
        found[0] = self.adapters[index].address
        return 0

    def _adapter(self, answer: bytes | int) -> Interface:
        def describe(this: int, place: int) -> int:
            if isinstance(answer, int):
                return answer
            ctypes.memmove(place, answer, len(answer))
            return 0

        return Interface(11, at10=_PROTOTYPE(ctypes.c_int32, _POINTER, _POINTER)(describe))
