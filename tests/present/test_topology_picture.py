"""The topology as a picture, and as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Machine
from doctor.present.clusters import absent_cpus, clusters_of, usable_cpus
from doctor.present.terminal import Look, plain
from doctor.present.topology_json import topology_document
from doctor.present.topology_picture import topology_lines
from tests.present.pictured import MACHINES, machine


def _picture(given: Machine, look: Look | None = None) -> str:
    look = look or Look()
    return plain(topology_lines(given, look), look)


def _shown_cpus(picture: str) -> set[int]:
    """Every CPU number in the boxes and in the list."""
    shown: set[int] = set()
    for line in picture.splitlines():
        for row in re.findall(r"│([^│]*)│", line):
            shown |= {int(number) for number in re.findall(r"\d+", row)}
        for cpus in [] if "┌" in line else re.findall(r"(?:CCX \d+|L3 group \d+|package \d+|CPUs): ([\d,-]+)", line):
            shown |= parse_cpulist(cpus)
    return shown


@pytest.mark.parametrize("name", MACHINES)
def test_picture(name: str, screen_file: SnapshotAssertion) -> None:
    assert _picture(MACHINES[name]) == screen_file


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("columns", [40, 80, 100])
def test_every_cpu_number_can_be_found_within_the_width(name: str, columns: int) -> None:
    picture = _picture(MACHINES[name], Look(columns=columns))
    assert all(len(line) <= columns for line in picture.splitlines())
    cpu = MACHINES[name].cpu
    if cpu is not None and (cpu.cores or cpu.online):
        assert _shown_cpus(picture) == parse_cpulist(cpu.online or "")


def test_ascii_picture_is_ascii_and_as_wide() -> None:
    picture, in_ascii = (_picture(MACHINES["7950x3d"], Look(ascii=way)) for way in (False, True))
    assert in_ascii.isascii()
    assert [len(line) for line in picture.splitlines()] == [len(line) for line in in_ascii.splitlines()]


def test_cpus_outside_the_mask_are_marked() -> None:
    picture = _picture(MACHINES["some-outside"])
    assert {"4x", "15x"} <= set(picture.split()) and "3x" not in picture.split()
    assert "may not use: 4-7,12-15" in picture


def test_absent_cpus_are_those_below_the_highest() -> None:
    cpu = MACHINES["offline"].cpu
    assert cpu is not None
    assert absent_cpus(clusters_of(cpu)) == "1-4"
    assert absent_cpus(()) == ""


def test_usable_is_mask_and_cpuset() -> None:
    assert usable_cpus(None) is None
    assert usable_cpus(MACHINES["some-outside"].limits) == parse_cpulist("0-3,8-11")


def test_a_machine_of_512_threads_fits_on_a_page() -> None:
    picture = _picture(machine("AMD EPYC 9755", [(8, 32)] * 32, per_package=16))
    assert len(picture.splitlines()) < 40


def test_json_has_every_cpu_once() -> None:
    document = topology_document(MACHINES["9654-dual"])
    cpus = [cpu for cluster in document["clusters"] for core in cluster["cores"] for cpu in core["cpus"]]
    assert sorted(cpus) == list(range(384))
    assert {cluster["package"] for cluster in document["clusters"]} == {0, 1}
    assert document["schema"] == "amd-doctor/topology/1"


def test_json_of_an_unknown_machine_is_null_not_zero() -> None:
    document = topology_document(Machine())
    assert document["clusters"] == []
    assert document["usable_cpus"] is None and document["smt"] is None


@pytest.mark.parametrize("name", ["ryzen-9-7950x3d-zen4-asym", "epyc-9654-dual-zen4", "threadripper-2990wx-zenplus"])
def test_recorded_machines(name: str, shared: Path) -> None:
    from doctor.probes.topology import probe
    from doctor.sources.tree import TreeSource

    source = TreeSource.from_tar(shared / "corpus" / "machines" / f"{name}.tar.gz", name)
    given = msgspec.convert({"cpu": msgspec.to_builtins(probe(source).facts["cpu"])}, Machine)
    assert given.cpu is not None
    picture = _picture(given)
    assert _shown_cpus(picture) == parse_cpulist(given.cpu.online or "")
    assert all(len(line) <= 80 for line in picture.splitlines())
