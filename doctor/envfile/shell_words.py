"""Cuts the text of a shell script into commands and their words, as far as that needs no shell."""

from __future__ import annotations

import msgspec

NOT_RUN = "this is a command, not an assignment, and amd-doctor runs nothing"
NO_END = "a quotation has no end"


class Command(msgspec.Struct):
    """Its words without their quotes, the line it begins in, and what in it only a shell could tell."""

    words: list[str]
    line: int
    wrong: str = ""


class CommandReader:
    """What sh and fish share; each says in `word` how its own words are quoted."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open_end = False
        self._line = 1

    def word(self) -> tuple[str, str]:
        """The word at `at`, and a sentence where a shell would replace something in it."""
        raise NotImplementedError

    def commands(self) -> list[Command]:
        found: list[Command] = []
        while self.at < len(self.text):
            command = self._command()
            if command.words or command.wrong:
                found.append(command)
        return found

    def _command(self) -> Command:
        command = Command([], self._line)
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "\n;":
                self.step()
                return command
            if char in " \t\r":
                self.step()
            elif self.text.startswith("\\\n", self.at):
                self.step(2)
            elif char == "#":
                self._to_line_end()
            else:
                self._add_word(command)
        return command

    def _add_word(self, command: Command) -> None:
        if not command.words:
            command.line = self._line
        word, wrong = self.word()
        command.words.append(word)
        if wrong:
            command.wrong = wrong
            self._to_line_end()

    def step(self, count: int = 1) -> None:
        self._line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def next(self, offset: int = 1) -> str:
        """The character behind the one at `at`; empty at the end."""
        return self.text[self.at + offset : self.at + offset + 1]

    def never_ends(self) -> tuple[str, str]:
        self.step(len(self.text) - self.at)
        self.open_end = True
        return "", NO_END

    def _to_line_end(self) -> None:
        end = self.text.find("\n", self.at)
        self.step((end if end >= 0 else len(self.text)) - self.at)
