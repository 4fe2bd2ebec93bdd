"""Reads the buffer of GetLogicalProcessorInformationEx(RelationAll): cores, caches, NUMA nodes, packages of Windows.

Layouts: PROCESSOR_RELATIONSHIP, CACHE_RELATIONSHIP, NUMA_NODE_RELATIONSHIP of winnt.h in a 64-bit process, little
endian (learn.microsoft.com, read 2026-11-30). How CPUs are numbered stands in `doctor.sources.processor_groups`.

- A cache or node record has one group mask where its GroupCount is 0: the field came with build 20348, was reserved
  and zero before, and is zero under Wine.
- From build 20348 on, RelationAll gives a node's masks in all its groups; before, Windows split a node larger than a
  group into several.
- Records of other kinds (die, module) are passed over: the L3 cache is the unit that counts.
"""

from __future__ import annotations

import struct

import msgspec

from doctor.sources.processor_groups import ProcessorGroups, Record, Unreadable, read_groups, read_records

CORE, NUMA_NODE, CACHE, PACKAGE = 0, 1, 2, 3

_LTP_PC_SMT = 1
_CACHE_KINDS = ("unified", "instruction", "data", "trace")

_PROCESSOR = struct.Struct("<BB20xH")  # Flags, EfficiencyClass, GroupCount
_NODE = struct.Struct("<I18xH")  # NodeNumber, GroupCount
_CACHE = struct.Struct("<BBHII18xH")  # Level, Associativity, LineSize, CacheSize, Type, GroupCount
_AFFINITY = struct.Struct("<QH6x")  # Mask, Group


class ProcessorCore(msgspec.Struct, frozen=True):
    """A physical core. On a machine with unlike cores the class of the faster ones is higher; else it is 0."""

    cpus: frozenset[int]
    smt: bool
    efficiency_class: int


class ProcessorCache(msgspec.Struct, frozen=True):
    """A cache and the CPUs that share it."""

    level: int
    kind: str  # unified instruction data trace
    size_bytes: int
    cpus: frozenset[int]


class ProcessorNode(msgspec.Struct, frozen=True):
    """A NUMA node; one that holds memory only has no CPUs."""

    number: int
    cpus: frozenset[int]


class LogicalProcessors(msgspec.Struct, frozen=True):
    """What Windows says of its processors. Cores, caches and packages stand in the order of their lowest CPU."""

    online: frozenset[int]
    groups: ProcessorGroups
    cores: tuple[ProcessorCore, ...]
    caches: tuple[ProcessorCache, ...]
    numa_nodes: tuple[ProcessorNode, ...]
    packages: tuple[frozenset[int], ...]


def read_logical_processors(buffer: bytes) -> LogicalProcessors | Unreadable:
    """The buffer as cores, caches, nodes and packages; `Unreadable` for one that is cut or makes no sense."""
    records = read_records(buffer)
    if isinstance(records, Unreadable):
        return records
    groups = read_groups(records)
    if isinstance(groups, Unreadable):
        return groups
    try:
        cores = [_core(record, groups) for record in records if record.relation == CORE]
        caches = [_cache(record, groups) for record in records if record.relation == CACHE]
        nodes = [_node(record, groups) for record in records if record.relation == NUMA_NODE]
        packages = [_package(record, groups) for record in records if record.relation == PACKAGE]
    except struct.error as error:
        return Unreadable(f"a record is cut: {error}")
    except (IndexError, ValueError) as error:
        return Unreadable(str(error))
    online = groups.active
    seen = [cpu for core in cores for cpu in core.cpus]
    if len(seen) != len(set(seen)):
        return Unreadable("two cores share a CPU")
    if not cores or set(seen) != online:
        return Unreadable(f"the cores have {len(seen)} CPUs, the processor groups {len(online)}")
    return LogicalProcessors(
        online=online,
        groups=groups,
        cores=tuple(sorted(cores, key=lambda core: min(core.cpus))),
        caches=tuple(sorted(caches, key=lambda cache: (cache.level, cache.kind, sorted(cache.cpus)))),
        numa_nodes=tuple(sorted(nodes, key=lambda node: node.number)),
        packages=tuple(sorted(packages, key=min)),
    )


def _core(record: Record, groups: ProcessorGroups) -> ProcessorCore:
    flags, efficiency, count = _PROCESSOR.unpack_from(record.body)
    cpus = _some(_cpus(record.body, _PROCESSOR.size, count, groups), "a core")
    return ProcessorCore(cpus, bool(flags & _LTP_PC_SMT), efficiency)


def _package(record: Record, groups: ProcessorGroups) -> frozenset[int]:
    *_, count = _PROCESSOR.unpack_from(record.body)
    return _some(_cpus(record.body, _PROCESSOR.size, count, groups), "a package")


def _cache(record: Record, groups: ProcessorGroups) -> ProcessorCache:
    level, _, _, size_bytes, kind, count = _CACHE.unpack_from(record.body)
    if kind >= len(_CACHE_KINDS):
        raise ValueError(f"a cache of type {kind}")
    cpus = _some(_cpus(record.body, _CACHE.size, max(count, 1), groups), "a cache")
    return ProcessorCache(level, _CACHE_KINDS[kind], size_bytes, cpus)


def _node(record: Record, groups: ProcessorGroups) -> ProcessorNode:
    number, count = _NODE.unpack_from(record.body)
    return ProcessorNode(number, _cpus(record.body, _NODE.size, max(count, 1), groups))


def _cpus(body: bytes, start: int, count: int, groups: ProcessorGroups) -> frozenset[int]:
    """The CPUs of `count` group masks that begin at `start`. Raises struct.error where the record has fewer."""
    pairs = (_AFFINITY.unpack_from(body, start + at * _AFFINITY.size) for at in range(count))
    # The group of an empty mask is undefined.
    return groups.cpus((group, mask) for mask, group in pairs if mask)


def _some(cpus: frozenset[int], what: str) -> frozenset[int]:
    if not cpus:
        raise ValueError(f"{what} without a CPU")
    return cpus
