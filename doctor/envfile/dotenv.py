"""The dotenv format, by the grammar of python-dotenv (its parser and README): `NAME=value`, quotes, comments.

A plain value is written bare, which a POSIX shell, docker and systemd read alike. Everything else stands in single
quotes, where a backslash escapes a quote and itself. `${` is refused: python-dotenv replaces it within every quotation.
"""

from __future__ import annotations

import re

from doctor.envfile.content import NAME, CannotWrite
from doctor.envfile.line_format import LineFormat
from doctor.envfile.reading import Assigned, Parsed, Problem

#: Words that no reader of such files takes apart.
BARE = re.compile(r"[A-Za-z0-9_.,:/+@%-]+")
_BLANKS = re.compile(r"[^\S\r\n]*")
_SPACE = re.compile(r"\s*")
_EXPORT = re.compile(r"export[^\S\r\n]+")
_KEY = re.compile(r"'([^'\r\n]+)'|([^=#\s]+)")
_SINGLE = re.compile(r"'((?:\\.|[^'\\])*)'", re.DOTALL)
_DOUBLE = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_BEHIND = re.compile(r"[^\S\r\n]*(?:#[^\r\n]*)?(?:\r\n|\n|\r|$)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def assign(name: str, value: str) -> str:
    if "${" in value:
        raise CannotWrite(f"the value of {name} holds '${{', which readers of dotenv files replace")
    if BARE.fullmatch(value):
        return f"{name}={value}"
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{name}='{quoted}'"


def parse(text: str) -> Parsed:
    assigned, problems = [], []
    at, open_end = _SPACE.match(text, 0).end(), False  # type: ignore[union-attr]
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        one = _Assignment(text, at)
        if one.said is not None:
            assigned.append(Assigned(*one.said, line))
        elif one.wrong:
            problems.append(Problem(line, one.wrong))
            open_end = open_end or one.open_end
        at = _SPACE.match(text, one.end).end()  # type: ignore[union-attr]
    return Parsed(tuple(assigned), tuple(problems), open_end)


class _Assignment:
    """One line, or more where a quotation spans them: what it said, or what is wrong with it, and where it ends."""

    def __init__(self, text: str, at: int) -> None:
        self.said: tuple[str, str] | None = None
        self.wrong = ""
        self.open_end = False
        self._text = text
        self.end = self._read(at)

    def _read(self, at: int) -> int:
        text = self._text
        line_end = _LINE.match(text, at).end()  # type: ignore[union-attr]
        if text[at] == "#":
            return line_end
        behind_export = _EXPORT.match(text, at)
        key = _KEY.match(text, behind_export.end() if behind_export else at)
        if key is None:
            self.wrong = "this is no assignment"
            return line_end
        name, equals = key[1] or key[2], _BLANKS.match(text, key.end()).end()  # type: ignore[union-attr]
        if text[equals : equals + 1] != "=":
            self.wrong = f"{shown(name)} is given no value"
            return line_end
        begin = _BLANKS.match(text, equals + 1).end()  # type: ignore[union-attr]
        value, end = self._value(begin, spaced=begin > equals + 1)
        if value is None:
            return line_end
        if not NAME.fullmatch(name):
            self.wrong = f"{shown(name)} is no name of a variable"
        elif "${" in value:
            self.wrong = f"the value of {name} refers to another variable, which amd-doctor does not replace"
        else:
            self.said = (name, value)
        return end

    def _value(self, at: int, *, spaced: bool) -> tuple[str | None, int]:
        """The value at an offset, and where its line ends; None where it is broken."""
        text = self._text
        quote = text[at : at + 1]
        if quote not in ("'", '"') or not quote:
            line = _LINE.match(text, at)
            assert line is not None
            bare = "" if spaced and quote == "#" else re.sub(r"\s+#.*", "", line[0].rstrip("\r\n"))
            return bare.rstrip(), line.end()
        match = (_SINGLE if quote == "'" else _DOUBLE).match(text, at)
        if match is None:
            self.wrong, self.open_end = "a quotation has no end", True
            return None, at
        behind = _BEHIND.match(text, match.end())
        if behind is None:
            self.wrong = "something stands behind the closing quote"
            return None, at
        return _unescaped(match[1], quote), behind.end()


def _unescaped(text: str, quote: str) -> str:
    if quote == "'":
        return re.sub(r"\\([\\'])", r"\1", text)
    return re.sub(r"\\([\\'\"abfnrtv])", lambda match: _ESCAPES.get(match[1], match[1]), text)


def shown(name: str) -> str:
    """A name from a file in a sentence."""
    return repr(name if len(name) <= 40 else name[:40] + "...")


DOTENV = LineFormat(
    name="dotenv",
    title="dotenv",
    file_name="amd-doctor.env",
    use="set -a; . ./FILE; set +a",
    assign=assign,
    parse=parse,
    suffixes=(".env",),
    any_line_end=True,
)
