"""PowerShell: `$env:NAME = 'value'`, by about_Quoting_Rules and about_Environment_Variables.

The file is plain ASCII, because Windows PowerShell 5.1 reads a file without a byte order mark in the code page of the
system. A value with other characters stands in double quotes, each of them as `$([char]0x20AC)`. PowerShell takes
typographic quotes for quotes too; they are among those. An empty value takes the variable out there, so it is refused.
"""

from __future__ import annotations

import re

from doctor.envfile.content import NAME, CannotWrite
from doctor.envfile.line_format import LineFormat
from doctor.envfile.reading import Assigned, Parsed, Problem

_SINGLES = "'\u2018\u2019\u201a\u201b"
_DOUBLES = '"\u201c\u201d\u201e'
_NAMED = re.compile(r"\$(?:env:([A-Za-z0-9_]+)|\{env:([^}\r\n]+)\})[ \t]*=[ \t]*", re.IGNORECASE)
_REMOVED = re.compile(r"(?:Remove-Item|ri|del|rm)[ \t]+(?:-Path[ \t]+)?Env:\\?([A-Za-z0-9_]+)", re.IGNORECASE)
_SILENT = re.compile(r"(?:[ \t]+-(?:ErrorAction|ea)[ \t]+(?:SilentlyContinue|Ignore)|[ \t]+-Force)+", re.IGNORECASE)
_BEHIND = re.compile(r"[ \t]*(?:;|#[^\n]*)?(?=[\r\n]|$)|[ \t]*;")
_BARE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_CHAR = re.compile(r"\$\(\[char\]0x([0-9A-Fa-f]{1,4})\)")
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

_NOT_RUN = "this is no assignment to $env:, and amd-doctor runs nothing"
_REPLACES = "PowerShell would replace something here, and amd-doctor runs no shell"
_NO_END = "a quotation has no end"


def assign(name: str, value: str) -> str:
    if not value:
        raise CannotWrite(f"the value of {name} is empty, and PowerShell takes such a variable out")
    return f"$env:{name} = {quoted(value)}"


def quoted(value: str) -> str:
    if value.isascii():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(_in_double_quotes(char) for char in value) + '"'


def _in_double_quotes(char: str) -> str:
    if char.isascii():
        return f"`{char}" if char in '"`$' else char
    units = char.encode("utf-16-be")
    return "".join(f"$([char]0x{units[at]:02X}{units[at + 1]:02X})" for at in range(0, len(units), 2))


def unset(name: str) -> str:
    return f"Remove-Item Env:{name} -ErrorAction SilentlyContinue"


def parse(text: str) -> Parsed:
    assigned: list[Assigned] = []
    problems: list[Problem] = []
    reader = _Reader(text)
    while reader.at < len(text):
        line = text.count("\n", 0, reader.at) + 1
        said, wrong = reader.statement()
        if said is not None and not wrong:
            assigned.append(Assigned(said[0], said[1], line))
        elif wrong:
            problems.append(Problem(line, wrong))
    return Parsed(tuple(assigned), tuple(problems), reader.open_end)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self.open_end = False

    def statement(self) -> tuple[tuple[str, str | None] | None, str]:
        """The next statement: name and value (None takes it out), or what is wrong with it. Comments give neither."""
        text = self._text
        if text[self.at] in " \t\r\n;":
            self.at += 1
            return None, ""
        if text.startswith("<#", self.at):
            end = text.find("#>", self.at)
            self.open_end, self.at = end < 0, len(text) if end < 0 else end + 2
            return None, "a comment has no end" if end < 0 else ""
        if text[self.at] == "#":
            return self._skipped("")
        removed = _REMOVED.match(text, self.at)
        if removed is not None:
            silent = _SILENT.match(text, removed.end())
            return self._ended((removed[1], None), (silent or removed).end())
        named = _NAMED.match(text, self.at)
        if named is None:
            return self._skipped(_NOT_RUN)
        name = named[1] or named[2]
        value, end, wrong = self._value(named.end())
        if wrong:
            return self._skipped(wrong)
        if not NAME.fullmatch(name):
            return self._skipped(f"{name[:40]!r} is no name of a variable")
        return self._ended((name, value or None), end)

    def _ended(self, said: tuple[str, str | None], end: int) -> tuple[tuple[str, str | None] | None, str]:
        behind = _BEHIND.match(self._text, end)
        if behind is None:
            return self._skipped(_NOT_RUN)
        self.at = behind.end()
        return said, ""

    def _skipped(self, wrong: str) -> tuple[None, str]:
        end = self._text.find("\n", self.at)
        self.at = len(self._text) if end < 0 else end + 1
        return None, wrong

    def _value(self, at: int) -> tuple[str, int, str]:
        """The value at an offset, where it ends, and what is wrong with it."""
        text = self._text
        bare = _BARE.match(text, at)
        if bare is not None:
            return bare[0], bare.end(), ""
        quote = text[at : at + 1]
        if quote and quote in _SINGLES:
            return self._single(at + 1)
        if quote and quote in _DOUBLES:
            return self._double(at + 1)
        return "", at, _NOT_RUN

    def _single(self, at: int) -> tuple[str, int, str]:
        text, value = self._text, ""
        while at < len(text):
            if text[at] in _SINGLES:
                if text[at + 1 : at + 2] not in set(_SINGLES):
                    return value, at + 1, ""
                at += 1
            value += text[at]
            at += 1
        self.open_end = True
        return value, at, _NO_END

    def _double(self, at: int) -> tuple[str, int, str]:
        text, wrong = self._text, ""
        units: list[bytes] = []
        while at < len(text):
            char, following = text[at], text[at + 1 : at + 2]
            special = _CHAR.match(text, at)
            if special is not None:
                units.append(int(special[1], 16).to_bytes(2, "big"))
                at = special.end()
                continue
            if char in _DOUBLES:
                if following not in set(_DOUBLES):
                    return b"".join(units).decode("utf-16-be", "surrogatepass"), at + 1, wrong
                at, char = at + 1, following
            elif char == "`" and following:
                at, char = at + 1, _ESCAPES.get(following, following)
            elif char == "$":
                wrong = _REPLACES
            units.append(char.encode("utf-16-be", "surrogatepass"))
            at += 1
        self.open_end = True
        return "", at, _NO_END


POWERSHELL = LineFormat(
    name="powershell",
    title="PowerShell",
    file_name="amd-doctor.ps1",
    use=". ./FILE",
    assign=assign,
    parse=parse,
    unset=unset,
    suffixes=(".ps1", ".psm1"),
    any_line_end=True,
)
