"""What this process may use: CPUs by affinity and control group, and the limits of the shell it was started from."""

from __future__ import annotations

from doctor.machine.cpulist import format_cpulist, parse_cpulist
from doctor.machine.model import Limits, UnknownFact
from doctor.probes.cgroup import control_groups
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source

_STATUS = "/proc/self/status"
_ONLINE = "/sys/devices/system/cpu/online"


def probe(source: Source) -> Found:
    """The area `limits` of the document."""
    if source.origin.platform == "windows":
        from doctor.probes import limits_windows

        return limits_windows.probe(source)
    return _linux(source) if source.origin.platform == "linux" else Found()


def _linux(source: Source) -> Found:
    mask, origin = _affinity(source)
    groups = control_groups(source)
    unknowns: tuple[UnknownFact, ...] = groups.unknowns
    if isinstance(mask, Missing):
        unknowns = (unknown("limits.affinity_cpus", mask), *unknowns)
    known = None if isinstance(mask, Missing) else mask
    rlimits = source.api("rlimits")
    given = rlimits if isinstance(rlimits, dict) else {}
    limits = Limits(
        affinity_cpus=None if known is None else len(known),
        affinity=None if known is None else format_cpulist(known),
        cgroup=groups.cgroup,
        max_processes=given.get("nproc"),
        address_space_bytes=given.get("as"),
        stack_bytes=given.get("stack"),
    )
    origins = {"limits.affinity": origin, "limits.affinity_cpus": origin} if known is not None else {}
    return Found({"limits": limits}, unknowns, {**origins, **groups.origins})


def _affinity(source: Source) -> tuple[frozenset[int] | Missing, str]:
    """The CPUs of the mask, and where they were read."""
    answer = source.api("affinity")
    if isinstance(answer, str) and (cpus := _cpus(answer)):
        return cpus, "sched_getaffinity"
    text = source.text(_STATUS)
    if isinstance(text, Missing):
        return (answer if isinstance(answer, Missing) else text), ""
    line = next((line for line in text.splitlines() if line.startswith("Cpus_allowed_list:")), "")
    cpus = _cpus(line.partition(":")[2])
    if not cpus:
        return Missing("probe-failed", f"{_STATUS} names no CPUs"), ""
    # The mask of /proc may name CPUs that were never present; the system call leaves them out.
    online = source.text(_ONLINE)
    return cpus & ((not isinstance(online, Missing) and _cpus(online)) or cpus), _STATUS


def _cpus(text: str) -> frozenset[int]:
    try:
        return parse_cpulist(text)
    except ValueError:
        return frozenset()
