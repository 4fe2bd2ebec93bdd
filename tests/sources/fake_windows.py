"""DLLs and a registry that answer as the documentation of Windows says, for tests of `doctor.sources.live_windows`."""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Callable
from typing import Any

INSUFFICIENT_BUFFER = 122


class Function:
    """A foreign function: takes `argtypes` and `restype`, refuses a call with another number of arguments."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self.argtypes: list[Any] | None = None
        self.restype: Any = None

    def __call__(self, *arguments: Any) -> Any:
        assert self.argtypes is not None and len(arguments) == len(self.argtypes)
        return self._call(*arguments)


class Dll:
    """A DLL with the functions given; any other is an AttributeError, as with ctypes."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        for name, call in functions.items():
            setattr(self, name, Function(call))


def loader(**dlls: Dll) -> Callable[[str], Dll]:
    def load(name: str) -> Dll:
        if name not in dlls:
            raise OSError(f"Could not find module '{name}'")
        return dlls[name]

    return load


def pointed(argument: Any) -> Any:
    """What `byref` points to."""
    return argument._obj


def write(argument: Any, data: bytes) -> None:
    """Fills what `byref` points to."""
    assert ctypes.sizeof(argument._obj) == len(data)
    ctypes.memmove(ctypes.addressof(argument._obj), data, len(data))


def processor_information(buffers: dict[int, bytes]) -> Callable[..., int]:
    """GetLogicalProcessorInformationEx over one buffer per relation."""

    def call(relation: int, buffer: Any, length: Any) -> int:
        size = pointed(length)
        data = buffers[relation]
        room = size.value
        size.value = len(data)
        if buffer is None or room < len(data):
            return 0
        ctypes.memmove(buffer, data, len(data))
        return 1

    return call


def affinity_functions(own: int, whole: int, *, groups: list[int], thread_group: int) -> dict[str, Callable[..., Any]]:
    """The calls that tell where a process may run."""

    def masks(process: int, process_mask: Any, system_mask: Any) -> int:
        assert process == 2**64 - 1
        pointed(process_mask).value, pointed(system_mask).value = own, whole
        return 1

    def process_groups(process: int, count: Any, numbers: Any) -> int:
        assert pointed(count).value >= len(groups)
        pointed(count).value = len(groups)
        for at, group in enumerate(groups):
            numbers[at] = group
        return 1

    def thread(handle: int, found: Any) -> int:
        assert handle == 2**64 - 2
        write(found, own.to_bytes(8, "little") + thread_group.to_bytes(2, "little") + bytes(6))
        return 1

    return {
        "GetCurrentProcess": lambda: 2**64 - 1,
        "GetCurrentThread": lambda: 2**64 - 2,
        "GetProcessAffinityMask": masks,
        "GetProcessGroupAffinity": process_groups,
        "GetThreadGroupAffinity": thread,
    }


class PowerPlans:
    """powrprof and the LocalFree of kernel32, around one active plan. `freed` counts what was given back."""

    def __init__(self, guid: str, name: str | None, *, status: int = 0) -> None:
        self._guid = ctypes.create_string_buffer(uuid.UUID(guid).bytes_le, 16)
        self._name = None if name is None else (name + "\0").encode("utf-16-le")
        self._status = status
        self.freed = 0

    def dlls(self) -> Callable[[str], Dll]:
        return loader(
            powrprof=Dll(PowerGetActiveScheme=self._active, PowerReadFriendlyName=self._friendly),
            kernel32=Dll(LocalFree=self._free),
        )

    def _active(self, root: None, found: Any) -> int:
        if not self._status:
            pointed(found).value = ctypes.addressof(self._guid)
        return self._status

    def _friendly(self, root: None, guid: Any, group: None, setting: None, buffer: Any, size: Any) -> int:
        assert ctypes.string_at(guid.value, 16) == self._guid.raw
        if self._name is None:
            return 2
        room, pointed(size).value = pointed(size).value, len(self._name)
        if buffer is None or room < len(self._name):
            return 234 if buffer is not None else 0
        ctypes.memmove(buffer, self._name, len(self._name))
        return 0

    def _free(self, pointer: Any) -> None:
        assert pointer.value == ctypes.addressof(self._guid)
        self.freed += 1


class Handle:
    def __init__(self, key: str) -> None:
        self.key = key

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Registry:
    """The winreg module over a mapping of keys (`HKLM\\...`) to values; `denied` keys may not be opened."""

    HKEY_LOCAL_MACHINE, HKEY_CURRENT_USER = "HKLM", "HKCU"
    KEY_READ, KEY_WOW64_64KEY = 0x20019, 0x0100

    def __init__(self, keys: dict[str, dict[str, Any]], denied: tuple[str, ...] = ()) -> None:
        self._keys = keys
        self._denied = denied

    def OpenKey(self, root: str, path: str, reserved: int, access: int) -> Handle:
        key = f"{root}\\{path}"
        assert access == self.KEY_READ | self.KEY_WOW64_64KEY
        if key in self._denied:
            raise PermissionError(13, "Access is denied")
        if not any(known == key or known.startswith(key + "\\") for known in self._keys):
            raise FileNotFoundError(2, "The system cannot find the file specified")
        return Handle(key)

    def QueryValueEx(self, handle: Handle, value: str) -> tuple[Any, int]:
        values = self._keys.get(handle.key, {})
        if value not in values:
            raise FileNotFoundError(2, "The system cannot find the file specified")
        return values[value], 1

    def _children(self, handle: Handle) -> list[str]:
        below = (key.removeprefix(handle.key + "\\") for key in self._keys if key.startswith(handle.key + "\\"))
        return sorted({name.split("\\")[0] for name in below}, reverse=True)

    def QueryInfoKey(self, handle: Handle) -> tuple[int, int, int]:
        return len(self._children(handle)), 0, 0

    def EnumKey(self, handle: Handle, index: int) -> str:
        return self._children(handle)[index]
