from __future__ import annotations

import bz2
import gzip
import lzma
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.sources.unpack import MAX_BYTES, BadPacking, packed_with, unpacked

BODY = bytes(range(256)) * 40


@pytest.mark.parametrize(
    ("kind", "pack"), [("gzip", gzip.compress), ("xz", lzma.compress), ("bzip2", bz2.compress), (None, bytes)]
)
def test_what_was_packed_comes_out(kind: str | None, pack: object) -> None:
    packed = pack(BODY)  # type: ignore[operator]
    assert packed_with(packed) == kind
    assert unpacked(packed) == BODY


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_cut_data_is_refused(pack: object) -> None:
    packed = pack(BODY)  # type: ignore[operator]
    for end in (10, len(packed) // 2, len(packed) - 1):
        with pytest.raises(BadPacking, match="damaged or cut short"):
            unpacked(packed[:end])


def test_a_bomb_is_refused_by_ratio() -> None:
    with pytest.raises(BadPacking, match="200 times"):
        unpacked(gzip.compress(bytes(10 * 1024 * 1024)))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_bomb_is_refused_by_size(pack: object) -> None:
    with pytest.raises(BadPacking, match="unpacks to more than"):
        unpacked(pack(bytes(MAX_BYTES + 1)))  # type: ignore[operator]


def test_gzip_of_gzip_members_is_read_whole() -> None:
    assert unpacked(gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_a_small_file_may_have_any_ratio() -> None:
    assert len(unpacked(gzip.compress(bytes(1024 * 1024)))) == 1024 * 1024


def test_zstd_is_read_where_python_can() -> None:
    packed = bytes.fromhex("28b52ffd005851000068656c6c6f2074617273")  # zstd --no-check
    if sys.version_info >= (3, 14):
        assert unpacked(packed) == b"hello tars"
    else:
        with pytest.raises(BadPacking, match="zstd"):
            unpacked(packed)


@given(st.binary(max_size=300), st.sampled_from([b"", b"\x1f\x8b\x08\x00", b"BZh9", b"\xfd7zXZ\x00"]))
def test_any_bytes_are_read_or_refused(data: bytes, head: bytes) -> None:
    try:
        assert unpacked(head + data) is not None
    except BadPacking as error:
        assert "\n" not in str(error)
