"""What one pasted text, or one piece of a longer one, says about a machine.

Every reader of this folder has the same shape: a cheap test whether it is worth trying, and the reading itself. What
a text cannot hold stays unknown in its `machine`; joining several parts into one document is the assembly's work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

import msgspec

from doctor.machine.model import Fact, Machine


class Part(msgspec.Struct, frozen=True):
    """One recognised piece of an input.

    kind: a kind of `sources` in the machine document: lscpu, cpuinfo, dmidecode, dxdiag, systeminfo, rocm-examine,
        rocminfo, rocm-smi, amd-smi, collect_env, pip-list, conda-list, log, report, document.
    machine: what the piece says and nothing else; `sources` and `unknowns` stay None.
    origins: dotted fact -> the words that name where it came from (`lscpu: "Model name"`).
    span: the lines it was read from, as `text.split("\\n")[first:end]` of the text that the reader was given.
    note: one sentence for the person who pasted it, where something in the text must not be trusted; else None.
    partial: maps of `machine` of which the piece tells only some names ("packages", "env"): what is missing in them is
        unknown.
    """

    kind: str
    machine: Machine
    origins: Mapping[str, str] = {}
    span: tuple[int, int] = (0, 0)
    note: str | None = None
    partial: tuple[str, ...] = ()


#: Reads a text, or a piece of one; the last line counts only where a newline ends it. None where it holds nothing of
#: this kind. Never raises.
Reader: TypeAlias = Callable[[str], "Part | None"]

#: Says cheaply whether a `Reader` is worth trying. It may be wrong in saying yes, never in saying no.
Recogniser: TypeAlias = Callable[[str], bool]


class PartReader(msgspec.Struct, frozen=True):
    """A kind of text that can be pasted: how it is recognised and how it is read."""

    kind: str
    looks_like: Recogniser
    read: Reader


def origins_of(machine: Machine, origin: str) -> dict[str, str]:
    """The same origin for every fact that a partial machine states."""
    found: dict[str, str] = {}
    for area in machine.__struct_fields__:
        value = getattr(machine, area)
        if area in ("schema", "sources", "unknowns") or value is None:
            continue
        if isinstance(value, Fact):
            found |= {f"{area}.{name}": origin for name in value.__struct_fields__ if getattr(value, name) is not None}
        else:
            found[area] = origin
    return found


def span_of(text: str, line: re.Pattern[str]) -> tuple[int, int]:
    """From the first line that matches as a whole to the last; all lines where none does."""
    lines = text.split("\n")
    places = [at for at, row in enumerate(lines) if line.fullmatch(row.rstrip("\r"))]
    return (places[0], places[-1] + 1) if places else (0, len(lines))


def json_objects(text: str, most: int = 20) -> Iterator[tuple[str, tuple[int, int]]]:
    """The JSON objects and lists that begin a line of a text, each with the lines it takes; at most so many tries."""
    behind = 0
    for found in islice(_JSON_BEGINS.finditer(text), most):
        if found.start() < behind:
            continue
        try:
            _, end = _JSON.raw_decode(text, found.end() - 1)
        except (ValueError, RecursionError):
            continue
        first = text.count("\n", 0, found.end())
        yield text[found.end() - 1 : end], (first, first + text.count("\n", found.end(), end) + 1)
        behind = end


_JSON = json.JSONDecoder()
_JSON_BEGINS = re.compile(r"^[ \t]{0,8}[{\[]", re.MULTILINE)
