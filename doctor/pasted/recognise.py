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
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from doctor.machine.document import BadDocument, Document, parse_json, read_document
from doctor.pasted.parts import Part
from doctor.sources.base import Source
from doctor.sources.recording import BadRecording, RecordingSource
from doctor.sources.redacted import RedactedSource
from doctor.sources.redaction import Redactor
from doctor.sources.tarstream import is_tar
from doctor.sources.text import text_source
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

    @property
    def notes(self) -> tuple[str, ...]:
        """What must not be trusted in it, one sentence each."""
        return tuple(dict.fromkeys(part.note for part in self.parts if part.note))


#: A source that probes can ask (its `notes` say what was ignored in it), a finished machine document, or a text.
Input: TypeAlias = RedactedSource | Document | Pasted


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
    return _from_text(text, name)


def _from_text(text: str, name: str) -> Input:
    """One text of dmidecode or cpuinfo is a source that probes can ask; anything else is read piece by piece."""
    if len(text) > MAX_PASTED_BYTES:
        raise _Refused(f"a text of more than {MAX_PASTED_BYTES >> 20} MiB: cut out the report, or the error")
    from doctor.pasted.pieces import parts_of
    from doctor.pasted.unquote import unquoted

    parts = parts_of(unquoted(text), Redactor().text)
    kinds = {part.kind for part in parts if part.kind != "log"}
    for kind, is_kind, source_of in _TEXTS:
        if kinds <= {kind} and is_kind(text):
            return _foreign(source_of(kind, name, text))
    if kinds == {"unreadable"}:
        raise _Refused(next(part.note or "" for part in parts if part.kind == "unreadable"))
    if parts:
        return Pasted(parts)
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
        return _as_text_or(text, name)
    schema = str(plain.get("schema", "")) if isinstance(plain, dict) else ""
    if schema.startswith("amd-doctor/recording/"):
        return _foreign(RecordingSource(plain, name))
    if schema.startswith("amd-doctor/check/") and not schema.startswith("amd-doctor/check/1"):
        raise _Refused(f"{schema[:60]} is newer than this version reads (amd-doctor/check/1): update amd-doctor")
    if not schema:
        return _as_text_or(text, name)
    return read_document(plain)


def _as_text_or(text: str, name: str) -> Input:
    """A text that begins like JSON: output of a tool, or something around it. Else it is refused as the JSON it is."""
    try:
        return _from_text(text, name)
    except _Refused as refused:
        parse_json(text)
        raise _Refused(f"it is JSON without a schema, and so not {_KNOWN}") from refused


def _foreign(source: Source) -> RedactedSource:
    """A source that somebody else made: whose names are in it nobody knows, but identifiers are taken out."""
    return RedactedSource(source, Redactor())


_DMIDECODE = re.compile(
    r"^#? ?dmidecode \d|^Handle 0x[0-9A-Fa-f]{4}, DMI type \d+"
    r"|^Memory Device[ \t\r]*\n[ \t]*(?:Array Handle|Total Width|Size):",
    re.MULTILINE,
)
_CPUINFO = re.compile(r"^[ \t]*(?:vendor_id|model name|cpu family|flags)[ \t]*:[ \t]*\S", re.MULTILINE)
_PROCESSOR = re.compile(r"^[ \t]*processor[ \t]*:[ \t]*\d+[ \t\r]*$", re.MULTILINE)


def _is_dmidecode(text: str) -> bool:
    return _DMIDECODE.search(text) is not None


def _is_cpuinfo(text: str) -> bool:
    return _PROCESSOR.search(text) is not None and _CPUINFO.search(text) is not None


def _dmidecode_source(kind: str, name: str, text: str) -> Source:
    return text_source(kind, name, commands={"dmidecode": text})


def _cpuinfo_source(kind: str, name: str, text: str) -> Source:
    return text_source(kind, name, files={"/proc/cpuinfo": text})


#: Kind, how it is recognised, and the source that answers from it.
_TEXTS: tuple[tuple[str, Callable[[str], bool], Callable[[str, str, str], Source]], ...] = (
    ("dmidecode", _is_dmidecode, _dmidecode_source),
    ("cpuinfo", _is_cpuinfo, _cpuinfo_source),
)


def one_line(text: str) -> str:
    """A name or a reason for one line of a terminal: no control characters, of a sensible length."""
    return "".join(char if char.isprintable() else " " for char in text[:300])


def _said(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, PermissionError):
        return "it may not be read by you"
    return error.strerror or type(error).__name__
