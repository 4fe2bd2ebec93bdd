"""The table of GPU targets, against AMD's own and against the researched one."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import rocm_bootstrap

from doctor.knowledge.gfx import (
    generic_target,
    gfx_of_gc,
    gfx_of_pci,
    gfx_row,
    gfx_table,
    is_integrated,
    wheel_archs,
    wheel_table,
)

ROWS = {row.gfx: row for row in gfx_table().rows}

def test_each_thing_stands_once() -> None:
    for field in ("pci", "gc"):
        values = [value for row in gfx_table().rows for value in getattr(row, field)]
        assert len(values) == len(set(values))
    assert len(ROWS) == len(gfx_table().rows)
    assert set(gfx_table().known) <= set(ROWS)
    for row in ROWS.values():
        assert set(row.integrated_pci) <= set(row.pci) and bool(row.integrated_pci) == (row.integrated == "either")
        assert row.amd_extra in (None, f"device-{row.gfx}")


def test_amd_knows_the_same_targets() -> None:
    amd = {target.name for target in rocm_bootstrap.ALL_TARGETS}
    # Older than ROCm's packages are those before Vega; newer than this table are 1250 and 1251.
    assert {gfx for gfx in ROWS if not gfx.startswith(("gfx7", "gfx8"))} == {name for name in amd if "125" not in name}


@pytest.mark.parametrize(
    ("gfx", "generic"),
    [
        ("gfx90c:xnack-", "gfx9-generic"),
        ("gfx900", "gfx9-generic"),
        ("gfx90a", None),  # AMD groups it by its number; it lacks instructions of that generic target
        ("gfx908", None),
        ("gfx942", "gfx9-4-generic"),
        ("gfx950", "gfx9-4-generic"),
        ("gfx1012", "gfx10-1-generic"),
        ("gfx1036", "gfx10-3-generic"),
        ("gfx1103", "gfx11-generic"),
        ("gfx1151", "gfx11-generic"),
        ("gfx1201", "gfx12-generic"),
        ("gfx803", None),
        ("gfx9999", None),
        ("", None),
    ],
)
def test_generic_targets(gfx: str, generic: str | None) -> None:
    assert generic_target(gfx) == generic


@pytest.mark.parametrize(
    ("pci_id", "gfx"),
    [
        ("1002:1638", "gfx90c"),
        ("1002:744C", "gfx1100"),
        ("1002:1586", "gfx1151"),
        ("1002:67df", "gfx803"),
        ("1002:ffff", None),
        ("10de:2204", None),
        ("", None),
        (None, None),
    ],
)
def test_targets_by_pci_id(pci_id: str | None, gfx: str | None) -> None:
    assert gfx_of_pci(pci_id) == gfx


def test_targets_by_graphics_block() -> None:
    # The numbers of the silicon are not those of the target.
    assert (gfx_of_gc("11.0.3"), gfx_of_gc("10.3.3"), gfx_of_gc("9.3.0")) == ("gfx1101", "gfx1035", "gfx90c")
    assert gfx_of_gc("1.2.3") is None and gfx_of_gc(None) is None


@pytest.mark.parametrize(
    ("gfx", "pci_id", "integrated"),
    [
        ("gfx90c", None, True),
        ("gfx1100", None, False),
        ("gfx942", "1002:74a0", True),
        ("gfx942", "1002:74a1", False),
        ("gfx942", None, None),
        ("gfx942", "1002:0001", None),
        (None, "1002:164e", True),
        ("gfx9999", None, None),
    ],
)
def test_integrated_or_not(gfx: str | None, pci_id: str | None, integrated: bool | None) -> None:
    assert is_integrated(gfx, pci_id) is integrated


def test_features_are_no_part_of_a_target() -> None:
    assert gfx_row("gfx90a:sramecc+:xnack-") is gfx_row("gfx90a")


def test_no_override_is_called_good_that_harms() -> None:
    assert {row.gfx for row in ROWS.values() if row.override and row.override.verdict == "harmful"} == {
        "gfx1033",
        "gfx1103",
        "gfx1150",
        "gfx1151",
    }


def test_wheels() -> None:
    assert wheel_archs("2.4", "6.0") is not None and "gfx1101" not in (wheel_archs("2.4", "6.0") or ())
    assert "gfx1101" in (wheel_archs("2.6", "6.2.4") or ())
    assert wheel_archs("2.13", "7.2") is None  # inferred only
    assert wheel_archs("2.4", "7.0") is None
    assert {arch for row in wheel_table().rows for arch in row.archs} <= set(ROWS)


def test_the_first_wheel_of_a_target_is_the_same_in_both_tables() -> None:
    for row in ROWS.values():
        holding = [wheel.torch for wheel in wheel_table().rows if row.gfx in wheel.archs]
        assert (holding[0] if holding else None) == row.torch, row.gfx


def test_the_researched_table_agrees(shared: Path) -> None:
    with (shared / "knowledge/gfx_targets.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            row = ROWS[line["gfx"]]
            first = line["first_torch_in_download.pytorch.org_rocm_wheels"].split(" ")[0]
            assert (row.torch or "never") == first, line["gfx"]
            extra = line["repo.amd.com_multi_arch_extra"]
            assert row.amd_extra == (extra if extra.startswith("device-") else None), line["gfx"]
            assert row.integrated == "either" or row.integrated == (line["kind"] == "APU"), line["gfx"]


def test_the_researched_wheels_agree(shared: Path) -> None:
    with (shared / "knowledge/rocm_arch.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rows = [row for row in wheel_table().rows if row.torch == line["torch"]]
            archs = set(line["PYTORCH_ROCM_ARCH"].split(";"))
            assert set().union(*(row.archs for row in rows)) == archs, line["torch"]
            assert all(row.certain == (not line["confidence"].startswith("inferred")) for row in rows)
