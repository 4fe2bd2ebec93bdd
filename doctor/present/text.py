"""Text that may stand on a terminal: cleaned of control characters, measured in columns, broken at spaces and between
wide letters."""

from __future__ import annotations

import shlex
import sys
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from doctor.present.language import counted, row, say

#: Control (Cc), format with the bidi marks (Cf), surrogates (Cs), private use (Co), line and paragraph separators.
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def clean(text: str) -> str:
    """One line without what could move the cursor or turn the reading direction; a tab or a line end is a blank."""
    if text.isascii() and text.isprintable():
        return text
    spaced = "".join(" " if char in "\t\n\r\v\f\u2028\u2029\x85" else char for char in text)
    return "".join(char for char in spaced if unicodedata.category(char) not in _DROPPED)


def typed_path(path: str) -> str:
    """A path of this machine as one types it. A `~` that the shell replaced is not put back."""
    return shlex.quote(path) if sys.platform != "win32" else f'"{path}"' if " " in path else path


def columns(text: str) -> int:
    """How many columns a cleaned text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` columns, its end as `…` where it does not fit."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def padded(text: str, width: int) -> str:
    """`text` with blanks behind it, up to `width` columns."""
    return text + " " * (width - columns(text))


#: What no line begins with, and what no line ends with.
_CLOSING = frozenset("，。、；：！？）】》」』”’％…—.,;:!?)]}%")
_OPENING = frozenset("（【《「『“‘([{")


def _pieces(word: str) -> list[str]:
    """A word in the pieces that no line breaks: of a word in wide letters each of them, with the marks that cling to
    it."""
    if word.isascii():
        return [word]
    pieces = [word[0]]
    for before, char in pairwise(word):
        # Behind and before a wide letter: Chinese has no blanks between words.
        if 2 in (_char_columns(before), _char_columns(char)) and char not in _CLOSING and before not in _OPENING:
            pieces.append(char)
        else:
            pieces[-1] += char
    return pieces


def wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces and between wide letters only; later lines are
    indented by `hang`.

    A word longer than a line stays whole: it may be a path or an address that somebody copies.
    """
    lines: list[str] = []
    line = ""
    for word in text.split():
        for at, piece in enumerate(_pieces(word)):
            blank = " " if at == 0 and line.strip() else ""
            if line.strip() and columns(line) + len(blank) + columns(piece) > width:
                lines.append(line)
                line = " " * hang + piece
            else:
                line += blank + piece
    return [*lines, line] if line.strip() else lines or [""]


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 error`, `0 errors`; in another language by its template `{count} errors`."""
    return counted(f"{{count}} {noun}", f"{{count}} {many or noun + 's'}", count)


def english_plural(count: int, noun: str) -> str:
    """`1 error`, `0 errors` in every language: for the last line, which scripts read."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(words: Sequence[str], at_most: int = 0) -> str:
    """`a, b and c`; with `at_most`, `a, b and 3 more`."""
    if at_most and len(words) > at_most + 1:
        return say("{words} and {count} more", words=row(words[:at_most]), count=len(words) - at_most)
    if len(words) < 2:
        return "".join(words)
    return say("{words} and {last}", words=row(words[:-1]), last=words[-1])


def bytes_text(count: int) -> str:
    """`32 MiB`, `61.4 GiB`: binary units, one decimal where it is not whole."""
    value, unit = float(count), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if abs(value - round(value)) < 0.05 else f"{value:.1f} {unit}"


def seconds_text(seconds: float) -> str:
    """`80 ms`, `1.4 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 0.95 else f"{seconds:.1f} s"
