"""The memory probe: every way to the modules, on small machines written here."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from doctor.machine.model import Machine, MemorySlot, UnknownFact
from doctor.probes.collect import collect
from doctor.probes.found import Found
from doctor.probes.memory import probe
from doctor.sources.recording import RecordingSource
from doctor.texts.memory_table import MIB, MemoryDevice
from tests.texts.memory_corpus import memory_cases
from tests.texts.smbios_tables import END, array, device, processor
from tests.texts.test_cim_memory import ROW
from tests.texts.test_udev_dmi import DATABASE

MODULE = MemoryDevice(
    present=True,
    locator="DIMM 1",
    bank="P0 CHANNEL A",
    size_bytes=16384 * MIB,
    type="DDR5",
    form_factor="DIMM",
    width_bits=64,
    speed_mts=4800,
    configured_mts=4800,
    manufacturer="Kingston",
    part_number="KF560C36-16",
)
EMPTY = MemoryDevice(present=False, locator="DIMM 0", bank="P0 CHANNEL A")
TABLE = (
    processor(0x00A60F12, "Advanced Micro Devices, Inc.", "AMD Ryzen 9 7950X 16-Core Processor")
    + array(0x10)
    + device(EMPTY, handle=0x11)
    + device(MODULE, handle=0x12)
    + END
)
DMI = "/sys/firmware/dmi/tables/DMI"
UDEV = "/run/udev/data/+dmi:id"
MEMINFO = "MemTotal: 32766456 kB\nMemAvailable: 22222222 kB\n"
DMIDECODE = """\
Handle 0x0012, DMI type 17, 92 bytes
Memory Device
\tData Width: 64 bits
\tSize: 16 GB
\tForm Factor: DIMM
\tLocator: DIMM 1
\tBank Locator: P0 CHANNEL A
\tType: DDR5
\tSpeed: 4800 MT/s
\tManufacturer: Kingston
\tSerial Number: S3RIAL
\tPart Number: KF560C36-16
\tConfigured Memory Speed: 4800 MT/s
"""


def encoded(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}


def probed(platform: str = "linux", **recording: Any) -> Found:
    return probe(RecordingSource({"platform": platform, **recording}, "test"))


def reply(stdout: str, status: int = 0) -> dict[str, Any]:
    return {"status": status, "stdout": stdout, "stderr": ""}


def test_amount() -> None:
    found = probed(files={"/proc/meminfo": MEMINFO})
    memory = found.facts["memory"]
    assert (memory.total_bytes, memory.available_bytes) == (32766456 * 1024, 22222222 * 1024)
    assert found.origins["memory.total_bytes"] == "/proc/meminfo"


@pytest.mark.parametrize("platform", ["windows", "macos"])
def test_amount_where_there_is_no_proc(platform: str) -> None:
    found = probed(platform, api={"memory": {"total_bytes": 100, "available_bytes": 40}})
    memory = found.facts["memory"]
    assert (memory.total_bytes, memory.available_bytes) == (100, 40)
    assert [row.fact for row in found.unknowns] == (["memory.modules"] if platform == "windows" else [])


@pytest.mark.parametrize(
    ("recording", "origin"),
    [
        ({"files": {DMI: encoded(TABLE), UDEV: DATABASE}, "commands": {"dmidecode": reply(DMIDECODE)}}, DMI),
        ({"files": {UDEV: DATABASE}, "commands": {"dmidecode": reply(DMIDECODE)}}, "dmidecode"),
        ({"files": {UDEV: DATABASE}, "commands": {"dmidecode": reply("", 1)}}, UDEV),
        ({"files": {DMI: encoded(b"\0" * 64), UDEV: DATABASE}}, UDEV),
        (
            {"platform": "windows", "api": {"firmware-table": base64.b64encode(TABLE).decode()}},
            "GetSystemFirmwareTable",
        ),
        (
            {
                "platform": "windows",
                "api": {"firmware-table": "no base64!"},
                "commands": {"powershell-cim": reply(json.dumps({"Win32_PhysicalMemory": [ROW]}))},
            },
            "Win32_PhysicalMemory",
        ),
    ],
    ids=["table", "dmidecode", "udev", "table-of-nothing", "windows-table", "windows-cim"],
)
def test_every_way_finds_the_same_module(recording: dict[str, Any], origin: str) -> None:
    found = probed(**recording)
    (module,) = found.facts["memory"].modules
    assert (module.locator, module.bank, module.part_number) == ("DIMM 1", "P0 CHANNEL A", "KF560C36-16")
    assert (module.speed_mts, module.configured_mts, module.width_bits) == (4800, 4800, 64)
    assert module.size_bytes == 16384 * MIB
    assert found.origins["memory.modules"] == origin
    assert not found.unknowns
    for secret in ("S3RIAL", "SECRET", "ASSET"):
        assert secret not in repr(found)


def test_slots() -> None:
    memory = probed(files={DMI: encoded(TABLE)}).facts["memory"]
    assert (memory.slots, memory.empty_slots) == (2, (MemorySlot(locator="DIMM 0", bank="P0 CHANNEL A"),))
    full = probed(files={DMI: encoded(array(0x10) + device(MODULE) + END)}).facts["memory"]
    assert (full.slots, full.empty_slots) == (1, ())


def test_windows_counts_slots_but_does_not_name_the_empty_ones() -> None:
    classes = {"Win32_PhysicalMemory": [ROW], "Win32_PhysicalMemoryArray": [{"MemoryDevices": 4, "Use": 3}]}
    memory = probed("windows", commands={"powershell-cim": reply(json.dumps(classes))}).facts["memory"]
    assert (memory.slots, memory.empty_slots, len(memory.modules)) == (4, None, 1)
    del classes["Win32_PhysicalMemoryArray"]
    memory = probed("windows", commands={"powershell-cim": reply(json.dumps(classes))}).facts["memory"]
    assert (memory.slots, memory.empty_slots) == (None, None)


@pytest.mark.parametrize(
    ("missing", "reason", "word"),
    [
        ({"needs-root": [f"text:{DMI}", "command:dmidecode"], "absent": [f"text:{UDEV}"]}, "needs-root", "sudo"),
        # In a container the table is hidden: the dmidecode that asks for root would find nothing.
        ({"absent": [f"text:{DMI}"], "needs-root": ["command:dmidecode"]}, "not-on-this-platform", "WSL"),
        ({"absent": [f"text:{DMI}"], "timed-out": ["command:dmidecode"]}, "timed-out", ""),
        ({}, "not-in-source", ""),
    ],
    ids=["no-root", "container", "slow", "recording"],
)
def test_why_there_are_no_modules(missing: dict[str, list[str]], reason: str, word: str) -> None:
    found = probed(files={"/proc/meminfo": MEMINFO}, missing=missing)
    (row,) = found.unknowns
    assert (row.fact, row.reason) == ("memory.modules", reason)
    assert word in (row.detail or "")
    assert found.facts["memory"].modules is None


def test_a_command_that_failed_is_not_believed() -> None:
    found = probed(commands={"dmidecode": reply(DMIDECODE, 1)}, missing={"absent": [f"text:{DMI}"]})
    assert found.unknowns == (UnknownFact("memory.modules", "probe-failed", "dmidecode ended with status 1"),)
    assert "memory" not in found.facts


@pytest.mark.parametrize(
    "stdout", ["no JSON", "[]", "{}", json.dumps({"Win32_PhysicalMemory": []}), "[" * 100_000], ids=range(5)
)
def test_cim_without_modules(stdout: str) -> None:
    found = probed("windows", commands={"powershell-cim": reply(stdout)})
    assert [(row.fact, row.reason) for row in found.unknowns] == [("memory.modules", "probe-failed")]
    assert "memory" not in found.facts


def test_the_table_names_the_cpu_where_nothing_better_does() -> None:
    found = probed(files={DMI: encoded(TABLE)})
    cpu = found.facts["cpu"]
    assert (cpu.vendor, cpu.family, cpu.model, cpu.sockets) == ("AuthenticAMD", 25, 97, 1)
    assert cpu.name == "AMD Ryzen 9 7950X 16-Core Processor"
    assert found.origins["cpu.family"] == DMI
    assert "cpu" not in probed(files={DMI: encoded(TABLE), "/proc/cpuinfo": "processor : 0\n"}).facts
    windows = base64.b64encode(struct.pack("<BBBBI", 0, 3, 6, 0, len(TABLE)) + TABLE).decode()
    assert "cpu" not in probed("windows", api={"firmware-table": windows}).facts


def test_what_is_found_is_a_machine_document(shared: Path) -> None:
    for case in memory_cases(shared):
        source = RecordingSource({"commands": {"dmidecode": reply(case.text)}}, case.name, kind="dmidecode")
        collected = collect(source, (("memory", probe),))
        assert not collected.crashed
        machine = collected.machine
        assert machine.memory is not None
        assert machine.memory.slots is not None
        assert len(machine.memory.modules or ()) + len(machine.memory.empty_slots or ()) == machine.memory.slots
        assert machine.cpu is not None
        assert machine.cpu.name == case.truth["cpu"]


def test_nothing_at_all() -> None:
    found = probed()
    assert found.facts == {}
    assert found.unknowns == (UnknownFact("memory.modules", "not-in-source"),)
    assert Machine(**found.facts) == Machine()
