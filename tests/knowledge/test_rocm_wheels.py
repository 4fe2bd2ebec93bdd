from __future__ import annotations

import csv
import re
from pathlib import Path

from packaging.version import Version

from doctor.knowledge.gfx import wheel_table
from doctor.knowledge.rocm_wheels import index_of_rocm, rocm_wheels


def test_releases_ascend_and_so_do_pythons() -> None:
    rows = rocm_wheels().pytorch
    assert [row.torch for row in rows] == sorted((row.torch for row in rows), key=Version)
    for first, last in (*(row.python for row in rows), rocm_wheels().amd.python):
        assert Version(first) < Version(last)


def test_an_index_is_that_of_the_stable_rocm_of_its_release() -> None:
    for row in rocm_wheels().pytorch:
        assert row.index in (None, f"https://download.pytorch.org/whl/rocm{row.rocm[0]}")


def test_only_indexes_of_the_table_are_known() -> None:
    assert index_of_rocm("6.2") == "https://download.pytorch.org/whl/rocm6.2"
    assert index_of_rocm("7.14") is None, "its name was inferred, not seen"
    assert index_of_rocm("5.5") is None
    assert index_of_rocm("10.1") is None


def test_it_fits_the_table_of_targets() -> None:
    offered = {(row.torch, rocm) for row in rocm_wheels().pytorch for rocm in row.rocm}
    assert {(row.torch, rocm) for row in wheel_table().rows for rocm in row.rocm} <= offered


def test_the_table_says_what_the_release_matrix_says(shared: Path) -> None:
    with (shared / "knowledge" / "rocm_wheels.csv").open(encoding="utf-8") as file:
        rows = {row["torch"]: row for row in csv.DictReader(file)}
    for ours in rocm_wheels().pytorch:
        theirs = rows[ours.torch]
        if ours.index is not None:
            assert theirs["index_path"] == ours.index
        else:
            assert "inferred" in theirs["index_path"]
        first, last = re.match(r"([\d.]+)-([\d.]+)", theirs["python_release_md"]).groups()  # type: ignore[union-attr]
        assert ours.python == (first, last)
        stable = re.findall(r"\d+(?:\.\d+)+", theirs["stable_rocm"])[-1]
        assert ours.rocm == tuple(filter(None, (stable, theirs["also_offered_rocm"])))
