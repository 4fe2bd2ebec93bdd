"""Cores, L3 groups and NUMA nodes as /sys/devices/system tells them. No file is read twice.

- Only online CPUs count: an offline one keeps its folder, sometimes with a stale `cache/`, and is still named in the
  lists of others.
- A cache is looked up by its `level`, never by its index number: guests and old chips have no level 3.
- `id` beats `shared_cpu_list`: before Linux 4.14 the list was wrong on parts with three cores in a group
  (kernel commit 2b83809a5e6d). Ids are keys with gaps, not numbers from 0 on; very old kernels have none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from doctor.machine.cpulist import MAX_CPU_ID, parse_cpulist, parse_cpumap
from doctor.sources.base import Missing, Source, value_or

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"

CpuSet: TypeAlias = frozenset[int]
_SetFile: TypeAlias = tuple[str, Callable[[str], CpuSet]]

_SIBLINGS: tuple[_SetFile, ...] = (
    ("core_cpus_list", parse_cpulist),
    ("thread_siblings_list", parse_cpulist),
    ("core_cpus", parse_cpumap),
    ("thread_siblings", parse_cpumap),
)
_SHARED: tuple[_SetFile, ...] = (("shared_cpu_list", parse_cpulist), ("shared_cpu_map", parse_cpumap))
_OF_NODE: tuple[_SetFile, ...] = (("cpulist", parse_cpulist), ("cpumap", parse_cpumap))

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


class CpuCore(msgspec.Struct, frozen=True):
    """A physical core: its online threads. `max_mhz` is the highest clock that its first thread may reach."""

    cpus: CpuSet
    package: int | None
    max_mhz: float | None


class SharedL3(msgspec.Struct, frozen=True):
    """The online CPUs behind one L3 cache."""

    cpus: CpuSet
    size_bytes: int | None


class Node(msgspec.Struct, frozen=True):
    """A NUMA node. `cpus` is None where its files were not readable."""

    id: int
    cpus: CpuSet | None
    memory_bytes: int | None


def online_cpus(source: Source) -> CpuSet | Missing:
    """The online CPUs: the file `online`, else the CPU folders that are not switched off."""
    text = source.text(f"{CPU}/online")
    if not isinstance(text, Missing):
        try:
            if online := parse_cpulist(text):
                return online
        except ValueError:
            pass
    numbers = _numbered(source, CPU, "cpu")
    if isinstance(numbers, Missing):
        return numbers
    running = (cpu for cpu in numbers if _number(source, f"{CPU}/cpu{cpu}/online") != 0)
    with_topology = frozenset(
        cpu for cpu in running if not isinstance(source.names(f"{CPU}/cpu{cpu}/topology"), Missing)
    )
    return with_topology or Missing("probe-failed", f"{CPU}: no list of online CPUs")


def cpu_cores(source: Source, online: CpuSet) -> tuple[CpuCore, ...] | Missing:
    """The cores in the order of their first CPU. They partition `online`, or they are missing."""
    cores: list[CpuCore] = []
    covered: set[int] = set()
    files = _SIBLINGS
    for cpu in sorted(online):
        if cpu in covered:
            continue
        folder = f"{CPU}/cpu{cpu}"
        answer = _cpu_set(source, f"{folder}/topology", files)
        if isinstance(answer, Missing):
            return answer
        siblings, worked = answer
        files = (worked, *_SIBLINGS)
        own = siblings & online
        if cpu not in own or own & covered:
            return Missing("probe-failed", f"{folder}/topology: its thread siblings contradict those of another CPU")
        covered |= own
        khz = _number(source, f"{folder}/cpufreq/cpuinfo_max_freq")
        package = _number(source, f"{folder}/topology/physical_package_id")
        cores.append(CpuCore(own, package, khz / 1000 if khz else None))
    return tuple(cores)


def l3_caches(source: Source, online: CpuSet) -> tuple[SharedL3, ...] | Missing:
    """The L3 groups in the order of their first CPU; empty where the caches are listed and none is of level 3."""
    folders: dict[int, str] = {}
    name: str | None = None
    for cpu in sorted(online):
        cache = f"{CPU}/cpu{cpu}/cache"
        # Most machines have one layout: the index found before is tried, and verified, before the rest is read.
        if name is None or _number(source, f"{cache}/{name}/level") != 3:
            found = _l3_index(source, cache)
            if isinstance(found, Missing):
                return found
            name = found
        if name is not None:
            folders[cpu] = f"{cache}/{name}"
    by_id = _sets_by_id(source, folders)
    sets = _sets_by_list(source, folders) if by_id is None else by_id
    if isinstance(sets, Missing):
        return sets
    return tuple(SharedL3(cpus, _size_bytes(source, folders[min(cpus)])) for cpus in sorted(sets, key=min))


def numa_nodes(source: Source, online: CpuSet) -> tuple[Node, ...] | Missing:
    """The nodes in the order of their numbers. A node that holds memory only has no CPUs."""
    numbers = _numbered(source, NODE, "node")
    if isinstance(numbers, Missing):
        return numbers
    return tuple(_node(source, number, online) for number in numbers) or Missing("probe-failed", f"{NODE}: no nodes")


def _node(source: Source, number: int, online: CpuSet) -> Node:
    answer = _cpu_set(source, f"{NODE}/node{number}", _OF_NODE)
    meminfo = value_or(source.text(f"{NODE}/node{number}/meminfo"), "")
    total = re.search(r"MemTotal:\s+(\d{1,15}) kB", meminfo)
    return Node(
        id=number,
        cpus=None if isinstance(answer, Missing) else answer[0] & online,
        memory_bytes=int(total[1]) * 1024 if total else None,
    )


def _l3_index(source: Source, cache: str) -> str | Missing | None:
    """The name of the level 3 index in a cache folder; None where every index is of another level."""
    names = source.names(cache)
    if isinstance(names, Missing):
        return names
    indexes = [name for name in names if re.fullmatch(r"index\d{1,3}", name)]
    levels = {name: _number(source, f"{cache}/{name}/level") for name in indexes}
    for name, level in levels.items():
        if level == 3 and value_or(source.text(f"{cache}/{name}/type"), "Unified").strip() == "Unified":
            return name
    if not levels or None in levels.values():
        return Missing("probe-failed", f"{cache}: no cache, or one without a level")
    return None


def _sets_by_id(source: Source, folders: dict[int, str]) -> list[CpuSet] | None:
    """The CPUs of each cache id; None where a CPU has no id: ids and lists are never mixed."""
    by_id: dict[int, set[int]] = {}
    for cpu, folder in folders.items():
        number = _number(source, f"{folder}/id")
        if number is None:
            return None
        by_id.setdefault(number, set()).add(cpu)
    return [frozenset(cpus) for cpus in by_id.values()]


def _sets_by_list(source: Source, folders: dict[int, str]) -> list[CpuSet] | Missing:
    sets: list[CpuSet] = []
    covered: set[int] = set()
    for cpu, folder in folders.items():
        if cpu in covered:
            continue
        answer = _cpu_set(source, folder, _SHARED)
        if isinstance(answer, Missing):
            return answer
        own = answer[0] & folders.keys()
        if cpu not in own or own & covered:
            return Missing("probe-failed", f"{folder}: the CPUs that share it contradict those of another CPU")
        covered |= own
        sets.append(own)
    return sets


def _size_bytes(source: Source, folder: str) -> int | None:
    size = re.fullmatch(r"(\d{1,9})([KMG]?)", value_or(source.text(f"{folder}/size"), "").strip())
    return int(size[1]) * _UNITS[size[2]] if size else None


def _cpu_set(source: Source, folder: str, files: Iterable[_SetFile]) -> tuple[CpuSet, _SetFile] | Missing:
    """The first of `files` that can be read as CPUs, and which it was."""
    whys: list[Missing] = []
    for file in files:
        text = source.text(f"{folder}/{file[0]}")
        if isinstance(text, Missing):
            whys.append(text)
            continue
        try:
            return file[1](text), file
        except ValueError as error:
            whys.insert(0, Missing("probe-failed", f"{folder}/{file[0]}: {error}"))
    return whys[0]


def _numbered(source: Source, folder: str, prefix: str) -> list[int] | Missing:
    """The numbers of the subfolders `cpu0`, `cpu1` …, sorted; larger ones than a CPU may have are passed over."""
    names = source.names(folder)
    if isinstance(names, Missing):
        return names
    found = (re.fullmatch(rf"{prefix}(\d{{1,5}})", name) for name in names)
    return sorted({number for match in found if match and (number := int(match[1])) <= MAX_CPU_ID})


def _number(source: Source, path: str) -> int | None:
    """A file's plain decimal number; None for none, a negative one (the kernel's "not known") or anything else."""
    text = value_or(source.text(path), "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None
