"""Texts with facts in them: `"torch starts {torch.num_threads} threads"`.

A fact is written the way a person reads it: bytes as GiB, yes and no, lists with commas. Text from a machine loses
control and bidirectional characters and is cut. A clause whose fact is unknown is left out; where every clause would
fall, the facts read "unknown". `{{` and `}}` are braces.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from doctor.diagnosis.truth import Unknown

_FACT = re.compile(r"\{\{|\}\}|\{([a-z]\w*(?:\.\w+)*)\}")
_CLAUSE = re.compile(r"(?<=[.;])\s+")
_LONGEST_VALUE = 200
_LONGEST_LIST = 8
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def facts_of(text: str) -> tuple[str, ...]:
    """The facts that a text names, each once."""
    return tuple(dict.fromkeys(found[1] for found in _FACT.finditer(text) if found[1]))


def strays_of(text: str) -> bool:
    """Is there a brace that is neither a fact nor doubled?"""
    return bool(re.search(r"[{}]", _FACT.sub("", text)))


def filled(text: str, look_up: Callable[[str], Any]) -> str:
    """The text with its facts. `look_up` answers `Unknown` for a fact that the machine does not tell."""
    clauses = [_filled_clause(clause, look_up) for clause in _CLAUSE.split(" ".join(text.split()))]
    standing = [clause for clause in clauses if clause is not None]
    if not standing:
        return with_facts(" ".join(text.split()), lambda fact: _or_unknown(fact, look_up(fact)))
    whole = " ".join(standing)
    if clauses[-1] is None and whole.endswith(";"):
        whole = whole[:-1] + ("." if text.rstrip().endswith(".") else "")
    return whole


def _filled_clause(clause: str, look_up: Callable[[str], Any]) -> str | None:
    values = {fact: look_up(fact) for fact in facts_of(clause)}
    if any(isinstance(value, Unknown) for value in values.values()):
        return None
    return with_facts(clause, lambda fact: shown(fact, values[fact]))


def with_facts(text: str, write: Callable[[str], str]) -> str:
    """The text with each fact as `write` writes it."""
    return _FACT.sub(lambda found: write(found[1]) if found[1] else found[0][0], text)


def _or_unknown(fact: str, value: Any) -> str:
    return "unknown" if isinstance(value, Unknown) else shown(fact, value)


def shown(fact: str, value: Any) -> str:
    """A value for a person. The name of the fact tells its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return bytes_shown(value) if fact.endswith("_bytes") else number_shown(value)
    if isinstance(value, tuple | list):
        parts = [shown(fact, item) for item in value[:_LONGEST_LIST]]
        if len(value) > _LONGEST_LIST:
            parts.append(f"{len(value) - _LONGEST_LIST} more")
        return ", ".join(parts) or "none"
    return cleaned(str(value))


def number_shown(value: float) -> str:
    """`8`, `8.5`, `0.0123`, `1460`: at most three digits behind what matters, no exponent."""
    if isinstance(value, int) or not math.isfinite(value) or value == int(value):
        return f"{value:.0f}" if isinstance(value, float) else str(value)
    digits = 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 4
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def bytes_shown(value: float) -> str:
    """Binary units, with their names: 15.5 GiB, 512 MiB."""
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= size:
            return f"{value / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{value:.0f} bytes"


def cleaned(text: str) -> str:
    """Text of a machine on one line: no control, bidirectional or other invisible characters, at most 200 long."""
    visible = "".join(
        " " if letter.isspace() else "" if unicodedata.category(letter) in _INVISIBLE else letter for letter in text
    )
    one_line = " ".join(visible.split())
    return one_line if len(one_line) <= _LONGEST_VALUE else one_line[: _LONGEST_VALUE - 1] + "…"
