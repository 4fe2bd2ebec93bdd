"""The reader of raw SMBIOS tables: against tables written here, against dmidecode, and against any bytes."""

from __future__ import annotations

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.dmidecode import read_dmidecode
from doctor.texts.memory_table import MIB, MemoryDevice, MemoryTable, main_memory
from doctor.texts.smbios import SMBIOS_TYPES, read_smbios
from tests.texts.memory_corpus import memory_cases
from tests.texts.smbios_tables import END, FLASH_MEMORY, array, device, processor

MODULE = MemoryDevice(
    present=True,
    locator="DIMM 1",
    bank="P0 CHANNEL A",
    size_bytes=49152 * MIB,
    type="DDR5",
    form_factor="DIMM",
    width_bits=64,
    speed_mts=4800,
    configured_mts=6000,
    manufacturer="G Skill Intl",
    part_number="F5-6000J3038F16G",
)
EMPTY = MemoryDevice(present=False, locator="DIMM 0", bank="P0 CHANNEL A")
TABLE = array(0x10) + device(EMPTY, handle=0x11) + device(MODULE, handle=0x12) + END


def test_bare_table() -> None:
    assert read_smbios(TABLE).devices == (EMPTY, MODULE)


def test_windows_header() -> None:
    answer = struct.pack("<BBBBI", 0, 3, 6, 0, len(TABLE)) + TABLE
    assert read_smbios(answer) == read_smbios(TABLE)


def test_dump_with_entry_point() -> None:
    entry = b"_SM3_" + struct.pack("<BBBBBBBIQ", 0, 0x18, 3, 3, 0, 1, 0, len(TABLE), 0x20) + bytes(8)
    assert read_smbios(entry + TABLE) == read_smbios(TABLE)


def test_serial_and_asset_numbers_are_not_read() -> None:
    assert b"S3RIAL" in TABLE
    assert "S3RIAL" not in repr(read_smbios(TABLE))
    assert "ASSET" not in repr(read_smbios(TABLE))


def test_older_tables_have_fewer_fields() -> None:
    without_speeds = read_smbios(device(MODULE, length=0x15)).devices[0]
    assert (without_speeds.speed_mts, without_speeds.part_number) == (None, None)
    assert without_speeds.locator == "DIMM 1"
    smbios_2_6 = read_smbios(device(MODULE, length=0x1C)).devices[0]
    assert (smbios_2_6.speed_mts, smbios_2_6.configured_mts) == (4800, None)
    assert read_smbios(device(MODULE, length=0x14)).devices == ()


def test_sizes() -> None:
    small = bytearray(device(MODULE))
    small[0x0C:0x0E] = struct.pack("<H", 0x8000 | 512)  # counted in kilobytes
    assert read_smbios(bytes(small)).devices[0].size_bytes == 512 * 1024
    small[0x0C:0x0E] = b"\xff\xff"  # there, but unknown
    unknown = read_smbios(bytes(small)).devices[0]
    assert (unknown.present, unknown.size_bytes) == (True, None)


def test_extended_speed() -> None:
    fast = bytearray(device(MODULE))
    fast[0x15:0x17] = b"\xff\xff"
    fast[0x54:0x58] = struct.pack("<I", 8800)
    assert read_smbios(bytes(fast)).devices[0].speed_mts == 8800


def test_what_is_no_main_memory_is_left_out() -> None:
    assert read_smbios(array(0x10, use=FLASH_MEMORY) + device(MODULE) + END).devices == ()
    assert read_smbios(device(MODULE) + END).devices == (MODULE,)


def test_processor() -> None:
    table = read_smbios(processor(0x00A60F12, "Advanced Micro Devices, Inc.", "AMD Ryzen 9 7950X 16-Core Processor"))
    assert table.cpu is not None
    assert (table.cpu.family, table.cpu.model, table.cpu.stepping) == (25, 97, 2)
    assert (table.cpu.vendor, table.cpu.sockets) == ("AuthenticAMD", 1)
    assert read_smbios(processor(0x00A60F12, "AMD", "x", status=0)).processors == ()


def test_recorded_table(shared: Path) -> None:
    table = read_smbios((shared / "corpus" / "smbios" / "dmi_fixture.bin").read_bytes())
    assert [module.bank for module in table.modules] == ["P0 CHANNEL A", "P0 CHANNEL B"]
    for module in table.modules:
        assert module.size_bytes == 16384 * MIB
        assert (module.type, module.form_factor, module.part_number) == ("DDR4", "DIMM", "KF3200C16")
        assert (module.speed_mts, module.configured_mts, module.width_bits) == (3200, 2133, 64)


def test_the_corpus_reads_the_same_from_bytes_as_from_text(shared: Path) -> None:
    for case in memory_cases(shared):
        devices = read_dmidecode(case.text).devices
        table = b"".join(device(row, handle=0x100 + at) for at, row in enumerate(devices))
        forms = {row.form_factor for row in devices}
        assert forms <= {None, "Other", "DIMM", "SODIMM", "Row Of Chips"}, case.name
        assert read_smbios(table + END).devices == devices, case.name


_words = st.none() | st.from_regex(r"[A-Z]{2}[A-Z0-9]{2,12}", fullmatch=True).filter(lambda word: word.strip("F"))
_devices = st.builds(
    MemoryDevice,
    present=st.just(True),
    locator=_words,
    bank=_words,
    size_bytes=st.integers(1, 0x3FFFFF).map(lambda mebibytes: mebibytes * MIB),
    type=st.sampled_from([name for name in SMBIOS_TYPES.values() if name not in ("DDR2 FB-DIMM",)]),
    form_factor=st.sampled_from(["DIMM", "SODIMM", "Row Of Chips", None]),
    width_bits=st.sampled_from([16, 32, 64]),
    speed_mts=st.none() | st.integers(1, 30_000),
    configured_mts=st.none() | st.integers(1, 30_000),
    manufacturer=_words,
    part_number=_words,
)


@given(st.lists(_devices, max_size=5))
def test_what_is_written_is_read(devices: list[MemoryDevice]) -> None:
    table = b"".join(device(row, handle=at) for at, row in enumerate(devices)) + END
    assert [row.locator for row in read_smbios(table).devices] == [row.locator for row in main_memory(devices)]
    assert read_smbios(table).devices == main_memory(devices)


@given(st.binary(max_size=400))
def test_never_raises(data: bytes) -> None:
    assert isinstance(read_smbios(data), MemoryTable)


@given(st.integers(0, len(TABLE) - 1), st.integers(0, 255), st.integers(0, len(TABLE)))
def test_never_raises_on_a_damaged_table(at: int, value: int, length: int) -> None:
    damaged = bytearray(TABLE)
    damaged[at] = value
    assert isinstance(read_smbios(bytes(damaged[:length])), MemoryTable)
