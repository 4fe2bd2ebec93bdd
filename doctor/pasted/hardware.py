"""The readers of texts about hardware: processor, memory, GPUs, and the system they are in."""

from __future__ import annotations

import re

import msgspec

from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Core, Cpu, Machine, Memory, Os
from doctor.pasted import lscpu, rocm, windows
from doctor.pasted.parts import Part, PartReader, origins_of, span_of
from doctor.texts.cpuinfo import Cpuinfo, read_cpuinfo
from doctor.texts.dmidecode import read_dmidecode

_EXCERPT = "one block of /proc/cpuinfo: how many cores the machine has, it does not tell"

_NOT_ALL_DEVICES = "the text of dmidecode ends before the last memory device: its modules are not all of them"

_COUNTED_DEVICES = re.compile(r"^[ \t]*Number Of Devices: (\d{1,4})[ \t\r]*$", re.MULTILINE)
_DEVICE_SIZE = re.compile(r"^[ \t]*Size: ", re.MULTILINE)
_DEVICE_TITLE = re.compile(r"^[ \t]*Memory Device[ \t\r]*$", re.MULTILINE)

_DMIDECODE = re.compile(
    r"^#? ?dmidecode \d|^Handle 0x[0-9A-Fa-f]{4}, DMI type \d+"
    r"|^Memory Device[ \t]*\n[ \t]*(?:Array Handle|Total Width|Size):",
    re.MULTILINE,
)
_CPUINFO = re.compile(r"^[ \t]*(?:vendor_id|model name|cpu family|flags)[ \t]*:[ \t]*\S", re.MULTILINE)
#: Lines that only such a text has, to tell where it begins and ends.
_CPUINFO_LINE = re.compile(
    r"[ \t]*(?:processor|vendor_id|cpu family|model|model name|stepping|microcode|cpu MHz|cache size|physical id"
    r"|siblings|core id|cpu cores|apicid|initial apicid|fpu|fpu_exception|cpuid level|wp|flags|vmx flags|bugs|bogomips"
    r"|TLB size|clflush size|cache_alignment|address sizes|power management)[ \t]*:.*"
)
_DMIDECODE_LINE = re.compile(
    r"# dmidecode \d.*|Getting SMBIOS data .*|SMBIOS \d.* present\..*|Handle 0x[0-9A-Fa-f]{4}, DMI type .*"
    r"|\t\S.*|Memory Device|Physical Memory Array|Processor Information|End Of Table"
)
_PROCESSOR = re.compile(r"^[ \t]*processor[ \t]*:[ \t]*\d+[ \t\r]*$", re.MULTILINE)


def looks_like_dmidecode(text: str) -> bool:
    return _DMIDECODE.search(text) is not None


def looks_like_cpuinfo(text: str) -> bool:
    return _PROCESSOR.search(text) is not None and _CPUINFO.search(text) is not None


def read_cpuinfo_part(text: str) -> Part | None:
    """A /proc/cpuinfo, also one pasted block of it. L3 groups and what is switched off it cannot hold."""
    told = read_cpuinfo(text)
    if not told.rows or told.cpu == Cpu():
        return None
    cpu = _with_cores(told)
    # The flag says that there is a hypervisor, and not which.
    machine = Machine(os=Os(kind="linux", hypervisor="other" if "hypervisor" in (told.flags or ()) else None), cpu=cpu)
    note = _EXCERPT if told.is_excerpt else None
    return Part("cpuinfo", machine, origins_of(machine, "/proc/cpuinfo"), span_of(text, _CPUINFO_LINE), note)


def _with_cores(told: Cpuinfo) -> Cpu:
    cores = tuple(Core(cpus=format_cpulist(core.cpus), package=core.package) for core in told.cores)
    online = format_cpulist(told.online)
    return msgspec.structs.replace(told.cpu, online=online or None, cores=cores or None)


def read_dmidecode_part(text: str) -> Part | None:
    """The memory modules and the processor of dmidecode. A list of modules that stops early would be taken for all."""
    whole = text[: text.rfind("\n") + 1]  # a last line without a newline may be cut
    table = read_dmidecode(whole)
    memory, note = None, None
    if table.modules and not _has_all_devices(whole):
        note = _NOT_ALL_DEVICES
    elif table.modules:
        memory = Memory(modules=table.modules, slots=len(table.devices), empty_slots=table.empty_slots)
    cpu = table.cpu
    if memory is None and note is None and cpu is None:
        return None
    if cpu is not None and "End Of Table" not in whole:
        cpu = msgspec.structs.replace(cpu, sockets=None)  # there may be further ones
    machine = Machine(os=Os(kind="linux"), cpu=cpu, memory=memory)
    return Part("dmidecode", machine, origins_of(machine, "dmidecode"), span_of(text, _DMIDECODE_LINE), note)


def _has_all_devices(text: str) -> bool:
    """As many memory devices as the arrays count, also the last with its size; any number where no array stands."""
    counted = sum(int(number) for number in _COUNTED_DEVICES.findall(text))
    titles = list(_DEVICE_TITLE.finditer(text))
    return len(titles) >= counted and (not titles or _DEVICE_SIZE.search(text, titles[-1].end()) is not None)


#: In the order of trial. JSON and dmidecode come first: what looks like another kind may stand inside them.
READERS: tuple[PartReader, ...] = (
    rocm.EXAMINE,
    rocm.ROCM_SMI,
    rocm.AMD_SMI,
    PartReader("dmidecode", looks_like_dmidecode, read_dmidecode_part),
    PartReader("cpuinfo", looks_like_cpuinfo, read_cpuinfo_part),
    lscpu.READER,
    rocm.ROCMINFO,
    windows.SYSTEMINFO,
    windows.DXDIAG,
)
