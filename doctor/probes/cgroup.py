"""What the control groups of a Linux process allow it: quota, CPU set, memory and number of tasks.

A limit binds from any level, so each is looked up from the own group to the top of what can be seen, and the smallest
wins. A level without the file has no limit of that kind. Where a level cannot be read, or the own group is not among
those that are mounted, the limit is unknown: that nothing was found is no proof that there is nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar

import msgspec

from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cgroup, UnknownFact
from doctor.probes.found import unknown
from doctor.sources.base import Missing, Source
from doctor.texts.cgroup import (
    Chain,
    chain,
    read_cfs,
    read_cpu_max,
    read_cpus,
    read_limit,
    read_memberships,
    read_mounts,
    read_throttling,
)

N = TypeVar("N", int, float)
Limit: TypeAlias = "N | Literal['none']"
Reader: TypeAlias = "Callable[[Source, str], Limit[N] | Missing | None]"

_OUTSIDE = Missing("probe-failed", "the control group of this process is not among those mounted here")
_ABOVE = Missing("probe-failed", "this container does not show the groups above it; ask its host for the limit")
_HINT = "on the machine itself: cat /sys/fs/cgroup/cpu.max"

#: Every control group folder of a running kernel holds one of these: a listing without them is not a whole one.
_MARKS = frozenset({"cgroup.procs", "cgroup.controllers", "tasks"})
#: Version 2 has these in every group but the true root.
_NOT_IN_ROOT = frozenset({"cgroup.type", "cgroup.events"})


class Groups(msgspec.Struct, frozen=True):
    """The control group area of the document, the rows for what it lacks, and where its facts came from."""

    cgroup: Cgroup | None
    unknowns: tuple[UnknownFact, ...] = ()
    origins: dict[str, str] = {}


def control_groups(source: Source) -> Groups:
    """Everything that control groups limit, for the process behind `source`."""
    own, mounts = source.text("/proc/self/cgroup"), source.text("/proc/self/mountinfo")
    if isinstance(own, Missing) and own.reason == "absent" and source.text("/proc/self/status"):
        # A kernel built without control groups: nothing can be limited by one.
        return Groups(Cgroup(quota_cpus="none", memory_bytes="none", pids_max="none"))
    if isinstance(own, Missing) or isinstance(mounts, Missing):
        missing = own if isinstance(own, Missing) else mounts
        assert isinstance(missing, Missing)
        return Groups(None, (unknown("limits.cgroup.quota_cpus", missing, _HINT),))
    memberships, mounted = read_memberships(own), read_mounts(mounts)
    cpu, cpuset, memory, pids = (chain(name, memberships, mounted) for name in ("cpu", "cpuset", "memory", "pids"))
    quota, where = _smallest(source, cpu, {2: _quota_v2, 1: _quota_v1})
    counted = _throttling(source, cpu, where)
    bytes_, _ = _smallest(source, memory, {2: _file("memory.max"), 1: _file("memory.limit_in_bytes")})
    tasks, _ = _smallest(source, pids, {2: _file("pids.max"), 1: _file("pids.max")})
    found = Cgroup(
        version=cpu.version if cpu else None,
        quota_cpus=_known(quota),
        cpuset_cpus=_cpuset(source, cpuset),
        memory_bytes=_known(bytes_),
        nr_periods=counted[0] if counted else None,
        nr_throttled=counted[1] if counted else None,
        pids_max=_known(tasks),
    )
    answers = (("quota_cpus", quota), ("memory_bytes", bytes_), ("pids_max", tasks))
    rows = tuple(unknown(f"limits.cgroup.{name}", answer) for name, answer in answers if isinstance(answer, Missing))
    return Groups(found, rows, {"limits.cgroup.quota_cpus": where} if where else {})


def _known(answer: Limit[N] | Missing) -> Limit[N] | None:
    return None if isinstance(answer, Missing) else answer


def _smallest(source: Source, groups: Chain | None, readers: dict[int, Reader[N]]) -> tuple[Limit[N] | Missing, str]:
    """The smallest limit on the way up, and the folder that sets it (`""` where none does)."""
    if groups is None:
        return _OUTSIDE, ""
    smallest, where, seen = None, "", False
    for folder in groups.folders:
        limit = readers[groups.version](source, folder)
        if isinstance(limit, Missing):
            return limit, ""
        seen = seen or limit is not None
        if limit is None or limit == "none":
            continue
        if smallest is None or limit < smallest:
            smallest, where = limit, folder
    if smallest is not None:
        return smallest, where
    if not seen and groups.version == 2 and _is_below_root(source, groups.folders[-1]):
        return _ABOVE, ""
    return "none", ""


def _is_below_root(source: Source, folder: str) -> bool:
    """Whether the topmost folder is somebody's group and not the root: groups above it stay hidden."""
    names = source.names(folder)
    return not isinstance(names, Missing) and not _NOT_IN_ROOT.isdisjoint(names)


