"""Small machines for the topology picture, built from what is known of each chip."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cgroup, Core, Cpu, L3Group, Limits, Machine, NumaNode, UnknownFact

MIB = 1024 * 1024


def machine(
    name: str,
    l3: Sequence[tuple[int, int]],
    *,
    threads: int = 2,
    per_package: int = 0,
    per_node: int = 0,
    node_bytes: Sequence[int] = (),
    kinds: Sequence[str] = (),
    generation: str | None = None,
    limits: Limits | None = None,
) -> Machine:
    """A machine whose L3 groups are (cores, MiB); numbered as Linux does: all first threads, then all second ones.

    `per_package` and `per_node` are L3 groups per package and node (0: all in one).
    """
    total = sum(count for count, _ in l3)
    cores, groups, at = [], [], 0
    for index, (count, mib) in enumerate(l3):
        package = index // per_package if per_package else 0
        node = index // per_node if per_node else 0
        inside = range(at, at + count)
        for core in inside:
            cpus = ",".join(str(core + total * thread) for thread in range(threads))
            kind = kinds[core] if kinds else None
            cores.append(Core(cpus=cpus, package=package, l3=index, node=node, kind=kind))
        cpus = format_cpulist(core + total * thread for core in inside for thread in range(threads))
        groups.append(L3Group(cpus=cpus, cores=count, size_bytes=mib * MIB))
        at += count
    nodes = len(l3) // per_node if per_node else 1
    return Machine(
        cpu=Cpu(
            vendor="AuthenticAMD",
            name=name,
            generation=generation,
            sockets=len(l3) // per_package if per_package else 1,
            physical_cores=total,
            logical_cpus=total * threads,
            smt=threads > 1,
            online=format_cpulist(range(total * threads)),
            cores=tuple(cores),
            l3_groups=tuple(groups),
            numa_nodes=tuple(NumaNode(memory_bytes=node_bytes[n] if node_bytes else None) for n in range(nodes)),
        ),
        limits=limits,
    )


def _without_l3(packages: int, cores: int) -> Machine:
    rows = tuple(Core(cpus=str(at), package=at // cores) for at in range(packages * cores))
    count = packages * cores
    cpu = Cpu(
        vendor="AuthenticAMD", name="AMD EPYC Processor", sockets=packages, physical_cores=count, logical_cpus=count
    )
    return Machine(cpu=_replaced(cpu, cores=rows, l3_groups=(), online=format_cpulist(range(count)), smt=False))


def _replaced(cpu: Cpu, **changes: object) -> Cpu:
    import msgspec

    return msgspec.structs.replace(cpu, **changes)


_GIB = 1024 * MIB

#: name -> machine; each has a golden picture.
MACHINES = {
    "7950x3d": machine("AMD Ryzen 9 7950X3D 16-Core Processor", [(8, 96), (8, 32)], generation="Zen 4"),
    "9654-dual": machine("AMD EPYC 9654 96-Core Processor", [(8, 32)] * 24, per_package=12, per_node=12),
    "2990wx": machine(
        "AMD Ryzen Threadripper 2990WX 32-Core Processor",
        [(4, 8)] * 8,
        per_node=2,
        node_bytes=(32 * _GIB, 0, 32 * _GIB, 0),
        generation="Zen+",
    ),
    "hx370": machine(
        "AMD Ryzen AI 9 HX 370 w/ Radeon 890M",
        [(4, 16), (8, 8)],
        kinds=["performance"] * 4 + ["efficiency"] * 8,
        generation="Zen 5 + Zen 5c",
    ),
    "one-l3-two-kinds": machine(
        "AMD Ryzen AI 7 PRO 350", [(8, 16)], kinds=["performance"] * 4 + ["efficiency"] * 4
    ),
    "smt-off": machine("AMD EPYC 7763 64-Core Processor", [(8, 32)] * 8, threads=1),
    "some-outside": machine(
        "AMD Ryzen 7 5800X 8-Core Processor",
        [(8, 32)],
        limits=Limits(
            affinity="0-3,8-11", affinity_cpus=8, cpu_budget=2, cgroup=Cgroup(quota_cpus=2.5, cpuset_cpus="0-15")
        ),
    ),
    "folded-outside": machine(
        "AMD EPYC 9754 128-Core Processor", [(8, 16)] * 16, limits=Limits(affinity="0-3", affinity_cpus=4)
    ),
    "offline": Machine(
        cpu=Cpu(
            vendor="AuthenticAMD",
            name="AMD Ryzen 7 3750H with Radeon Vega Mobile Gfx",
            physical_cores=3,
            logical_cpus=4,
            online="0,5-7",
            cores=(
                Core(cpus="0", package=0, l3=0),
                Core(cpus="5", package=0, l3=0),
                Core(cpus="6,7", package=0, l3=0),
            ),
            l3_groups=(L3Group(cpus="0,5-7", cores=3, size_bytes=4 * MIB),),
        )
    ),
    "one-cpu": _without_l3(1, 1),
    "eight-packages": _without_l3(8, 1),
    "no-l3-two-packages": _without_l3(2, 4),
    "threads-unknown": Machine(
        cpu=Cpu(
            vendor="AuthenticAMD",
            l3_groups=(L3Group(cpus="0-7,16-23", size_bytes=32 * MIB), L3Group(cpus="8-15,24-31")),
        )
    ),
    "online-only": Machine(
        cpu=Cpu(name="AMD EPYC 7B13", online="0-63"),
        unknowns=(UnknownFact("cpu.l3_groups", "probe-failed"), UnknownFact("cpu.cores", "not-in-source")),
    ),
    "counts-only": Machine(cpu=Cpu(name="AMD EPYC 7B13", physical_cores=4, logical_cpus=8)),
    "nothing": Machine(),
}
