"""The managed block in a file of lines: where it is, how it is replaced or taken out; the rest stays byte for byte.

A block begins and ends with a comment line of its own. A block that was put behind a last line without a line end
has none at its own end either: so taking it out gives back exactly what was there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

BEGIN = "amd-doctor: begin of the managed block, format "
END = "amd-doctor: end of the managed block"

BOM = b"\xef\xbb\xbf"

#: Any comment sign may stand before the words. Only whole lines count.
_SIGN = rb"[ \t]*(?:#|;|@?rem|::)[ \t]*"
_BEGIN = re.compile(_SIGN + BEGIN.encode() + rb"([a-z]+)[^\n]*", re.IGNORECASE)
_END = re.compile(_SIGN + END.encode() + rb"[^\n]*", re.IGNORECASE)


class BadBlock(Exception):
    """The marks of the block do not fit together. The message is one sentence."""


class Block(msgspec.Struct, frozen=True):
    """`start` and `end` are byte offsets; the line end behind the block belongs to it. `line` counts from 1."""

    start: int
    end: int
    line: int
    format: str


def blocks_in(data: bytes) -> tuple[Block, ...]:
    """Every managed block, in order. Raises BadBlock where a beginning has no end."""
    found: list[Block] = []
    begun: tuple[int, int, str] | None = None
    at = len(BOM) if data.startswith(BOM) else 0
    for number, line in enumerate(_lines(data[at:]), 1):
        mark = _BEGIN.match(line)
        if mark is not None:
            if begun is not None:
                raise BadBlock(_without_end(begun[1]))
            begun = (at, number, mark[1].decode().lower())
        elif begun is not None and _END.match(line) is not None:
            found.append(Block(begun[0], at + len(line), begun[1], begun[2]))
            begun = None
        at += len(line)
    if begun is not None:
        raise BadBlock(_without_end(begun[1]))
    return tuple(found)


def _lines(data: bytes) -> Sequence[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [data.rpartition(b"\n")[2]]


def _without_end(line: int) -> str:
    return f"the managed block that begins in line {line} has no end: put back '{END}', or take line {line} out"


def with_block(data: bytes, block: bytes) -> bytes:
    """`data` with `block` (which ends with a line end) in the place of the first managed block, else at the end.
    Further blocks are taken out. Raises BadBlock."""
    found = blocks_in(data)
    if not found:
        return _appended(data, block)
    first = found[0]
    without_line_end = not data[first.start : first.end].endswith(b"\n")
    new = _without_line_end(block) if without_line_end else block
    rest = data[first.end :]
    for other in reversed(blocks_in(rest)):
        rest = rest[: other.start] + rest[other.end :]
    return data[: first.start] + new + rest


def _appended(data: bytes, block: bytes) -> bytes:
    if data in (b"", BOM) or data.endswith(b"\n"):
        return data + block
    line_end = b"\r\n" if block.endswith(b"\r\n") else b"\n"
    return data + line_end + _without_line_end(block)


def _without_line_end(block: bytes) -> bytes:
    return block[:-2] if block.endswith(b"\r\n") else block[:-1]


def without_blocks(data: bytes) -> bytes:
    """`data` without any managed block. Raises BadBlock."""
    for block in reversed(blocks_in(data)):
        before, own, after = data[: block.start], data[block.start : block.end], data[block.end :]
        if not after and not own.endswith(b"\n"):
            before = before.removesuffix(b"\r\n" if b"\r\n" in own else b"\n")
        data = before + after
    return data
