"""The states that a line can have: a word, a symbol for terminals that take UTF-8, and one for those that do not."""

from __future__ import annotations

import msgspec


class Status(msgspec.Struct, frozen=True):
    word: str
    symbol: str
    ascii: str
    style: str  # of rich; the word says the same, so colour never stands alone


OK = Status("ok", "✓", "+", "green")
WARNING = Status("warning", "!", "!", "yellow")
ERROR = Status("error", "✗", "X", "bold red")
INFO = Status("info", "i", "i", "cyan")
HINT = Status("hint", "*", "*", "cyan")
UNKNOWN = Status("unknown", "?", "?", "magenta")
NOT_APPLICABLE = Status("not applicable", "–", "-", "dim")
CRASHED = Status("crashed", "☠", "#", "bold red")

ALL = (OK, WARNING, ERROR, INFO, HINT, UNKNOWN, NOT_APPLICABLE, CRASHED)

OF_SEVERITY = {"error": ERROR, "warning": WARNING, "info": INFO, "hint": HINT}
