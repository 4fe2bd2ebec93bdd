"""Text that may stand on a terminal: cleaned of control characters, measured in columns, broken at spaces."""

from __future__ import annotations

import unicodedata

#: Control (Cc), format with the bidi marks (Cf), surrogates (Cs), private use (Co), line and paragraph separators.
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def clean(text: str) -> str:
    """One line without what could move the cursor or turn the reading direction; a tab or a line end is a blank."""
    if text.isascii() and text.isprintable():
        return text
    spaced = "".join(" " if char in "\t\n\r\v\f\u2028\u2029\x85" else char for char in text)
    return "".join(char for char in spaced if unicodedata.category(char) not in _DROPPED)


def columns(text: str) -> int:
    """How many columns a cleaned text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces only; later lines are indented by `hang`.

    A word longer than a line stays whole: it may be a path or an address that somebody copies.
    """
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line.strip() and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line = " " * hang + word
        else:
            line = f"{line} {word}" if line.strip() else line + word
    return [*lines, line] if line.strip() else lines or [""]


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 error`, `0 errors`."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"


def listed(words: list[str] | tuple[str, ...], at_most: int = 0) -> str:
    """`a, b and c`; with `at_most`, `a, b and 3 more`."""
    if at_most and len(words) > at_most + 1:
        return f"{', '.join(words[:at_most])} and {len(words) - at_most} more"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


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
