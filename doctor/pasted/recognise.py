"""What somebody gives with `--from`: recognised by what is in it, not by its name. Nothing from it is ever run.

A machine document or the JSON of `check`, a recording, a folder or tar with `proc/` and `sys/`, a text of dmidecode, a
/proc/cpuinfo, or what people paste into a ticket (`doctor.pasted.pieces`). Compressed files are read as they are.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec

from doctor.machine.document import BadDocument, Document, parse_json, read_document
from doctor.pasted.parts import Part
from doctor.sources.base import Source
from doctor.sources.foreign_names import redactor_of_source, redactor_of_text
from doctor.sources.recording import BadRecording, RecordingSource
from doctor.sources.redacted import RedactedSource
from doctor.sources.redaction import KEYS_OF_DOCUMENT, Removals
from doctor.sources.tarstream import is_tar
from doctor.sources.tree import BadTree, TreeSource
from doctor.sources.unpack import BadPacking, unpacking

#: As much as is read of one input, compressed or not.
MAX_INPUT_BYTES = 64 * 1024 * 1024

#: As much as is read of a pasted text. Trackers cut a comment at 64 KiB; a log that is larger is no paste.
MAX_PASTED_BYTES = 8 * 1024 * 1024

_KNOWN = "a machine document, the JSON of check, a recording, a folder or tar of proc/ and sys/, dmidecode or cpuinfo"
_KNOWN_TEXTS = "collect_env, pip list, conda list, lscpu, rocminfo, systeminfo, dxdiag or a known error"


class BadInput(Exception):
    """An input that cannot be read. The message is one sentence that names the input and the reason."""


class Pasted(msgspec.Struct, frozen=True):
    """A text that somebody pasted: its parts in their order, to be put together by `doctor.pasted.assemble`."""

    parts: tuple[Part, ...]
    removals: Removals = Removals()

    @property
    def notes(self) -> tuple[str, ...]:
        """What must not be trusted in it, one sentence each."""
        return tuple(dict.fromkeys(part.note for part in self.parts if part.note))


class Saved(Document, frozen=True):
    """A finished machine document, without personal data: it may have been written by hand, or by another program."""

    removals: Removals = Removals()


#: A source that probes can ask (its `notes` say what was ignored in it), a finished machine document, or a text.
Input: TypeAlias = RedactedSource | Saved | Pasted


class _Refused(Exception):
    """The reason alone, without the name of the input."""


def open_input(path: Path | str) -> Input:
    """The input at `path`, `"-"` for standard input. Raises BadInput, and nothing else."""
    name = "standard input" if path == "-" else one_line(str(path))
    try:
        return _standard_input() if path == "-" else _opened(Path(path))
    except (_Refused, BadTree, BadPacking, BadRecording, BadDocument) as error:
        raise BadInput(f"{name}: {one_line(str(error))}") from error
    except OSError as error:
        raise BadInput(f"{name}: {_said(error)}") from error
    except (RecursionError, MemoryError) as error:
        raise BadInput(f"{name}: it is nested too deeply, or too large") from error
    except ValueError as error:  # a path with a NUL in it
        raise BadInput(f"{name}: {one_line(str(error))}") from error


def _standard_input() -> Input:
    if sys.stdin is None or sys.stdin.isatty():
        raise _Refused("nothing is piped into it")
    return _recognised(_kept(sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)), "standard input")


def _opened(path: Path) -> Input:
    kind = path.stat().st_mode
    name = path.name or str(path)
    if stat.S_ISDIR(kind):
        return _foreign(TreeSource.from_folder(path, name))
    if _is_own_pipe(path):
        with path.open("rb") as opened:
            return _recognised(_kept(opened.read(MAX_INPUT_BYTES + 1)), "pipe")
    if stat.S_ISFIFO(kind):
        raise _Refused("it is a FIFO: pipe its content into --from - instead")
    if stat.S_ISCHR(kind) and _is_null(path):
        raise _Refused("it is empty")
    if not stat.S_ISREG(kind):
        raise _Refused("it is not a file")
    return _from_file(path, name)


def _is_own_pipe(path: Path) -> bool:
    """True for `/dev/fd/63`, as `--from <(command)` gives it: a pipe whose writer has been started already."""
    return bool(re.fullmatch(r"/dev/fd/[0-9]+|/proc/(?:self|[0-9]+)/fd/[0-9]+", str(path)))


def _is_null(path: Path) -> bool:
    return path.samefile(os.devnull)


def _from_file(path: Path, name: str) -> Input:
    size = path.stat().st_size
    if size > MAX_INPUT_BYTES:
        raise _Refused(_TOO_LARGE)
    with path.open("rb") as opened:
        if size and _holds_tar(opened, size):
            return _foreign(TreeSource.from_tar(opened, name))
        opened.seek(0)
        return _recognised(_kept(opened.read(MAX_INPUT_BYTES + 1)), name)


_TOO_LARGE = f"it is larger than {MAX_INPUT_BYTES >> 20} MiB, the most that is read"


def _kept(data: bytes) -> bytes:
    if len(data) > MAX_INPUT_BYTES:
        raise _Refused(_TOO_LARGE)
    return data


def _holds_tar(opened: BinaryIO, size: int) -> bool:
    head = unpacking(opened, size).read(512)
    opened.seek(0)
    return is_tar(head)


def _recognised(data: bytes, name: str) -> Input:
    """An input from its bytes."""
    if not data.strip(b" \t\r\n\0"):
        raise _Refused("it is empty" if not data.strip() else "it holds nothing but zeros")
    stream = unpacking(io.BytesIO(data), len(data))
    if is_tar(stream.peek(512)[:512]):
        return _foreign(TreeSource.from_tar(data, name))
    text = _decoded(stream.read())
    if not text.strip():
        raise _Refused("it is empty")
    if text.lstrip()[:1] in ("{", "["):
        return _from_json(text, name)
    return _from_text(text)


def _from_text(text: str) -> Input:
    """A text, read piece by piece."""
    if len(text) > MAX_PASTED_BYTES:
        raise _Refused(f"a text of more than {MAX_PASTED_BYTES >> 20} MiB: cut out the report, or the error")
    from doctor.pasted.pieces import parts_of
    from doctor.pasted.unquote import unquoted

    redactor = redactor_of_text(text)
    parts = parts_of(unquoted(text), redactor)
    kinds = {part.kind for part in parts if part.kind != "log"}
    if kinds == {"unreadable"}:
        raise _Refused(next(part.note or "" for part in parts if part.kind == "unreadable"))
    if parts:
        return Pasted(parts, redactor.removals)
    raise _Refused(_SCREEN if _OWN_SCREEN.search(text) else f"not recognised as {_KNOWN}, nor as {_KNOWN_TEXTS}")


_OWN_SCREEN = re.compile(r"amd-doctor: \d+ errors?, \d+ warnings?, \d+ undecided; first: |amd-doctor \S+ looked at ")
_SCREEN = "it holds the screen of amd-doctor, not the facts behind it: ask for what amd-doctor check --json prints"


def _decoded(body: bytes) -> str:
    """Text as editors and shells save it. PowerShell's `>` writes UTF-16."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace")
    text = body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    if "\0" in text[:4096]:
        raise _Refused(f"not recognised as {_KNOWN}")
    return text


