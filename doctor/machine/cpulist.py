"""CPU lists as the Linux kernel writes them: `"0-7,16-23"`. Ids are bounded before a range is expanded."""

from __future__ import annotations

from collections.abc import Iterable

MAX_CPU_ID = 65535


def parse_cpulist(text: str) -> frozenset[int]:
    """The CPU ids of a range string; `""` is the empty set. Raises ValueError on anything else.

    The kernel's stride form `0-10:2/4` is refused: no file that is read here uses it.
    """
    found: set[int] = set()
    for part in text.strip().split(","):
        if not part.strip():
            if text.strip():
                raise ValueError(f"not a CPU list: {text[:60]!r}")
            continue
        low, dash, high = part.strip().partition("-")
        first = _cpu_id(low, text)
        last = _cpu_id(high, text) if dash else first
        if last < first:
            raise ValueError(f"not a CPU list: {text[:60]!r}")
        found.update(range(first, last + 1))
    return frozenset(found)


def _cpu_id(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"not a CPU list: {whole[:60]!r}")
    if len(text) > 5 or int(text) > MAX_CPU_ID:
        raise ValueError(f"CPU id above {MAX_CPU_ID}: {whole[:60]!r}")
    return int(text)


def format_cpulist(cpus: Iterable[int]) -> str:
    """`{0, 1, 2, 5}` as `"0-2,5"`."""
    ordered = sorted(set(cpus))
    parts: list[str] = []
    at = 0
    while at < len(ordered):
        end = at
        while end + 1 < len(ordered) and ordered[end + 1] == ordered[end] + 1:
            end += 1
        parts.append(str(ordered[at]) if end == at else f"{ordered[at]}-{ordered[end]}")
        at = end + 1
    return ",".join(parts)


def parse_cpumap(text: str) -> frozenset[int]:
    """The CPU ids of a kernel mask: comma-separated 32-bit hexadecimal words, most significant first."""
    words = text.strip().split(",")
    if len(words) > (MAX_CPU_ID + 1) // 32 or any(len(word) > 8 for word in words):
        raise ValueError(f"not a CPU mask: {text[:60]!r}")
    bits = int("".join(word.rjust(8, "0") for word in words), 16)
    return frozenset(at for at in range(bits.bit_length()) if bits >> at & 1)
