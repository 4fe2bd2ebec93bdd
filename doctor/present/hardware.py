"""What the screen says of the machine itself: CPU, topology, memory, limits, power, system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Cpu, L3Group, Limits, Machine, Memory, MemoryModule
from doctor.present.says import Says, not_known
from doctor.present.text import bytes_text, listed, plural

_KINDS = {"performance": "performance ", "efficiency": "efficiency ", "mixed": "mixed "}
_CONTAINERS = {"docker": "a Docker", "podman": "a Podman", "kubernetes": "a Kubernetes", "lxc": "an LXC"}
_HYPERVISORS = {
    "kvm": "a KVM",
    "hyperv": "a Hyper-V",
    "vmware": "a VMware",
    "virtualbox": "a VirtualBox",
    "xen": "a Xen",
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
        return Says(missing=(not_known(machine, "cpu.name", "cpu", what="which CPU this is"),))
    first = [short_cpu_name(cpu.name)] if cpu.name else []
    if cpu.generation:
        first.append(cpu.generation + (f" ({cpu.codename})" if cpu.codename else ""))
    elif cpu.family is not None and cpu.model is not None:
        first.append(f"family {cpu.family}, model {cpu.model}")
    first += [part for part in (cores_text(cpu),) if part]
    facts = [", ".join(first)]
    isa = isa_text(cpu)
    if isa:
        facts.append(isa + (f"; runs code for {cpu.runs_code_for}" if cpu.runs_code_for else ""))
    missing = () if isa else (not_known(machine, "cpu.isa", "cpu.flags", what="its instruction sets"),)
    return Says(facts=tuple(facts), missing=missing)


def cores_text(cpu: Cpu) -> str:
    """`16 cores, 32 threads`."""
    if cpu.physical_cores is not None and cpu.logical_cpus is not None:
        return f"{plural(cpu.physical_cores, 'core')}, {plural(cpu.logical_cpus, 'thread')}"
    if cpu.physical_cores is not None:
        return plural(cpu.physical_cores, "core")
    return plural(cpu.logical_cpus, "thread") if cpu.logical_cpus is not None else ""


def isa_text(cpu: Cpu) -> str:
    """`AVX2, AVX-512 double-pumped on 256-bit units`; empty where no instruction set is known."""
    isa = cpu.isa
    if isa is None or (isa.avx2 is None and isa.avx is None and isa.avx512f is None):
        return ""
    if isa.avx2 is False:
        return ("AVX without AVX2" if isa.avx else "neither AVX nor AVX2") + _units(cpu)
    base = "AVX2" if isa.avx2 else "AVX2 not known"
    if cpu.avx512 == "double-pumped":
        return f"{base}, AVX-512 double-pumped{_units(cpu)}"
    if cpu.avx512 == "full-width":
        return f"{base}, AVX-512 at full width{_units(cpu)}"
    if cpu.avx512 == "partial":
        return f"{base}{_units(cpu)}, AVX-512 only in part"
    if cpu.avx512 == "absent" or isa.avx512f is False:
        return f"{base}{_units(cpu)}, no AVX-512"
    return f"{base}, AVX-512{_units(cpu)}" if isa.avx512f else f"{base}{_units(cpu)}"


def _units(cpu: Cpu) -> str:
    return f" on {cpu.vector_width_bits}-bit units" if cpu.vector_width_bits else ""


def l3_word(cpu: Cpu) -> str:
    """What cores with a common L3 are called: CCX on AMD."""
    return "CCX" if cpu.vendor in ("AuthenticAMD", "HygonGenuine") else "L3 group"


def topology_says(machine: Machine) -> Says:
    """The CCX layout in short, and sockets and NUMA nodes where there are several."""
    cpu = machine.cpu
    if cpu is None or cpu.l3_groups is None:
        what = "which cores share an L3 cache"
        return Says(facts=_nodes(cpu), missing=(not_known(machine, "cpu.l3_groups", "cpu.cores", "cpu", what=what),))
    if not cpu.l3_groups:
        return Says(facts=(", ".join(("no L3 cache is reported", *_nodes(cpu))),))
    return Says(facts=(", ".join((*_nodes(cpu), l3_text(cpu, cpu.l3_groups))),))


def _nodes(cpu: Cpu | None) -> tuple[str, ...]:
    if cpu is None:
        return ()
    sockets = [plural(cpu.sockets, "socket")] if cpu.sockets and cpu.sockets > 1 else []
    nodes = [plural(len(cpu.numa_nodes), "NUMA node")] if cpu.numa_nodes and len(cpu.numa_nodes) > 1 else []
    return (*sockets, *nodes)


def l3_text(cpu: Cpu, groups: Sequence[L3Group]) -> str:
    """`2 CCX: 8 cores + 96 MiB L3, 8 cores + 32 MiB L3`; equal ones in a row are counted."""
    word = l3_word(cpu)
    count = f"{len(groups)} {word}" + ("s" if word != "CCX" and len(groups) != 1 else "")
    runs = [(text, len(list(run))) for text, run in groupby(map(_group_text, groups))]
    if len(runs) == 1:
        return f"{count}{' of' if len(groups) > 1 else ':'} {runs[0][0]}" + (" each" if len(groups) > 1 else "")
    shown = [text if times == 1 else f"{times} x {text}" for text, times in runs]
    return f"{count}: {', '.join(shown)}" if len(shown) <= 6 else f"{count} of {len(set(runs))} different kinds"


def _group_text(group: L3Group) -> str:
    kind = _KINDS.get(group.kind or "", "")
    count = group.cores
    cores = "some cores" if count is None else f"{count} {kind}core{'' if count == 1 else 's'}"
    return f"{cores} + {bytes_text(group.size_bytes)} L3" if group.size_bytes else f"{cores} with one L3"


def memory_says(machine: Machine) -> Says:
    """Size, kind, speed and channels."""
    memory = machine.memory
    if memory is None or memory.total_bytes is None:
        speed = memory_speed(memory) if memory else ""
        size = not_known(machine, "memory.total_bytes", "memory", what="how much memory there is")
        return Says(facts=(speed,) if speed else (), missing=(size,))
    size = bytes_text(memory.total_bytes)
    if memory.available_bytes is not None:
        size += f", {bytes_text(memory.available_bytes)} of it free"
    speed = memory_speed(memory)
    if speed:
        return Says(facts=(size, speed))
    why = not_known(machine, "memory.modules", "memory.effective_mts", what="module speed and channels")
    return Says(facts=(size,), missing=(why,))


def memory_speed(memory: Memory) -> str:
    """`2 x 16 GiB DDR5 at 6000 MT/s in 2 channels, 96 GB/s at most`."""
    parts = [modules_text(memory.modules)] if memory.modules else []
    if memory.effective_mts is not None:
        parts.append(f"at {memory.effective_mts} MT/s")
    if memory.channels is not None:
        parts.append(f"in {plural(memory.channels, 'channel')}")
    text = " ".join(parts)
    if memory.peak_bytes_per_second:
        text += f", {memory.peak_bytes_per_second / 1e9:.0f} GB/s at most"
    return text.strip(" ,") if memory.effective_mts is not None or memory.channels is not None else ""


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
        what = "how many CPUs this process may use"
        return Says(missing=(not_known(machine, *_BUDGET, "limits", what=what),))
    total = cpu.logical_cpus if cpu else None
    if total is not None and limits.cpu_budget >= total:
        whole = {1: "the only CPU", 2: "both CPUs"}.get(total, f"all {total} CPUs")
        first = f"{whole} may be used"
    else:
        reasons = listed(budget_reasons(limits, total))
        some = f"{limits.cpu_budget} of {total} CPUs" if total is not None else plural(limits.cpu_budget, "CPU")
        first = f"{some} may be used" + (f" ({reasons})" if reasons else "")
    cgroup = limits.cgroup
    if cgroup is not None and isinstance(cgroup.memory_bytes, int):
        first += f", memory limit {bytes_text(cgroup.memory_bytes)}"
    elif cgroup is not None and cgroup.memory_bytes == "none":
        first += ", no memory limit"
    return Says(facts=(first,))


#: What the budget follows from: the reason why one of these is missing is the reason.
_BUDGET = ("limits.affinity_cpus", "limits.cgroup.quota_cpus", "limits.cgroup")


def budget_reasons(limits: Limits, total: int | None) -> list[str]:
    """What keeps CPUs away from this process: `container quota 8.5 CPUs`, `affinity mask 0-7`."""
    reasons, cgroup = [], limits.cgroup
    if limits.affinity_cpus is not None and total is not None and limits.affinity_cpus < total:
        reasons.append(f"affinity mask {limits.affinity or f'of {limits.affinity_cpus}'}")
    if cgroup is not None and isinstance(cgroup.quota_cpus, int | float):
        reasons.append(f"cgroup quota {cgroup.quota_cpus:g} CPUs")
    if cgroup is not None and cgroup.cpuset_cpus and total is not None:
        try:
            size = len(parse_cpulist(cgroup.cpuset_cpus))
        except ValueError:
            size = total
        if size < total and (limits.affinity is None or cgroup.cpuset_cpus != limits.affinity):
            reasons.append(f"cpuset {cgroup.cpuset_cpus}")
    return reasons


def power_says(machine: Machine) -> Says:
    """Mains or battery, and who decides on the clock."""
    power, cpu = machine.power, machine.cpu
    facts = []
    if power is not None:
        facts += {"ac": ["on mains"], "battery": ["on battery"]}.get(power.source or "", [])
        facts += [f"plan {power.plan}"] if power.plan else []
        facts += [f"platform profile {power.platform_profile}"] if _has(power.platform_profile) else []
    if cpu is not None:
        facts += [f"governor {cpu.governor}"] if _has(cpu.governor) else []
        facts += [f"preference {cpu.energy_preference}"] if _has(cpu.energy_preference) else []
        facts += [f"driver {cpu.scaling_driver}"] if _has(cpu.scaling_driver) and not _has(cpu.governor) else []
        facts += [f"boost {'on' if cpu.boost else 'off'}"] if cpu.boost is not None else []
    if facts:
        return Says(facts=(", ".join(facts),))
    if machine.os is not None and machine.os.hypervisor not in (None, "none"):
        return Says(not_applicable="the host of this virtual machine decides on the clock")
    return Says(missing=(not_known(machine, "cpu.governor", "power.plan", "power", what="how the clock is governed"),))


def _has(setting: str | None) -> bool:
    """Is there such a setting? A machine without one says "none"."""
    return setting not in (None, "none")


def system_says(machine: Machine) -> Says:
    """Operating system, kernel, container and hypervisor."""
    system = machine.os
    if system is None or system.kind is None:
        return Says(missing=(not_known(machine, "os.kind", "os", what="which system this is"),))
    kind = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}.get(system.kind, system.kind)
    facts = [system.name or kind]
    if system.kernel and system.kind == "linux":
        facts.append(f"kernel {system.kernel}")
    elif system.version and system.version not in facts[0]:
        facts.append(f"version {system.version}")
    facts += [f"WSL {system.wsl}"] if system.wsl else []
    if system.container not in (None, "none"):
        facts.append(f"in {_CONTAINERS.get(system.container or '', 'a')} container")
    if system.hypervisor not in (None, "none") and not system.wsl:
        facts.append(f"in {_HYPERVISORS.get(system.hypervisor or '', 'a')} virtual machine")
    return Says(facts=(", ".join(facts),))
