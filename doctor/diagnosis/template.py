"""Texts with facts in them: `"torch starts {torch.num_threads} threads"`.

A fact is written the way a person reads it: bytes as GiB, yes and no, lists with commas. Text from a machine loses
control and bidirectional characters and is cut. A clause whose fact is unknown is left out; where every clause would
fall, the facts read "unknown". `{{` and `}}` are braces. The words between the facts may be of another language: then
its catalog has the small words (yes, none) as well, and knows the texts that were derived in English.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from doctor.diagnosis.truth import Unknown
from doctor.knowledge.catalog import Catalog, catalog

_FACT = re.compile(r"\{\{|\}\}|\{([a-z]\w*(?:\.\w+)*)\}")
#: Where a clause ends. A blank belongs to what follows it; behind the wide marks there is none.
_CLAUSE = re.compile(r"(?<=[.;])(?=\s)|(?<=[。；])")
_LONGEST_VALUE = 200
_LONGEST_LIST = 8
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_IN_ENGLISH = catalog()


def facts_of(text: str) -> tuple[str, ...]:
    """The facts that a text names, each once."""
    return tuple(dict.fromkeys(found[1] for found in _FACT.finditer(text) if found[1]))


def strays_of(text: str) -> bool:
    """Is there a brace that is neither a fact nor doubled?"""
    return bool(re.search(r"[{}]", _FACT.sub("", text)))


def filled(text: str, look_up: Callable[[str], Any], spoken: Catalog = _IN_ENGLISH) -> str:
    """The text with its facts. `look_up` answers `Unknown` for a fact that the machine does not tell."""
    text = " ".join(text.split())
    clauses = [_filled_clause(clause, look_up, spoken) for clause in _CLAUSE.split(text) if clause]
    standing = [clause for clause in clauses if clause is not None]
    if not standing:
        return with_facts(text, lambda fact: _or_unknown(fact, look_up(fact), spoken), spoken.put)
    whole = "".join(standing).strip()
    if clauses[-1] is None and whole.endswith((";", "；")):
        end = {".": ".", "。": "。"}.get(text[-1], "")
        whole = whole[:-1] + end
    return whole


def _filled_clause(clause: str, look_up: Callable[[str], Any], spoken: Catalog) -> str | None:
    values = {fact: look_up(fact) for fact in facts_of(clause)}
    if any(isinstance(value, Unknown) for value in values.values()):
        return None
    return with_facts(clause, lambda fact: shown(fact, values[fact], spoken), spoken.put)


def with_facts(text: str, write: Callable[[str], str], put: Callable[[list[str]], str] = "".join) -> str:
    """The text with each fact as `write` writes it; `put` puts the pieces together."""
    pieces: list[str] = []
    at = 0
    for found in _FACT.finditer(text):
        pieces += [text[at : found.start()], write(found[1]) if found[1] else found[0][0]]
        at = found.end()
    return put([*pieces, text[at:]])


def _or_unknown(fact: str, value: Any, spoken: Catalog) -> str:
    return spoken.sentence("unknown") if isinstance(value, Unknown) else shown(fact, value, spoken)


def shown(fact: str, value: Any, spoken: Catalog = _IN_ENGLISH) -> str:
    """A value for a person. The name of the fact tells its unit."""
    if isinstance(value, bool):
        return spoken.sentence("yes" if value else "no")
    if isinstance(value, int | float):
        return bytes_shown(value) if fact.endswith("_bytes") else number_shown(value)
    if isinstance(value, tuple | list):
        parts = [shown(fact, item, spoken) for item in value[:_LONGEST_LIST]]
        if len(value) > _LONGEST_LIST:
            parts.append(spoken.filled("{count} more", {"count": len(value) - _LONGEST_LIST}))
        return spoken.row(parts) or spoken.sentence("none")
    return spoken.told(cleaned(str(value)))


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
