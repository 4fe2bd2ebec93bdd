"""The reader of dmidecode texts: the dialects of two decades, and nothing raised on any text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.dmidecode import read_dmidecode
from doctor.texts.memory_table import MIB, MemoryDevice, Processor
from tests.texts.memory_corpus import memory_cases

GIB = 1024 * MIB

MODERN = """\
# dmidecode 3.5
Handle 0x0004, DMI type 4, 48 bytes
Processor Information
\tSocket Designation: AM5
\tType: Central Processor
\tFamily: Zen
\tManufacturer: Advanced Micro Devices, Inc.
\tID: 12 0F A6 00 FF FB 8B 17
\tSignature: Family 25, Model 97, Stepping 2
\tVersion: AMD Ryzen 9 7950X 16-Core Processor            
\tStatus: Populated, Enabled
\tSerial Number: SECRET-CPU
\tPart Number: Unknown

Handle 0x0010, DMI type 16, 23 bytes
Physical Memory Array
\tLocation: System Board Or Motherboard
\tUse: System Memory
\tNumber Of Devices: 2

Handle 0x0011, DMI type 17, 92 bytes
Memory Device
\tArray Handle: 0x0010
\tTotal Width: Unknown
\tData Width: Unknown
\tSize: No Module Installed
\tForm Factor: Unknown
\tLocator: DIMM 0
\tBank Locator: P0 CHANNEL A
\tType: Unknown

Handle 0x0012, DMI type 17, 92 bytes
Memory Device
\tArray Handle: 0x0010
\tTotal Width: 72 bits
\tData Width: 64 bits
\tSize: 48 GB
\tForm Factor: DIMM
\tSet: None
\tLocator: DIMM 1
\tBank Locator: P0 CHANNEL A
\tType: DDR5
\tType Detail: Synchronous Unbuffered (Unregistered)
\tSpeed: 4800 MT/s
\tManufacturer: G Skill Intl
\tSerial Number: SECRET-DIMM
\tAsset Tag: SECRET-TAG
\tPart Number: F5-6000J3038F16G
\tRank: 2
\tConfigured Memory Speed: 6000 MT/s
\tVolatile Size: 48 GB

Handle 0x0013, DMI type 20, 35 bytes
Memory Device Mapped Address
\tRange Size: 48 GB
"""

MODULE = MemoryDevice(
    present=True,
    locator="DIMM 1",
    bank="P0 CHANNEL A",
    size_bytes=48 * GIB,
    type="DDR5",
    form_factor="DIMM",
    width_bits=64,
    speed_mts=4800,
    configured_mts=6000,
    manufacturer="G Skill Intl",
    part_number="F5-6000J3038F16G",
)
EMPTY = MemoryDevice(present=False, locator="DIMM 0", bank="P0 CHANNEL A")


def test_modern_text() -> None:
    table = read_dmidecode(MODERN)
    assert table.devices == (EMPTY, MODULE)
    assert table.processors == (
        Processor("Advanced Micro Devices, Inc.", "AMD Ryzen 9 7950X 16-Core Processor", 25, 97, 2),
    )


def test_serial_and_asset_numbers_are_not_read() -> None:
    assert "SECRET" in MODERN
    assert "SECRET" not in repr(read_dmidecode(MODERN))


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: "\n".join(line for line in text.splitlines() if "Handle 0x" not in line or "Array" in line),
        lambda text: text.replace("\t", ""),
        lambda text: text.replace("\t", "        "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("Configured Memory Speed", "Configured Clock Speed").replace("MT/s", "MHz"),
        lambda text: text.replace("48 GB", "49152 MB").replace("bytes\n", "bytes.\n"),
        lambda text: text.replace("Signature: Family 25, Model 97, Stepping 2", "Voltage: 1.1 V"),
    ],
    ids=["quiet", "no-indentation", "spaces", "windows-lines", "old-names", "old-sizes", "no-signature"],
)
def test_dialects_say_the_same(rewrite) -> None:  # type: ignore[no-untyped-def]
    text = rewrite(MODERN)
    assert text != MODERN
    assert read_dmidecode(text) == read_dmidecode(MODERN)


def test_very_old_text() -> None:
    text = """\
