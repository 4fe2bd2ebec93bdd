"""The states that a line can have: a word, a symbol for terminals that take UTF-8, and one for those that do not."""

from __future__ import annotations

import msgspec

from doctor.present.language import phrase, say


class Status(msgspec.Struct, frozen=True):
    word: str
    symbol: str
    ascii: str
    style: str  # of rich; the word says the same, so colour never stands alone

    @property
    def said(self) -> str:
        """The word in the language of the screen."""
        return say(self.word)


OK = Status(phrase("ok"), "✓", "+", "green")
WARNING = Status(phrase("warning"), "!", "!", "yellow")
ERROR = Status(phrase("error"), "✗", "X", "bold red")
INFO = Status(phrase("info"), "i", "i", "cyan")
HINT = Status(phrase("hint"), "*", "*", "cyan")
UNKNOWN = Status(phrase("unknown"), "?", "?", "magenta")
NOT_APPLICABLE = Status(phrase("not applicable"), "–", "-", "dim")
CRASHED = Status(phrase("crashed"), "☠", "#", "bold red")

ALL = (OK, WARNING, ERROR, INFO, HINT, UNKNOWN, NOT_APPLICABLE, CRASHED)

OF_SEVERITY = {"error": ERROR, "warning": WARNING, "info": INFO, "hint": HINT}
