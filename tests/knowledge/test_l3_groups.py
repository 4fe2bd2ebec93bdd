"""The table of L3 groups against recorded machines, and what it must leave open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.knowledge.l3_groups import (
    cores_are_equal,
    groups_in_package,
    l3_row,
    l3_table,
    named_cores,
    sizes_are_equal,
)
from doctor.knowledge.zen import zen_table


def _groups(family: int, model: int, cores: int, name: str = "", mib: float | None = None) -> int | None:
    row = l3_row(family, model, name)
    return None if row is None else groups_in_package(row, cores, name, mib)


@pytest.mark.parametrize(
    "family, model, cores, name, mib, groups",
    [
        (23, 0x01, 6, "AMD Ryzen 5 1600 Six-Core Processor", None, 2),
        (23, 0x01, 4, "AMD Ryzen 5 1500X Quad-Core Processor", 16, 2),
        (23, 0x01, 4, "AMD Ryzen 3 1200 Quad-Core Processor", 8, None),  # one of 8 MiB or two of 4 MiB
        (23, 0x01, 16, "AMD Ryzen Threadripper 1950X 16-Core Processor", None, 4),
        (23, 0x01, 8, "AMD Ryzen Threadripper 1900X 8-Core Processor", 16, None),  # 4+0 on each die, or 2+2
        (23, 0x01, 24, "AMD EPYC 7451 24-Core Processor", None, 8),
        (23, 0x01, 16, "AMD EPYC 7351P 16-Core Processor", None, None),
        (23, 0x01, 16, "AMD EPYC 7351P 16-Core Processor", 64, 8),
        (23, 0x08, 24, "AMD Ryzen Threadripper 2970WX 24-Core Processor", None, 8),
        (23, 0x08, 12, "AMD Ryzen Threadripper 2920X 12-Core Processor", None, 4),
        (23, 0x11, 2, "AMD Athlon 200GE with Radeon Vega Graphics", None, 1),
        (23, 0x31, 64, "AMD EPYC 7742 64-Core Processor", None, 16),
        (23, 0x31, 32, "AMD EPYC 7502P 32-Core Processor", 128, None),  # four or eight dies
        (23, 0x31, 16, "AMD EPYC 7F52 16-Core Processor", 256, 16),  # one core to each
        (23, 0x60, 6, "AMD Ryzen 5 4500U with Radeon Graphics", None, 2),
        (23, 0x60, 4, "AMD Ryzen 3 4300U with Radeon Graphics", 4, None),
        (23, 0x71, 4, "AMD Ryzen 3 3100 4-Core Processor", 16, None),
        (23, 0x71, 4, "AMD Ryzen 3 3300X 4-Core Processor", 16, None),
        (23, 0x71, 8, "AMD Ryzen 7 3700X 8-Core Processor", None, 2),
        (23, 0x71, 12, "AMD Ryzen 9 3900X 12-Core Processor", None, 4),
        (25, 0x21, 6, "AMD Ryzen 5 5600X 6-Core Processor", None, 1),
        (25, 0x21, 16, "AMD Ryzen 9 5950X 16-Core Processor", None, 2),
        (25, 0x61, 16, "AMD Ryzen 9 7950X3D 16-Core Processor", None, 2),
        (26, 0x24, 12, "AMD Ryzen AI 9 HX 370 w/ Radeon 890M", None, 2),
        (26, 0x24, 8, "AMD Ryzen AI 7 PRO 360 w/ Radeon 880M", None, None),
        (21, 0x02, 4, "AMD FX(tm)-8350 Eight-Core Processor", None, 1),
        (21, 0x02, 8, "AMD Opteron(tm) Processor 6328", None, None),
        (21, 0x65, 2, "AMD A12-9800 RADEON R7, 12 COMPUTE CORES 4C+8G", None, 0),
    ],
)
def test_groups_of_a_package(
    family: int, model: int, cores: int, name: str, mib: float | None, groups: int | None
) -> None:
    assert _groups(family, model, cores, name, mib) == groups


def test_cores_that_are_switched_off_leave_it_open() -> None:
    """A 16-core chip with 8 of them on has one or two dies in use: the name tells that some are missing."""
    assert _groups(25, 0x21, 8, "AMD Ryzen 9 5950X 16-Core Processor") is None
    assert _groups(23, 0x71, 6, "AMD Ryzen 9 3900X 12-Core Processor") is None
    assert _groups(25, 0x21, 8, "") is None


def test_recorded_machines_agree(shared: Path) -> None:
    checked = {"equal": 0, "open": 0}
    for label, truth in json.loads((shared / "corpus" / "machines.json").read_text()).items():
        name, packages = truth.get("name"), truth["packages"]
        row = l3_row(truth.get("family"), truth.get("model"), name)
        if truth.get("vendor") != "AuthenticAMD" or row is None or "vmware" in label:
            continue
        groups = truth["l3_groups"]
        cores = truth["physical_cores"] // packages
        found = groups_in_package(row, cores, name)
        checked["open" if found is None else "equal"] += 1
        assert found in (None, len(groups) // packages), label
        if found and cores_are_equal(row, cores, found, name):
            assert len({group["cores"] for group in groups}) == 1, label
        if found and sizes_are_equal(row, name):
            assert len({group["size_bytes"] for group in groups}) == 1, label
    assert checked == {"equal": 26, "open": 3}


def test_every_row_is_of_models_that_the_table_of_generations_knows() -> None:
    known = [(row.family, *row.models) for row in zen_table().rows]
    for row in l3_table().rows:
        first, last = row.models
        assert any(family == row.family and low <= last and first <= high for family, low, high in known)
        assert (row.units is None) != (row.unit_cores is None)


def test_names() -> None:
    assert named_cores("AMD Ryzen Threadripper PRO 3955WX 16-Cores") == 16
    assert named_cores("AMD Ryzen 7 1700 Eight-Core Processor") == 8
    assert named_cores("AMD Ryzen 7 PRO 5750G with Radeon Graphics") is None
    assert named_cores(None) is None
    row = l3_row(25, 0x61, "AMD Ryzen 9 7950X3D 16-Core Processor")
    assert not sizes_are_equal(row, "AMD Ryzen 9 7950X3D 16-Core Processor")
    assert sizes_are_equal(row, "AMD Ryzen 9 7950X 16-Core Processor")
    assert not sizes_are_equal(row, None)
