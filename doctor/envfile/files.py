"""Env files on disk: read with a limit, written whole or not at all, the managed block put in or taken out.

Every failure is an exception with one sentence; nothing is lost by any of them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from doctor.envfile.block import BOM, BadBlock
from doctor.envfile.conda import CondaFormat, scripts_at
from doctor.envfile.content import CannotWrite, EnvContent
from doctor.envfile.formats import Format, format_of
from doctor.envfile.reading import EnvRead
from doctor.sources.whole_file import write_whole

MAX_BYTES = 1024 * 1024
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Unreadable(Exception):
    """A path that holds no env file. The message is one sentence that begins with the path."""


class NotWritten(Exception):
    """A file that stayed as it was. The message is one sentence that begins with the path."""


class Written(msgspec.Struct, frozen=True):
    """`replaced`: the file was there. `overridden`: variables of the block that a later line sets again by hand."""

    paths: tuple[Path, ...]
    replaced: bool
    overridden: tuple[str, ...] = ()


class Removed(msgspec.Struct, frozen=True):
    """`blocks` were taken out; `left` says how many variables the file still sets. An `empty` file stays."""

    path: Path
    blocks: int
    left: int
    empty: bool


def read_bytes(path: Path) -> bytes:
    """A file of at most 1 MiB of text. Raises Unreadable."""
    try:
        # A FIFO without a writer would block an ordinary open.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        if path.is_dir():
            raise Unreadable(f"{path}: it is a folder, not an env file") from error
        raise Unreadable(f"{path}: {_reason(error)}") from error
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        raise Unreadable(f"{path}: it is {_called(kind)}, not a file")
    with open(descriptor, "rb") as opened:
        try:
            data = opened.read(MAX_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"{path}: {_reason(error)}") from error
    if len(data) > MAX_BYTES:
        raise Unreadable(f"{path}: it is larger than 1 MiB: no env file")
    if data.startswith(_WIDE):
        raise Unreadable(f"{path}: it is UTF-16 text; save it as UTF-8")
    if b"\0" in data:
        raise Unreadable(f"{path}: it is binary, not an env file")
    return data


def _called(kind: int) -> str:
    if stat.S_ISDIR(kind):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(kind) else "a device or socket"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return (getattr(error, "strerror", None) or str(error)).lower()


def read_env(path: Path, format: Format | None = None) -> EnvRead:
    """What a file says, in its own format or the one given. Raises Unreadable."""
    data = read_bytes(path)
    try:
        return (format or format_of(path, data)).read(data)
    except BadBlock as error:
        raise Unreadable(f"{path}: {error}") from error


def write_env(path: Path, content: EnvContent, format: Format) -> Written:
    """Put the block of `content` into a file, which is made where there is none. conda's `path` is an environment or
    a script, and gives two files. Raises NotWritten; the file is then as it was."""
    if isinstance(format, CondaFormat):
        activate, deactivate = scripts_at(path)
        for script in (activate, deactivate):
            _make_folder(script)
        first, second = _old(activate), _old(deactivate)
        new_first, new_second = _merged(activate, first, content, format), None
        try:
            new_second = format.deactivation_merged(second or b"", content)
        except (BadBlock, CannotWrite) as error:
            raise NotWritten(f"{deactivate}: {error}") from error
        _write(deactivate, new_second)
        _write(activate, new_first)
        return Written((activate, deactivate), first is not None, _overridden(format.read(new_first)))
    old = _old(path)
    new = _merged(path, old, content, format)
    _write(path, new)
    return Written((path,), old is not None, _overridden(format.read(new)))


def _old(path: Path) -> bytes | None:
    """What a file holds; None where there is none. Raises NotWritten."""
    try:
        if not path.exists():
            return None
        if not os.access(path, os.W_OK):
            raise NotWritten(f"{path}: it is write-protected")
        return read_bytes(path)
    except Unreadable as error:
        raise NotWritten(str(error)) from error
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links
        raise NotWritten(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _merged(path: Path, old: bytes | None, content: EnvContent, format: Format) -> bytes:
    try:
        if old is None or old in (b"", BOM):
            return format.write(content)
        there = format_of(path, old)
        if there.name != format.name and there.read(old).blocks:
            raise BadBlock(f"its managed block is of the format {there.name}, not {format.name}")
        return format.merged(old, content)
    except (BadBlock, CannotWrite) as error:
        raise NotWritten(f"{path}: {error}") from error


def _overridden(read: EnvRead) -> tuple[str, ...]:
    last = {each.name: each for each in read.assigned}
    ours = {each.name for each in read.assigned if each.ours}
    return tuple(name for name in ours if not last[name].ours)


def _make_folder(script: Path) -> None:
    """The two folders in `etc/conda` are made, the environment is not. Raises NotWritten."""
    try:
        if script.parent.name in ("activate.d", "deactivate.d") and not script.parent.is_dir():
            environment = script.parent.parents[2]
            if not environment.is_dir():
                raise NotWritten(f"{script}: there is no folder {environment}")
            script.parent.mkdir(parents=True)
    except OSError as error:
        raise NotWritten(f"{script}: {_reason(error)}") from error


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data, keep_mode=True)
    except (OSError, RuntimeError, ValueError) as error:
        if not path.parent.is_dir():
            raise NotWritten(f"{path}: there is no folder {path.parent}") from error
        raise NotWritten(f"{path}: {(getattr(error, 'strerror', None) or str(error)).lower()}") from error


def counterpart(path: Path) -> Path | None:
    """The script of deactivate.d that belongs to one of activate.d, where it is there."""
    if path.parent.name != "activate.d":
        return None
    other = scripts_at(path)[1]
    return other if other.is_file() else None


def remove_block(path: Path) -> Removed:
    """Take the managed block out of a file. The file stays, even empty: systemd and docker refuse to start without a
    file that they were told of, and nothing but the block is ever deleted. Raises Unreadable, NotWritten."""
    data = read_bytes(path)
    try:
        format = format_of(path, data)
        found = format.read(data).blocks
        new = format.without(data) if found else data
        left = format.read(new)
    except BadBlock as error:
        raise Unreadable(f"{path}: {error}") from error
    if found:
        if not os.access(path, os.W_OK):
            raise NotWritten(f"{path}: it is write-protected")
        _write(path, new)
    return Removed(path, found, len(left.variables), not new.removeprefix(BOM).strip())
