"""The CPU budget, and what a process may start before one of its limits stops it.

    cpu_budget = |affinity ∩ cpuset ∩ online|, and at most max(1, floor(quota))

What blocks the budget where it is unknown:
- The affinity, always. On Linux it lies inside the cpuset and inside what is online, so those two may be missing.
- The quota, on Linux and where the system is unknown: any process may be in a group with a quota, on bare metal too.
  Windows has no such quota; a job object that caps the rate of a whole job is not looked for.
One CPU is one CPU: where the affinity leaves only one, or the quota grants less than two, nothing else can matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import ClassVar

import msgspec

from doctor.derive.openblas import fitting_threads, numpy_uses_openblas, openblas_threads, thread_stack_bytes
from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Fact, Limits, Machine, UnknownFact


class LimitsFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "throttled_percent": ("limits.cgroup.nr_periods", "limits.cgroup.nr_throttled"),
        "openblas_in_use": ("libraries", "packages"),
        "openblas_threads": ("libraries", "env", "limits.affinity_cpus"),
        "openblas_stacks_bytes": ("libraries", "env", "limits.affinity_cpus", "limits.stack_bytes"),
        "openblas_fitting_threads": ("limits.cpu_budget", "limits.cgroup.pids_max", "limits.max_processes"),
    }
    throttled_percent: float | None = None  # of the scheduler's periods
    openblas_in_use: bool | None = None
    openblas_threads: int | None = None  # that OpenBLAS starts as soon as NumPy is imported
    openblas_stacks_bytes: int | None = None  # address space that their stacks take
    openblas_fitting_threads: int | None = None  # within the budget, and half of what each limit leaves


def complete_limits(machine: Machine) -> Machine:
    """The document with the number of CPUs of the mask and the CPU budget. What is known is never changed."""
    limits = machine.limits
    if limits is None:
        return machine
    mask = _cpus(limits.affinity)
    if limits.affinity_cpus is None and mask:
        limits = msgspec.structs.replace(limits, affinity_cpus=len(mask))
    if limits.cpu_budget is None:
        limits = msgspec.structs.replace(limits, cpu_budget=_budget(limits, machine))
    machine = msgspec.structs.replace(machine, limits=limits)
    return machine if limits.cpu_budget is not None else _with_reason(machine, limits)


def _with_reason(machine: Machine, limits: Limits) -> Machine:
    """The row that says why there is no budget: the reason of the part that it lacks."""
    rows = {row.fact: row for row in machine.unknowns or ()}
    lacks = "limits.affinity_cpus" if limits.affinity_cpus is None else "limits.cgroup.quota_cpus"
    if "limits.cpu_budget" in rows:
        return machine
    reason = rows[lacks].reason if lacks in rows else "not-in-source"
    rows["limits.cpu_budget"] = UnknownFact(fact="limits.cpu_budget", reason=reason, detail=f"it follows from {lacks}")
    return msgspec.structs.replace(machine, unknowns=tuple(rows[fact] for fact in sorted(rows)))


def _budget(limits: Limits, machine: Machine) -> int | None:
    cpus = _allowed(limits, machine)
    group = limits.cgroup
    quota = group.quota_cpus if group else None
    if quota is None and machine.os is not None and machine.os.kind == "windows":
        quota = "none"
    if cpus == 1 or (isinstance(quota, int | float) and quota < 2):
        return 1
    if cpus is None or quota is None:
        return None
    return cpus if isinstance(quota, str) else min(cpus, math.floor(quota))


def _allowed(limits: Limits, machine: Machine) -> int | None:
    """How many CPUs affinity, cpuset and the running system leave together."""
    if limits.affinity_cpus is None:
        return None
    mask = _cpus(limits.affinity)
    others = [
        _cpus(limits.cgroup.cpuset_cpus if limits.cgroup else None),
        _cpus(machine.cpu.online if machine.cpu else None),
    ]
    known = [cpus for cpus in others if cpus]
    if mask is None:
        return min([limits.affinity_cpus, *(len(cpus) for cpus in known)])
    left = mask.intersection(*known)
    return len(left) or None


def limits_facts(machine: Machine, today: date | None = None) -> LimitsFacts:
    threads, each = openblas_threads(machine), thread_stack_bytes(machine.limits)
    return LimitsFacts(
        throttled_percent=_throttled_percent(machine.limits),
        openblas_in_use=numpy_uses_openblas(machine),
        openblas_threads=threads,
        openblas_stacks_bytes=None if threads is None or each is None else threads * each,
        openblas_fitting_threads=fitting_threads(machine, each),
    )


def _throttled_percent(limits: Limits | None) -> float | None:
    group = limits.cgroup if limits else None
    if group is None:
        return None
    if group.quota_cpus == "none" or group.nr_periods == 0:
        return 0.0
    if group.nr_periods is None or group.nr_throttled is None:
        return None
    return 100 * group.nr_throttled / group.nr_periods


def _cpus(text: str | None) -> frozenset[int] | None:
    try:
        return None if text is None else parse_cpulist(text)
    except ValueError:
        return None
