"""How large the arrays of a bandwidth measurement have to be: far larger than every cache that could hold them."""

from __future__ import annotations

from doctor.machine.model import Cpu
from doctor.probes import topology
from doctor.sources.base import Source

MIB = 1 << 20
_LEAST_BYTES = 256 * MIB
#: STREAM's rule: each array at least four times as large as all last-level caches together.
_TIMES_L3 = 4
#: Servers have so much L3 that arrays by that rule take minutes to fill. Above this size the three arrays together,
#: which are passed through one after another, are four times as large.
_ENOUGH_BYTES = 1024 * MIB


def array_bytes(l3_bytes: int | None) -> int:
    """The size of each of the three arrays. It follows from the caches alone, so that every unit has the same."""
    l3 = l3_bytes or 0
    by_rule = max(_LEAST_BYTES, _TIMES_L3 * l3)
    return by_rule if by_rule <= _ENOUGH_BYTES else max(_ENOUGH_BYTES, -(-_TIMES_L3 * l3 // (3 * MIB)) * MIB)


def l3_bytes(source: Source) -> int | None:
    """All L3 caches of a machine together; None where they are not known."""
    cpu = topology.probe(source).facts.get("cpu")
    groups = cpu.l3_groups if isinstance(cpu, Cpu) else None
    sizes = [group.size_bytes for group in groups or ()]
    return sum(size for size in sizes if size) if sizes and all(sizes) else None
