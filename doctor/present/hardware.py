"""What the screen says of the machine itself: CPU, topology, memory, limits, power, system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Cpu, L3Group, Limits, Machine, Memory, MemoryModule
from doctor.present.language import counted, joined, phrase, say
from doctor.present.says import Says, not_known
from doctor.present.text import bytes_text, listed, plural

#: One core of a kind, and several.
_KINDS = {
    "performance": ("{count} performance core", phrase("{count} performance cores")),
    "efficiency": ("{count} efficiency core", phrase("{count} efficiency cores")),
    "mixed": ("{count} mixed core", phrase("{count} mixed cores")),
}
_ANY_KIND = ("{count} core", phrase("{count} cores"))
_CONTAINERS = {
    "docker": phrase("in a Docker container"),
    "podman": phrase("in a Podman container"),
    "kubernetes": phrase("in a Kubernetes container"),
    "lxc": phrase("in an LXC container"),
}
_HYPERVISORS = {
    "kvm": phrase("in a KVM virtual machine"),
    "hyperv": phrase("in a Hyper-V virtual machine"),
    "vmware": phrase("in a VMware virtual machine"),
    "virtualbox": phrase("in a VirtualBox virtual machine"),
    "xen": phrase("in a Xen virtual machine"),
}


def short_cpu_name(name: str) -> str:
    """`AMD Ryzen 9 7950X3D 16-Core Processor` as `AMD Ryzen 9 7950X3D`."""
    bare = re.sub(r"\((R|TM)\)", "", name, flags=re.IGNORECASE)
    bare = re.sub(r"( \d+-Cores?)?( Processor)?( (with|w/) .*)?$", "", bare.strip())
    return " ".join(bare.split()) or name


def cpu_says(machine: Machine) -> Says:
    """Name, generation, cores and threads; then what it computes with."""
    cpu = machine.cpu
    if cpu is None or (cpu.name is None and cpu.family is None):
        return Says(missing=(not_known(machine, "cpu.name", "cpu", what=say("which CPU this is")),))
    first = [short_cpu_name(cpu.name)] if cpu.name else []
    if cpu.generation:
        name = {"name": cpu.generation, "codename": cpu.codename}
        first.append(say("{name} ({codename})", **name) if cpu.codename else cpu.generation)
    elif cpu.family is not None and cpu.model is not None:
        first.append(say("family {family}, model {model}", family=cpu.family, model=cpu.model))
    first += [part for part in (cores_text(cpu),) if part]
    facts = [joined(first)]
    isa = isa_text(cpu)
    if isa:
        code = cpu.runs_code_for
        facts.append(say("{sets}; runs code for {code}", sets=isa, code=code) if code else isa)
    missing = () if isa else (not_known(machine, "cpu.isa", "cpu.flags", what=say("its instruction sets")),)
    return Says(facts=tuple(facts), missing=missing)


def cores_text(cpu: Cpu) -> str:
    """`16 cores, 32 threads`."""
    if cpu.physical_cores is not None and cpu.logical_cpus is not None:
        return joined((plural(cpu.physical_cores, "core"), plural(cpu.logical_cpus, "thread")))
    if cpu.physical_cores is not None:
        return plural(cpu.physical_cores, "core")
    return plural(cpu.logical_cpus, "thread") if cpu.logical_cpus is not None else ""


def isa_text(cpu: Cpu) -> str:
    """`AVX2, AVX-512 double-pumped on 256-bit units`; empty where no instruction set is known."""
    isa = cpu.isa
    if isa is None or (isa.avx2 is None and isa.avx is None and isa.avx512f is None):
        return ""
    if isa.avx2 is False:
        return _on_units(cpu, say("AVX without AVX2") if isa.avx else say("neither AVX nor AVX2"))
    base = "AVX2" if isa.avx2 else say("AVX2 not known")
    if cpu.avx512 == "double-pumped":
        return joined((base, _on_units(cpu, say("AVX-512 double-pumped"))))
    if cpu.avx512 == "full-width":
        return joined((base, _on_units(cpu, say("AVX-512 at full width"))))
    if cpu.avx512 == "partial":
        return joined((_on_units(cpu, base), say("AVX-512 only in part")))
    if cpu.avx512 == "absent" or isa.avx512f is False:
        return joined((_on_units(cpu, base), say("no AVX-512")))
    return joined((base, _on_units(cpu, "AVX-512"))) if isa.avx512f else _on_units(cpu, base)


def _on_units(cpu: Cpu, sets: str) -> str:
    bits = cpu.vector_width_bits
    return say("{sets} on {bits}-bit units", sets=sets, bits=bits) if bits else sets


def l3_word(cpu: Cpu) -> str:
    """What cores with a common L3 are called: CCX on AMD."""
    return "CCX" if cpu.vendor in ("AuthenticAMD", "HygonGenuine") else say("L3 group")


def topology_says(machine: Machine) -> Says:
    """The CCX layout in short, and sockets and NUMA nodes where there are several."""
    cpu = machine.cpu
    if cpu is None or cpu.l3_groups is None:
        what = say("which cores share an L3 cache")
        return Says(facts=_nodes(cpu), missing=(not_known(machine, "cpu.l3_groups", "cpu.cores", "cpu", what=what),))
    if not cpu.l3_groups:
        return Says(facts=(joined((say("no L3 cache is reported"), *_nodes(cpu))),))
    return Says(facts=(joined((*_nodes(cpu), l3_text(cpu, cpu.l3_groups))),))


def _nodes(cpu: Cpu | None) -> tuple[str, ...]:
    if cpu is None:
        return ()
    sockets = [plural(cpu.sockets, "socket")] if cpu.sockets and cpu.sockets > 1 else []
    nodes = [plural(len(cpu.numa_nodes), "NUMA node")] if cpu.numa_nodes and len(cpu.numa_nodes) > 1 else []
    return (*sockets, *nodes)


def l3_text(cpu: Cpu, groups: Sequence[L3Group]) -> str:
    """`2 CCX: 8 cores + 96 MiB L3, 8 cores + 32 MiB L3`; equal ones in a row are counted."""
    count = l3_groups_text(cpu, len(groups))
    runs = [(text, len(list(run))) for text, run in groupby(map(_group_text, groups))]
    if len(runs) == 1:
        of_what = {"groups": count, "cores": runs[0][0]}
        return say("{groups} of {cores} each", **of_what) if len(groups) > 1 else say("{groups}: {cores}", **of_what)
    shown = [text if times == 1 else say("{times} x {what}", times=times, what=text) for text, times in runs]
    if len(shown) <= 6:
        return say("{groups}: {cores}", groups=count, cores=joined(shown))
    return say("{groups} of {count} different kinds", groups=count, count=len(set(runs)))


def l3_groups_text(cpu: Cpu, count: int) -> str:
    """`2 CCX`, `3 L3 groups`."""
    return counted("{count} CCX", "{count} CCX", count) if l3_word(cpu) == "CCX" else plural(count, "L3 group")


def _group_text(group: L3Group) -> str:
    cores = say("some cores")
    if group.cores is not None:
        cores = counted(*_KINDS.get(group.kind or "", _ANY_KIND), group.cores)
    if not group.size_bytes:
        return say("{cores} with one L3", cores=cores)
    return say("{cores} + {size} L3", cores=cores, size=bytes_text(group.size_bytes))


def memory_says(machine: Machine) -> Says:
    """Size, kind, speed and channels."""
    memory = machine.memory
    if memory is None or memory.total_bytes is None:
        speed = memory_speed(memory) if memory else ""
        size = not_known(machine, "memory.total_bytes", "memory", what=say("how much memory there is"))
        return Says(facts=(speed,) if speed else (), missing=(size,))
    size = bytes_text(memory.total_bytes)
    if memory.available_bytes is not None:
        size = say("{size}, {free} of it free", size=size, free=bytes_text(memory.available_bytes))
    speed = memory_speed(memory)
    if speed:
        return Says(facts=(size, speed))
    why = not_known(machine, "memory.modules", "memory.effective_mts", what=say("module speed and channels"))
    return Says(facts=(size,), missing=(why,))


def memory_speed(memory: Memory) -> str:
    """`2 x 16 GiB DDR5 at 6000 MT/s in 2 channels, 96 GB/s at most`."""
    parts = [modules_text(memory.modules)] if memory.modules else []
    if memory.effective_mts is not None:
        parts.append(say("at {speed} MT/s", speed=memory.effective_mts))
    if memory.channels is not None:
        parts.append(counted("in {count} channel", "in {count} channels", memory.channels))
    if memory.effective_mts is None and memory.channels is None:
        return ""
    text = " ".join(parts)
    if not memory.peak_bytes_per_second:
        return text
    return say("{memory}, {speed:.0f} GB/s at most", memory=text, speed=memory.peak_bytes_per_second / 1e9)


def modules_text(modules: Sequence[MemoryModule]) -> str:
    """`2 x 16 GiB DDR5`; modules of different size are counted apart."""
    placed = [module for module in modules if module.size_bytes]
    sizes = sorted({module.size_bytes for module in placed if module.size_bytes}, reverse=True)
    counted = [f"{sum(m.size_bytes == size for m in placed)} x {bytes_text(size)}" for size in sizes]
    kinds = sorted({module.type for module in placed if module.type})
    return " ".join((" + ".join(counted), "/".join(kinds))).strip()


def limits_says(machine: Machine) -> Says:
    """How many CPUs this process may use and what takes the others away; the memory limit."""
    limits, cpu = machine.limits, machine.cpu
    if limits is None or limits.cpu_budget is None:
        what = say("how many CPUs this process may use")
        return Says(missing=(not_known(machine, *_BUDGET, "limits", what=what),))
    total = cpu.logical_cpus if cpu else None
    if total is not None and limits.cpu_budget >= total:
        facts = [_whole_text(total)]
    else:
        reasons = listed(budget_reasons(limits, total))
        some = _part_text(limits.cpu_budget, total)
        facts = [say("{what} ({reasons})", what=some, reasons=reasons) if reasons else some]
    cgroup = limits.cgroup
    if cgroup is not None and isinstance(cgroup.memory_bytes, int):
        facts.append(say("memory limit {size}", size=bytes_text(cgroup.memory_bytes)))
    elif cgroup is not None and cgroup.memory_bytes == "none":
        facts.append(say("no memory limit"))
    return Says(facts=(joined(facts),))


def _whole_text(total: int) -> str:
    if total == 1:
        return say("the only CPU may be used")
    return say("both CPUs may be used") if total == 2 else say("all {total} CPUs may be used", total=total)


def _part_text(budget: int, total: int | None) -> str:
    if total is not None:
        return say("{count} of {total} CPUs may be used", count=budget, total=total)
    return counted("{count} CPU may be used", "{count} CPUs may be used", budget)


#: What the budget follows from: the reason why one of these is missing is the reason.
_BUDGET = ("limits.affinity_cpus", "limits.cgroup.quota_cpus", "limits.cgroup")


def budget_reasons(limits: Limits, total: int | None) -> list[str]:
    """What keeps CPUs away from this process: `container quota 8.5 CPUs`, `affinity mask 0-7`."""
    reasons, cgroup = [], limits.cgroup
    if limits.affinity_cpus is not None and total is not None and limits.affinity_cpus < total:
        mask = limits.affinity or say("of {count}", count=limits.affinity_cpus)
        reasons.append(say("affinity mask {cpus}", cpus=mask))
    if cgroup is not None and isinstance(cgroup.quota_cpus, int | float):
        reasons.append(say("cgroup quota {count:g} CPUs", count=cgroup.quota_cpus))
    if cgroup is not None and cgroup.cpuset_cpus and total is not None:
        try:
            size = len(parse_cpulist(cgroup.cpuset_cpus))
        except ValueError:
            size = total
        if size < total and (limits.affinity is None or cgroup.cpuset_cpus != limits.affinity):
            reasons.append(say("cpuset {cpus}", cpus=cgroup.cpuset_cpus))
    return reasons


def power_says(machine: Machine) -> Says:
    """Mains or battery, and who decides on the clock."""
    power, cpu = machine.power, machine.cpu
    facts = []
    if power is not None:
        facts += {"ac": [say("on mains")], "battery": [say("on battery")]}.get(power.source or "", [])
        facts += [say("plan {name}", name=power.plan)] if power.plan else []
        profile = power.platform_profile
        facts += [say("platform profile {name}", name=profile)] if _has(profile) else []
    if cpu is not None:
        governor, preference, driver = cpu.governor, cpu.energy_preference, cpu.scaling_driver
        facts += [say("governor {name}", name=governor)] if _has(governor) else []
        facts += [say("preference {name}", name=preference)] if _has(preference) else []
        facts += [say("driver {name}", name=driver)] if _has(driver) and not _has(governor) else []
        facts += [say("boost on") if cpu.boost else say("boost off")] if cpu.boost is not None else []
    if facts:
        return Says(facts=(joined(facts),))
    if machine.os is not None and machine.os.hypervisor not in (None, "none"):
        return Says(not_applicable=say("the host of this virtual machine decides on the clock"))
    what = say("how the clock is governed")
    return Says(missing=(not_known(machine, "cpu.governor", "power.plan", "power", what=what),))


def _has(setting: str | None) -> bool:
    """Is there such a setting? A machine without one says "none"."""
    return setting not in (None, "none")


def system_says(machine: Machine) -> Says:
    """Operating system, kernel, container and hypervisor."""
    system = machine.os
    if system is None or system.kind is None:
        return Says(missing=(not_known(machine, "os.kind", "os", what=say("which system this is")),))
    kind = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}.get(system.kind, system.kind)
    facts = [system.name or kind]
    if system.kernel and system.kind == "linux":
        facts.append(say("kernel {version}", version=system.kernel))
    elif system.version and system.version not in facts[0]:
        facts.append(say("version {version}", version=system.version))
    facts += [f"WSL {system.wsl}"] if system.wsl else []
    if system.container not in (None, "none"):
        facts.append(say(_CONTAINERS.get(system.container or "", phrase("in a container"))))
    if system.hypervisor not in (None, "none") and not system.wsl:
        facts.append(say(_HYPERVISORS.get(system.hypervisor or "", phrase("in a virtual machine"))))
    return Says(facts=(joined(facts),))
