"""Writes a /sys/devices/system/cpu that Wine takes for the machine's: CCDs of cores with two adjacent threads each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from doctor.machine.cpulist import format_cpulist


def mask(cpus: Iterable[int], count: int) -> str:
    bits = sum(1 << cpu for cpu in cpus)
    return ",".join(f"{bits >> 32 * word & 0xFFFFFFFF:08x}" for word in reversed(range((count + 31) // 32)))


def write_sysfs(root: Path, ccds: Sequence[tuple[int, int]]) -> None:
    """`ccds` is (cores, L3 in KiB) of each. CPUs 2k and 2k+1 are core k."""
    count = 2 * sum(cores for cores, _ in ccds)
    everything = range(count)
    for name in ("present", "online", "possible"):
        _write(root / name, format_cpulist(everything))
    first = 0
    for die, (cores, l3_kib) in enumerate(ccds):
        members = range(first, first + 2 * cores)
        for cpu in members:
            own = (cpu & ~1, cpu | 1)
            _topology(root / f"cpu{cpu}" / "topology", cpu, die, own, members, count)
            caches = ((1, "Data", 32, own), (1, "Instruction", 32, own), (2, "Unified", 1024, own))
            for at, (level, kind, kib, sharers) in enumerate((*caches, (3, "Unified", l3_kib, members))):
                _cache(root / f"cpu{cpu}" / "cache" / f"index{at}", level, kind, kib, sharers, count)
            _write(root / f"cpu{cpu}" / "online", "1")
        first += 2 * cores


def _topology(
    folder: Path, cpu: int, die: int, own: Sequence[int], members: Sequence[int], count: int
) -> None:
    _write(folder / "physical_package_id", "0")
    _write(folder / "core_id", str(cpu // 2))
    _write(folder / "die_id", str(die))
    everything = range(count)
    for name, cpus in (
        ("thread_siblings", own), ("core_cpus", own), ("core_siblings", everything),
        ("package_cpus", everything), ("die_cpus", members),
    ):  # fmt: skip
        _write(folder / name, mask(cpus, count))
        _write(folder / f"{name}_list", format_cpulist(cpus))


def _cache(folder: Path, level: int, kind: str, kib: int, sharers: Sequence[int], count: int) -> None:
    values = {
        "level": level, "type": kind, "size": f"{kib}K", "coherency_line_size": 64, "ways_of_associativity": 16,
        "number_of_sets": kib * 1024 // 64 // 16, "shared_cpu_map": mask(sharers, count),
        "shared_cpu_list": format_cpulist(sharers),
    }  # fmt: skip
    for name, value in values.items():
        _write(folder / name, str(value))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")
