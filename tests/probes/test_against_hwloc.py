"""hwloc reads the same tree: its L3 groups and cores are ours.

`lstopo-no-graphics` of the Debian package hwloc-nox. `stop` keeps its x86 backend from adding the caches of the
machine that runs the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from doctor.machine.cpulist import parse_cpumap
from doctor.sources.recording import RecordingSource
from doctor.sources.tree import TreeSource
from tests.machines.compare import known_from, l3_set
from tests.machines.recorded import OTHERS, PRE_4_14
from tests.machines.trees import tree, write_tree

LSTOPO = shutil.which("lstopo-no-graphics")

Groups = set[tuple[int | None, int | None, frozenset[int]]]


@pytest.fixture(scope="module", autouse=True)
def _lstopo() -> None:
    if LSTOPO is None:
        pytest.skip("no lstopo-no-graphics here (Debian package hwloc-nox)")


def by_hwloc(root: Path) -> tuple[Groups, int]:
    """(bytes, cores, CPUs) of each L3, and the number of cores, as hwloc reads the tree below `root`."""
    env = {**os.environ, "HWLOC_FSROOT": str(root), "HWLOC_COMPONENTS": "linux,stop", "HWLOC_THISSYSTEM": "0"}
    ran = subprocess.run(
        [str(LSTOPO), "--of", "xml"], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )
    topology = ElementTree.fromstring(ran.stdout)
    cores = [_cpus(core) for core in topology.iter("object") if core.get("type") == "Core"]
    groups = {
        (int(cache.get("cache_size", "0")), sum(not core.isdisjoint(_cpus(cache)) for core in cores), _cpus(cache))
        for cache in topology.iter("object")
        if cache.get("type") == "L3Cache"
    }
    return groups, len(cores)


def _cpus(element: ElementTree.Element) -> frozenset[int]:
    return parse_cpumap(element.get("cpuset", "").replace("0x", "") or "0")


def unpacked(shared: Path, name: str, folder: Path) -> Path:
    with tarfile.open(shared / "corpus" / "machines" / f"{name}.tar.gz") as tar:
        tar.extractall(folder, filter="data")
    return folder / name


@pytest.mark.parametrize("name", OTHERS)
def test_recorded_machine(name: str, shared: Path, tmp_path: Path) -> None:
    cpu = known_from(TreeSource.from_tar(shared / "corpus" / "machines" / f"{name}.tar.gz", name)).cpu
    assert cpu is not None
    assert (l3_set(cpu), len(cpu.cores or ())) == by_hwloc(unpacked(shared, name, tmp_path))


def test_hwloc_believes_the_wrong_list_where_we_believe_the_id(shared: Path, tmp_path: Path) -> None:
    """Before Linux 4.14 `shared_cpu_list` split the second group of a 3+3 part; hwloc 2.9 reads no `id`."""
    cpu = known_from(TreeSource.from_tar(shared / "corpus" / "machines" / f"{PRE_4_14}.tar.gz", PRE_4_14)).cpu
    assert cpu is not None
    theirs, cores = by_hwloc(unpacked(shared, PRE_4_14, tmp_path))
    assert sorted(sorted(cpus) for _, _, cpus in theirs) == [list(range(6)), list(range(6, 10)), [10, 11]]
    ours = l3_set(cpu)
    assert ours is not None
    assert sorted(sorted(cpus) for _, _, cpus in ours) == [list(range(6)), list(range(6, 12))]
    assert len(cpu.cores or ()) == cores


@pytest.mark.parametrize("name", ["zen2-2+2", "x3d"])
def test_own_machine(name: str, tmp_path: Path) -> None:
    cpu = known_from(RecordingSource({"platform": "linux", "files": tree(name)}, name)).cpu
    assert cpu is not None
    assert (l3_set(cpu), len(cpu.cores or ())) == by_hwloc(write_tree(tree(name), tmp_path))
