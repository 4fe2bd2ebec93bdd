"""The text around the machine data of a report of ours: it repeats what the data say, and is nobody's pasted output.

What its author wrote before, between and behind stays for the readers of other texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: The first and the last line of the summary, at most so many lines apart.
_SUMMARY = re.compile(r"\W*amd-doctor \S{1,20} report: ")
_LAST_LINE = re.compile(r"\W*amd-doctor: \d+ errors?, \d+ warnings?, \d+ undecided")
_MOST_SUMMARY_LINES = 12

#: Where the folded parts begin. A page that was copied instead of its source has lost the comment.
_BEGINS = re.compile(r".{0,10}amd-doctor report, from here to the end of its machine data")
_TITLES = re.compile(r"\W*(?:Findings \(\d+\)|Facts)\W*")


def report_spans(lines: Sequence[str], documents: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The lines of reports that stand around `documents` (first line, line behind the last), as such spans."""
    firsts = sorted(first for first, _ in documents)
    spans: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if "amd-doctor" not in line and not _TITLES.fullmatch(line):
            continue
        if _SUMMARY.match(line):
            spans.append((at, _end_of_summary(lines, at)))
        elif _BEGINS.match(line) or (spans and _TITLES.fullmatch(line)):
            end = next((first for first in firsts if first > at), None)
            if end is not None and not any(first <= at < behind for first, behind in spans):
                spans.append((at, end))
    return spans


def _end_of_summary(lines: Sequence[str], first: int) -> int:
    for at in range(first + 1, min(first + _MOST_SUMMARY_LINES, len(lines))):
        if _LAST_LINE.match(lines[at]):
            return at + 1
    return first + 1


def cut_report(lines: Sequence[str], documents: Iterable[tuple[int, int]]) -> int | None:
    """The line on which a report begins whose machine data are not there."""
    last = max((first for first, _ in documents), default=-1)
    return next((at for at, line in enumerate(lines) if at > last and _BEGINS.match(line)), None)
