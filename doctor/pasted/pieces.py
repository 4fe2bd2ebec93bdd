"""Reads every piece of one pasted text. Whoever claims lines takes them away from the readers behind him."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from doctor.machine.document import BadDocument, read_document
from doctor.machine.model import Machine
from doctor.pasted.hardware import READERS as HARDWARE_READERS
from doctor.pasted.own_report import cut_report, report_spans
from doctor.pasted.parts import Part, PartReader
from doctor.pasted.segments import own_documents
from doctor.pasted.software import LOG_READER, redacted_log
from doctor.pasted.software import READERS as SOFTWARE_READERS
from doctor.pasted.unquote import Unquoted
from doctor.sources.redaction import KEYS_OF_DOCUMENT, Redactor

#: collect_env quotes lscpu and lists of packages, so it comes first.
READERS: tuple[PartReader, ...] = (*SOFTWARE_READERS, *HARDWARE_READERS)

_MOST_OF_A_KIND = 20
_REPORTS = ("amd-doctor/check/", "amd-doctor/report/")
_CUT = "the report of amd-doctor has lost its machine data, or their end: ask for the whole of it"
#: What a line may have to be read; a longer one comes from no program that is known here.
_LONGEST_LINE = 64 * 1024

#: Takes personal data out of a text, and keeps its lines.
Redact = Callable[[str], str]


def parts_of(text: Unquoted, redactor: Redactor) -> tuple[Part, ...]:
    """The parts in the order in which they stand in the text. Never raises for what the text holds.

    Only what somebody recognises is redacted, and only that goes into a part.
    """
    lines = [line if len(line) <= _LONGEST_LINE else "" for line in text.lines]
    found = list(_own(lines, redactor))
    for first, end in _blocks(text):
        found += _in_block(lines, first, end, redactor.text)
    return tuple(sorted(found, key=lambda part: part.span))


def _own(lines: list[str], redactor: Redactor) -> Iterator[Part]:
    """Documents of ours in the text. One that cannot be read is named, and its lines are nobody else's, nor are those
    of the report around it."""
    documents = own_documents(lines)
    spans = [span for span, _ in documents]
    cut = cut_report(lines, spans)
    if cut is not None:
        yield Part("unreadable", Machine(), span=(cut, len(lines)), note=_CUT)
    for first, end in (*report_spans(lines, spans), *([(cut, len(lines))] if cut is not None else [])):
        lines[first:end] = [""] * (end - first)
    for (first, end), plain in documents:
        lines[first:end] = [""] * (end - first)
        kind = "report" if str(plain.get("schema", "")).startswith(_REPORTS) else "document"
        try:
            document = read_document(redactor.json(plain, KEYS_OF_DOCUMENT))
        except BadDocument as error:
            note = f"the JSON of amd-doctor at line {first + 1} cannot be read: {error}"
            yield Part("unreadable", Machine(), span=(first, end), note=note)
            continue
        yield Part(kind, document.machine, span=(first, end))


def _blocks(text: Unquoted) -> Iterator[tuple[int, int]]:
    """The stretches of lines between two fences."""
    first = 0
    for at in (*sorted(text.breaks), len(text.lines)):
        if at > first:
            yield first, at
        first = at


def _in_block(lines: list[str], first: int, end: int, redact: Redact) -> Iterator[Part]:
    is_last = end == len(lines)
    raw = _joined(lines[first:end], is_last)
    if not raw.strip():
        return
    wanted = [reader for reader in READERS if reader.looks_like(raw)]
    if wanted:
        block = redact(raw).split("\n") if is_last else redact(raw).split("\n")[:-1]
        for reader in wanted:
            for part in _all_of(reader, block, is_last):
                yield _moved(part, first)
        raw = _joined(block, is_last)
    log = LOG_READER.read(raw)
    if log is not None:
        yield _moved(redacted_log(log, redact), first)


def _joined(lines: Sequence[str], is_last: bool) -> str:
    """The lines as one text. What stands before a fence was ended by a newline, the last line of all may not."""
    return "\n".join(lines) + ("" if is_last else "\n")


def _all_of(reader: PartReader, block: list[str], is_last: bool) -> Iterator[Part]:
    """Every part of a kind. Its lines are emptied, so that nobody else reads them."""
    for _ in range(_MOST_OF_A_KIND):
        text = _joined(block, is_last)
        part = reader.read(text) if reader.looks_like(text) else None
        if part is None:
            return
        first, end = part.span if part.span[1] > part.span[0] else (0, len(block))
        block[first:end] = [""] * (min(end, len(block)) - first)
        yield part


def _moved(part: Part, by: int) -> Part:
    return msgspec.structs.replace(part, span=(part.span[0] + by, part.span[1] + by))
