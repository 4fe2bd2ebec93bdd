"""The releases of torch-directml (`rules/knowledge/directml.yaml`)."""

from __future__ import annotations

from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed


class DirectmlRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release. `torch` and `torchvision` are None where it asks for none; tags are of x86-64 wheels."""

    version: str
    released: str
    windows: tuple[str, ...]
    linux: tuple[str, ...]
    torch: str | None = None
    torchvision: str | None = None

    def tags(self, os_kind: str) -> tuple[str, ...]:
        return {"windows": self.windows, "linux": self.linux}.get(os_kind, ())


class DirectmlTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]
    date: str
    rows: tuple[DirectmlRelease, ...]


@cache
def directml_table() -> DirectmlTable:
    """The whole table, oldest release first. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "directml.yaml", DirectmlTable)


def directml_release(version: str | None) -> DirectmlRelease | None:
    """The row of a release; None for one that the table does not know."""
    return next((row for row in directml_table().rows if row.version == version), None)


def last_directml_release() -> DirectmlRelease:
    return directml_table().rows[-1]
