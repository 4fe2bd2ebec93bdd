"""The cores of a machine in groups that share an L3 cache, ready to be drawn or printed as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from doctor.machine.cpulist import format_cpulist, parse_cpulist
from doctor.machine.model import Core, Cpu, L3Group, Limits


class Column(msgspec.Struct, frozen=True):
    """One core: the CPU numbers of its threads in their order, and its kind where cores differ."""

    cpus: tuple[int, ...]
    kind: str | None = None  # performance efficiency


class Cluster(msgspec.Struct, frozen=True):
    """Cores that share an L3 cache; without `l3` cores of one package of which no L3 is known.

    Where `cores_known` is false, which CPUs are threads of one core is not known, and every CPU has its own column.
    """

    columns: tuple[Column, ...]
    l3: int | None = None
    size_bytes: int | None = None
    package: int | None = None
    node: int | None = None
    cores_known: bool = True

    @property
    def cpus(self) -> frozenset[int]:
        return frozenset(cpu for column in self.columns for cpu in column.cpus)

    @property
    def shape(self) -> tuple[object, ...]:
        """What makes two clusters look alike."""
        return (self.size_bytes, self.cores_known, tuple((len(column.cpus), column.kind) for column in self.columns))


def clusters_of(cpu: Cpu) -> tuple[Cluster, ...]:
    """The clusters in the order of package, NUMA node and L3; empty where not even the CPU numbers are known."""
    if cpu.cores:
        return _from_cores(cpu.cores, cpu.l3_groups or ())
    if cpu.l3_groups:
        return tuple(
            Cluster(_loose(group.cpus), l3=at, size_bytes=group.size_bytes, cores_known=False)
            for at, group in enumerate(cpu.l3_groups)
            if group.cpus
        )
    return (Cluster(_loose(cpu.online), cores_known=False),) if cpu.online else ()


def _loose(cpus: str | None) -> tuple[Column, ...]:
    return tuple(Column((number,)) for number in sorted(parse_cpulist(cpus or "")))


def _from_cores(cores: Sequence[Core], groups: Sequence[L3Group]) -> tuple[Cluster, ...]:
    members: dict[tuple[int | None, int | None], list[Core]] = {}
    for core in cores:
        members.setdefault((core.package, core.l3), []).append(core)
    clusters = [_cluster(package, l3, inside, groups) for (package, l3), inside in members.items()]
    return tuple(sorted(clusters, key=lambda cluster: [_last(cluster.package), _last(cluster.node), _last(cluster.l3)]))


def _last(number: int | None) -> float:
    """Unknown numbers come behind all known ones."""
    return float("inf") if number is None else number


def _cluster(package: int | None, l3: int | None, cores: Sequence[Core], groups: Sequence[L3Group]) -> Cluster:
    nodes = {core.node for core in cores}
    columns = tuple(Column(tuple(sorted(parse_cpulist(core.cpus or ""))), core.kind) for core in cores)
    return Cluster(
        columns=tuple(sorted(columns, key=lambda column: column.cpus)),
        l3=l3,
        size_bytes=groups[l3].size_bytes if l3 is not None and 0 <= l3 < len(groups) else None,
        package=package,
        node=nodes.pop() if len(nodes) == 1 else None,
    )


def usable_cpus(limits: Limits | None) -> frozenset[int] | None:
    """The CPUs that this process may run on, by its affinity mask and its cpuset; None where neither is known."""
    if limits is None:
        return None
    cpuset = limits.cgroup.cpuset_cpus if limits.cgroup else None
    known = [parse_cpulist(text) for text in (limits.affinity, cpuset) if text]
    return frozenset.intersection(*known) if known else None


def absent_cpus(clusters: Iterable[Cluster]) -> str:
    """The CPU numbers below the highest that no cluster has: switched off, or never there."""
    there = {cpu for cluster in clusters for cpu in cluster.cpus}
    return format_cpulist(set(range(max(there, default=0))) - there)