def _content(source: Source, folder: str, name: str) -> str | Missing | None:
    """A file's text; None where the group has no such file; `Missing` where that cannot be told."""
    text = source.text(f"{folder}/{name}")
    if not isinstance(text, Missing) or text.reason not in ("absent", "not-in-source"):
        return text
    names = source.names(folder)
    if isinstance(names, Missing):
        return Missing(names.reason, f"{folder} cannot be listed") if names.reason == "absent" else names
    return None if name not in names and not _MARKS.isdisjoint(names) else text


def _garbled(folder: str, name: str) -> Missing:
    return Missing("probe-failed", f"{folder}/{name} cannot be understood")


def _quota_v2(source: Source, folder: str) -> Limit[float] | Missing | None:
    text = _content(source, folder, "cpu.max")
    if text is None or isinstance(text, Missing):
        return text
    quota = read_cpu_max(text)
    return _garbled(folder, "cpu.max") if quota is None else quota


def _quota_v1(source: Source, folder: str) -> Limit[float] | Missing | None:
    quota = _content(source, folder, "cpu.cfs_quota_us")
    if quota is None or isinstance(quota, Missing):
        return quota
    period = _content(source, folder, "cpu.cfs_period_us")
    if isinstance(period, Missing):
        # Without a quota the period does not matter.
        return "none" if quota.strip() == "-1" else period
    cpus = read_cfs(quota, period or "100000")
    return _garbled(folder, "cpu.cfs_quota_us") if cpus is None else cpus


def _file(name: str) -> Reader[int]:
    def read(source: Source, folder: str) -> Limit[int] | Missing | None:
        text = _content(source, folder, name)
        if text is None or isinstance(text, Missing):
            return text
        limit = read_limit(text)
        return _garbled(folder, name) if limit is None else limit

    return read


def _throttling(source: Source, groups: Chain | None, where: str) -> tuple[int, int] | None:
    """The counters of the group that sets the smallest quota; without one, of the nearest group that counts."""
    for folder in [where] if where else groups.folders if groups else ():
        text = source.text(f"{folder}/cpu.stat")
        counted = None if isinstance(text, Missing) else read_throttling(text)
        if counted is not None:
            return counted
    return None


def _cpuset(source: Source, groups: Chain | None) -> str | None:
    """The CPUs that every level allows. No row where unknown: the affinity mask never leaves this set."""
    names = ("cpuset.cpus.effective",) if groups and groups.version == 2 else ("cpuset.effective_cpus", "cpuset.cpus")
    allowed: frozenset[int] | None = None
    for folder in groups.folders if groups else ():
        texts = (source.text(f"{folder}/{name}") for name in names)
        sets = (read_cpus(text) for text in texts if not isinstance(text, Missing))
        cpus = next((cpus for cpus in sets if cpus), None)
        if cpus:
            allowed = cpus if allowed is None else allowed & cpus
    return format_cpulist(allowed) if allowed else None
