"""Takes the wrapping off a pasted text: Markdown fences, `> ` and `# ` in front of lines, colours, foreign line ends.

Every line keeps its place, so that a later step can still say where it read something. A fence becomes an empty line
and a break: what stands before it and what stands behind it are different texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

#: Colours and cursor movements (CSI), titles of windows (OSC), and single characters behind ESC.
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,9}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_BLANKS = {ord(char): " " for char in "\u00a0\u2007\u202f\u2009"}
_LINE_END = re.compile(r"\r+\n|\r")
_TAG = re.compile(r"</?(?:pre|code|details|summary|br|p|blockquote)(?: [^<>\n]{0,200})?/?>", re.IGNORECASE)

_QUOTE = re.compile(r"(?: {0,3}> ?)+")
_PROMPT = re.compile(r" {0,3}(?:>>>|>>) \S")
_FENCE = re.compile(r"[ \t]*(?:```+|~~~+)[ \t]*(.*)")
_LANGUAGE = re.compile(r"[\w+.{}-]{0,20}[ \t]*")
_COMMENT = re.compile(r"[ \t]{0,3}#(?: |$)")
#: `conda list` and dmidecode begin with one to four comments of their own.
_FEWEST_COMMENTS = 6


class Unquoted(msgspec.Struct, frozen=True):
    """A text without its wrapping. `breaks` are the numbers of lines that were fences, counted from 0."""

    lines: tuple[str, ...]
    breaks: frozenset[int] = frozenset()

    def text(self, first: int = 0, end: int | None = None) -> str:
        """Some of the lines as one text."""
        return "\n".join(self.lines[first:end])


def unquoted(text: str) -> Unquoted:
    """The lines of a pasted text. Never raises."""
    lines = _LINE_END.sub("\n", _plain(text)).split("\n")
    lines = [_without_quote(line) for line in lines]
    bare: list[str] = []
    breaks: set[int] = set()
    for at, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence is None and not line.endswith("```"):
            bare.append(line)
            continue
        breaks.add(at)
        bare.append(_beside_fence(fence[1] if fence else line))
    return Unquoted(tuple(_without_comments(bare)), frozenset(breaks))


def _plain(text: str) -> str:
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "<" in text:
        text = _TAG.sub("", text)
    return text if text.isascii() else text.translate(_INVISIBLE).translate(_BLANKS)


def _without_quote(line: str) -> str:
    """`> > a` as `a`. The prompt of Python stays, and so does everything else that begins with a `>` of its own."""
    if ">" not in line[:4] or _PROMPT.match(line):
        return line
    quote = _QUOTE.match(line)
    return line[quote.end() :] if quote else line


def _beside_fence(rest: str) -> str:
    """What stands on the line of a fence: nothing, or a language; people also begin or end their text there."""
    rest = rest.removesuffix("```").rstrip("`")
    return "" if _LANGUAGE.fullmatch(rest) else rest


def _without_comments(lines: list[str]) -> list[str]:
    """Lines of which a long run begins with `#`: somebody pasted a whole text as a comment."""
    found: list[str] = []
    for run in _runs(lines):
        comments = sum(_COMMENT.match(line) is not None for line in run)
        found += [_COMMENT.sub("", line, count=1) for line in run] if comments >= _FEWEST_COMMENTS else run
    return found


def _runs(lines: Iterable[str]) -> Iterable[list[str]]:
    """The lines in runs that all begin with a comment, or none of which does. Empty lines go with either."""
    run: list[str] = []
    kind: bool | None = None
    for line in lines:
        if line.strip():
            comment = _COMMENT.match(line) is not None
            if kind is not None and comment != kind:
                yield run
                run = []
            kind = comment
        run.append(line)
    yield run
