"""Reads `pip list` (a table) and `pip freeze` (lines `name==version`), also those of uv.

    Package            Version      Editable project location        torch==2.6.0+cu124
    ------------------ ------------ -------------------------        numpy @ file:///croot/numpy_1/work
    torch              2.6.0+cu124                                    -e git+https://github.com/a/b@1234#egg=b

A requirements file looks much like a freeze. It says what somebody wants, not what is installed: a block with a range,
a marker, an option or a hash in it is none, nor is one without a word about pip before it and with fewer than
`FEWEST_FROZEN` lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from doctor.texts.package_row import ListedPackage, sorted_far_enough

FEWEST_FROZEN = 8

_NAME = r"[ \t]*([A-Za-z0-9][\w.-]{0,99})"
_HEAD = re.compile(r"[ \t]*Package[ \t]+Version(?:[ \t]+(?P<more>\S.*))?")
_RULE = re.compile(r"[ \t]*-{3,}(?:[ \t]+-{3,})*[ \t]*")
_ROW = re.compile(rf"{_NAME}[ \t]+(\d[\w.!+-]{{0,99}})(?:[ \t]+\S.*)?")
_FROZEN = re.compile(rf"{_NAME}==([\w.!+-]{{1,99}})[ \t]*")
_NOT_TOLD = re.compile(rf"{_NAME} @ \S.*|[ \t]*-e \S.*|[ \t]*#+ (?:Editable|!!) .*")
_WANTED = re.compile(rf"[ \t]*(?:-[rcf] |--[a-z])|{_NAME}(?:\[[\w,. -]*\])?[ \t]*[<>~!=;@]|.*(?:# via |--hash=)")
_PROMPT = r"(?:.{0,80}[$#>%][ \t]*|[ \t]*)"
_COMMAND = re.compile(rf"{_PROMPT}(?:\S{{0,80}}python\S{{0,9}} -m |uv )?pip3?(?:\.exe)? list\b.{{0,80}}", re.IGNORECASE)
_BARE_ROW = re.compile(rf"{_NAME}[ \t]+\d[\w.!+-]{{0,99}}[ \t]*")
_FREEZE = re.compile(r"\b(?:pip3?|uv)\b.{0,80}\bfreeze\b", re.IGNORECASE)
_FILTERED = re.compile(r"grep|findstr|Select-String|\bhead\b|\btail\b|--outdated|--user|--not-required", re.IGNORECASE)
_REQUIREMENTS = re.compile(r"\brequirements?\b", re.IGNORECASE)


class PipList(msgspec.Struct, frozen=True):
    """`end` is the number of the line behind the last row. `whole`: nothing suggests that rows are missing."""

    packages: tuple[ListedPackage, ...]
    end: int
    whole: bool = False


def is_pip_headline(line: str) -> bool:
    """The heads of the table of `pip list`, or the command itself: a filtered list has no heads."""
    return _HEAD.fullmatch(line) is not None or _COMMAND.fullmatch(line) is not None


def is_frozen(line: str) -> bool:
    """A line that `pip freeze` may have printed."""
    return _FROZEN.fullmatch(line) is not None or _NOT_TOLD.fullmatch(line) is not None


def read_pip_list(lines: Sequence[str], first: int = 0) -> PipList | None:
    """The rows beneath the headline at `first`. None where none follows. Never raises."""
    packages: list[ListedPackage] = []
    head = _HEAD.fullmatch(lines[first])
    at = first + 1
    while at < len(lines):
        row = _ROW.fullmatch(lines[at])
        if row is not None and (head is not None or _BARE_ROW.fullmatch(lines[at])):
            packages.append(ListedPackage(row[1], row[2]))
        elif packages or not _RULE.fullmatch(lines[at]):
            break
        at += 1
    if not packages:
        return None
    whole = head is not None and "Latest" not in (head["more"] or "")
    return PipList(tuple(packages), at, whole and not _is_filtered(lines, first) and sorted_far_enough(packages))


def read_pip_freeze(lines: Sequence[str], first: int = 0) -> PipList | None:
    """The block of frozen lines that begins at `first`. None where it is rather a requirements file. Never raises."""
    packages: list[ListedPackage] = []
    if first and _is_wanted(lines[first - 1]):
        return None
    at = first
    while at < len(lines) and (is_frozen(lines[at]) or _is_wanted(lines[at])):
        if not is_frozen(lines[at]):
            return None
        frozen = _FROZEN.fullmatch(lines[at])
        packages += [ListedPackage(frozen[1], frozen[2])] if frozen else []
        at += 1
    before = " ".join(lines[max(first - 3, 0) : first])
    announced = _FREEZE.search(before) is not None
    if not packages or (not announced and (at - first < FEWEST_FROZEN or _REQUIREMENTS.search(before))):
        return None
    whole = announced and not _is_filtered(lines, first) and sorted_far_enough(packages)
    return PipList(tuple(packages), at, whole)


def _is_wanted(line: str) -> bool:
    """A line that only a requirements file has."""
    return _WANTED.match(line) is not None and not is_frozen(line)


def _is_filtered(lines: Sequence[str], first: int) -> bool:
    """Does the command in front of a list leave rows out?"""
    return any(_FILTERED.search(line) for line in lines[max(first - 2, 0) : first + 1])
