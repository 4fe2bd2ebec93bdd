"""Decompresses with limits: a small file that unpacks to gigabytes is refused before the memory is gone."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import BinaryIO

MAX_BYTES = 64 * 1024 * 1024
MAX_RATIO = 200

#: The ratio counts from here on. A recorded tree of 384 CPUs (23 MB) packs 60-fold with gzip, but 240- to 260-fold
#: with the others (corpus machine epyc-9654-dual-zen4, measured 2026-11-30), so those are held by MAX_BYTES alone
#: until a tree is larger than any real one.
_RATIO_FROM_BYTES = {"gzip": 1024 * 1024, "xz": 32 * 1024 * 1024, "bzip2": 32 * 1024 * 1024, "zstd": 32 * 1024 * 1024}

_CHUNK = 256 * 1024


class BadPacking(Exception):
    """Refused, damaged or not supported. The message is one sentence, without the file's name."""


def packed_with(head: bytes) -> str | None:
    """How a file that starts with `head` is compressed: gzip, xz, bzip2, zstd; None where it is not."""
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith(b"BZh"):
        return "bzip2"
    return "zstd" if head.startswith(b"\x28\xb5\x2f\xfd") else None


def unpacked(data: bytes) -> bytes:
    """`data` decompressed, or as it is where it is not compressed. Raises BadPacking, also beyond the limits."""
    if packed_with(data[:8]) is None:
        return data
    return unpacking(io.BytesIO(data), len(data)).read()


def unpacking(raw: BinaryIO, packed_bytes: int) -> io.BufferedReader:
    """The decompressed stream of a file of `packed_bytes`, or the file itself. Reading raises BadPacking."""
    start = raw.tell()
    kind = packed_with(raw.read(8))
    raw.seek(start)
    return io.BufferedReader(_Limited(_opened(kind, raw), kind, packed_bytes), _CHUNK)


class _Limited(io.RawIOBase):
    """A stream that ends with an error where it grows beyond the limits."""

    def __init__(self, inner: BinaryIO | io.BufferedIOBase, kind: str | None, packed_bytes: int) -> None:
        self._inner = inner
        self._kind = kind
        most = MAX_BYTES
        self._why = f"it unpacks to more than {MAX_BYTES >> 20} MiB"
        if kind is not None:
            by_ratio = max(MAX_RATIO * packed_bytes, _RATIO_FROM_BYTES[kind])
            if by_ratio < most:
                most, self._why = by_ratio, f"it unpacks to more than {MAX_RATIO} times its size"
        self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            chunk = self._inner.read(min(len(buffer), self._left + 1))
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            if self._kind is None:
                raise
            raise BadPacking(f"its {self._kind} data is damaged or cut short") from error
        self._left -= len(chunk)
        if self._left < 0:
            raise BadPacking(self._why)
        buffer[: len(chunk)] = chunk
        return len(chunk)


def _opened(kind: str | None, raw: BinaryIO) -> BinaryIO | io.BufferedIOBase:
    if kind is None:
        return raw
    if kind == "gzip":
        return gzip.GzipFile(fileobj=raw)
    if kind == "xz":
        return lzma.LZMAFile(raw)
    if kind == "bzip2":
        return bz2.BZ2File(raw)
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14 and later
    except ImportError as error:
        raise BadPacking("it is compressed with zstd, which Python reads from 3.14 on: unpack it first") from error
    opened: BinaryIO = zstd.ZstdFile(raw)
    return opened
