"""Machine documents of the simulated machines: cores, caches and limits, numbered as Linux numbers AMD's CPUs."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.derive.facts import complete
from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cgroup, Core, Cpu, L3Group, Limits, Machine, Os, Torch

MIB = 1 << 20


def document(
    name: str,
    *,
    group_cores: Sequence[int],
    group_bytes: Sequence[int],
    sockets: int = 1,
    quota_cpus: float | None = None,
    default_threads: int | None = None,
) -> Machine:
    """A machine with SMT: `group_cores` cores behind each L3 cache, the siblings numbered after all first CPUs.

    A quota limits how many CPUs may be busy, not which: torch still starts a thread per core.
    """
    count = sum(group_cores)
    cores: list[Core] = []
    groups: list[L3Group] = []
    for at, (size, own) in enumerate(zip(group_bytes, group_cores, strict=True)):
        first = len(cores)
        package = at * sockets // len(group_cores)
        for core in range(first, first + own):
            cores.append(Core(cpus=f"{core},{core + count}", package=package, l3=at, node=package))
        ids = range(first, first + own)
        groups.append(
            L3Group(cpus=format_cpulist([*ids, *(core + count for core in ids)]), cores=own, size_bytes=size)
        )
    online = f"0-{2 * count - 1}"
    return complete(
        Machine(
            os=Os(kind="linux", hypervisor="none", wsl=0),
            cpu=Cpu(
                vendor="AuthenticAMD",
                name=name,
                sockets=sockets,
                physical_cores=count,
                logical_cpus=2 * count,
                smt=True,
                online=online,
                cores=tuple(cores),
                l3_groups=tuple(groups),
            ),
            limits=Limits(
                affinity=online,
                affinity_cpus=2 * count,
                cgroup=Cgroup(version=2, quota_cpus="none" if quota_cpus is None else quota_cpus, cpuset_cpus=online),
            ),
            torch=Torch(installed=True, num_threads=default_threads or count),
            env={},
        )
    )
