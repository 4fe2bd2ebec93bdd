"""Topology from trees: the recorded machines beside the checkout, and the project's own small ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Cpu
from doctor.probes import topology
from doctor.sources.base import Missing
from doctor.sources.recording import RecordingSource
from doctor.sources.tree import TreeSource
from tests.machines.compare import known_from, l3_set, mismatches
from tests.machines.recorded import OTHERS, PRE_4_14, RECORDED
from tests.machines.trees import NAMES, tree, truths, write_tree


def source_of(files: dict[str, str]) -> RecordingSource:
    return RecordingSource({"platform": "linux", "files": files}, "test")


def cpu_of(files: dict[str, str]) -> Cpu:
    found = topology.probe(source_of(files)).facts["cpu"]
    assert isinstance(found, Cpu)
    return found


class Counting(RecordingSource):
    """Counts how often each file is asked for."""

    asked: list[str]

    def __init__(self, files: dict[str, str]) -> None:
        super().__init__({"platform": "linux", "files": files}, "test")
        self.asked = []

    def text(self, path: str) -> str | Missing:
        self.asked.append(path)
        return super().text(path)


@pytest.mark.parametrize("name", NAMES)
def test_own_machine(name: str) -> None:
    machine = known_from(source_of(tree(name)))
    assert machine.cpu is not None
    assert mismatches(machine.cpu, truths()[name]) == []


@pytest.mark.parametrize("name", NAMES)
def test_own_machine_as_a_folder(name: str, tmp_path: Path) -> None:
    machine = known_from(TreeSource.from_folder(write_tree(tree(name), tmp_path), name))
    assert machine.cpu is not None
    assert mismatches(machine.cpu, truths()[name]) == []


def test_every_own_machine_has_a_truth() -> None:
    assert sorted(truths()) == NAMES


@pytest.mark.parametrize("name", OTHERS)
def test_recorded_machine(name: str, shared: Path) -> None:
    machine = known_from(TreeSource.from_tar(shared / "corpus" / "machines" / f"{name}.tar.gz", name))
    assert machine.cpu is not None
    assert mismatches(machine.cpu, RECORDED[name]) == []


def test_recorded_machine_whose_kernel_lists_three_groups(shared: Path) -> None:
    """lpereira/hardinfo#210: the ids are 0 on CPUs 0-5 and 1 on CPUs 6-11, the lists make three groups.

    The CPU numbers of the groups in machines.json are those of another Ryzen 5 1600, numbered first threads first;
    the files of this one say 0-5 and 6-11. Count, cores and sizes are compared with machines.json.
    """
    machine = known_from(TreeSource.from_tar(shared / "corpus" / "machines" / f"{PRE_4_14}.tar.gz", PRE_4_14))
    assert machine.cpu is not None
    truth = RECORDED[PRE_4_14]
    found = l3_set(machine.cpu)
    assert found == {(8388608, 3, frozenset(range(6))), (8388608, 3, frozenset(range(6, 12)))}
    assert sorted((size, cores) for size, cores, _ in found) == sorted(
        (group["size_bytes"], group["cores"]) for group in truth["l3_groups"]
    )
    assert (machine.cpu.physical_cores, machine.cpu.logical_cpus) == (truth["physical_cores"], truth["logical_cpus"])


@pytest.mark.parametrize("name", [*OTHERS, PRE_4_14])
def test_rows_of_cpuinfo_count_the_same_cores(name: str, shared: Path) -> None:
    """Where /sys is not shown the cores are counted from /proc/cpuinfo: same cores, or unknown."""
    whole = TreeSource.from_tar(shared / "corpus" / "machines" / f"{name}.tar.gz", name)
    text = whole.text("/proc/cpuinfo")
    if isinstance(text, Missing):
        return
    full, alone = known_from(whole).cpu, known_from(source_of({"/proc/cpuinfo": text})).cpu
    assert full is not None
    assert alone is not None
    assert alone.l3_groups is None
    if full.vendor == "AuthenticAMD" and (full.family or 0) < 0x17:
        assert alone.cores is None
    elif full.online == alone.online:
        assert [core.cpus for core in alone.cores or ()] == [core.cpus for core in full.cores or ()]


def test_numa_nodes_keep_the_kernels_numbers() -> None:
    cpu = cpu_of(tree("sparse-ids"))
    assert [(node.id, node.cpus) for node in cpu.numa_nodes or ()] == [
        (0, "2-3"),
        (3, "0-1"),
        (33, "6-7"),
        (72, "4-5"),
        (73, ""),
    ]
    assert [core.node for core in cpu.cores or ()] == [1, 0, 3, 2]
    assert [core.package for core in cpu.cores or ()] == [0, 0, 2, 2]


def test_memory_of_a_node() -> None:
    assert [node.memory_bytes for node in cpu_of(tree("zen2-2+2")).numa_nodes or ()] == [16 * 1024**3]


def test_masks_are_read_most_significant_word_first() -> None:
    assert [node.cpus for node in cpu_of(tree("only-masks")).numa_nodes or ()] == ["0-1", "32-33"]


def test_no_level_3_is_known_and_no_cache_folder_is_unknown() -> None:
    files = tree("vm-no-l3")
    assert cpu_of(files).l3_groups == ()
    bare = {path: text for path, text in files.items() if "/cache/" not in path}
    found = topology.probe(source_of(bare))
    assert found.facts["cpu"].l3_groups is None
    assert [(row.fact, row.reason) for row in found.unknowns] == [("cpu.l3_groups", "not-in-source")]


def test_a_cache_without_a_level_is_unknown() -> None:
    files = tree("vm-no-l3")
    del files["/sys/devices/system/cpu/cpu0/cache/index2/level"]
    assert cpu_of(files).l3_groups is None


def test_one_missing_id_falls_back_to_lists_for_all() -> None:
    files = tree("id-beats-list")
    del files["/sys/devices/system/cpu/cpu11/cache/index3/id"]
    assert [group.cpus for group in cpu_of(files).l3_groups or ()] == ["0-5", "6-9", "10-11"]


def test_a_data_cache_of_level_3_is_no_l3_group() -> None:
    files = {path: text.replace("Unified", "Data") for path, text in tree("zen2-2+2").items()}
    assert cpu_of(files).l3_groups == ()


def test_core_without_l3_has_no_index() -> None:
    files = tree("strix-two-l3")
    for cpu in (2, 5):
        files[f"/sys/devices/system/cpu/cpu{cpu}/cache/index2/level"] = "2\n"
    cpu = cpu_of(files)
    assert [core.l3 for core in cpu.cores or ()] == [0, 1, None]
    assert [group.cpus for group in cpu.l3_groups or ()] == ["0,3", "1,4"]


@pytest.mark.parametrize(
    ("cpu", "text"), [(0, "0-99999999999"), (0, "garbage"), (0, ""), (0, "5"), (1, "0-1"), (3, "2-3")]
)
def test_siblings_that_contradict_are_unknown(cpu: int, text: str) -> None:
    files = {**tree("smt-off"), f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list": text}
    found = topology.probe(source_of(files))
    assert found.facts["cpu"].cores is None
    assert [(row.fact, row.reason) for row in found.unknowns] == [("cpu.cores", "probe-failed")]
    assert len(found.facts["cpu"].l3_groups) == 2


def test_a_list_that_cannot_be_read_falls_back_to_the_mask() -> None:
    files = {**tree("zen2-2+2"), "/sys/devices/system/cpu/cpu0/topology/core_cpus_list": "garbage"}
    assert [core.cpus for core in cpu_of(files).cores or ()] == ["0,4", "1,5", "2,6", "3,7"]


def test_lists_that_overlap_are_unknown() -> None:
    files = {path: text for path, text in tree("zen2-2+2").items() if not path.endswith("/id")}
    files["/sys/devices/system/cpu/cpu2/cache/index3/shared_cpu_list"] = "1-3\n"
    assert cpu_of(files).l3_groups is None


@pytest.mark.parametrize("text", ["", "0-70000", "cpu", "0-"])
def test_a_useless_online_file_falls_back_to_the_folders(text: str) -> None:
    files = {**tree("zen2-2+2"), "/sys/devices/system/cpu/online": text}
    assert cpu_of(files).online == "0-7"


def test_folders_with_absurd_numbers_are_passed_over() -> None:
    files = tree("no-online-file")
    files["/sys/devices/system/cpu/cpu99999999999/topology/physical_package_id"] = "0\n"
    files["/sys/devices/system/cpu/cpu70000/topology/physical_package_id"] = "0\n"
    assert cpu_of(files).online == "0-2"


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("1M", 1 << 20), ("512", 512), ("", None), ("8192 K", None), ("-1K", None)]
)
def test_size(text: str, size_bytes: int | None) -> None:
    files = {**tree("zen2-2+2"), "/sys/devices/system/cpu/cpu0/cache/index3/size": text}
    groups = cpu_of(files).l3_groups
    assert groups is not None
    assert groups[0].size_bytes == size_bytes


def test_a_package_that_the_kernel_does_not_know() -> None:
    files = {**tree("smt-off"), "/sys/devices/system/cpu/cpu3/topology/physical_package_id": "-1\n"}
    machine = known_from(source_of(files))
    assert machine.cpu is not None
    assert [core.package for core in machine.cpu.cores or ()] == [0, 0, 0, None]
    assert machine.cpu.sockets is None


def test_lists_without_ids_name_offline_cpus_too() -> None:
    files = {path: text for path, text in tree("offline-stale-cache").items() if not path.endswith("/id")}
    assert [group.cpus for group in cpu_of(files).l3_groups or ()] == ["0-1,4-5"]


def test_a_cpu_that_is_off_may_keep_its_topology() -> None:
    files = {**tree("no-online-file"), "/sys/devices/system/cpu/cpu2/online": "0\n"}
    assert cpu_of(files).online == "0-1"


def test_what_a_kernel_does_not_have_is_asked_for_once() -> None:
    source = Counting(tree("id-beats-list"))
    topology.probe(source)
    assert sum(path.endswith("core_cpus_list") for path in source.asked) == 1


def test_no_file_is_read_twice_and_siblings_are_read_once_per_core() -> None:
    source = Counting(tree("zen2-2+2"))
    topology.probe(source)
    assert len(source.asked) == len(set(source.asked))
    assert sum(path.endswith("core_cpus_list") for path in source.asked) == 4
    assert sum(path.endswith("/id") for path in source.asked) == 8
    assert not any(path.endswith("shared_cpu_list") for path in source.asked)


def test_reads_grow_with_the_cpus_only(shared: Path) -> None:
    """At most six files per CPU on the largest recorded machine (384 CPUs)."""
    name = "epyc-9654-dual-zen4"
    whole = TreeSource.from_tar(shared / "corpus" / "machines" / f"{name}.tar.gz", name)
    asked: list[str] = []

    class Asked(TreeSource):
        def text(self, path: str) -> str | Missing:
            asked.append(path)
            return whole.text(path)

    topology.probe(Asked(whole._files, name))
    assert len(asked) <= 6 * 384
    assert len(asked) == len(set(asked))


def test_one_pasted_block_of_a_larger_machine_counts_nothing() -> None:
    block = "processor\t: 0\nvendor_id\t: AuthenticAMD\nsiblings\t: 16\ncore id\t: 0\nphysical id\t: 0\n"
    found = topology.probe(source_of({"/proc/cpuinfo": block}))
    assert found.facts == {}
    assert {row.fact for row in found.unknowns} == {"cpu.online", "cpu.cores", "cpu.l3_groups"}


def test_nothing_at_all() -> None:
    found = topology.probe(source_of({}))
    assert found.facts == {}
    assert {row.reason for row in found.unknowns} == {"not-in-source"}


def test_other_platforms_are_not_looked_at() -> None:
    found = topology.probe(RecordingSource({"platform": "macos", "files": tree("x3d")}, "test"))
    assert (found.facts, found.unknowns) == ({}, ())


_LEAVES = st.sampled_from(
    [
        "online",
        "cpu0/online",
        "cpu0/topology/core_cpus_list",
        "cpu0/topology/physical_package_id",
        "cpu1/topology/thread_siblings",
        "cpu1/cpufreq/cpuinfo_max_freq",
        *(f"cpu{cpu}/cache/index3/{leaf}" for cpu in (0, 1) for leaf in ("level", "type", "id", "shared_cpu_list")),
    ]
)
_WORDS = st.one_of(st.text(max_size=20), st.sampled_from(["0", "1", "3", "0-1", "Unified", "-1", "99999999999"]))


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(_LEAVES, _WORDS))
def test_any_files_give_a_document_or_unknown_rows(files: dict[str, str]) -> None:
    found = topology.probe(source_of({f"/sys/devices/system/cpu/{path}": text for path, text in files.items()}))
    cpu = found.facts.get("cpu")
    if cpu is not None and cpu.cores is not None:
        listed = sorted(number for core in cpu.cores for number in _numbers(core.cpus))
        assert listed == sorted(_numbers(cpu.online))


def _numbers(text: str) -> frozenset[int]:
    return parse_cpulist(text)
