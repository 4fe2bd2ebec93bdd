"""What Windows answers about itself, by system calls through ctypes. Nothing is changed, no administrator is needed.

Every function takes the way to its DLLs (`Dlls`), so that a test can put others in their place; the module can be
imported on every system. A call that fails is `Missing`, never an exception.
"""

from __future__ import annotations

import base64
import ctypes
import struct
import uuid
from collections.abc import Callable
from typing import Any, TypeAlias

from doctor.machine.cpulist import format_cpulist
from doctor.sources.base import Json, Missing
from doctor.sources.processor_groups import RELATION_GROUP, ProcessorGroups, Unreadable, read_groups, read_records
from doctor.sources.smbios_redaction import without_serials
from doctor.sources.windows_adapters import dxgi_adapters
from doctor.sources.windows_registry import registry

#: Gives a DLL by its name. Functions of it are called with declared argument types.
Dlls: TypeAlias = Callable[[str], Any]

RELATION_ALL = 0xFFFF
_ERROR_INSUFFICIENT_BUFFER = 122
_ERROR_MORE_DATA = 234
_RSMB = 0x52534D42
_CALL_CAP_BYTES = 4 * 1024 * 1024

_DWORD = ctypes.c_uint32
_WORD = ctypes.c_uint16
_SEARCH_SYSTEM32_ONLY = 0x800


def system_dlls(name: str) -> Any:
    """A DLL of the system folder, never one that lies beside the program. Raises OSError where there is none."""
    load: Any = getattr(ctypes, "WinDLL", None)
    if load is None:
        raise OSError(f"no {name}: this is not Windows")
    return load(name, use_last_error=True, winmode=_SEARCH_SYSTEM32_ONLY)


def api(name: str, dlls: Dlls = system_dlls) -> Json | Missing:
    """The answer to one of the names in `CALLS`; `Missing` where Windows has none."""
    call = CALLS.get(name)
    if call is None:
        return Missing("not-on-this-platform")
    try:
        return call(dlls)
    except AttributeError as error:  # this Windows has no such function
        return Missing("not-on-this-platform", str(error))
    except (OSError, ValueError) as error:
        return Missing("probe-failed", str(error))


def logical_processors(dlls: Dlls) -> Json | Missing:
    """GetLogicalProcessorInformationEx(RelationAll), base64."""
    buffer = _processor_records(dlls, RELATION_ALL)
    return buffer if isinstance(buffer, Missing) else base64.b64encode(buffer).decode("ascii")


def _processor_records(dlls: Dlls, relation: int) -> bytes | Missing:
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        # Windows folds the masks of CPUs 32 to 63 onto the lower half for such a process.
        return Missing("probe-failed", "a 32-bit Python is not told about all processors")
    call = _function(dlls("kernel32"), "GetLogicalProcessorInformationEx", _DWORD, ctypes.c_void_p, ctypes.c_void_p)
    length = _DWORD(0)
    call(relation, None, ctypes.byref(length))
    for _ in range(3):  # a processor may be added between the two calls
        if not 0 < length.value <= _CALL_CAP_BYTES:
            return _failed("GetLogicalProcessorInformationEx")
        buffer = ctypes.create_string_buffer(length.value)
        if call(relation, buffer, ctypes.byref(length)):
            return buffer.raw[: length.value]
    return _failed("GetLogicalProcessorInformationEx")


def affinity(dlls: Dlls) -> Json | Missing:
    """The CPUs of this process over all processor groups, as a CPU list (numbers: see `processor_groups`).

    From Windows 11 on a process may run in all groups unless its mask was set; before, it lives in one. A process
    whose threads were put into several groups by hand has no mask that could be asked for.
    """
    records = _processor_records(dlls, RELATION_GROUP)
    if isinstance(records, Missing):
        return records
    parts = read_records(records)
    groups = parts if isinstance(parts, Unreadable) else read_groups(parts)
    if isinstance(groups, Unreadable):
        return Missing("probe-failed", groups.detail)
    kernel = dlls("kernel32")
    masks = _affinity_masks(kernel)
    if isinstance(masks, Missing):
        return masks
    own, whole = masks
    if len(groups.groups) == 1:
        return format_cpulist(groups.cpus([(0, own)]))
    allowed = _groups_of_process(kernel)
    primary = _group_of_thread(kernel)
    if isinstance(allowed, Missing) or isinstance(primary, Missing):
        return allowed if isinstance(allowed, Missing) else primary
    # A mask smaller than its group was set for this process, and holds it in that group.
    everywhere = allowed if own == whole else ()
    return _cpulist_over_groups(groups, primary, own, everywhere)


