"""Do two texts say the same of a fact, and if one says it more exactly, which?"""

from __future__ import annotations

import re
from typing import Any

from doctor.machine.model import Cpu

#: What differs from one moment to the next, or by how it is rounded.
_PASSING = frozenset(
    {
        "memory.available_bytes",
        "torch.import_seconds",
        "cpu.max_mhz",
        "cpu.governor",
        "limits.cgroup.nr_periods",
        "limits.cgroup.nr_throttled",
        "python.executable",
        "python.chosen_by",
    }
)
#: What follows from other facts, or is listed in another order: two texts need not write it alike.
_NOT_COMPARED = frozenset({"cpu.flags", "cpu.generation", "cpu.codename", "cpu.runs_code_for", "cpu.online"})
_VERSIONS = ("version", "hip", "cuda", "kernel", "onednn", "adrenalin", "vc_runtime")
_NAMES = ("name", "locator", "manufacturer")
_CLOSE = 0.05
_BOUNDARY = re.compile(r"[.+\- (]")

#: What a driver calls every GPU that is part of a processor.
_GENERIC = re.compile(r"AMD Radeon(?:\(TM\))? Graphics")

_CPU_NOISE = re.compile(
    r"\((?:R|TM)\)|\b(?:CPU|APU|Processor|\d+-Cores?|(?:with|w/) Radeon.*|@ [\d.]+ ?GHz)\b", re.IGNORECASE
)


def agreed(fact: str, older: Any, newer: Any) -> Any:
    """The value that both mean, in the more exact of the two words; None where they contradict each other."""
    if older == newer:
        return newer
    if fact in _PASSING or not is_compared(fact):
        return newer
    if isinstance(older, tuple) and isinstance(newer, tuple):
        return newer if len(older) == len(newer) else None
    if isinstance(older, str) and isinstance(newer, str):
        return _same_words(fact.rpartition(".")[2], older, newer)
    if _is_number(older) and _is_number(newer) and fact.endswith("_bytes"):
        return newer if abs(older - newer) <= _CLOSE * max(abs(older), abs(newer)) else None
    return None


def is_compared(fact: str) -> bool:
    """Is a difference in this fact worth a word?"""
    return fact not in _NOT_COMPARED


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same_words(field: str, older: str, newer: str) -> str | None:
    short, long = sorted((older, newer), key=len)
    if field.endswith(_VERSIONS):
        return long if long.startswith(short) and _BOUNDARY.match(long, len(short)) else None
    if field in _NAMES:
        if _GENERIC.fullmatch(older) or _GENERIC.fullmatch(newer):
            return newer if _GENERIC.fullmatch(older) else older
        return long if _plain(short) in _plain(long) else None
    return None


def _plain(name: str) -> str:
    return " ".join(_CPU_NOISE.sub(" ", name).split()).casefold()


def same_cpu(one: Cpu, other: Cpu) -> bool:
    """May both be of the same processor? What neither tells speaks for it."""
    for number in ("vendor", "family", "model"):
        each = (getattr(one, number), getattr(other, number))
        if None not in each and each[0] != each[1]:
            return False
    names = sorted((_plain(cpu.name or "") for cpu in (one, other)), key=len)
    return names[0] in names[1]
