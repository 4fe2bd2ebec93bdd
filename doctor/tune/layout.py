"""The CPUs that a process may use, as cores within L3 groups: what arms are made of.

A core is its CPU ids in ascending order; the first is the one to use where SMT siblings should stay idle.
"""

from __future__ import annotations

import msgspec

from doctor.derive.budget import allowed_cpus
from doctor.derive.core_kinds import PERFORMANCE
from doctor.machine.cpulist import format_cpulist, parse_cpulist
from doctor.machine.model import Core, Machine

CoreCpus = tuple[int, ...]


class Group(msgspec.Struct, frozen=True):
    """The allowed cores behind one L3 cache: an AMD core complex (CCX)."""

    cores: tuple[CoreCpus, ...]
    package: int = 0
    size_bytes: int | None = None
    kind: str | None = None  # performance efficiency mixed
    fast: tuple[CoreCpus, ...] = ()  # the cores that are known to be the fast kind

    @property
    def cpus(self) -> tuple[int, ...]:
        return tuple(cpu for core in self.cores for cpu in core)

    @property
    def like(self) -> tuple[int, int | None, str | None]:
        """Two groups of the same likeness are measured once."""
        return len(self.cores), self.size_bytes, self.kind


class Layout(msgspec.Struct, frozen=True):
    """`budget`: how many CPUs may really be busy at once; below the number of CPUs where a quota is set.

    `groups` is empty where nothing tells which CPUs are allowed: then no mask is tried, only thread counts.
    """

    budget: int
    groups: tuple[Group, ...] = ()

    @property
    def cores(self) -> tuple[CoreCpus, ...]:
        return tuple(core for group in self.groups for core in group.cores)

    @property
    def physical(self) -> int:
        """How many threads fill every core once, within the budget."""
        return min(len(self.cores) or self.budget, self.budget)

    @property
    def all_cpus(self) -> str:
        return format_cpulist(cpu for core in self.cores for cpu in core)


def layout_of(machine: Machine) -> Layout | None:
    """The layout of a completed machine document; None where not even the number of CPUs is known."""
    allowed = allowed_cpus(machine)
    budget = machine.limits.cpu_budget if machine.limits else None
    if budget is None:
        budget = len(allowed) if allowed else None
    if budget is None:
        return None
    return Layout(budget, () if allowed is None else _groups(machine, allowed))


def _groups(machine: Machine, allowed: frozenset[int]) -> tuple[Group, ...]:
    rows = machine.cpu.cores if machine.cpu and machine.cpu.cores else ()
    placed = [(row, cpus) for row in rows if (cpus := _cpus(row, allowed))]
    if {cpu for _, cpus in placed for cpu in cpus} != allowed:
        # Not every allowed CPU stands in the document's cores: no core can be told from its sibling.
        return (Group(tuple((cpu,) for cpu in sorted(allowed))),)
    by_cache: dict[int | None, list[tuple[Core, CoreCpus]]] = {}
    for row, cpus in placed:
        by_cache.setdefault(row.l3, []).append((row, cpus))
    return tuple(_group(machine, cache, members) for cache, members in by_cache.items())


def _group(machine: Machine, cache: int | None, members: list[tuple[Core, CoreCpus]]) -> Group:
    rows = (machine.cpu.l3_groups if machine.cpu else None) or ()
    row = rows[cache] if cache is not None and cache < len(rows) else None
    return Group(
        cores=tuple(cpus for _, cpus in members),
        package=members[0][0].package or 0,
        size_bytes=row.size_bytes if row else None,
        kind=row.kind if row else None,
        fast=tuple(cpus for core, cpus in members if core.kind == PERFORMANCE),
    )


def _cpus(row: Core, allowed: frozenset[int]) -> CoreCpus:
    try:
        own = parse_cpulist(row.cpus or "")
    except ValueError:
        return ()
    return tuple(sorted(own & allowed))