def _cpulist_over_groups(
    groups: ProcessorGroups, primary: int, own: int, everywhere: tuple[int, ...]
) -> str | Missing:
    pairs = {at: groups.groups[at].active_mask for at in everywhere if at < len(groups.groups)}
    pairs[primary] = own
    try:
        return format_cpulist(groups.cpus(pairs.items()))
    except IndexError as error:
        return Missing("probe-failed", str(error))


def _affinity_masks(kernel: Any) -> tuple[int, int] | Missing:
    """The mask of this process and that of its group."""
    own, whole = ctypes.c_size_t(0), ctypes.c_size_t(0)
    call = _function(kernel, "GetProcessAffinityMask", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    if not call(_this_process(kernel), ctypes.byref(own), ctypes.byref(whole)):
        return _failed("GetProcessAffinityMask")
    if not own.value:
        return Missing("probe-failed", "the threads of this process were put into several processor groups")
    return own.value, whole.value


def _groups_of_process(kernel: Any) -> tuple[int, ...] | Missing:
    call = _function(kernel, "GetProcessGroupAffinity", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    numbers, count = (_WORD * 1024)(), _WORD(1024)
    if not call(_this_process(kernel), ctypes.byref(count), numbers):
        return _failed("GetProcessGroupAffinity")
    return tuple(numbers[: count.value])


def _group_of_thread(kernel: Any) -> int | Missing:
    """The group of the calling thread, whose masks GetProcessAffinityMask gives."""
    call = _function(kernel, "GetThreadGroupAffinity", ctypes.c_void_p, ctypes.c_void_p)
    thread = _function(kernel, "GetCurrentThread", result=ctypes.c_void_p)()
    found = ctypes.create_string_buffer(16)  # GROUP_AFFINITY: Mask, Group, 6 reserved
    if not call(thread, ctypes.byref(found)):
        return _failed("GetThreadGroupAffinity")
    group: int = struct.unpack_from("<QH", found.raw)[1]
    return group


def firmware_table(dlls: Dlls) -> Json | Missing:
    """GetSystemFirmwareTable('RSMB', 0), base64, without serial numbers and UUIDs."""
    call = _function(
        dlls("kernel32"), "GetSystemFirmwareTable", _DWORD, _DWORD, ctypes.c_void_p, _DWORD, result=_DWORD
    )
    size = call(_RSMB, 0, None, 0)
    if not 0 < size <= _CALL_CAP_BYTES:
        return _failed("GetSystemFirmwareTable")
    buffer = ctypes.create_string_buffer(size)
    written = call(_RSMB, 0, buffer, size)
    if not 0 < written <= size:
        return _failed("GetSystemFirmwareTable")
    table = without_serials(buffer.raw[:written])
    if table is None:
        return Missing("probe-failed", "GetSystemFirmwareTable: not an SMBIOS table")
    return base64.b64encode(table).decode("ascii")


def power_scheme(dlls: Dlls) -> Json | Missing:
    """The active power plan: its GUID, and its name in the language of this Windows."""
    powrprof = dlls("powrprof")
    found = ctypes.c_void_p()
    get = _function(powrprof, "PowerGetActiveScheme", ctypes.c_void_p, ctypes.c_void_p, result=_DWORD)
    status = get(None, ctypes.byref(found))
    if status or not found.value:
        return Missing("probe-failed", f"PowerGetActiveScheme answered {status}")
    try:
        guid = ctypes.string_at(found.value, 16)
        return {"guid": str(uuid.UUID(bytes_le=guid)), "name": _scheme_name(powrprof, found)}
    finally:
        _function(dlls("kernel32"), "LocalFree", ctypes.c_void_p, result=ctypes.c_void_p)(found)


def _scheme_name(powrprof: Any, guid: ctypes.c_void_p) -> str:
    read = _function(powrprof, "PowerReadFriendlyName", *[ctypes.c_void_p] * 6, result=_DWORD)
    size = _DWORD(0)
    status = read(None, guid, None, None, None, ctypes.byref(size))
    if status not in (0, _ERROR_MORE_DATA) or not 0 < size.value <= 4096:
        return ""
    buffer = ctypes.create_string_buffer(size.value)
    if read(None, guid, None, None, buffer, ctypes.byref(size)):
        return ""
    return buffer.raw[: size.value].decode("utf-16-le", "replace").split("\0")[0]


class _OsVersion(ctypes.Structure):
    """OSVERSIONINFOEXW."""

    _fields_ = (
        ("size", _DWORD),
        ("major", _DWORD),
        ("minor", _DWORD),
        ("build", _DWORD),
        ("platform", _DWORD),
        ("service_pack", _WORD * 128),
        ("service_pack_major", _WORD),
        ("service_pack_minor", _WORD),
        ("suite", _WORD),
        ("product_type", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8),
    )


_CURRENT_VERSION = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
_WORKSTATION = 1


def windows_version(dlls: Dlls) -> Json | Missing:
    """RtlGetVersion, which tells the truth where GetVersionEx is made to lie, and the product name as registered."""
    version = _OsVersion()
    version.size = ctypes.sizeof(version)
    status = _function(dlls("ntdll"), "RtlGetVersion", ctypes.c_void_p)(ctypes.byref(version))
    if status:
        return Missing("probe-failed", f"RtlGetVersion answered {status}")
    product = registry(_CURRENT_VERSION, "ProductName")
    return {
        "major": version.major,
        "minor": version.minor,
        "build": version.build,
        "product": product if isinstance(product, str) else None,
        "server": version.product_type != _WORKSTATION if version.product_type else None,
    }


class _PowerStatus(ctypes.Structure):
    """SYSTEM_POWER_STATUS."""

    _fields_ = (
        ("line", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("percent", ctypes.c_uint8),
        ("saver", ctypes.c_uint8),
        ("seconds", _DWORD),
        ("full_seconds", _DWORD),
    )


_NO_BATTERY = 128
_UNKNOWN_BYTE = 255


def battery(dlls: Dlls) -> Json | Missing:
    """GetSystemPowerStatus. A machine without a battery runs on mains, also where Windows does not know its line."""
    status = _PowerStatus()
    if not _function(dlls("kernel32"), "GetSystemPowerStatus", ctypes.c_void_p)(ctypes.byref(status)):
        return _failed("GetSystemPowerStatus")
    plugged = {0: False, 1: True}.get(status.line)
    none = status.flags != _UNKNOWN_BYTE and bool(status.flags & _NO_BATTERY)
    return {
        "plugged": True if plugged is None and none else plugged,
        "percent": None if none or status.percent > 100 else status.percent,
    }


def system_folder(dlls: Dlls = system_dlls) -> str | Missing:
    """The system folder (`C:\\Windows\\System32`), from Windows itself: %SystemRoot% could be set to anything."""
    size = 1024
    buffer = ctypes.create_string_buffer(2 * size)
    try:
        call = _function(dlls("kernel32"), "GetSystemDirectoryW", ctypes.c_void_p, _DWORD, result=_DWORD)
        length = call(buffer, size)
    except (OSError, AttributeError) as error:
        return Missing("not-on-this-platform", str(error))
    if not 0 < length < size:
        return _failed("GetSystemDirectoryW")
    return buffer.raw[: 2 * length].decode("utf-16-le", "replace")


#: The names that `api` answers to.
CALLS: dict[str, Callable[[Dlls], Json | Missing]] = {
    "affinity": affinity,
    "battery": battery,
    "dxgi-adapters": dxgi_adapters,
    "firmware-table": firmware_table,
    "logical-processors": logical_processors,
    "power-scheme": power_scheme,
    "windows-version": windows_version,
}


def _function(dll: Any, name: str, *arguments: Any, result: Any = ctypes.c_int) -> Any:
    """A function of a DLL with its types declared. Raises AttributeError where this Windows does not have it."""
    function = getattr(dll, name)
    function.argtypes = list(arguments)
    function.restype = result
    return function


def _this_process(kernel: Any) -> Any:
    return _function(kernel, "GetCurrentProcess", result=ctypes.c_void_p)()


def _failed(name: str) -> Missing:
    last: Any = getattr(ctypes, "get_last_error", None)
    return Missing("probe-failed", f"{name} failed" + (f" with error {last()}" if last is not None else ""))
