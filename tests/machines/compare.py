"""What a machine document and the truth about that machine disagree on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.derive.cpu import complete_cpu
from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Cpu, L3Group, Machine
from doctor.probes import cpu, topology
from doctor.probes.collect import collect
from doctor.sources.base import Source

_FIELDS = ("vendor", "name", "family", "model", "stepping", "generation", "vector_width_bits", "avx512")
_COUNTS = ("runs_code_for", "physical_cores", "logical_cpus", "smt", "max_mhz")


def known_from(source: Source) -> Machine:
    """The CPU part of the document that a source gives, completed. A probe that crashes fails the test."""
    collected = collect(source, (("cpu", cpu.probe), ("topology", topology.probe)))
    assert not collected.crashed
    return complete_cpu(collected.machine)


def mismatches(found: Cpu, truth: Mapping[str, Any]) -> list[str]:
    """One line per disagreement. A truth that is null is not compared; a missing one is not known to the corpus."""
    wrong = [
        f"{field}: {getattr(found, field)!r}, truth {truth[field]!r}"
        for field in (*_FIELDS, *_COUNTS)
        if truth.get(field) is not None and getattr(found, field) != truth[field]
    ]
    # A machine computed from a CPUID dump has one node and one package whatever the real one has.
    if truth["kind"] == "recorded":
        nodes = None if found.numa_nodes is None else len(found.numa_nodes)
        for field, value in (("packages", found.sockets), ("numa_nodes", nodes)):
            if truth.get(field) is not None and value != truth[field]:
                wrong.append(f"{field}: {value!r}, truth {truth[field]!r}")
    for flag, has in (truth.get("isa") or {}).items():
        value = getattr(found.isa, flag) if found.isa else None
        if value != has:
            wrong.append(f"isa.{flag}: {value!r}, truth {has!r}")
    return wrong + _topology(found, truth)


def _topology(found: Cpu, truth: Mapping[str, Any]) -> list[str]:
    wrong = []
    cores = found.cores or ()
    if len(cores) != truth["physical_cores"]:
        wrong.append(f"cores: {len(cores)} rows, truth {truth['physical_cores']}")
    in_rows = sorted(cpu for core in cores for cpu in parse_cpulist(core.cpus or ""))
    if in_rows != sorted(parse_cpulist(found.online or "")):
        wrong.append("cores: rows do not partition online")
    if "kinds" in truth and [core.kind for core in cores] != truth["kinds"]:
        wrong.append(f"kinds: {[core.kind for core in cores]}, truth {truth['kinds']}")
    expected = None if truth["l3_groups"] is None else {_group(L3Group(**row)) for row in truth["l3_groups"]}
    if l3_set(found) != expected:
        wrong.append(f"l3_groups: {found.l3_groups!r}, truth {truth['l3_groups']!r}")
    for core in cores:
        if core.l3 is not None and not _holds(found, core.l3, core.cpus):
            wrong.append(f"core {core.cpus}: l3 {core.l3} does not hold it")
    return wrong


def l3_set(found: Cpu) -> set[tuple[int | None, int | None, frozenset[int]]] | None:
    """The L3 groups as a set of (bytes, cores, CPUs); None where they are not known."""
    return None if found.l3_groups is None else {_group(group) for group in found.l3_groups}


def _group(group: L3Group) -> tuple[int | None, int | None, frozenset[int]]:
    return group.size_bytes, group.cores, parse_cpulist(group.cpus or "")


def _holds(found: Cpu, at: int, cpus: str | None) -> bool:
    groups = found.l3_groups or ()
    return at < len(groups) and parse_cpulist(cpus or "") <= parse_cpulist(groups[at].cpus or "")
