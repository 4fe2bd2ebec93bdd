"""The CPUs that a process may use, seen as cores and L3 groups."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.machine.cpulist import format_cpulist, parse_cpulist
from doctor.machine.model import Cpu, Fact, L3Group, Limits, Machine


class BudgetFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cpus": ("limits.affinity", "cpu.online"),
        "physical_cores": ("limits.cpu_budget", "cpu.cores"),
        "l3_groups": ("limits.affinity", "cpu.l3_groups"),
        "largest_l3_cores": ("limits.affinity", "cpu.l3_groups"),
        "largest_l3_cpus": ("limits.affinity", "cpu.l3_groups"),
        "largest_l3_first_threads": ("limits.affinity", "cpu.l3_groups"),
    }
    cpus: str | None = None  # where this process may run; a quota does not say where
    physical_cores: int | None = None  # behind those CPUs, and no more than the budget
    l3_groups: int | None = None  # with at least one of those CPUs
    largest_l3_cores: int | None = None  # cores of the group that has most of those CPUs
    largest_l3_cpus: str | None = None  # its CPUs
    largest_l3_first_threads: str | None = None  # one of them per core


def budget_facts(machine: Machine, today: date | None = None) -> BudgetFacts:
    cpu = machine.cpu or Cpu()
    allowed = allowed_cpus(machine)
    group, shared = _largest_group(cpu, allowed)
    firsts = _first_threads(cpu, group, shared)
    return BudgetFacts(
        cpus=None if allowed is None else format_cpulist(allowed),
        physical_cores=_physical_cores(machine, allowed),
        l3_groups=_group_count(cpu, allowed),
        largest_l3_cores=_whole_group(group, shared) if firsts is None else len(firsts),
        largest_l3_cpus=format_cpulist(shared) or None,
        largest_l3_first_threads=None if firsts is None else format_cpulist(firsts),
    )


def allowed_cpus(machine: Machine) -> frozenset[int] | None:
    """The CPUs of the affinity mask that are online and in the cpuset. Where the mask is unknown and as many CPUs are
    allowed as the machine has, they are all of them."""
    limits, cpu = machine.limits or Limits(), machine.cpu or Cpu()
    mask = _cpus(limits.affinity)
    if mask is None:
        return _all_cpus(cpu) if _is_whole_machine(machine) else None
    cpuset = _cpus(limits.cgroup.cpuset_cpus if limits.cgroup else None)
    known = [cpus for cpus in (cpuset, _cpus(cpu.online)) if cpus]
    return mask.intersection(*known) or None


def _is_whole_machine(machine: Machine) -> bool:
    limits, cpu = machine.limits or Limits(), machine.cpu or Cpu()
    allowed = limits.affinity_cpus if limits.affinity_cpus is not None else limits.cpu_budget
    return allowed is not None and allowed == cpu.logical_cpus


def _all_cpus(cpu: Cpu) -> frozenset[int] | None:
    """Every CPU, from whichever list has as many as the machine."""
    cores, groups = cpu.cores or (), cpu.l3_groups or ()
    lists = ([cpu.online], [core.cpus for core in cores], [group.cpus for group in groups])
    for texts in lists:
        sets = [_cpus(text) for text in texts]
        cpus = frozenset().union(*(cpus for cpus in sets if cpus))
        if cpus and len(cpus) == cpu.logical_cpus:
            return cpus
    return None


def _physical_cores(machine: Machine, allowed: frozenset[int] | None) -> int | None:
    cpu, budget = machine.cpu or Cpu(), machine.limits.cpu_budget if machine.limits else None
    cores = _cores_behind(cpu, allowed)
    if cores is None and _is_whole_machine(machine):
        cores = cpu.physical_cores
    return None if cores is None or budget is None else min(cores, budget)


def _cores_behind(cpu: Cpu, allowed: frozenset[int] | None) -> int | None:
    sets = [_cpus(core.cpus) for core in cpu.cores or ()]
    if not sets or allowed is None or None in sets:
        return None
    return sum(bool(cpus and cpus & allowed) for cpus in sets)


def _group_count(cpu: Cpu, allowed: frozenset[int] | None) -> int | None:
    if allowed is None or cpu.l3_groups is None:
        return None
    sets = [_cpus(group.cpus) for group in cpu.l3_groups]
    return None if None in sets else sum(bool(cpus and cpus & allowed) for cpus in sets)


def _largest_group(cpu: Cpu, allowed: frozenset[int] | None) -> tuple[L3Group, frozenset[int]]:
    """The group that has most of the allowed CPUs, and those; of equals the first in the document's order."""
    shares = [(group, (_cpus(group.cpus) or frozenset()) & (allowed or frozenset())) for group in cpu.l3_groups or ()]
    return max(shares, key=lambda share: len(share[1]), default=(L3Group(), frozenset()))


def _whole_group(group: L3Group, cpus: frozenset[int]) -> int | None:
    return group.cores if cpus and cpus == _cpus(group.cpus) else None


def _first_threads(cpu: Cpu, group: L3Group, cpus: frozenset[int]) -> list[int] | None:
    """One CPU per core. From the cores where they are known; else, where the group has two CPUs per core in two
    stretches of equal length as Linux numbers AMD's threads, the first stretch."""
    sets = [own & cpus for core in cpu.cores or () if (own := _cpus(core.cpus)) and own & cpus]
    if sets:
        return sorted(min(own) for own in sets) if frozenset().union(*sets) == cpus else None
    cores = _whole_group(group, cpus)
    ordered = sorted(cpus)
    if cores is None or len(ordered) == cores:
        return ordered if cores else None
    lower, upper = ordered[:cores], ordered[cores:]
    stretches = all(stretch == list(range(stretch[0], stretch[0] + cores)) for stretch in (lower, upper) if stretch)
    return lower if stretches and len(upper) == cores and upper[0] > lower[-1] + 1 else None


def _cpus(text: str | None) -> frozenset[int] | None:
    try:
        return None if text is None else parse_cpulist(text)
    except ValueError:
        return None
