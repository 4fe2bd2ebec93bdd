"""The list of flags of lscpu, on one line or as a terminal wrapped it: at its edge, in the middle of a word."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import msgspec

_FLAG = re.compile(r"[a-z0-9_.]*[a-z0-9_]")


class FlagList(msgspec.Struct, frozen=True):
    """`words` are certain; `doubtful` are what may be words besides, where two lines meet. `cut`: there are more."""

    words: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    cut: bool = False


def read_flags(lines: Sequence[str], value: str, *, unfinished: bool) -> FlagList:
    """The words of a list. `lines` are the line of the label, whose part behind the label is `value`, and those that
    the terminal wrapped. `unfinished`: the text may end in the middle of the list."""
    pieces = [value.split(), *(line.split() for line in lines[1:])]
    whole = pieces[0] if len(lines) == 1 else _joined(lines, value)
    words = list(_inside(pieces)) if whole is None else whole
    flags = [word for word in words if _FLAG.fullmatch(word)]  # people shorten the list: `fpu vme ... avx2`
    return FlagList(
        words=tuple(flags[:-1] if unfinished else flags),
        doubtful=tuple(_at_the_edges(pieces)) if whole is None else (),
        cut=unfinished or len(flags) < len(words),
    )


def _joined(lines: Sequence[str], value: str) -> list[str] | None:
    """The words of lines that were cut at one column. None where blanks at the edge may be lost, so that a cut word
    cannot be told from two words: at least one must be there to see."""
    column = lines[0].find(value)
    blank_seen = any(line.endswith(" ") for line in lines[:-1])
    one_width = len({len(line) for line in lines[:-1]}) == 1
    indented = lines[0][:column].isascii() and all(not line[:column].strip() for line in lines[1:])
    return "".join(line[column:] for line in lines).split() if blank_seen and one_width and indented else None


def _inside(pieces: Sequence[Sequence[str]]) -> Iterator[str]:
    """The words that touch no edge."""
    for at, piece in enumerate(pieces):
        yield from piece[at > 0 : len(piece) - (at < len(pieces) - 1)]


def _at_the_edges(pieces: Sequence[Sequence[str]]) -> Iterator[str]:
    """What may be a word where two lines meet: the two that stand there, or both as one."""
    for before, behind in itertools.pairwise(piece for piece in pieces if piece):
        yield from (before[-1], behind[0], before[-1] + behind[0])
