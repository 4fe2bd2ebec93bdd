"""What lscpu calls its lines, in the languages of util-linux (`rules/knowledge/lscpu_labels.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed

#: On a terminal lscpu of 2.37 and later writes the caches below a line of their own, without the word.
_ON_A_TERMINAL = {"L3": "l3"}

_VALUES = ("enabled", "disabled")
_NODE = "numa_node"


class _LabelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    date: str
    languages: dict[str, dict[str, str]]


class Labels(msgspec.Struct, frozen=True):
    """`fields` maps a label to its field; `nodes` are what stands before and behind the number of a NUMA node;
    `switches` are the words for on and off."""

    fields: Mapping[str, str]
    nodes: tuple[tuple[str, str], ...]
    switches: Mapping[str, bool]


@cache
def lscpu_labels() -> Labels:
    """All languages at once: no label means two things. Raises BadFile."""
    table = read_typed(rules_folder() / "knowledge" / "lscpu_labels.yaml", _LabelTable)
    rows = [row for language in table.languages.values() for row in language.items()]
    fields = {label: field for field, label in rows if field not in (*_VALUES, _NODE)}
    nodes = [tuple(label.split("<n>", 1)) for field, label in rows if field == _NODE]
    return Labels(
        fields={**fields, **_ON_A_TERMINAL},
        nodes=tuple((before, behind) for before, behind in dict.fromkeys(nodes)),
        switches={word: field == "enabled" for field, word in rows if field in _VALUES},
    )
