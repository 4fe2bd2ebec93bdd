"""The format of systemd's EnvironmentFile=, by systemd.exec(5).

A plain value is written bare, anything else in double quotes, where `"`, `\\`, backtick and `$` are escaped. Lines that
are no assignment are ignored by systemd, and so is a comment's last backslash only since release 254.
"""

from __future__ import annotations

from doctor.envfile.content import NAME, CannotWrite
from doctor.envfile.dotenv import BARE, shown
from doctor.envfile.line_format import LineFormat
from doctor.envfile.reading import Assigned, Parsed, Problem

_ESCAPED = '"\\`$'
_WHITE = " \t\r\n"


def assign(name: str, value: str) -> str:
    if any(_forbidden(char) for char in value):
        raise CannotWrite(f"the value of {name} holds a character that systemd refuses in such files")
    if BARE.fullmatch(value):
        return f"{name}={value}"
    quoted = "".join(f"\\{char}" if char in _ESCAPED else char for char in value)
    return f'{name}="{quoted}"'


def _forbidden(char: str) -> bool:
    """The byte order mark, and what Unicode calls noncharacters."""
    code = ord(char)
    return code == 0xFEFF or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE


def parse(text: str) -> Parsed:
    assigned, problems = [], []
    at, line = 0, 1
    while at < len(text):
        begun_at = line
        one = _Line(text, at)
        line += text.count("\n", at, one.end)
        at = one.end
        if one.name is not None and NAME.fullmatch(one.name):
            assigned.append(Assigned(one.name, one.value, begun_at))
        elif one.wrong:
            problems.append(Problem(begun_at, one.wrong))
        if one.open_end:
            problems.append(Problem(begun_at, "a quotation has no end"))
            return Parsed(tuple(assigned[:-1]), tuple(problems), open_end=True)
    return Parsed(tuple(assigned), tuple(problems))


class _Line:
    """One entry of the file from an offset: a comment, an assignment over one or more lines, or something else."""

    def __init__(self, text: str, at: int) -> None:
        self.name: str | None = None
        self.value = ""
        self.wrong = ""
        self.open_end = False
        self._text = text
        start = at
        while start < len(text) and text[start] in _WHITE and text[start] != "\n":
            start += 1
        if text[start : start + 1] in ("", "\n"):
            self.end = start + 1
        elif text[start] in "#;":
            self.end = _line_end(text, start)
        else:
            self.end = self._assignment(start)

    def _assignment(self, start: int) -> int:
        line_end = _line_end(self._text, start)
        head, equals, _ = self._text[start:line_end].partition("=")
        if not equals:
            self.wrong = "this is no assignment, and systemd ignores it"
            return line_end
        self.name = head.strip(_WHITE)
        if not NAME.fullmatch(self.name):
            self.wrong = f"{shown(self.name)} is no name of a variable"
        return self._quotations(start + len(head) + 1)

    def _quotations(self, at: int) -> int:
        """Quotations beside each other, then text to the end of the line. White space outside of quotes is dropped."""
        text = self._text
        while True:
            while at < len(text) and text[at] in " \t":
                at += 1
            quote = text[at : at + 1]
            if quote == "'":
                end = text.find("'", at + 1)
                self.value += text[at + 1 : end if end >= 0 else len(text)]
                at = end + 1
                self.open_end = end < 0
            elif quote == '"':
                at = self._double(at + 1)
            elif quote in ("", "\n", "\r"):
                return min(at + 1, len(text))
            else:
                return self._bare(at)
            if self.open_end:
                return len(text)

    def _double(self, at: int) -> int:
        text = self._text
        while at < len(text) and text[at] != '"':
            if text[at] == "\\":
                following = text[at + 1 : at + 2]
                if following != "\n":
                    self.value += following if following and following in _ESCAPED else "\\" + following
                at += 2
            else:
                self.value += text[at]
                at += 1
        self.open_end = at >= len(text)
        return at + 1

    def _bare(self, at: int) -> int:
        text, kept = self._text, len(self.value)
        while at < len(text) and text[at] not in "\r\n":
            if text[at] == "\\":
                following = text[at + 1 : at + 2]
                self.value += following if following not in ("\r", "\n") else ""
                kept = len(self.value)
                at += 2
            else:
                self.value += text[at]
                kept = kept if text[at] in " \t" else len(self.value)
                at += 1
        self.value = self.value[:kept]
        return min(at + 1, len(text))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


SYSTEMD = LineFormat(
    name="systemd",
    title="systemd's EnvironmentFile=",
    file_name="amd-doctor.systemd.env",
    use="EnvironmentFile=FILE in the [Service] section, with its absolute path",
    assign=assign,
    parse=parse,
    any_line_end=True,
)
