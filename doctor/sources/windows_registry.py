"""Reads the Windows registry, from the 64-bit view also in a 32-bit process. The module can be imported everywhere."""

from __future__ import annotations

import sys
from typing import Any

from doctor.sources.base import Missing

_MAX_KEYS = 1000
_HIVES = {"HKLM": "HKEY_LOCAL_MACHINE", "HKCU": "HKEY_CURRENT_USER"}


def _winreg() -> Any:
    if sys.platform != "win32":
        raise ImportError("no registry: this is not Windows")
    import winreg

    return winreg


def registry(key: str, value: str, winreg: Any = None) -> str | int | Missing:
    """A value of the registry, from the 64-bit view. Several strings are joined by line ends, bytes are hexadecimal."""
    opened = _open(key, winreg)
    if isinstance(opened, Missing):
        return opened
    module, handle = opened
    try:
        with handle:
            data, _ = module.QueryValueEx(handle, value)
    except OSError as error:
        return _registry_failure(error)
    if isinstance(data, bytes):
        return data.hex()
    if isinstance(data, list):
        return "\n".join(str(line) for line in data)
    return data if isinstance(data, str | int) else Missing("absent")


def registry_keys(key: str, winreg: Any = None) -> tuple[str, ...] | Missing:
    """The names of the subkeys of a key, sorted."""
    opened = _open(key, winreg)
    if isinstance(opened, Missing):
        return opened
    module, handle = opened
    try:
        with handle:
            count = module.QueryInfoKey(handle)[0]
            return tuple(sorted(module.EnumKey(handle, at) for at in range(min(count, 1000))))
    except OSError as error:
        return _registry_failure(error)


def _open(key: str, winreg: Any) -> tuple[Any, Any] | Missing:
    hive, _, rest = key.partition("\\")
    try:
        module = winreg or _winreg()
        root = getattr(module, _HIVES[hive])
        return module, module.OpenKey(root, rest, 0, module.KEY_READ | module.KEY_WOW64_64KEY)
    except ImportError as error:
        return Missing("not-on-this-platform", str(error))
    except KeyError:
        return Missing("probe-failed", f"no hive is named {hive[:20]!r}")
    except OSError as error:
        return _registry_failure(error)


def _registry_failure(error: OSError) -> Missing:
    if isinstance(error, FileNotFoundError):
        return Missing("absent")
    if isinstance(error, PermissionError):
        return Missing("needs-root")
    return Missing("probe-failed", error.strerror or str(error))
