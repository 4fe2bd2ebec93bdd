"""The machine document as a report carries it: without what says nothing about PyTorch, and nothing that only its owner
is concerned with. No rule says anything else of it: what a rule asks for stays, under another name where it must.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from doctor.derive.overwritten import package_beside_torch
from doctor.derive.pytorch import asks_for_numpy
from doctor.knowledge.known_packages import is_known_package
from doctor.machine import core_runs
from doctor.machine.model import Contradiction, Machine, Os, Package, SourceRow

#: Families of kernel parameters that change how CPU, memory and GPU work. The others name disks, hosts and consoles.
_TELLING = re.compile(
    r"(?:amd|ttm|radeon|drm|video|nomodeset|modprobe\.blacklist|module_blacklist|rd\.driver\.blacklist|iommu|vfio|kvm"
    r"|isolcpus|nohz|rcu_nocb|irqaffinity|nosmt|maxcpus|nr_cpus|possible_cpus|mem=|memmap=|hugepage|default_hugepage"
    r"|transparent_hugepage|numa|mitigations|spec|retbleed|pti|nopti|processor|cpufreq|cpuidle|idle=|intel_|tsc|clocksource"
    r"|nowatchdog|pci|pcie_aspm|acpi|noapic|nolapic|cgroup|systemd\.unified|swiotlb|cma=|preempt|threadirqs|efi=|initcall)"
    r"[^\s]*",
)

#: Groups that every system has; another one may be called after a person or an employer.
_USUAL_GROUPS = frozenset(
    (
        *("root", "adm", "sudo", "wheel", "admin", "users", "video", "render", "audio", "input", "plugdev", "docker"),
        *("podman", "kvm", "libvirt", "lxd", "dialout", "cdrom", "disk", "staff", "games", "netdev", "nogroup"),
    )
)
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_WORTH_KEEPING = re.compile(r"(?:py)?torch.*|numpy|triton.*|rocm.*|.*directml.*|nvidia-.*|zentorch|intel-extension.*")


class Reduced(msgspec.Struct, frozen=True):
    """A machine for a report, and how many packages and kernel parameters were left out of it."""

    machine: Machine
    packages: int = 0
    kernel_parameters: int = 0


def reduced(machine: Machine) -> Reduced:
    """The machine as a report carries it. A second time nothing is left to take out."""
    packages, left_out = _packages(machine)
    system, parameters = _system(machine)
    rows = tuple(SourceRow(kind=row.kind, taken_at=row.taken_at) for row in machine.sources or ())
    total = (machine.packages_left_out or 0) + left_out
    return Reduced(
        msgspec.structs.replace(
            machine,
            sources=tuple(dict.fromkeys(rows)) if machine.sources is not None else None,
            contradictions=_contradictions(machine),
            os=system,
            packages=packages,
            packages_left_out=total or None,
        ),
        total,
        parameters,
    )


def _contradictions(machine: Machine) -> tuple[Contradiction, ...] | None:
    """A file may be named after a person, or a machine: `line 2 of jane.txt` is `line 2 of file 1`."""
    if machine.contradictions is None:
        return None
    names = dict.fromkeys(row.name for row in machine.sources or () if row.name)
    numbered = sorted(((name, f"file {at}") for at, name in enumerate(names, start=1)), key=lambda row: -len(row[0]))
    rows = []
    for row in machine.contradictions:
        labels = [row.kept_from or "", row.dropped_from or ""]
        for name, number in numbered:
            labels = [label.replace(name, number) for label in labels]
        rows.append(msgspec.structs.replace(row, kept_from=labels[0] or None, dropped_from=labels[1] or None))
    return tuple(rows)


def _packages(machine: Machine) -> tuple[dict[str, Package] | None, int]:
    """The packages that may be named, and those that a rule looks for whatever they are called: as `package-1`."""
    if machine.packages is None:
        return None, 0
    known = {name: package for name, package in machine.packages.items() if is_known_package(name)}
    needed = [name for name in dict.fromkeys(_needed(machine.packages, known)) if name not in known]
    names = dict(zip(known, known, strict=True))
    names.update((name, f"package-{at}") for at, name in enumerate(needed, start=1))
    kept = {names[name]: _short(package) for name, package in machine.packages.items() if name in names}
    return kept, len(machine.packages) - len(kept)


def _needed(packages: Mapping[str, Package], known: Mapping[str, Package]) -> Iterator[str]:
    """What may have replaced torch; one that asks for NumPy; one of which it is not known what it asks for."""
    beside = package_beside_torch(packages)
    if beside is not None:
        yield beside
    for matters in (_asks_for_numpy, _tells_nothing):
        if not any(matters(package) for package in known.values()):
            yield from [name for name, package in packages.items() if matters(package)][:1]


def _asks_for_numpy(package: Package) -> bool:
    return any(asks_for_numpy(line) for line in package.requires or ())


def _tells_nothing(package: Package) -> bool:
    return package.requires is None


def _short(package: Package) -> Package:
    """What it asks for, as far as that is about PyTorch."""
    if package.requires is None:
        return package
    names = ((line, _REQUIREMENT.match(line)) for line in package.requires)
    wanted = tuple(line for line, name in names if name is not None and _WORTH_KEEPING.fullmatch(name[1].lower()))
    return msgspec.structs.replace(package, requires=wanted)


def _system(machine: Machine) -> tuple[Os | None, int]:
    system = machine.os
    if system is None:
        return None, 0
    nodes = {node.group for node in (machine.nodes or {}).values() if node.group}
    words = (system.kernel_cmdline or "").split()
    telling = [word for word in words if _TELLING.fullmatch(word)]
    changes: dict[str, Any] = {
        "kernel_cmdline": None if system.kernel_cmdline is None else " ".join(telling),
        "group_names": _usual(system.group_names, nodes),
        "groups_in_file": _usual(system.groups_in_file, nodes),
    }
    return msgspec.structs.replace(system, **changes), len(words) - len(telling)


def _usual(names: tuple[str, ...] | None, nodes: set[str]) -> tuple[str, ...] | None:
    return None if names is None else tuple(name for name in names if name in _USUAL_GROUPS or name in nodes)


def short_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a machine document, its cores as runs."""
    cpu = document.get("cpu")
    if not isinstance(cpu, Mapping) or not cpu.get("cores"):
        return dict(document)
    rest = {name: value for name, value in cpu.items() if name != "cores"}
    return {**document, "cpu": {**rest, core_runs.FIELD: core_runs.packed(cpu["cores"])}}
