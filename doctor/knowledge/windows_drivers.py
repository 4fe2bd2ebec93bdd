"""AMD drivers for Windows with known faults (`rules/knowledge/windows_drivers.yaml`)."""

from __future__ import annotations

from functools import cache

import msgspec
from packaging.version import InvalidVersion, Version

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed


class DriverFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Adrenalin releases with which GPUs of some generations are missing for ROCm."""

    since: str
    until: str
    families: tuple[str, ...]
    fixed_build: str | None = None


class DriverTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    date: str
    rows: tuple[DriverFault, ...]


@cache
def driver_table() -> DriverTable:
    """The whole table. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "windows_drivers.yaml", DriverTable)


def driver_fault(adrenalin: str, family: str) -> DriverFault | None:
    """What is known of a release with a generation; None for nothing, and for a release that is no version."""
    try:
        release = Version(adrenalin)
    except InvalidVersion:
        return None
    fits = (row for row in driver_table().rows if Version(row.since) <= release <= Version(row.until))
    return next((row for row in fits if family in row.families), None)
