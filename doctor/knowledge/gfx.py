"""AMD GPU targets (`rules/knowledge/gfx.yaml`), and what the ROCm wheels of PyTorch hold (`rocm_arch.yaml`)."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed

OverrideVerdict = Literal["works", "unreliable", "old-wheels", "harmful", "useless"]


class Override(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value of HSA_OVERRIDE_GFX_VERSION that people set on a target, and what came of it."""

    version: str
    verdict: OverrideVerdict


class GfxRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One target. See the head of the table for each field."""

    gfx: str
    family: str
    integrated: bool | Literal["either"]
    products: tuple[str, ...]
    generic: str | None = None
    gc: tuple[str, ...] = ()
    pci: tuple[str, ...] = ()
    integrated_pci: tuple[str, ...] = ()
    torch: str | None = None
    torch_until: str | None = None
    amd_extra: str | None = None
    windows: Literal["release"] | None = None
    override: Override | None = None
    kernel: str | None = None
    note: str | None = None

    @property
    def has_linux_wheel(self) -> bool:
        """Is there a ROCm wheel with code for it, of PyTorch or of AMD?"""
        return self.torch is not None or self.amd_extra is not None


class GfxTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`known` names the targets whose products are general knowledge."""

    sources: dict[str, str]
    date: str
    known: tuple[str, ...]
    rows: tuple[GfxRow, ...]


class WheelRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The targets in the wheels of one PyTorch release for some ROCm releases."""

    torch: str
    rocm: tuple[str, ...]
    certain: bool
    archs: tuple[str, ...]


class WheelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    date: str
    rows: tuple[WheelRow, ...]


@cache
def gfx_table() -> GfxTable:
    """The whole table. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "gfx.yaml", GfxTable)


@cache
def wheel_table() -> WheelTable:
    """The whole table. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "rocm_arch.yaml", WheelTable)


def gfx_row(gfx: str | None) -> GfxRow | None:
    """The row of a target (`gfx1100`), without its features (`gfx90a:sramecc+:xnack-`); None for one not listed."""
    return None if gfx is None else _rows_by_name().get(gfx.partition(":")[0])


def generic_target(gfx: str) -> str | None:
    """The LLVM generic target whose code runs on a target: `gfx11-generic` for `gfx1151`. None without one.

    AMD's own table says it (rocm-bootstrap, as a table only), but for a few targets that it groups by number.
    """
    row = gfx_row(gfx)
    if row is not None and row.generic is not None:
        return None if row.generic == "none" else row.generic
    # It takes 40 ms to load, and hardly any wheel holds generic code.
    from rocm_bootstrap import packaging_chain

    try:
        bundles = packaging_chain(gfx.partition(":")[0])
    except ValueError:
        return None
    return next((str(bundle.llvm_generic) for bundle in bundles if bundle.llvm_generic), None)


def gfx_of_pci(pci_id: str | None) -> str | None:
    """The target of a PCI id such as `1002:744c`; None for one that the table does not know."""
    vendor, _, device = (pci_id or "").lower().partition(":")
    return _names_by_pci().get(device) if vendor == "1002" else None


def gfx_of_gc(version: str | None) -> str | None:
    """The target of a version of the graphics block in the driver's IP discovery, such as `11.0.3`."""
    return None if version is None else _names_by_gc().get(version)


def is_integrated(gfx: str | None, pci_id: str | None = None) -> bool | None:
    """Is a GPU part of a processor? None for a target that is not listed, or is both and has no PCI id."""
    row = gfx_row(gfx or gfx_of_pci(pci_id))
    if row is None or row.integrated != "either":
        return None if row is None else row.integrated is True
    device = (pci_id or "").lower().partition(":")[2]
    return device in row.integrated_pci if device in row.pci else None


def wheel_archs(torch: str, rocm: str) -> tuple[str, ...] | None:
    """The targets in a wheel of download.pytorch.org: `wheel_archs("2.4", "6.0")`. None where the table does not know
    for certain."""
    rows = (row for row in wheel_table().rows if row.torch == torch and rocm in row.rocm and row.certain)
    return next((row.archs for row in rows), None)


@cache
def _rows_by_name() -> dict[str, GfxRow]:
    return {row.gfx: row for row in gfx_table().rows}


@cache
def _names_by_pci() -> dict[str, str]:
    return {device: row.gfx for row in gfx_table().rows for device in row.pci}


@cache
def _names_by_gc() -> dict[str, str]:
    return {version: row.gfx for row in gfx_table().rows for version in row.gc}