def _from_json(text: str, name: str) -> Input:
    try:
        plain = parse_json(text)
    except BadDocument:
        # What begins with a bracket may be a log: `[W1016 17:27:46 Context.cpp:301] Warning: …`.
        return _as_text_or(text)
    schema = str(plain.get("schema", "")) if isinstance(plain, dict) else ""
    if schema.startswith("amd-doctor/recording/"):
        return RedactedSource(RecordingSource(plain, name), redactor_of_text(text))
    if not schema and not _holds_machine(plain):
        return _as_text_or(text)
    return _saved(plain if schema else plain["machine"], text)


def _saved(plain: Any, text: str) -> Saved:
    redactor = redactor_of_text(text)
    document = read_document(redactor.json(plain, KEYS_OF_DOCUMENT))
    return Saved(document.machine, document.read_from, redactor.removals)


def _holds_machine(plain: Any) -> bool:
    """A case of a test: a machine document beside what is expected of it."""
    inner = plain.get("machine") if isinstance(plain, dict) else None
    return isinstance(inner, dict) and str(inner.get("schema", "")).startswith("amd-doctor/machine/")


def _as_text_or(text: str) -> Input:
    """A text that begins like JSON: output of a tool, or something around it. Else it is refused as the JSON it is."""
    try:
        return _from_text(text)
    except _Refused as refused:
        parse_json(text)
        raise _Refused(f"it is JSON without a schema, and so not {_KNOWN}") from refused


def _foreign(source: Source) -> RedactedSource:
    """A tree that somebody else made: whose names are in it nobody knows, but identifiers are taken out."""
    return RedactedSource(source, redactor_of_source(source))


def one_line(text: str) -> str:
    """A name or a reason for one line of a terminal: no control characters, of a sensible length."""
    return "".join(char if char.isprintable() else " " for char in text[:300])


def _said(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, PermissionError):
        return "it may not be read by you"
    return error.strerror or type(error).__name__
