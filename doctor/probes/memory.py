"""How much memory there is, and which modules sit in which slots.

The modules come from the firmware's SMBIOS table, by the first way that answers. Linux: the table itself (root), the
command dmidecode (root), the udev database (no root needed). Windows: GetSystemFirmwareTable, else CIM.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from doctor.machine.model import Cpu, Memory, UnknownFact
from doctor.probes.found import Found
from doctor.sources.base import Missing, Source
from doctor.texts.cim_memory import read_cim_memory, read_cim_slots
from doctor.texts.dmidecode import read_dmidecode
from doctor.texts.meminfo import read_meminfo
from doctor.texts.memory_table import MemoryTable
from doctor.texts.smbios import read_smbios
from doctor.texts.udev_dmi import read_udev_dmi

_MEMINFO = "/proc/meminfo"
_CPUINFO = "/proc/cpuinfo"
_TABLE = "/sys/firmware/dmi/tables/DMI"
_UDEV = "/run/udev/data/+dmi:id"

_SUDO = "the firmware's list of memory modules can be read by root only; run the same command with sudo to add it"
_HIDDEN = "containers, WSL and many virtual machines hide the memory modules; run amd-doctor on the machine itself"


def probe(source: Source) -> Found:
    facts: dict[str, Any] = {}
    origins: dict[str, str] = {}
    unknowns: list[UnknownFact] = []

    total, available, origin = _amount(source)
    memory = Memory(total_bytes=total, available_bytes=available)
    if total is not None:
        origins["memory.total_bytes"] = origins["memory.available_bytes"] = origin

    table, slots, origin, why = _modules(source)
    if table.devices:
        memory = Memory(
            total_bytes=total,
            available_bytes=available,
            modules=table.modules,
            slots=slots,
            empty_slots=table.empty_slots if slots == len(table.devices) else None,
        )
        origins["memory.modules"] = origins["memory.slots"] = origin
    elif source.origin.platform != "macos":
        unknowns.append(why)

    cpu = _cpu(source, table)
    if cpu is not None:
        facts["cpu"] = cpu
        origins |= {f"cpu.{name}": origin for name in cpu.__struct_fields__ if getattr(cpu, name) is not None}
    if memory != Memory():
        facts["memory"] = memory
    return Found(facts=facts, unknowns=tuple(unknowns), origins=origins)


def _amount(source: Source) -> tuple[int | None, int | None, str]:
    """(total bytes, available bytes, origin)."""
    if source.origin.platform == "linux":
        text = source.text(_MEMINFO)
        return (None, None, "") if isinstance(text, Missing) else (*read_meminfo(text), _MEMINFO)
    answer = source.api("memory")
    if isinstance(answer, Missing) or not isinstance(answer, dict):
        return None, None, ""
    return _bytes(answer.get("total_bytes")), _bytes(answer.get("available_bytes")), "the system's memory status"


def _bytes(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _modules(source: Source) -> tuple[MemoryTable, int | None, str, UnknownFact]:
    """(the table, its number of slots, its origin, the row to write where the table is empty)."""
    missing: list[Missing] = []
    ways = _linux_ways(source) if source.origin.platform == "linux" else _windows_ways(source)
    for origin, answer in ways:
        if isinstance(answer, Missing):
            missing.append(answer)
            continue
        table, slots = answer
        if table.modules:
            return table, slots, origin, _row(missing)
        missing.append(Missing("probe-failed", f"{origin} names no memory module"))
    return MemoryTable(), None, "", _row(missing)


#: A table, and how many slots there are.
_Answer: TypeAlias = "tuple[MemoryTable, int | None]"


def _linux_ways(source: Source) -> Iterator[tuple[str, _Answer | Missing]]:
    data = source.data(_TABLE)
    yield _TABLE, data if isinstance(data, Missing) else _counted(read_smbios(data))
    yield "dmidecode", _from_command(source, "dmidecode", lambda text: _counted(read_dmidecode(text)))
    text = source.text(_UDEV)
    yield _UDEV, text if isinstance(text, Missing) else _counted(read_udev_dmi(text))


def _windows_ways(source: Source) -> Iterator[tuple[str, _Answer | Missing]]:
    answer = source.api("firmware-table")
    yield "GetSystemFirmwareTable", _from_base64(answer)
    yield "Win32_PhysicalMemory", _from_command(source, "powershell-cim", _from_cim)


def _counted(table: MemoryTable) -> _Answer:
    """These tables have a row for every slot, also for an empty one."""
    return table, len(table.devices)


def _from_command(source: Source, name: str, read: Callable[[str], _Answer | Missing]) -> _Answer | Missing:
    reply = source.command(name)
    if isinstance(reply, Missing):
        return reply
    if reply.status:
        return Missing("probe-failed", f"{name} ended with status {reply.status}")
    return read(reply.stdout)


def _from_base64(answer: Any) -> _Answer | Missing:
    if isinstance(answer, Missing):
        return answer
    try:
        return _counted(read_smbios(base64.b64decode(answer, validate=True)))
    except (binascii.Error, TypeError, ValueError):
        return Missing("probe-failed", "GetSystemFirmwareTable: not base64")


def _from_cim(text: str) -> _Answer | Missing:
    try:
        classes = json.loads(text)
    except (ValueError, RecursionError):
        return Missing("probe-failed", "powershell: not JSON")
    if not isinstance(classes, dict):
        return Missing("probe-failed", "powershell: no JSON object")
    slots = read_cim_slots(classes.get("Win32_PhysicalMemoryArray"))
    return read_cim_memory(classes.get("Win32_PhysicalMemory")), slots


def _row(missing: list[Missing]) -> UnknownFact:
    """Why there are no modules. The first way decides: where the firmware's table is hidden, root does not help."""
    reasons = [answer.reason for answer in missing]
    if reasons[:1] == ["needs-root"]:
        return UnknownFact("memory.modules", "needs-root", _SUDO)
    for answer in missing:
        if answer.reason in ("timed-out", "probe-failed"):
            return UnknownFact("memory.modules", answer.reason, answer.detail)
    if reasons[:1] == ["not-in-source"]:
        return UnknownFact("memory.modules", "not-in-source")
    return UnknownFact("memory.modules", "not-on-this-platform", _HIDDEN)


def _cpu(source: Source, table: MemoryTable) -> Cpu | None:
    """Who the processor is, as far as the table tells: of use only where there is nothing better."""
    if source.origin.platform != "linux" or not isinstance(source.text(_CPUINFO), Missing):
        return None
    return table.cpu
