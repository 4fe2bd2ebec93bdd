"""Where wheels of PyTorch come from, and for which Python (`rocm_wheels.yaml`)."""

from __future__ import annotations

from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed


class PytorchIndex(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One PyTorch release on download.pytorch.org. See the head of the table for each field."""

    torch: str
    rocm: tuple[str, ...]
    python: tuple[str, str]
    index: str | None = None
    old: bool = False


class AmdIndex(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """AMD's own index, for Linux and Windows."""

    index: str
    torch: tuple[str, str]
    python: tuple[str, str]
    systems: tuple[str, ...]
    page: str
    later: str | None = None


class PlainIndexes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The indexes of builds without ROCm."""

    cpu: str
    pypi: str


class RocmWheels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]
    date: str
    pytorch: tuple[PytorchIndex, ...]
    amd: AmdIndex
    plain: PlainIndexes


@cache
def rocm_wheels() -> RocmWheels:
    """The whole table, releases ascending. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "rocm_wheels.yaml", RocmWheels)


def index_of_rocm(rocm: str) -> str | None:
    """The index of download.pytorch.org for a ROCm release (`6.2`), where it is known to exist."""
    address = f"https://download.pytorch.org/whl/rocm{rocm}"
    return address if any(row.index == address for row in rocm_wheels().pytorch) else None
