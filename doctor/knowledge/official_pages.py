"""The pages that the doctor sends people to where no table knows (`rules/knowledge/official_pages.yaml`)."""

from __future__ import annotations

from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed


class OfficialPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    address: str
    says: str  # what one finds there


class OfficialPages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    date: str
    pages: dict[str, OfficialPage]


@cache
def official_pages() -> OfficialPages:
    """The whole table. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "official_pages.yaml", OfficialPages)


def official_page(name: str) -> OfficialPage:
    """The page of that name. Raises KeyError for one that the table does not have: a slip of the pen."""
    return official_pages().pages[name]
