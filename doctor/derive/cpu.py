"""The CPU facts that follow from others: generation, AVX-512 quality, counts, and what only rules need."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

import msgspec

from doctor.derive.core_kinds import group_kind, with_kinds
from doctor.derive.isa import avx512_quality, completed_isa, runs_code_for
from doctor.knowledge.zen import ZenRow, silicon_has, zen_row
from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Core, Cpu, Fact, L3Group, Machine


class CpuFacts(Fact, frozen=True):
    """What rules ask about the CPU. An L3 group is what AMD calls a CCX."""

    in_table: bool | None = None  # an AMD CPU whose model the table knows
    hybrid: bool | None = None  # two kinds of cores on the chip
    silicon_avx512: bool | None = None  # the chip has AVX-512, shown or not
    l3_group_count: int | None = None
    largest_l3_cores: int | None = None
    l3_sizes_differ: bool | None = None
    l3_cores_differ: bool | None = None
    multiple_dies: bool | None = None  # cores on more than one die, in one socket or in several
    numa_node_count: int | None = None  # nodes with CPUs

    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "in_table": ("cpu.vendor", "cpu.family", "cpu.model"),
        "hybrid": ("cpu.family", "cpu.model"),
        "silicon_avx512": ("cpu.family", "cpu.model"),
        "l3_group_count": ("cpu.l3_groups",),
        "largest_l3_cores": ("cpu.l3_groups",),
        "l3_sizes_differ": ("cpu.l3_groups",),
        "l3_cores_differ": ("cpu.l3_groups",),
        "multiple_dies": ("cpu.l3_groups", "cpu.sockets", "cpu.family", "cpu.model"),
        "numa_node_count": ("cpu.numa_nodes",),
    }


def complete_cpu(machine: Machine) -> Machine:
    """The document with the CPU fields filled in that follow from others. A field that is known is never changed."""
    cpu = machine.cpu
    if cpu is None:
        return machine
    row = zen_row(cpu.vendor, cpu.family, cpu.model)
    cpu = _with_identity(_with_counts(cpu, row), row)
    return msgspec.structs.replace(machine, cpu=cpu)


def _with_identity(cpu: Cpu, row: ZenRow | None) -> Cpu:
    isa = completed_isa(cpu.isa, cpu.flags, row)
    width = cpu.vector_width_bits or (row.vector_width_bits if row else None)
    return msgspec.structs.replace(
        cpu,
        generation=cpu.generation or (row.generation if row else None),
        codename=cpu.codename or (row.codename if row else None),
        vector_width_bits=width,
        isa=isa,
        avx512=cpu.avx512 or avx512_quality(isa, width),
        runs_code_for=cpu.runs_code_for or runs_code_for(cpu.vendor, cpu.flags, isa),
    )


def _with_counts(cpu: Cpu, row: ZenRow | None) -> Cpu:
    cores = None if cpu.cores is None else with_kinds(cpu.cores, cpu.l3_groups, row)
    packages = {core.package for core in cores or ()}
    online = _cpus(cpu.online)
    logical = _first(cpu.logical_cpus, len(online) if online else None)
    physical = _first(cpu.physical_cores, len(cores) if cores else None)
    return msgspec.structs.replace(
        cpu,
        cores=cores,
        l3_groups=None if cpu.l3_groups is None else _groups(cpu.l3_groups, cores),
        sockets=_first(cpu.sockets, len(packages) if packages and None not in packages else None),
        physical_cores=physical,
        logical_cpus=logical,
        smt=_smt(cores, logical, physical) if cpu.smt is None else cpu.smt,
    )


def _groups(groups: tuple[L3Group, ...], cores: tuple[Core, ...] | None) -> tuple[L3Group, ...]:
    if cores is None:
        return groups
    counts = [sum(core.l3 == at for core in cores) or None for at in range(len(groups))]
    return tuple(
        msgspec.structs.replace(
            group, cores=_first(group.cores, counts[at]), kind=group.kind or group_kind(cores, at)
        )
        for at, group in enumerate(groups)
    )


def _smt(cores: tuple[Core, ...] | None, logical: int | None, physical: int | None) -> bool | None:
    """Whether a core runs more than one thread now, whatever the chip could do."""
    if cores:
        threads = [_cpus(core.cpus) for core in cores]
        return None if None in threads else any(len(cpus or ()) > 1 for cpus in threads)
    return None if logical is None or physical is None else logical > physical


def cpu_facts(machine: Machine, today: date | None = None) -> CpuFacts:
    """The derived facts of a completed document."""
    cpu = machine.cpu
    if cpu is None:
        return CpuFacts()
    row = zen_row(cpu.vendor, cpu.family, cpu.model)
    groups, nodes = cpu.l3_groups, cpu.numa_nodes
    return CpuFacts(
        in_table=_in_table(cpu, row),
        hybrid=row.hybrid if row else _both_kinds(cpu.cores),
        silicon_avx512="avx512f" in silicon_has(row) if row else None,
        l3_group_count=None if groups is None else len(groups),
        largest_l3_cores=None if not groups else _most([group.cores for group in groups]),
        l3_sizes_differ=None if groups is None else _differ([group.size_bytes for group in groups]),
        l3_cores_differ=None if groups is None else _differ([group.cores for group in groups]),
        multiple_dies=_multiple_dies(cpu, row),
        numa_node_count=_nodes_with_cpus([node.cpus for node in nodes or ()]),
    )


def _in_table(cpu: Cpu, row: ZenRow | None) -> bool | None:
    if cpu.vendor is None or (cpu.vendor == "AuthenticAMD" and None in (cpu.family, cpu.model)):
        return None
    return row is not None


def _multiple_dies(cpu: Cpu, row: ZenRow | None) -> bool | None:
    """Whether cores lie on more than one die. On Zen to Zen 2 a die holds two L3 groups, so two groups prove nothing
    for a socket that can hold several dies with one group each (Threadripper 1900X, some EPYC)."""
    if cpu.sockets is not None and cpu.sockets > 1:
        return True
    if row is not None and row.one_die:
        return False
    groups = cpu.l3_groups
    if groups is None or not cpu.sockets:
        return None
    if len(groups) <= 1:
        return False if groups else None
    if row is None or row.l3_per_die is None:
        return None
    if len(groups) > row.l3_per_die:
        return True
    name = cpu.name or ""
    return False if "Ryzen" in name and "Threadripper" not in name else None


def _both_kinds(cores: tuple[Core, ...] | None) -> bool | None:
    kinds = {core.kind for core in cores or ()} - {None}
    return True if len(kinds) > 1 else None


def _cpus(text: str | None) -> frozenset[int] | None:
    """The CPUs of a list; None for none and for one that is no CPU list."""
    try:
        return None if text is None else parse_cpulist(text)
    except ValueError:
        return None


def _first(stated: int | None, counted: int | None) -> int | None:
    return counted if stated is None else stated


def _nodes_with_cpus(lists: list[str | None]) -> int | None:
    return None if None in lists else sum(cpus != "" for cpus in lists) or None


def _most(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _differ(values: list[int | None]) -> bool | None:
    return None if None in values else len(set(values)) > 1
