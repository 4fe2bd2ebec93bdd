"""The topology as JSON (`amd-doctor/topology/1`): packages, groups with one L3 cache, cores, CPU numbers."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor import __version__
from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Machine
from doctor.present.clusters import Cluster, clusters_of, usable_cpus

SCHEMA = "amd-doctor/topology/1"


def topology_document(machine: Machine) -> dict[str, Any]:
    """The document as plain values. What is unknown is null; `cores_known` tells whether the threads of cores are."""
    cpu, limits = machine.cpu, machine.limits
    usable = usable_cpus(limits)
    rows = [row for row in machine.unknowns or () if row.fact.partition(".")[0] in ("cpu", "limits")]
    return {
        "schema": SCHEMA,
        "version": __version__,
        "name": cpu.name if cpu else None,
        "online": cpu.online if cpu else None,
        "smt": cpu.smt if cpu else None,
        "clusters": [_cluster(cluster) for cluster in (clusters_of(cpu) if cpu else ())],
        "numa_nodes": msgspec.to_builtins(cpu.numa_nodes) if cpu and cpu.numa_nodes is not None else None,
        "usable_cpus": format_cpulist(usable) if usable is not None else None,
        "cpu_budget": limits.cpu_budget if limits else None,
        "unknowns": [msgspec.to_builtins(row) for row in rows],
    }


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "l3": cluster.l3,
        "size_bytes": cluster.size_bytes,
        "package": cluster.package,
        "node": cluster.node,
        "cpus": format_cpulist(cluster.cpus),
        "cores_known": cluster.cores_known,
        "cores": [{"cpus": list(column.cpus), "kind": column.kind} for column in cluster.columns],
    }
