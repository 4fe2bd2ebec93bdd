from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.sources.smbios_redaction import structures_without_serials, without_serials

CANARY = b"CANARY-77"
UUID = bytes(range(1, 17))


def structure(kind: int, size: int, fields: dict[int, int], *strings: bytes) -> bytes:
    """A structure of `size` bytes; `fields` puts bytes at offsets from its start."""
    body = bytearray(size)
    body[0:4] = struct.pack("<BBH", kind, size, 0x100 + kind)
    for offset, value in fields.items():
        body[offset] = value
    return bytes(body) + (b"".join(text + b"\0" for text in strings) or b"\0") + b"\0"


#: Kind, size, offset of each personal string, offset of one that stays.
PERSONAL = [(1, 0x1B, (0x07,), 0x05), (2, 0x0F, (0x07, 0x08), 0x05), (3, 0x15, (0x07, 0x08), 0x04)]
PERSONAL += [(4, 0x30, (0x20, 0x21), 0x10), (17, 0x54, (0x18, 0x19), 0x1A)]
END = structure(127, 4, {})


@pytest.mark.parametrize(("kind", "size", "personal", "stays"), PERSONAL)
def test_serial_numbers_are_blanked_and_the_rest_stays(
    kind: int, size: int, personal: tuple[int, ...], stays: int
) -> None:
    numbers = {offset: number + 2 for number, offset in enumerate(personal)}
    before = structure(kind, size, {stays: 1, **numbers}, b"KF556C36-16", *[CANARY] * len(personal)) + END
    after = structures_without_serials(before)
    assert after is not None
    assert len(after) == len(before)
    assert CANARY not in after
    assert after == before.replace(CANARY, b" " * len(CANARY))


def test_the_uuid_is_zeroed() -> None:
    before = bytearray(structure(1, 0x1B, {}, b"x"))
    before[0x08:0x18] = UUID
    after = structures_without_serials(bytes(before) + END)
    assert after == bytes(before).replace(UUID, bytes(16)) + END


def test_a_short_structure_of_an_old_board() -> None:
    system = structure(1, 0x08, {0x07: 1}, CANARY)
    module = structure(17, 0x15, {0x10: 1}, b"DIMM_A2")
    assert structures_without_serials(system + module + END) == system.replace(CANARY, b" " * 9) + module + END


def test_structures_that_nobody_reads_are_left_out() -> None:
    oem = structure(11, 5, {4: 1}, b"Service Tag " + CANARY)
    vendor = structure(221, 20, {}, CANARY)
    module = structure(17, 0x54, {0x1A: 1}, b"F4-3600")
    assert structures_without_serials(oem + vendor + module + END) == module + END


def test_a_string_that_is_shared_is_blanked() -> None:
    shared_string = structure(17, 0x54, {0x18: 1, 0x1A: 1}, b"Unknown")
    assert structures_without_serials(shared_string + END) == shared_string.replace(b"Unknown", b" " * 7) + END


def test_a_number_without_its_string() -> None:
    broken = structure(17, 0x54, {0x18: 200}, b"F4-3600")
    assert structures_without_serials(broken + END) == broken + END


def test_the_table_of_windows_keeps_a_true_length() -> None:
    oem, module = structure(11, 5, {4: 1}, CANARY), structure(17, 0x54, {0x18: 1}, CANARY)
    table = oem + module + END
    after = without_serials(struct.pack("<BBBBI", 0, 3, 5, 0, len(table)) + table)
    assert after is not None and CANARY not in after
    assert struct.unpack_from("<BBBBI", after) == (0, 3, 5, 0, len(module + END))
    assert len(after) == 8 + len(module + END)


@pytest.mark.parametrize("table", [b"", b"\x11", b"\x11\x54\0\0", b"\x11\x02\0\0\0\0", bytes(100)])
def test_what_is_no_table_is_not_given(table: bytes) -> None:
    assert structures_without_serials(table) is None
    assert without_serials(table) is None


@given(st.binary(max_size=400))
def test_any_bytes_are_taken(data: bytes) -> None:
    after = structures_without_serials(data)
    assert after is None or len(after) <= len(data)
    whole = without_serials(data)
    assert whole is None or len(whole) <= len(data)


def test_the_recorded_table(shared: Path) -> None:
    """The file is that of `dmidecode --dump-bin`: the table lies behind an entry point of 32 bytes."""
    before = (shared / "corpus/smbios/dmi_fixture.bin").read_bytes()[32:]
    after = structures_without_serials(before)
    assert after == before.replace(b"SERIAL", b" " * 6).replace(b"Asset", b" " * 5)
    assert after.count(b"KF3200C16") == 2
