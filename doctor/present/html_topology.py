"""The processor as a picture: packages, their NUMA nodes, and one small tile per L3 cache, with the same as a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cpu, Machine
from doctor.present.clusters import Cluster, absent_cpus, clusters_of, usable_cpus
from doctor.present.hardware import budget_reasons, cores_text, l3_word, short_cpu_name
from doctor.present.html_tiles import KIND_MARKS, Tile, cores_words, l3_words, name_of, tiles_of, usable_words
from doctor.present.language import joined, say
from doctor.present.says import NO_REASON, reason_of
from doctor.present.text import bytes_text, listed, plural


class Group(msgspec.Struct, frozen=True):
    """The tiles of one NUMA node; `heading` is empty where the package has only one."""

    heading: str
    tiles: tuple[Tile, ...]


class Panel(msgspec.Struct, frozen=True):
    """A package; `heading` is empty where there is only one."""

    heading: str
    groups: tuple[Group, ...]

    @property
    def tiles(self) -> tuple[Tile, ...]:
        return tuple(tile for group in self.groups for tile in group.tiles)


class Row(msgspec.Struct, frozen=True):
    """The same tile as text."""

    package: str
    node: str
    name: str
    l3: str
    cores: str
    cpus: str
    usable: str


class TopologyPicture(msgspec.Struct, frozen=True):
    caption: str
    panels: tuple[Panel, ...]
    rows: tuple[Row, ...]
    legend: tuple[str, ...]  # which signs to explain: smt core cpu performance efficiency outside cache
    notes: tuple[str, ...]
    word: str = "CCX"


def topology_picture(machine: Machine) -> TopologyPicture:
    """The picture; without panels where not even the CPU numbers are known."""
    cpu = machine.cpu
    clusters = clusters_of(cpu) if cpu is not None else ()
    if cpu is None or not clusters:
        return TopologyPicture(_nothing_known(machine), (), (), (), ())
    usable = usable_cpus(machine.limits)
    outside = frozenset[int]() if usable is None else frozenset(n for c in clusters for n in c.cpus) - usable
    panels = tuple(_panels(cpu, clusters, outside))
    return TopologyPicture(
        caption=_caption(cpu, clusters),
        panels=panels,
        rows=tuple(_row(cpu, cluster, outside) for cluster in clusters),
        legend=tuple(_legend(clusters, outside)),
        notes=tuple(_notes(machine, clusters, outside)),
        word=l3_word(cpu),
    )


def _panels(cpu: Cpu, clusters: Sequence[Cluster], outside: frozenset[int]) -> list[Panel]:
    tiles = tiles_of(cpu, clusters, outside)
    several_packages = len({cluster.package for cluster in clusters}) > 1
    several_nodes = len({cluster.node for cluster in clusters}) > 1
    panels = []
    for package, members in groupby(clusters, key=lambda cluster: cluster.package):
        groups = [
            Group(
                _node(cpu, node) if several_nodes and node is not None else "",
                tuple(tiles[cluster] for cluster in inside),
            )
            for node, inside in groupby(members, key=lambda cluster: cluster.node)
        ]
        heading = say("Package {number}", number=package) if several_packages and package is not None else ""
        if len(groups) == 1:
            heading = joined([part for part in (heading, groups[0].heading) if part])
            groups = [Group("", groups[0].tiles)]
        panels.append(Panel(heading, tuple(groups)))
    return panels


def _row(cpu: Cpu, cluster: Cluster, outside: frozenset[int]) -> Row:
    return Row(
        package="" if cluster.package is None else str(cluster.package),
        node="" if cluster.node is None else str(cluster.node),
        name=name_of(cpu, cluster),
        l3=l3_words(cluster).removesuffix(" L3") or say("none known"),
        cores=cores_words(cluster),
        cpus=format_cpulist(cluster.cpus),
        usable=usable_words(cluster, outside) or say("all"),
    )


def _node(cpu: Cpu, node: int) -> str:
    """`NUMA node 1, 32 GiB RAM`."""
    nodes = cpu.numa_nodes or ()
    memory = nodes[node].memory_bytes if 0 <= node < len(nodes) else None
    parts = [say("NUMA node {number}", number=node)]
    if memory is not None:
        parts.append(say("{size} RAM", size=bytes_text(memory)) if memory else say("no memory of its own"))
    return joined(parts)


def _caption(cpu: Cpu, clusters: Sequence[Cluster]) -> str:
    parts = [short_cpu_name(cpu.name)] if cpu.name else [say("A CPU of unknown name")]
    parts += [cpu.generation] if cpu.generation else []
    packages = {cluster.package for cluster in clusters if cluster.package is not None}
    parts += [plural(len(packages), "package")] if len(packages) > 1 else []
    count = sum(cluster.l3 is not None for cluster in clusters)
    word = l3_word(cpu)
    parts += [f"{count} CCX" if word == "CCX" else plural(count, word)] if count else []
    return joined([*parts, cores_text(cpu) or plural(sum(len(c.cpus) for c in clusters), "CPU")])


def _legend(clusters: Sequence[Cluster], outside: frozenset[int]) -> list[str]:
    columns = [column for cluster in clusters for column in cluster.columns]
    known = all(cluster.cores_known for cluster in clusters)
    signs = ["cpu"] if not known else ["smt"] if any(len(column.cpus) > 1 for column in columns) else ["core"]
    kinds = {column.kind for column in columns if column.kind in KIND_MARKS}
    signs += sorted(kind for kind in kinds if kind) [::-1] if len(kinds) > 1 else []
    signs += ["outside"] if outside else []
    return [*signs, "cache"] if any(cluster.size_bytes for cluster in clusters) else signs


def _notes(machine: Machine, clusters: Sequence[Cluster], outside: frozenset[int]) -> list[str]:
    """What the picture cannot show: a quota, CPUs that are off, and what is not known."""
    cpu, limits = machine.cpu, machine.limits
    assert cpu is not None
    says = []
    if outside:
        count = plural(len(outside), "CPU")
        says.append(say("This process may not use {count}: {numbers}.", count=count, numbers=format_cpulist(outside)))
    cgroup = limits.cgroup if limits else None
    if limits and limits.cpu_budget is not None and cgroup and isinstance(cgroup.quota_cpus, int | float):
        reasons = listed(budget_reasons(limits, None))
        cpus = plural(limits.cpu_budget, "CPU")
        says.append(say("This process gets the time of {cpus}, whichever they are ({why}).", cpus=cpus, why=reasons))
    absent = absent_cpus(clusters)
    if absent:
        says.append(say("CPU {numbers}: not online, or never there.", numbers=absent))
    if not all(cluster.cores_known for cluster in clusters):
        says.append(_not_known(say("Which CPUs are threads of one core is not known"), machine, "cpu.cores", "cpu"))
    if cpu.l3_groups is None:
        says.append(_not_known(say("Which cores share an L3 cache is not known"), machine, "cpu.l3_groups", "cpu"))
    elif not cpu.l3_groups:
        says.append(say("No L3 cache is reported: the CPU has none, or a virtual machine hides it."))
    return says


def _not_known(what: str, machine: Machine, *facts: str) -> str:
    """The sentence with its reason, where that is known."""
    reason = reason_of(machine, *facts)
    return say("{what}.", what=what) if reason == say(NO_REASON) else say("{what}: {reason}.", what=what, reason=reason)


def _nothing_known(machine: Machine) -> str:
    cpu = machine.cpu
    says = [f"{short_cpu_name(cpu.name)}."] if cpu and cpu.name else []
    says += [say("It has {cores}.", cores=cores_text(cpu))] if cpu and cores_text(cpu) else []
    what = say("How its cores, caches and CPU numbers lie is not known")
    return " ".join([*says, _not_known(what, machine, "cpu.cores", "cpu.online", "cpu")])
