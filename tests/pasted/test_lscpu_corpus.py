"""Every recorded lscpu text is read with the right counts or with an honest unknown, and there are so many of each."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Cpu
from doctor.pasted.lscpu import read
from tests.pasted.lscpu_corpus import (
    groups_by_pairs,
    line,
    lscpu_files,
    machine_id,
    product,
    true_cores,
)


@pytest.fixture(scope="module")
def files(shared: Path) -> tuple[Path, ...]:
    return tuple(lscpu_files(shared))


@pytest.fixture(scope="module")
def cpus(files: tuple[Path, ...]) -> dict[Path, Cpu]:
    return {path: _cpu(path) for path in files}


def _cpu(path: Path) -> Cpu:
    part = read(path.read_text())
    assert part is not None, path.name
    assert part.kind == "lscpu"
    assert part.machine.cpu is not None
    return part.machine.cpu


def _is_anomaly(path: Path, kind: str) -> bool:
    return path.parent.name == kind


def test_identity_is_that_of_the_file_name(cpus: dict[Path, Cpu]) -> None:
    checked = 0
    for path, cpu in cpus.items():
        assert cpu.vendor == "AuthenticAMD", path.name
        named = re.match(r"(.+?)\.(\d+)-(\d+)-(\d+)\.", path.name)
        if named:
            checked += 1
            assert (cpu.family, cpu.model, cpu.stepping) == tuple(map(int, named.groups()[1:])), path.name
        words = product(path).replace("-", " ").split()[:2]
        assert path.parent.name == "other" or all(word in (cpu.name or "") for word in words), path.name
    assert (len(cpus), checked) == (311, 274)


def test_cores_are_right_or_unknown(files: tuple[Path, ...], cpus: dict[Path, Cpu]) -> None:
    counted: Counter[str] = Counter()
    for path, cpu in cpus.items():
        right = cpu.physical_cores == true_cores(path, files)
        counted["unknown" if cpu.physical_cores is None else "right" if right else f"wrong: {path.name}"] += 1
    assert counted == {"right": 307, "unknown": 4}


def test_cores_are_unknown_exactly_where_cpus_are_switched_off(cpus: dict[Path, Cpu]) -> None:
    without = {path for path, cpu in cpus.items() if cpu.physical_cores is None}
    assert without == {path for path in cpus if _is_anomaly(path, "offline")}
    for path in without:
        part = read(path.read_text())
        assert part is not None and part.note is not None and "switched off" in part.note
        assert (cpus[path].sockets, cpus[path].l3_groups) == (None, None)


def test_threads_are_the_cpus_that_are_online(cpus: dict[Path, Cpu]) -> None:
    for path, cpu in cpus.items():
        online = parse_cpulist(line(path.read_text(), "On-line CPU(s) list") or "")
        assert cpu.logical_cpus == len(online), path.name
        assert parse_cpulist(cpu.online or "") == online
        if _is_anomaly(path, "threads1"):
            assert cpu.logical_cpus == cpu.physical_cores


def test_sockets(files: tuple[Path, ...], cpus: dict[Path, Cpu]) -> None:
    """A second socket shows in twice the cores of the product's name."""
    known = {path: cpu for path, cpu in cpus.items() if cpu.sockets is not None}
    assert Counter(cpu.sockets for cpu in known.values()) == {1: 286, 2: 21}
    for path, cpu in known.items():
        told = re.search(r"(\d+)-Core", product(path))
        if told:
            assert cpu.physical_cores == int(told[1]) * (cpu.sockets or 0), path.name
        assert not _is_anomaly(path, "sockets2") or cpu.sockets == 2


def test_l3_groups_are_right_or_unknown(files: tuple[Path, ...], cpus: dict[Path, Cpu]) -> None:
    """The truth: one text of a product tells the size of one cache, another the sum of all."""
    pairs = groups_by_pairs(files)
    counted: Counter[str] = Counter()
    for path, cpu in cpus.items():
        truth = pairs.get((product(path), line(path.read_text(), "Model") or ""))
        if cpu.l3_groups is None:
            counted["unknown"] += 1
        elif truth is None:
            counted["proven, no second text"] += 1
        else:
            right = len(cpu.l3_groups) == truth[0] * (cpu.sockets or 0)
            counted["right" if right else f"wrong: {path.name}"] += 1
            assert all(group.size_bytes in (None, truth[1] << 20) for group in cpu.l3_groups), path.name
    assert len(pairs) == 111
    assert counted == {"right": 206, "proven, no second text": 39, "unknown": 66}


#: (texts, of which the number of L3 groups is known) by what lscpu writes for it.
_BY_DIALECT = {"one instance": (153, 115), "product": (144, 116), "counted": (10, 10), "none": (4, 4)}


def test_l3_groups_by_dialect(cpus: dict[Path, Cpu]) -> None:
    counted: dict[str, tuple[int, int]] = {}
    for path, cpu in cpus.items():
        value = line(path.read_text(), "L3 cache")
        if value is None:
            dialect = "none"
        elif value.endswith("K"):
            dialect = "one instance"
        else:
            dialect = "counted" if "instance" in value else "product"
        texts, known = counted.get(dialect, (0, 0))
        counted[dialect] = texts + 1, known + (cpu.l3_groups is not None)
    assert counted == _BY_DIALECT


