"""POSIX shell (sh, dash, bash, zsh, ksh): `export NAME='value'`, by the Shell Command Language of POSIX.

Within single quotes nothing has a meaning; a single quote is written as `'\\''`. Reading takes assignments, `export`,
`unset` and `set -a` apart. It runs nothing: what a shell would replace or execute is named as a problem.
"""

from __future__ import annotations

import re

from doctor.envfile.content import NAME
from doctor.envfile.dotenv import BARE
from doctor.envfile.line_format import LineFormat
from doctor.envfile.reading import Assigned, Parsed, Problem
from doctor.envfile.shell_words import NOT_RUN, Command, CommandReader

_REPLACES = "the shell would replace something here, and amd-doctor runs no shell"
_WORD_END = " \t\r\n;"
_OPERATORS = "&|<>()"
_EXPANDS = "$`"
#: Commands that say nothing about variables.
_HARMLESS = (["set", "-a"], ["set", "+a"], ["set", "-o", "allexport"], ["set", "+o", "allexport"], [":"], ["true"])


def assign(name: str, value: str) -> str:
    return f"export {name}={quoted(value)}"


def quoted(value: str) -> str:
    """One word of a shell. A tilde at its beginning or behind a colon would be replaced, so it is quoted too."""
    return value if BARE.fullmatch(value) else "'" + value.replace("'", "'\\''") + "'"


def unset(name: str) -> str:
    return f"unset {name}"


def parse(text: str) -> Parsed:
    reader = _Reader(text)
    assigned: list[Assigned] = []
    problems: list[Problem] = []
    for command in reader.commands():
        wrong = command.wrong or _said(command, assigned)
        problems += [Problem(command.line, wrong)] if wrong else []
    return Parsed(tuple(assigned), (*problems, *windows_line_ends(text)), reader.open_end)


def windows_line_ends(text: str) -> tuple[Problem, ...]:
    """A carriage return before a line end: amd-doctor reads past it, a shell does not."""
    at = text.find("\r\n")
    wrong = "the file has Windows line ends: a shell takes the carriage return into the value"
    return (Problem(text.count("\n", 0, at) + 1, wrong, stops=False),) if at >= 0 else ()


def _said(command: Command, assigned: list[Assigned]) -> str:
    """Add what a command assigns; give a sentence where it does something else."""
    words = command.words
    if words in _HARMLESS:
        return ""
    names = words[1:]
    if words[0] == "unset":
        names = names[1:] if names[:1] == ["-v"] else names
        if names and all(NAME.fullmatch(name) for name in names):
            assigned += [Assigned(name, None, command.line) for name in names]
            return ""
    pairs = [word.partition("=") for word in (names if words[0] == "export" else words)]
    if not pairs or not all(NAME.fullmatch(name) for name, _, _ in pairs):
        return NOT_RUN
    if not all(equals for _, equals, _ in pairs):
        return "" if words[0] == "export" else NOT_RUN
    assigned += [Assigned(name, value, command.line) for name, _, value in pairs]
    return ""


class _Reader(CommandReader):
    def word(self) -> tuple[str, str]:
        word, wrong = "", ""
        while self.at < len(self.text) and self.text[self.at] not in _WORD_END:
            char = self.text[self.at]
            if char == "'":
                piece, broken = self._single()
            elif char == '"':
                piece, broken = self._double()
            elif char == "\\":
                piece, broken = self._escaped()
            else:
                piece, broken = self._plain(char, word)
            word += piece
            wrong = wrong or broken
            if broken:
                return word, wrong
        return word, wrong

    def _plain(self, char: str, word: str) -> tuple[str, str]:
        self.step()
        if char in _EXPANDS:
            return char, _REPLACES
        if char in _OPERATORS:
            return char, NOT_RUN
        if char == "~" and re.search(r"=$|=.*:$", word):
            return char, "the shell would replace the tilde; write the path out"
        return char, ""

    def _single(self) -> tuple[str, str]:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            return self.never_ends()
        piece = self.text[self.at + 1 : end]
        self.step(end + 1 - self.at)
        return piece, ""

    def _double(self) -> tuple[str, str]:
        piece, wrong = "", ""
        self.step()
        while self.at < len(self.text):
            char, following = self.text[self.at], self.next()
            if char == '"':
                self.step()
                return piece, wrong
            if char == "\\" and following and following in '$`"\\\n':
                piece += "" if following == "\n" else following
                self.step(2)
                continue
            if char in _EXPANDS:
                wrong = _REPLACES
            piece += char
            self.step()
        return self.never_ends()

    def _escaped(self) -> tuple[str, str]:
        if self.at + 1 >= len(self.text):
            return self.never_ends()
        char = self.next()
        self.step(2)
        return ("" if char == "\n" else char), ""


POSIX = LineFormat(
    name="sh",
    title="POSIX shell",
    file_name="amd-doctor.sh",
    use=". ./FILE",
    assign=assign,
    parse=parse,
    unset=unset,
    suffixes=(".sh", ".bash", ".zsh", ".ksh"),
)
