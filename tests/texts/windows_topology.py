"""Builds the buffer of GetLogicalProcessorInformationEx byte by byte, from the field tables of Microsoft's winnt.h
pages. It shares nothing with the reader that is tested with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

CORE, NUMA, CACHE, PACKAGE, GROUP, DIE = range(6)
UNIFIED, INSTRUCTION, DATA, TRACE = range(4)

Mask = tuple[int, Iterable[int]]  # processor group, bits in it


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


def record(relation: int, body: bytes) -> bytes:
    return number(relation, 4) + number(8 + len(body), 4) + body


def group_affinity(mask: Mask) -> bytes:
    group, bits = mask
    return number(sum(2**bit for bit in bits), 8) + number(group, 2) + bytes(6)


def core(*masks: Mask, smt: bool = True, efficiency: int = 0) -> bytes:
    affinities = b"".join(map(group_affinity, masks))
    return record(CORE, number(smt, 1) + number(efficiency, 1) + bytes(20) + number(len(masks), 2) + affinities)


def package(*masks: Mask) -> bytes:
    return record(PACKAGE, bytes(2) + bytes(20) + number(len(masks), 2) + b"".join(map(group_affinity, masks)))


def die(*masks: Mask) -> bytes:
    return record(DIE, bytes(2) + bytes(20) + number(len(masks), 2) + b"".join(map(group_affinity, masks)))


def cache(level: int, size: int, *masks: Mask, kind: int = UNIFIED, group_count: int | None = None) -> bytes:
    """`group_count` is written as it is: 0 in records of before build 20348."""
    head = number(level, 1) + number(16, 1) + number(64, 2) + number(size, 4) + number(kind, 4) + bytes(18)
    count = len(masks) if group_count is None else group_count
    return record(CACHE, head + number(count, 2) + b"".join(map(group_affinity, masks)))


def numa(node: int, *masks: Mask, group_count: int | None = None) -> bytes:
    count = len(masks) if group_count is None else group_count
    return record(NUMA, number(node, 4) + bytes(18) + number(count, 2) + b"".join(map(group_affinity, masks)))


def groups(sizes: Sequence[int], *, maximum: Sequence[int] | None = None) -> bytes:
    """Groups with so many active processors each, in their lowest bits."""
    infos = b"".join(
        number(most, 1) + number(active, 1) + bytes(38) + number(2**active - 1, 8)
        for active, most in zip(sizes, maximum or sizes, strict=True)
    )
    return record(GROUP, number(len(sizes), 2) + number(len(sizes), 2) + bytes(20) + infos)


def split(cpus: Iterable[int], group_size: int = 64) -> list[Mask]:
    """Consecutive numbers as (group, bits) where every group but the last is full."""
    pairs: dict[int, list[int]] = {}
    for cpu in cpus:
        pairs.setdefault(cpu // group_size, []).append(cpu % group_size)
    return sorted(pairs.items())


def machine(
    ccds: Sequence[tuple[int, int]], *, group_size: int = 64, group_count: int | None = None, smt: bool = True
) -> bytes:
    """A package of CCDs (cores, L3 bytes), SMT siblings adjacent as Windows numbers them, one NUMA node.

    Records come as Windows gives them: core by core with its caches, then packages, nodes, and the groups last.
    """
    threads = 2 if smt else 1
    parts: list[bytes] = []
    at = 0
    for cores, l3_bytes in ccds:
        members = range(at, at + cores * threads)
        for first in members[::threads]:
            own = split(range(first, first + threads), group_size)
            parts += [core(*own, smt=smt)]
            parts += [cache(1, 32 << 10, *own, kind=DATA, group_count=group_count)]
            parts += [cache(1, 32 << 10, *own, kind=INSTRUCTION, group_count=group_count)]
            parts += [cache(2, 1 << 20, *own, group_count=group_count)]
        parts += [cache(3, l3_bytes, *split(members, group_size), group_count=group_count)]
        at += cores * threads
    whole = split(range(at), group_size)
    sizes = [len(list(bits)) for _, bits in whole]
    # Before build 20348 a node larger than a group was split into several.
    nodes = [numa(node, pair, group_count=0) for node, pair in enumerate(whole)] if group_count == 0 else []
    return b"".join([*parts, package(*whole), *(nodes or [numa(0, *whole)]), groups(sizes)])
