"""Which CPUs share a core, an L3 cache, a NUMA node, a package.

Linux: sysfs; where that is not shown (a container without /sys, a pasted /proc/cpuinfo), cores are counted from the
rows of /proc/cpuinfo, and the L3 groups stay unknown. Windows: `topology_windows`.
"""

from __future__ import annotations

from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Core, Cpu, L3Group, NumaNode
from doctor.probes.found import Found, unknown
from doctor.probes.sysfs_cpu import CPU, NODE, CpuCore, CpuSet, Node, SharedL3, cpu_cores, l3_caches, numa_nodes
from doctor.probes.sysfs_cpu import online_cpus as online_in_sysfs
from doctor.sources.base import Missing, Source, value_or
from doctor.sources.recording import FILE_CAP_BYTES
from doctor.texts.cpuinfo import Cpuinfo, read_cpuinfo

_CPUINFO = "/proc/cpuinfo"


def probe(source: Source) -> Found:
    if source.origin.platform == "windows":
        from doctor.probes import topology_windows

        return topology_windows.probe(source)
    if source.origin.platform == "linux":
        return _linux(source)
    return Found()


def _linux(source: Source) -> Found:
    online, from_rows = online_in_sysfs(source), False
    if isinstance(online, Missing):
        why, from_rows = online, True
        online = _rows(source).online
        if not online:
            return Found(unknowns=tuple(unknown(f"cpu.{fact}", why) for fact in ("online", "cores", "l3_groups")))
    cores, cores_origin = cpu_cores(source, online), f"{CPU}/cpu*/topology"
    if isinstance(cores, Missing) and (counted := _rows_cores(_rows(source), online)):
        cores, cores_origin = counted, _CPUINFO
    caches = l3_caches(source, online)
    nodes = numa_nodes(source, online)
    answers = (("cores", cores, cores_origin), ("l3_groups", caches, f"{CPU}/cpu*/cache"), ("numa_nodes", nodes, NODE))
    return Found(
        facts={"cpu": _cpu(online, cores, caches, nodes)},
        # Whether there are NUMA nodes nobody can look up by hand where the kernel shows none.
        unknowns=tuple(
            unknown(f"cpu.{fact}", answer)
            for fact, answer, _ in answers
            if isinstance(answer, Missing) and fact != "numa_nodes"
        ),
        origins={
            "cpu.online": _CPUINFO if from_rows else f"{CPU}/online",
            **{f"cpu.{fact}": origin for fact, answer, origin in answers if not isinstance(answer, Missing)},
        },
    )


def _cpu(
    online: CpuSet,
    cores: tuple[CpuCore, ...] | Missing,
    caches: tuple[SharedL3, ...] | Missing,
    nodes: tuple[Node, ...] | Missing,
) -> Cpu:
    """The part of the document that these answers fill."""
    known_cores = () if isinstance(cores, Missing) else cores
    cache_sets = [] if isinstance(caches, Missing) else [cache.cpus for cache in caches]
    node_sets = [] if isinstance(nodes, Missing) else [node.cpus or frozenset() for node in nodes]
    return Cpu(
        online=format_cpulist(online),
        cores=None if isinstance(cores, Missing) else tuple(_core(core, cache_sets, node_sets) for core in cores),
        l3_groups=None
        if isinstance(caches, Missing)
        else tuple(
            L3Group(
                cpus=format_cpulist(cache.cpus),
                cores=sum(not core.cpus.isdisjoint(cache.cpus) for core in known_cores) or None,
                size_bytes=cache.size_bytes,
            )
            for cache in caches
        ),
        numa_nodes=None if isinstance(nodes, Missing) else tuple(_node(node) for node in nodes),
        max_mhz=max((core.max_mhz for core in known_cores if core.max_mhz is not None), default=None),
    )


def _core(core: CpuCore, cache_sets: list[CpuSet], node_sets: list[CpuSet]) -> Core:
    return Core(
        cpus=format_cpulist(core.cpus),
        package=core.package,
        l3=_holder(cache_sets, core.cpus),
        node=_holder(node_sets, core.cpus),
        max_mhz=core.max_mhz,
    )


def _node(node: Node) -> NumaNode:
    cpus = None if node.cpus is None else format_cpulist(node.cpus)
    return NumaNode(id=node.id, cpus=cpus, memory_bytes=node.memory_bytes)


def _holder(sets: list[CpuSet], cpus: CpuSet) -> int | None:
    """Which of `sets` holds all of `cpus`; None where none does."""
    return next((at for at, whole in enumerate(sets) if cpus <= whole), None)


def _rows(source: Source) -> Cpuinfo:
    """What /proc/cpuinfo says; nothing where it is missing, or longer than a source reads."""
    text = value_or(source.text(_CPUINFO), "")
    return Cpuinfo() if len(text) >= FILE_CAP_BYTES else read_cpuinfo(text)


def _rows_cores(cpuinfo: Cpuinfo, online: CpuSet) -> tuple[CpuCore, ...]:
    """The cores that the rows tell, where these are all the CPUs that are online."""
    if cpuinfo.online != online:
        return ()
    return tuple(CpuCore(core.cpus, core.package, None) for core in cpuinfo.cores)
