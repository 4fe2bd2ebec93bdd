"""Which cores of a hybrid AMD chip are the fast ones.

Linux shows no core type on AMD: /proc/cpuinfo is the same for both, and there is no `cpu_core` and `cpu_atom` PMU as
on Intel. Two things tell them apart for sure: two L3 groups of unlike size (Strix Point: 16 MiB behind the Zen 5
cores, 8 MiB behind the Zen 5c ones), and clocks with one clear gap (Krackan and Phoenix2 share one L3). Otherwise the
kinds stay unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from doctor.knowledge.zen import ZenRow
from doctor.machine.model import Core, L3Group

PERFORMANCE, EFFICIENCY, MIXED = "performance", "efficiency", "mixed"

#: The two kinds differ by a quarter and more (5.0 and 3.5 GHz); the preferred cores of one kind by a few percent.
_GAP = 1.10
_SPREAD = 1.05


def with_kinds(cores: tuple[Core, ...], groups: Sequence[L3Group] | None, row: ZenRow | None) -> tuple[Core, ...]:
    """The cores with their kind where it is certain. Kinds that a source stated are kept."""
    if row is None or not row.hybrid or any(core.kind for core in cores):
        return cores
    kinds = _by_l3_size(cores, groups) or _by_clock(cores)
    if kinds is None:
        return cores
    return tuple(msgspec.structs.replace(core, kind=kind) for core, kind in zip(cores, kinds, strict=True))


def group_kind(cores: Sequence[Core], index: int) -> str | None:
    """The kind of the cores behind one L3 group: `mixed` where both are; None where one is unknown."""
    kinds = {core.kind for core in cores if core.l3 == index}
    if not kinds or None in kinds:
        return None
    return MIXED if len(kinds) > 1 else kinds.pop()


def _by_l3_size(cores: Sequence[Core], groups: Sequence[L3Group] | None) -> list[str] | None:
    if groups is None or len(groups) != 2:
        return None
    first, second = groups[0].size_bytes, groups[1].size_bytes
    if first is None or second is None or first == second:
        return None
    larger = 0 if first > second else 1
    if any(core.l3 not in (0, 1) for core in cores):
        return None
    return [PERFORMANCE if core.l3 == larger else EFFICIENCY for core in cores]


def _by_clock(cores: Sequence[Core]) -> list[str] | None:
    """By the one gap in the sorted clocks; None where there is none, more than one, or a clock is not known."""
    clocks = sorted({core.max_mhz for core in cores if core.max_mhz})
    if any(not core.max_mhz for core in cores) or len(clocks) < 2:
        return None
    steps = [(above / below, above) for below, above in pairwise(clocks)]
    gaps = [above for ratio, above in steps if ratio >= _GAP]
    if len(gaps) != 1 or any(_SPREAD < ratio < _GAP for ratio, _ in steps):
        return None
    return [PERFORMANCE if (core.max_mhz or 0) >= gaps[0] else EFFICIENCY for core in cores]
