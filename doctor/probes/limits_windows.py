"""Which CPUs a process may use on Windows. The CPU rate of a job object is not read: it stays unknown."""

from __future__ import annotations

from doctor.machine.cpulist import format_cpulist, parse_cpulist
from doctor.machine.model import Limits
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source


def probe(source: Source) -> Found:
    answer = source.api("affinity")
    if not isinstance(answer, Missing):
        try:
            cpus = parse_cpulist(answer if isinstance(answer, str) else "?")
        except ValueError as error:
            answer = Missing("probe-failed", str(error))
        else:
            return Found(
                facts={"limits": Limits(affinity_cpus=len(cpus), affinity=format_cpulist(cpus))},
                origins=dict.fromkeys(("limits.affinity_cpus", "limits.affinity"), "GetProcessAffinityMask"),
            )
    return Found(unknowns=(unknown("limits.affinity_cpus", answer),))
