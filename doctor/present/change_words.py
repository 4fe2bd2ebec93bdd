"""A change in words: `2.9.1 → 2.10.0 (newer)`, `+avx512f -amx_tile`, `not set → 8`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doctor.derive.difference import NONE, Change, OneSided, plain_name
from doctor.present.language import counted, joined, phrase, say, told
from doctor.present.text import bytes_text, clean, listed

_DIRECTIONS = {"up": phrase("newer"), "down": phrase("older"), "build": phrase("another build of it")}
_NONE = {"env": phrase("not set"), "packages": phrase("not installed")}
_LONGEST = 120
_MOST_MEMBERS = 6

#: One row and several rows of a list.
_NOUNS = {
    "cpu.l3_groups": ("{count} group", phrase("{count} groups")),
    "cpu.cores": ("{count} core", phrase("{count} cores")),
    "cpu.numa_nodes": ("{count} node", phrase("{count} nodes")),
}
_ROWS = ("{count} row", phrase("{count} rows"))

#: What names a row of a list, in this order, as far as it is known.
_ROW_NAMES = ("name", "part_number", "kind", "gfx", "size_bytes", "version", "configured_mts", "about", "text")


def change_words(change: Change, *, whole: bool = False) -> str:
    """Before and after, or what joined and left a set. `whole`: nothing is cut."""
    return " ".join(change_pieces(change, whole=whole))


def change_pieces(change: Change, *, whole: bool = False) -> tuple[str, ...]:
    """The same in pieces that may stand below each other: `2.9.1` and `→ 2.10.0 (newer)`."""
    if change.added or change.removed:
        parts = (_members("+", change.added, whole), _members("-", change.removed, whole))
        return (say("; ").join(part for part in parts if part),)
    name = plain_name(change.fact)
    before, after = (value_words(name, value, whole=whole) for value in (change.before, change.after))
    if before == after:  # two pictures with the same outline
        return (say("{what}, another layout", what=after),)
    if change.direction not in _DIRECTIONS:
        return before, f"→ {after}"
    return before, "→ " + say("{what} ({direction})", what=after, direction=say(_DIRECTIONS[change.direction]))


def one_sided_words(row: OneSided) -> str:
    """`memory.modules (2 rows)`, `env.OMP_NUM_THREADS (8)`; a whole part of the document by its name alone."""
    if isinstance(row.value, Mapping):
        return clean(row.fact)
    return say("{fact} ({value})", fact=clean(row.fact), value=value_words(plain_name(row.fact), row.value))


def value_words(name: str, value: Any, *, whole: bool = False) -> str:
    """One value of a fact. The end of its name tells the unit."""
    if value == NONE:
        return say(_NONE.get(name.partition(".")[0], phrase("none")))
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    if isinstance(value, int | float):
        return bytes_text(int(value)) if name.endswith("_bytes") else f"{value:g}" if abs(value) < 1e6 else str(value)
    if isinstance(value, Mapping):
        return _row(value)
    if isinstance(value, list | tuple):
        return _list(name, value, whole)
    text = told(clean(str(value)).strip()) or say("empty")
    return text if whole or len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _members(sign: str, values: Sequence[Any], whole: bool) -> str:
    most = len(values) if whole or len(values) <= _MOST_MEMBERS + 1 else _MOST_MEMBERS
    words = ", ".join(f"{sign}{clean(str(value))}" for value in values[:most])
    if most == len(values):
        return words
    return say("{words} and {count} more", words=words, count=len(values) - most)


def _row(row: Mapping[str, Any]) -> str:
    words = [value_words(field, row[field]) for field in _ROW_NAMES if row.get(field) is not None]
    return joined(words[:3]) or say("there")


def _list(name: str, values: Sequence[Any], whole: bool) -> str:
    """The members; of rows how many there are, and what they look like where that says more: `2 groups: 0-7 (32 MiB)
    and 8-15 (32 MiB)`."""
    most = 0 if whole else _MOST_MEMBERS
    if not values or not isinstance(values[0], Mapping):
        return listed([clean(str(value)) for value in values], at_most=most) or say("none")
    rows = counted(*_NOUNS.get(name, _ROWS), len(values))
    if name not in ("cpu.l3_groups", "cpu.numa_nodes"):
        return rows
    return say("{what}: {reason}", what=rows, reason=listed([_picture(row) for row in values], at_most=most))


def _picture(row: Mapping[str, Any]) -> str:
    cpus = clean(str(row.get("cpus", "?")))
    size = row.get("size_bytes", row.get("memory_bytes"))
    return say("{what} ({size})", what=cpus, size=bytes_text(size)) if isinstance(size, int) else cpus
