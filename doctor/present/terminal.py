"""Writes lines to stdout: in colour through rich where a terminal wants it, else as plain text; never raises for it."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import TextIO

import msgspec

from doctor.knowledge.catalog import ENGLISH
from doctor.present.language import language
from doctor.present.status import ALL
from doctor.present.text import clean

PIPE_COLUMNS = 80
_WIDEST = 100  # longer lines are harder to read

#: What stands in for characters that an ASCII terminal lacks.
_ASCII = {"–": "-", "—": "-", "·": "-", "×": "x", "…": "...", "≥": ">=", "≤": "<=", "±": "+-", "’": "'", "µ": "u"}
_ASCII |= {"→": "->"}
_ASCII |= dict.fromkeys("│┃", "|") | dict.fromkeys("─━", "-") | dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+")
_ASCII |= {status.symbol: status.ascii for status in ALL}


class Span(msgspec.Struct, frozen=True):
    """A piece of a line, and its rich style."""

    text: str
    style: str = ""


#: A line is its pieces, from left to right.
Line = tuple[Span, ...]


class Look(msgspec.Struct, frozen=True):
    """What the place that reads the result can show. `ascii`: no symbols; of letters then those of the encoding
    `letters`, which is larger than ASCII where another language than English is spoken."""

    columns: int = PIPE_COLUMNS
    ascii: bool = False
    colour: bool = False
    letters: str = "ascii"


def line(text: str = "", style: str = "") -> Line:
    return (Span(text, style),)


def look_of(stream: TextIO, environ: Mapping[str, str] | None = None, *, ascii_only: bool = False) -> Look:
    """How to write to `stream`. In a pipe 80 columns; colour only on a terminal, and not with `NO_COLOR`."""
    env = os.environ if environ is None else environ
    terminal = _is_terminal(stream)
    width = shutil.get_terminal_size((PIPE_COLUMNS, 24)).columns if terminal else PIPE_COLUMNS
    return Look(
        columns=max(40, min(width, _WIDEST)),
        ascii=ascii_only or not _takes_symbols(stream, env),
        colour=terminal and not env.get("NO_COLOR") and env.get("TERM") != "dumb",
        letters="ascii" if ascii_only or language() == ENGLISH else stream.encoding or "ascii",
    )


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def _takes_symbols(stream: TextIO, env: Mapping[str, str]) -> bool:
    # Python writes UTF-8 also where the locale says C; the terminal of such a session may know ASCII only.
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    if locale in ("C", "POSIX") and not env.get("PYTHONIOENCODING"):
        return False
    try:
        "".join(status.symbol for status in ALL).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plain(lines: Iterable[Line], look: Look) -> str:
    """The lines as one text without colour."""
    texts = (clean("".join(span.text for span in spans)).rstrip() for spans in lines)
    text = "".join(f"{line}\n" for line in texts)
    return to_ascii(text, look.letters) if look.ascii else text


def to_ascii(text: str, letters: str = "ascii") -> str:
    """`text` with known symbols by their stand-ins; what else the encoding `letters` does not have as `?`."""
    return "".join(_ASCII.get(char, char) for char in text).encode(letters, "replace").decode(letters)


def write(lines: Iterable[Line], look: Look, stream: TextIO | None = None) -> None:
    """Write the lines to stdout (or `stream`). Never raises for what the encoding lacks, nor for a closed pipe."""
    out = sys.stdout if stream is None else stream
    if not look.colour:
        write_text(plain(lines, look), out)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, force_terminal=True, width=10_000, highlight=False, markup=False, emoji=False)
    for spans in lines:
        text = Text(end="\n")
        for span in spans:
            piece = clean(span.text)
            text.append(to_ascii(piece, look.letters) if look.ascii else piece, style=span.style or None)
        text.rstrip()
        console.print(text, soft_wrap=True)


def write_text(text: str, stream: TextIO) -> None:
    """Write a text whatever the encoding of `stream` takes. The reader may have gone: that is no error of ours."""
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except OSError as error:
        # Windows says EINVAL where others say EPIPE.
        if error.errno not in (errno.EPIPE, errno.EINVAL):
            raise