def test_what_is_known_of_an_l3_group(cpus: dict[Path, Cpu]) -> None:
    counted: Counter[str] = Counter()
    for path, cpu in cpus.items():
        groups = cpu.l3_groups or ()
        for name in ("size_bytes", "cores", "cpus"):
            known = {getattr(group, name) is not None for group in groups}
            assert len(known) <= 1, path.name
            counted[name] += known == {True}
        if groups and groups[0].cores is not None:
            assert sum(group.cores or 0 for group in groups) == cpu.physical_cores
        if groups and groups[0].cpus is not None:
            together = [number for group in groups for number in parse_cpulist(group.cpus or "")]
            assert sorted(together) == sorted(parse_cpulist(cpu.online or ""))
    assert counted == {"size_bytes": 241, "cores": 225, "cpus": 116}


def test_l3_groups_are_those_of_recorded_machines(shared: Path, cpus: dict[Path, Cpu]) -> None:
    """A recorded machine of the same name shows how many there are; two sockets have twice as many."""
    recorded = json.loads((shared / "corpus" / "machines.json").read_text())
    by_name = {truth["name"]: truth for truth in recorded.values() if truth.get("name")}
    checked = set()
    for path, cpu in cpus.items():
        truth = by_name.get(cpu.name)
        if truth is None or not cpu.l3_groups:
            continue
        checked.add(cpu.name)
        assert len(cpu.l3_groups) == len(truth["l3_groups"]) * (cpu.sockets or 0) // truth["packages"], path.name
        sizes = {group["size_bytes"] for group in truth["l3_groups"]}
        assert all(group.size_bytes in (None, *sizes) for group in cpu.l3_groups)
        cores = {group["cores"] for group in truth["l3_groups"]}
        assert all(group.cores in (None, *cores) for group in cpu.l3_groups)
    assert len(checked) == 13


def test_numa_nodes(cpus: dict[Path, Cpu]) -> None:
    for path, cpu in cpus.items():
        text = path.read_text()
        count = line(text, "NUMA node(s)")
        if count is None:
            assert cpu.numa_nodes is None
            continue
        assert cpu.numa_nodes is not None and len(cpu.numa_nodes) == int(count), path.name
        for node in cpu.numa_nodes:
            written = line(text, f"NUMA node{node.id} CPU(s)")
            assert parse_cpulist(node.cpus or "") == parse_cpulist(written or ""), path.name
    for kind, nodes in (("numa2", 2), ("numa4", 4), ("numa8", 8)):
        assert {len(cpu.numa_nodes or ()) for path, cpu in cpus.items() if _is_anomaly(path, kind)} == {nodes}


def test_the_name_is_not_that_of_the_bios(cpus: dict[Path, Cpu]) -> None:
    texts = [(path, cpu) for path, cpu in cpus.items() if line(path.read_text(), "BIOS Model name")]
    assert len(texts) == 9
    for path, cpu in texts:
        assert cpu.name == " ".join((line(path.read_text(), "Model name") or "").split())
        assert "Unknown CPU" not in (cpu.name or "")


def test_instruction_set(cpus: dict[Path, Cpu]) -> None:
    """All are Zen to Zen 3, or older: none has AVX-512. Only family 15h before Excavator lacks AVX2."""
    without = {path for path, cpu in cpus.items() if cpu.isa is None}
    assert {path.parent.name for path in without} == {"no-flags-or-localised", "decimal-comma"}
    assert len(without) == 5
    for path, cpu in cpus.items():
        if cpu.isa is not None:
            assert (cpu.isa.avx, cpu.isa.avx512f, cpu.isa.amx_bf16) == (True, False, False), path.name
            assert cpu.isa.avx2 is (cpu.family != 21 or cpu.model == 101), path.name
            assert cpu.flags == tuple((line(path.read_text(), "Flags") or "").split())


def test_decimal_commas(cpus: dict[Path, Cpu]) -> None:
    texts = [path for path in cpus if re.search(r"^CPU max MHz:.*,", path.read_text(), re.MULTILINE)]
    assert len({machine_id(path) for path in texts}) == 3
    for path in texts:
        written = (line(path.read_text(), "CPU max MHz") or "").replace(",", ".")
        assert cpus[path].max_mhz == float(written)


def test_boost(cpus: dict[Path, Cpu]) -> None:
    assert Counter(cpu.boost for cpu in cpus.values()) == {None: 163, True: 141, False: 7}


def test_a_text_with_a_headline_and_no_last_newline(shared: Path) -> None:
    """The section of a support report: its list of flags is not ended, so what is missing in it is unknown."""
    path = shared / "corpus" / "gpu" / "rocm-techsupport-epyc7451-mi100-rocm4.1.1" / "lscpu.txt"
    part = read(path.read_text())
    assert part is not None and part.machine.cpu is not None
    cpu = part.machine.cpu
    assert (cpu.physical_cores, cpu.logical_cpus, cpu.sockets, len(cpu.numa_nodes or ())) == (48, 96, 2, 8)
    assert cpu.isa is not None
    assert (cpu.isa.avx2, cpu.isa.avx512f, cpu.flags, cpu.l3_groups) == (True, None, None, None)
    assert part.span == (1, 33)
