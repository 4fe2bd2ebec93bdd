from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.sources.tarstream import MAX_MEMBERS, BadTar, Member, is_tar, tar_members
from tests.sources.archives import tar_of


def members(data: bytes, cap_bytes: int = 1024) -> list[Member]:
    return list(tar_members(io.BufferedReader(io.BytesIO(data)), lambda name: True, cap_bytes))  # type: ignore[type-var]


LONG = "machine/" + "sys/devices/system/" * 12 + "cpu0"


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_files_and_links(format: int) -> None:
    data = tar_of(
        {"a/proc/cpuinfo": b"x" * 700, "a/empty": b""},
        symlinks={"a/link": "../b"},
        hardlinks={"a/hard": "a/proc/cpuinfo"},
        mode="w",
        format=format,
    )
    assert is_tar(data[:512])
    assert members(data) == [
        Member("a/proc/cpuinfo", "file", "", b"x" * 700),
        Member("a/empty", "file", "", b""),
        Member("a/link", "symlink", "../b", b""),
        Member("a/hard", "hardlink", "a/proc/cpuinfo", b""),
    ]


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_links(format: int) -> None:
    data = tar_of({LONG: b"1", "b": b"2"}, symlinks={LONG + "x": LONG}, mode="w", format=format)
    assert [(row.name, row.link, row.data) for row in members(data)] == [
        (LONG, "", b"1"),
        ("b", "", b"2"),
        (LONG + "x", LONG, b""),
    ]


def test_names_that_are_split_over_two_fields() -> None:
    name = "x" * 90 + "/" + "y" * 60
    assert members(tar_of({name: b"1"}, mode="w", format=tarfile.USTAR_FORMAT))[0].name == name


def test_a_file_is_cut_at_the_cap_and_the_next_one_is_found() -> None:
    data = tar_of({"a": b"x" * 5000, "b": b"y"}, mode="w")
    assert [(row.name, len(row.data)) for row in members(data, cap_bytes=600)] == [("a", 600), ("b", 1)]


def test_agrees_with_tarfile_on_a_recorded_machine(shared: object) -> None:
    from pathlib import Path

    from doctor.sources.unpack import unpacked

    assert isinstance(shared, Path)
    data = unpacked((shared / "corpus/machines/intel-i7-1370p-raptorlake-hybrid.tar.gz").read_bytes())
    ours = {row.name: (row.link, row.data) for row in members(data, 1 << 20) if row.kind != "folder"}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        theirs = {
            row.name: (row.linkname, tar.extractfile(row).read() if row.isreg() else b"")  # type: ignore[union-attr]
            for row in tar
            if not row.isdir()
        }
    assert ours == theirs


@pytest.mark.parametrize("end", [100, 512, 700, 1024, 1536, 2000])
def test_a_cut_archive_is_refused(end: int) -> None:
    data = tar_of({"a": b"x" * 500, "b": b"y" * 500}, mode="w")[: 4 * 512]
    assert len(members(data + bytes(1024))) == 2
    with pytest.raises(BadTar, match="cut short"):
        members(data[:end])


def test_a_wrong_checksum_is_refused() -> None:
    data = bytearray(tar_of({"a": b"x", "b": b"y"}, mode="w"))
    data[1024] ^= 1
    with pytest.raises(BadTar, match="checksum"):
        members(bytes(data))


def test_too_many_members_are_refused() -> None:
    one = tar_of({"a": b""}, mode="w")[:512]
    assert len(members(one * 10 + bytes(1024))) == 10
    with pytest.raises(BadTar, match=str(MAX_MEMBERS)):
        members(one * (MAX_MEMBERS + 1) + bytes(1024))


@settings(max_examples=200)
@given(st.integers(0, 511), st.integers(0, 255), st.booleans())
def test_a_damaged_header_is_read_or_refused(at: int, value: int, mend: bool) -> None:
    data = bytearray(tar_of({"a/proc/cpuinfo": b"x" * 20}, symlinks={"b": "c"}, mode="w", format=tarfile.PAX_FORMAT))
    data[at] = value
    if mend:
        data[148:156] = b" " * 8
        data[148:156] = b"%06o\0 " % sum(data[:512])
    try:
        members(bytes(data))
    except BadTar as error:
        assert "\n" not in str(error)


PAX_RECORDS = [b"", b"x", b"9999999 path=a\n", b"3 a\n", b"5 path\n", b"0 path=a\n", b"-5 path=a\n"]


@pytest.mark.parametrize("record", PAX_RECORDS)
def test_a_wrong_pax_header_is_refused(record: bytes) -> None:
    row = tarfile.TarInfo("PaxHeader")
    row.type, row.size = tarfile.XHDTYPE, len(record)
    data = row.tobuf(format=tarfile.USTAR_FORMAT) + record.ljust(512, b"\0") * bool(record)
    whole = data + tar_of({"a": b"x"}, mode="w", format=tarfile.USTAR_FORMAT)
    if not record:
        assert members(whole)[0].name == "a"
        return
    with pytest.raises(BadTar, match="PAX"):
        members(whole)