Handle 0x1100
\tDMI type 17, 23 bytes.
\tMemory Device
\t\tArray Handle: 0x1000
\t\tTotal Width: 64 bits
\t\tData Width: 64 bits
\t\tSize: 1024 MB
\t\tForm Factor: DIMM
\t\tLocator: DIMM_1
\t\tBank Locator: Not Specified
\t\tType: DDR2
\t\tSpeed: 667 MHz (1.5 ns)
"""
    assert read_dmidecode(text).devices == (
        MemoryDevice(
            present=True,
            locator="DIMM_1",
            size_bytes=GIB,
            type="DDR2",
            form_factor="DIMM",
            width_bits=64,
            speed_mts=667,
        ),
    )


def test_what_is_no_main_memory_is_left_out() -> None:
    flash = MODERN.replace("Use: System Memory", "Use: Flash Memory")
    assert read_dmidecode(flash).devices == ()
    chip = MODERN.replace("Type: DDR5", "Type: Flash")
    assert read_dmidecode(chip).devices == (EMPTY,)


def test_words_for_nothing_are_nothing() -> None:
    text = MODERN.replace("Type: DDR5", "Type: <OUT OF SPEC>").replace("F5-6000J3038F16G", "Array1_PartNumber1")
    text = text.replace("G Skill Intl", "Unknown").replace("4800 MT/s", "Unknown").replace("6000 MT/s", "Unknown")
    (_, module) = read_dmidecode(text).devices
    assert (module.type, module.part_number, module.manufacturer) == (None, None, None)
    assert (module.speed_mts, module.configured_mts) == (None, None)


def test_an_empty_socket_is_no_processor() -> None:
    assert read_dmidecode(MODERN.replace("Populated, Enabled", "Unpopulated")).processors == ()


@pytest.mark.parametrize(
    ("maker", "vendor"),
    [
        ("AMD", "AuthenticAMD"),
        ("AuthenticAMD", "AuthenticAMD"),  # coreboot
        ("Intel(R) Corporation", "GenuineIntel"),
        ("QEMU", None),
        ("Not Specified", None),
    ],
)
def test_only_a_known_maker_names_a_cpu(maker: str, vendor: str | None) -> None:
    cpu = read_dmidecode(MODERN.replace("Advanced Micro Devices, Inc.", maker)).cpu
    assert (cpu.vendor if cpu else None) == vendor


def test_control_and_bidi_characters_do_not_pass() -> None:
    (_, module) = read_dmidecode(MODERN.replace("F5-6000", "F5\x1b[31m\u202e-6000")).devices
    assert module.part_number == "F5 [31m -6000J3038F16G"


def test_corpus_has_the_modules_of_the_manifest(shared: Path) -> None:
    for case in memory_cases(shared):
        modules = read_dmidecode(case.text).modules
        assert len(modules) == case.truth["populated"], case.name
        for module, truth in zip(modules, case.truth["dimms"], strict=True):
            assert module.locator == truth["locator"], case.name
            assert module.part_number == (" ".join(truth["part"].split()) or None), case.name
            for value, text in ((module.speed_mts, truth["speed"]), (module.configured_mts, truth["conf"])):
                assert value == (int(text.split()[0]) if text and text != "Unknown" else None), case.name


def test_corpus_names_its_processors(shared: Path) -> None:
    for case in memory_cases(shared):
        cpu = read_dmidecode(case.text).cpu
        assert cpu is not None
        assert cpu.name == case.truth["cpu"]
        assert cpu.vendor == "AuthenticAMD"
        assert cpu.family in (21, 23, 25, 26)


_lines = st.sampled_from([*MODERN.splitlines(), "Handle 0xZZ", "Memory Device", "\tSize: 99999999999 TB", ":", ""])


@given(st.text() | st.lists(_lines | st.text(max_size=30)).map("\n".join))
def test_never_raises(text: str) -> None:
    table = read_dmidecode(text)
    assert len(table.modules) + len(table.empty_slots) == len(table.devices)
