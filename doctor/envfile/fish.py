"""fish: `set -gx NAME 'value'`, by the fish language documentation.

Within single quotes only `\\\\` and `\\'` are escapes. Reading takes `set`, `set -e` and `export` apart and runs
nothing.
"""

from __future__ import annotations

from doctor.envfile.content import NAME
from doctor.envfile.dotenv import BARE
from doctor.envfile.line_format import LineFormat
from doctor.envfile.posix import windows_line_ends
from doctor.envfile.reading import Assigned, Parsed, Problem
from doctor.envfile.shell_words import NO_END, NOT_RUN, Command, CommandReader

_REPLACES = "fish would replace something here, and amd-doctor runs no shell"

_SPECIAL = "$*?{}()<>&|"
_LETTERS = {"a": "\a", "b": "\b", "e": "\033", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_DIGITS = {"x": 2, "X": 2, "u": 4, "U": 8}
_SCOPES = {"-g", "-U", "-l", "-f", "--global", "--universal", "--local", "--function"}
_EXPORTS = {"-x", "--export"}
_ERASES = {"-e", "--erase"}


def assign(name: str, value: str) -> str:
    return f"set -gx {name} {quoted(value)}"


def quoted(value: str) -> str:
    return value if BARE.fullmatch(value) else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def unset(name: str) -> str:
    return f"set -e {name}"


def parse(text: str) -> Parsed:
    reader = _Reader(text)
    assigned: list[Assigned] = []
    problems: list[Problem] = []
    for command in reader.commands():
        wrong = command.wrong or _said(command, assigned)
        problems += [Problem(command.line, wrong)] if wrong else []
    return Parsed(tuple(assigned), (*problems, *windows_line_ends(text)), reader.open_end)


def _said(command: Command, assigned: list[Assigned]) -> str:
    """Add what a command assigns; give a sentence where it does something else."""
    words = command.words
    if words[0] == "export":
        pairs = [word.partition("=") for word in words[1:]]
        if not pairs or not all(NAME.fullmatch(name) and equals for name, equals, _ in pairs):
            return NOT_RUN
        assigned += [Assigned(name, value, command.line) for name, _, value in pairs]
        return ""
    if words[0] != "set":
        return NOT_RUN
    flags, rest = _flags(words[1:])
    if not rest or not flags <= _SCOPES | _EXPORTS | _ERASES or not NAME.fullmatch(rest[0]):
        return NOT_RUN
    if flags & _ERASES:
        assigned += [Assigned(name, None, command.line) for name in rest]
        return ""
    if not flags & _EXPORTS:
        return f"{rest[0]} is set and not exported: set -gx exports it"
    joined = ":" if rest[0].endswith("PATH") else " "
    assigned.append(Assigned(rest[0], joined.join(rest[1:]), command.line))
    return ""


def _flags(words: list[str]) -> tuple[set[str], list[str]]:
    """`-gx` as `-g` and `-x`, and the words behind the flags."""
    flags: set[str] = set()
    for at, word in enumerate(words):
        if not word.startswith("-") or word == "-":
            return flags, words[at:]
        flags |= {word} if word.startswith("--") else {f"-{letter}" for letter in word[1:]}
    return flags, []


class _Reader(CommandReader):
    def word(self) -> tuple[str, str]:
        word = ""
        begun = self.at
        while self.at < len(self.text) and self.text[self.at] not in " \t\r\n;":
            char = self.text[self.at]
            if char in "'\"":
                piece, wrong = self._quotation(char)
            elif char == "\\":
                piece, wrong = self._escape()
            else:
                replaced = char in _SPECIAL or (char == "~" and self.at == begun)
                piece, wrong = char, _REPLACES if replaced else ""
                self.step()
            word += piece
            if wrong:
                return word, wrong
        return word, ""

    def _quotation(self, quote: str) -> tuple[str, str]:
        piece, wrong = "", ""
        escaped = "\\'" if quote == "'" else '\\"$\n'
        self.step()
        while self.at < len(self.text):
            char, following = self.text[self.at], self.next()
            if char == quote:
                self.step()
                return piece, wrong
            if char == "\\" and following and following in escaped:
                piece += "" if following == "\n" else following
                self.step(2)
                continue
            if char == "$" and quote == '"':
                wrong = _REPLACES
            piece += char
            self.step()
        self.open_end = True
        return piece, NO_END

    def _escape(self) -> tuple[str, str]:
        letter = self.next()
        self.step(2)
        if not letter:
            self.open_end = True
            return "", NO_END
        if letter == "\n":
            return "", ""
        if letter in _LETTERS:
            return _LETTERS[letter], ""
        if letter not in _DIGITS:
            return ("", _REPLACES) if letter in "c01234567" else (letter, "")
        digits = ""
        while len(digits) < _DIGITS[letter] and self.text[self.at : self.at + 1] in set("0123456789abcdefABCDEF"):
            digits += self.text[self.at]
            self.step()
        code = int(digits, 16) if digits else 0x110000
        return (chr(code), "") if code < 0x110000 else ("", "an escape sequence is broken")


FISH = LineFormat(
    name="fish",
    title="fish",
    file_name="amd-doctor.fish",
    use="source FILE",
    assign=assign,
    parse=parse,
    unset=unset,
    suffixes=(".fish",),
)
