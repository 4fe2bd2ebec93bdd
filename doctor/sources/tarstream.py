"""Reads a tar once, front to back, member by member. Nothing is extracted and nothing is sought.

For the 23,442 members of a 384-CPU tree `tarfile` takes four times as long (0.9 s against 0.2 s, measured 2026-11-30).
Formats: ustar, GNU (long names and links), PAX (path, linkpath, size); other kinds of member are passed over.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

MAX_MEMBERS = 50_000
_BLOCK = 512
_EXTENSION_CAP_BYTES = 64 * 1024
_KINDS: dict[bytes, Literal["file", "folder", "symlink", "hardlink"]] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hardlink",
    b"2": "symlink",
    b"5": "folder",
}


class BadTar(Exception):
    """Not a tar, damaged, cut short or too large. The message is one sentence, without the file's name."""


class Member(NamedTuple):
    """One member. `data` is empty unless it is a file that was wanted, and cut at the cap."""

    name: str
    kind: Literal["file", "folder", "symlink", "hardlink"]
    link: str
    data: bytes


def is_tar(head: bytes) -> bool:
    """True where the first 512 bytes are the header of a tar member."""
    return len(head) >= _BLOCK and head[:1] != b"\0" and _checksum_fits(head[:_BLOCK])


def tar_members(stream: io.BufferedReader, wanted: Callable[[str], bool], cap_bytes: int) -> Iterator[Member]:
    """The members in order. Only of files whose name is `wanted` the data is kept. Raises BadTar."""
    count = 0
    name = link = ""  # of the next member, from an extension header
    size_override: int | None = None
    while any(header := _exactly(stream, _BLOCK)):
        count += 1
        if count > MAX_MEMBERS:
            raise BadTar(f"it holds more than {MAX_MEMBERS} members")
        if not _checksum_fits(header):
            raise BadTar("it is damaged: the checksum of a member is wrong")
        flag, size = header[156:157], _number(header[124:136])
        if flag in b"LKxg" and flag:
            extension = _extension(stream, size)
            if flag == b"L":
                name = _string(extension)
            elif flag == b"K":
                link = _string(extension)
            elif flag == b"x":
                fields = _pax(extension)
                name, link = fields.get("path", name), fields.get("linkpath", link)
                size_override = int(fields["size"]) if fields.get("size", "").isdigit() else None
            continue
        size = size if size_override is None else size_override
        kind = _KINDS.get(flag)
        member = Member(name or _name(header), kind or "folder", link or _string(header[157:257]), b"")
        name, link, size_override = "", "", None
        # Links, folders and devices have no data, whatever their size says; unknown kinds may have.
        stored = 0 if flag in b"123456" and flag else size
        if kind == "file" and wanted(member.name):
            kept = min(stored, cap_bytes)
            member = member._replace(data=_exactly(stream, kept))
            _skip(stream, _padded(stored) - kept)
        else:
            _skip(stream, _padded(stored))
        if kind is not None:
            yield member


def _checksum_fits(header: bytes) -> bool:
    try:
        return sum(header) - sum(header[148:156]) + 8 * 0x20 == _number(header[148:156])
    except BadTar:
        return False


def _exactly(stream: io.BufferedReader, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise BadTar("it is cut short")
    return data


def _skip(stream: io.BufferedReader, size: int) -> None:
    while size > 0:
        size -= len(_exactly(stream, min(size, 1 << 20)))


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _number(field: bytes) -> int:
    """A size or checksum: octal digits, or base 256 where the first bit is set."""
    if field[0] & 0x80:
        value = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    else:
        digits = field.split(b"\0", 1)[0].strip()
        try:
            value = int(digits or b"0", 8)
        except ValueError as error:
            raise BadTar("it is damaged: a number in a header is wrong") from error
    if not 0 <= value < 1 << 40:
        raise BadTar("it is damaged: a size in a header is wrong")
    return value


def _string(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")


def _name(header: bytes) -> str:
    name = _string(header[:100])
    prefix = _string(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _extension(stream: io.BufferedReader, size: int) -> bytes:
    if size > _EXTENSION_CAP_BYTES:
        raise BadTar("it is damaged: a name in it is too long")
    data = _exactly(stream, size)
    _skip(stream, _padded(size) - size)
    return data


def _pax(data: bytes) -> dict[str, str]:
    """The records of a PAX header: `"27 path=proc/cpuinfo\\n"`, the number being the length of the whole record."""
    fields = {}
    while data:
        length_text, _, _ = data.partition(b" ")
        length = int(length_text) if length_text.isdigit() and len(length_text) < 7 else 0
        key, equals, value = data[len(length_text) + 1 : length].rstrip(b"\n").partition(b"=")
        if length <= len(length_text) or not equals:
            raise BadTar("it is damaged: a PAX header is wrong")
        fields[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        data = data[length:]
    return fields
