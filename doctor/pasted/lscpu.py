"""What `lscpu` says about a machine: counts only where they fit together, L3 groups only where they are proven."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doctor.knowledge.l3_groups import L3Row, cores_are_equal, groups_in_package, l3_row, sizes_are_equal
from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cpu, Isa, L3Group, Machine, NumaNode, Os
from doctor.pasted.parts import Part, PartReader
from doctor.texts.flags import isa_of, normalised
from doctor.texts.lscpu import MIB, L3Line, Lscpu, looks_like_lscpu, read_lscpu

_AMD = ("AuthenticAMD", "HygonGenuine")

#: Words of lscpu for the maker of a hypervisor (`sys-utils/lscpu-virt.c`).
_HYPERVISORS = {
    "KVM": "kvm",
    "Microsoft": "hyperv",
    "VMware": "vmware",
    "Xen": "xen",
    "Oracle": "virtualbox",
    "Innotek GmbH": "virtualbox",
}

_SWITCHED_OFF = "some CPUs are switched off: what lscpu then says of cores and threads means nothing"
_UNEVEN = "the cores and threads that lscpu states do not add up to its CPUs"


class Counts(msgspec.Struct, frozen=True):
    """Cores and sockets that fit the number of CPUs, all of which are switched on."""

    cores: int
    sockets: int
    cpus: int


def read(text: str) -> Part | None:
    """The first output of lscpu in a text. Never raises."""
    lscpu = read_lscpu(text)
    if lscpu is None:
        return None
    counts = _counts(lscpu)
    groups = _l3_groups(lscpu, counts)
    facts: dict[str, Any] = {
        "vendor": lscpu.vendor,
        "name": lscpu.name,
        "family": lscpu.family,
        "model": lscpu.model,
        "stepping": lscpu.stepping,
        "sockets": counts.sockets if counts else None,
        "physical_cores": counts.cores if counts else None,
        "logical_cpus": len(lscpu.online) if lscpu.online else counts.cpus if counts else None,
        "online": format_cpulist(lscpu.online) if lscpu.online else None,
        "numa_nodes": _numa_nodes(lscpu),
        "l3_groups": groups,
        "flags": None if lscpu.flags_cut or lscpu.doubtful else lscpu.flags,
        "isa": _isa(lscpu),
        "max_mhz": lscpu.max_mhz,
        "boost": lscpu.boost,
    }
    hypervisor = _hypervisor(lscpu)
    origins = {f"cpu.{name}": _ORIGINS[name] for name, value in facts.items() if value is not None}
    origins["os.kind"] = "lscpu"
    if hypervisor is not None:
        origins["os.hypervisor"] = "lscpu: Hypervisor vendor, Flags"
    if groups is not None and not _counted(lscpu):
        origins["cpu.l3_groups"] = "family, model, name and cores in lscpu"
    return Part(
        kind="lscpu",
        machine=Machine(os=Os(kind="linux", hypervisor=hypervisor), cpu=Cpu(**facts)),
        origins=origins,
        span=(lscpu.first, lscpu.end),
        note=_note(lscpu, counts),
    )


READER = PartReader("lscpu", looks_like_lscpu, read)

_COUNTED = "lscpu: Thread(s) per core, Core(s) per socket, Socket(s)"
_ORIGINS: Mapping[str, str] = {
    "vendor": "lscpu: Vendor ID",
    "name": "lscpu: Model name",
    "family": "lscpu: CPU family",
    "model": "lscpu: Model",
    "stepping": "lscpu: Stepping",
    **dict.fromkeys(("sockets", "physical_cores"), _COUNTED),
    "logical_cpus": "lscpu: CPU(s)",
    "online": "lscpu: On-line CPU(s) list",
    "numa_nodes": "lscpu: NUMA node CPU(s)",
    "l3_groups": "lscpu: L3 cache",
    **dict.fromkeys(("flags", "isa"), "lscpu: Flags"),
    "max_mhz": "lscpu: CPU max MHz",
    "boost": "lscpu: Frequency boost",
}


def _hypervisor(lscpu: Lscpu) -> str | None:
    """Its kind; the flag alone says that there is one. That there is none, no line says."""
    if lscpu.hypervisor is not None:
        return _HYPERVISORS.get(lscpu.hypervisor, "other")
    return "other" if "hypervisor" in (lscpu.flags or ()) else None


def _counts(lscpu: Lscpu) -> Counts | None:
    """`CPU(s)` counts those that are present and the rest those that are switched on: they agree where all are."""
    each = (lscpu.cpus, lscpu.threads_per_core, lscpu.cores_per_socket, lscpu.sockets)
    if lscpu.offline or None in each:
        return None
    cpus, threads, cores, sockets = (count or 0 for count in each)
    if cpus != threads * cores * sockets or (lscpu.online is not None and len(lscpu.online) != cpus):
        return None
    return Counts(cores * sockets, sockets, cpus)


def _note(lscpu: Lscpu, counts: Counts | None) -> str | None:
    present, online = lscpu.cpus, lscpu.online
    if lscpu.offline or (present is not None and online is not None and len(online) < present):
        return _SWITCHED_OFF
    stated = None not in (present, lscpu.threads_per_core, lscpu.cores_per_socket, lscpu.sockets)
    return _UNEVEN if stated and counts is None else None


def _isa(lscpu: Lscpu) -> Isa | None:
    """From the list of flags. What may be in it, cut at the edge of a terminal, is unknown."""
    if not lscpu.flags:
        return None
    names = {normalised(word) for word in lscpu.flags}
    maybe = {normalised(word) for word in lscpu.doubtful} - names
    isa = isa_of((*lscpu.flags, *lscpu.doubtful), complete=not lscpu.flags_cut)
    return msgspec.structs.replace(isa, **{name: None for name in isa.__struct_fields__ if normalised(name) in maybe})


def _numa_nodes(lscpu: Lscpu) -> tuple[NumaNode, ...] | None:
    """The nodes, where each that is counted has its line."""
    if lscpu.numa_nodes is None or lscpu.numa_nodes != len(lscpu.nodes):
        return None
    ordered = sorted(lscpu.nodes, key=lambda node: node.id)
    return tuple(NumaNode(id=node.id, cpus=format_cpulist(node.cpus)) for node in ordered)


def _counted(lscpu: Lscpu) -> bool:
    """Whether this lscpu counted the caches themselves."""
    return lscpu.l3 is not None and lscpu.l3.instances is not None


def _l3_groups(lscpu: Lscpu, counts: Counts | None) -> tuple[L3Group, ...] | None:
    """One row per L3 cache; what is not known of it is left out. None where their number is not proven."""
    if counts is None:
        return None
    bare = _is_bare_metal(lscpu) and lscpu.vendor in _AMD and counts.cores % counts.sockets == 0
    row = l3_row(lscpu.family, lscpu.model, lscpu.name) if bare else None
    line = lscpu.l3 or L3Line()
    number = line.instances if line.instances is not None else _proven_number(lscpu, counts, row)
    if number is None or number > counts.cores:
        return None
    if number == 0:
        return ()
    per_package = number // counts.sockets if number % counts.sockets == 0 else 0
    cores = counts.cores // number if _has_equal_cores(lscpu, counts, row, number, per_package) else None
    sizes = _sizes(lscpu, row, number)
    cpus = _cpus_of_groups(lscpu, number, bare)
    return tuple(L3Group(cpus=cpus[at], cores=cores, size_bytes=sizes[at]) for at in range(number))


def _is_bare_metal(lscpu: Lscpu) -> bool:
    """Only where the whole list of flags was there to see."""
    if lscpu.hypervisor is not None or lscpu.flags is None or lscpu.flags_cut:
        return False
    return "pni" in lscpu.flags and "hypervisor" not in (*lscpu.flags, *lscpu.doubtful)


def _proven_number(lscpu: Lscpu, counts: Counts, row: L3Row | None) -> int | None:
    if row is None:
        return None
    line = lscpu.l3 or L3Line()
    mib = None if line.product_bytes is None else line.product_bytes / counts.sockets / MIB
    groups = groups_in_package(row, counts.cores // counts.sockets, lscpu.name, mib)
    return None if groups is None else groups * counts.sockets


def _has_equal_cores(lscpu: Lscpu, counts: Counts, row: L3Row | None, number: int, per_package: int) -> bool:
    if number == 1:
        return True
    return per_package == 1 or cores_are_equal(row, counts.cores // counts.sockets, per_package, lscpu.name)


def _sizes(lscpu: Lscpu, row: L3Row | None, number: int) -> tuple[int | None, ...]:
    """The size of each group. CPU 0 is in the first one."""
    line = lscpu.l3 or L3Line()
    alike = number == 1 or sizes_are_equal(row, lscpu.name)
    if line.one_bytes is not None:
        return (line.one_bytes,) * number if alike else (line.one_bytes,) + (None,) * (number - 1)
    total = line.sum_bytes if line.sum_bytes is not None else line.product_bytes
    return (total // number if alike and total is not None and total % number == 0 else None,) * number


def _cpus_of_groups(lscpu: Lscpu, number: int, bare: bool) -> tuple[str | None, ...]:
    """Which CPUs share each L3: all of them where there is one; those of a NUMA node where there are as many of these,
    since on bare metal an AMD node holds whole groups."""
    if number == 1:
        return (format_cpulist(lscpu.online) if lscpu.online else None,)
    nodes = _numa_nodes(lscpu)
    if bare and nodes is not None and len(nodes) == number:
        return tuple(node.cpus for node in nodes)
    return (None,) * number
