"""Cores, L3 groups, NUMA nodes and sockets of a Windows machine, from GetLogicalProcessorInformationEx."""

from __future__ import annotations

import base64
import binascii

from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Core, Cpu, L3Group, NumaNode
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source
from doctor.sources.processor_groups import Unreadable
from doctor.texts.logical_processors import LogicalProcessors, ProcessorCache, read_logical_processors

_API = "logical-processors"
_FACTS = ("online", "cores", "l3_groups", "numa_nodes")
_ORIGIN = "GetLogicalProcessorInformationEx"


def probe(source: Source) -> Found:
    processors = logical_processors(source)
    if isinstance(processors, Missing):
        return Found(unknowns=tuple(unknown(f"cpu.{fact}", processors) for fact in _FACTS))
    cpu = cpu_from(processors)
    return Found(facts={"cpu": cpu}, origins={f"cpu.{fact}": _ORIGIN for fact in _FACTS})


def logical_processors(source: Source) -> LogicalProcessors | Missing:
    """What Windows says of its processors, or why that is not known."""
    answer = source.api(_API)
    if isinstance(answer, Missing):
        return answer
    try:
        buffer = base64.b64decode(answer, validate=True)
    except (binascii.Error, ValueError, TypeError):
        return Missing("probe-failed", f"{_ORIGIN}: not base64")
    processors = read_logical_processors(buffer)
    if isinstance(processors, Unreadable):
        return Missing("probe-failed", f"{_ORIGIN}: {processors.detail}")
    return processors


def cpu_from(processors: LogicalProcessors) -> Cpu:
    """The topology as part of the document. Core kinds are known only where Windows tells cores apart."""
    shared = [cache for cache in processors.caches if cache.level == 3 and cache.kind == "unified"]
    cores = tuple(
        Core(
            cpus=format_cpulist(core.cpus),
            package=_holder([*processors.packages], core.cpus),
            l3=_holder([cache.cpus for cache in shared], core.cpus),
            node=_holder([node.cpus for node in processors.numa_nodes], core.cpus),
            kind=kind,
        )
        for core, kind in zip(processors.cores, _kinds(processors), strict=True)
    )
    return Cpu(
        online=format_cpulist(processors.online),
        cores=cores,
        # A guest may be shown no cache at all: then nothing says whether there is an L3.
        l3_groups=tuple(_l3_group(cache, processors) for cache in shared) if processors.caches else None,
        numa_nodes=tuple(NumaNode(id=node.number, cpus=format_cpulist(node.cpus)) for node in processors.numa_nodes)
        or None,
    )


def _l3_group(cache: ProcessorCache, processors: LogicalProcessors) -> L3Group:
    return L3Group(
        cpus=format_cpulist(cache.cpus & processors.online),
        cores=sum(not core.cpus.isdisjoint(cache.cpus) for core in processors.cores),
        size_bytes=cache.size_bytes,
    )


def _kinds(processors: LogicalProcessors) -> list[str | None]:
    """`performance` or `efficiency` per core; None throughout where all cores are of one class: Windows leaves the
    class at 0 there, and also on some chips whose cores differ only in their clock."""
    classes = [core.efficiency_class for core in processors.cores]
    if len(set(classes)) < 2:
        return [None] * len(classes)
    return ["performance" if own == max(classes) else "efficiency" for own in classes]


def _holder(sets: list[frozenset[int]], cpus: frozenset[int]) -> int | None:
    """Which of `sets` holds all of `cpus`; None where none does."""
    return next((at for at, whole in enumerate(sets) if cpus <= whole), None)
