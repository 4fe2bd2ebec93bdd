"""Advice that is passed on and is not right (`folk.yaml`): what to do instead, and which rules look at it."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed

Verdict = Literal["wrong", "outdated", "depends"]

#: In the order in which they are shown.
VERDICTS: tuple[Verdict, ...] = ("wrong", "outdated", "depends")


class FolkClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One piece of advice. See the head of the table for each field."""

    id: str
    claim: str
    verdict: Verdict
    why: str
    instead: str
    checked_by: tuple[str, ...]
    seen: str
    references: tuple[str, ...]


class FolkTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: tuple[str, ...]
    date: str
    claims: tuple[FolkClaim, ...]


@cache
def folk_table() -> FolkTable:
    """The whole table. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "folk.yaml", FolkTable)
