"""The cores behind one L3 cache as a small picture, all to one scale.

Every number here is in the units of the picture, which are CSS pixels at its own size. A tile holds no text of the
machine but numbers, so nothing in it can grow longer than it was measured for.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cpu
from doctor.present.clusters import Cluster, Column
from doctor.present.hardware import l3_word
from doctor.present.language import joined, say
from doctor.present.text import bytes_text, listed, plural

#: More columns (cores, or CPUs where cores are not known) than this are drawn without their numbers.
MOST_NUMBERED = 48
_PAD = 8
_BAR = 16
#: The letter over a core of a kind.
KIND_MARKS = {"performance": "P", "efficiency": "E"}


class Thread(msgspec.Struct, frozen=True):
    """One CPU number within its core. `usable`: this process may run on it."""

    number: int
    y: float
    height: float
    usable: bool


class CoreBox(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    kind: str  # performance efficiency plain
    mark: str  # P E, or nothing where all cores are alike
    threads: tuple[Thread, ...]


class Tile(msgspec.Struct, frozen=True):
    """One L3 cache with its cores. `bar`: the width that stands for the size of the cache; 0 without a known size."""

    name: str
    l3: str
    title: str
    width: float
    height: float
    cores: tuple[CoreBox, ...]
    bar: float
    bar_y: float
    cpus: str  # under a tile without numbers: which CPUs these are
    numbered: bool


class _Scale(msgspec.Struct, frozen=True):
    """How large a thread is drawn."""

    numbered: bool
    width: float
    thread: float
    gap: float
    per_row: int
    mark: float  # room over the cores for the letter of their kind


_LARGE = _Scale(True, width=32, thread=19, gap=4, per_row=8, mark=0)
_SMALL = _Scale(False, width=13, thread=10, gap=3, per_row=8, mark=0)


def tiles_of(cpu: Cpu, clusters: Sequence[Cluster], outside: frozenset[int]) -> dict[Cluster, Tile]:
    """The tile of each cluster. `outside`: CPUs that the process may not use."""
    scale = _scale(clusters)
    widths = {cluster: _inner_width(cluster, scale) for cluster in clusters}
    sizes = [(cluster.size_bytes, widths[cluster]) for cluster in clusters if cluster.size_bytes]
    per_byte = min((width / size for size, width in sizes), default=0.0)
    return {cluster: _tile(cpu, cluster, scale, per_byte, outside) for cluster in clusters}


def _scale(clusters: Sequence[Cluster]) -> _Scale:
    columns = [column for cluster in clusters for column in cluster.columns]
    scale = _LARGE if len(columns) <= MOST_NUMBERED else _SMALL
    if not scale.numbered and max(len(cluster.columns) for cluster in clusters) > 16:
        scale = msgspec.structs.replace(scale, per_row=16)
    several_kinds = len({column.kind for column in columns if column.kind}) > 1
    return msgspec.structs.replace(scale, mark=13) if several_kinds and scale.numbered else scale


def _inner_width(cluster: Cluster, scale: _Scale) -> float:
    across = min(len(cluster.columns), scale.per_row)
    least = 104 if scale.numbered else 92
    return max(across * (scale.width + scale.gap) - scale.gap, least)


def _tile(cpu: Cpu, cluster: Cluster, scale: _Scale, per_byte: float, outside: frozenset[int]) -> Tile:
    threads = max(len(column.cpus) for column in cluster.columns)
    step = scale.mark + threads * scale.thread + scale.gap
    boxes = []
    for at, column in enumerate(cluster.columns):
        across, down = at % scale.per_row, at // scale.per_row
        x, y = _PAD + across * (scale.width + scale.gap), _PAD + down * step + scale.mark
        boxes.append(_core(column, x, y, scale, outside))
    bottom = _PAD + (-(-len(cluster.columns) // scale.per_row)) * step
    bar_y = bottom + 2
    has_l3 = cluster.l3 is not None
    return Tile(
        name=name_of(cpu, cluster),
        l3=l3_words(cluster),
        title=_title(cpu, cluster, outside),
        width=_inner_width(cluster, scale) + 2 * _PAD,
        height=(bar_y + _BAR if has_l3 else bottom - scale.gap) + _PAD,
        cores=tuple(boxes),
        bar=round((cluster.size_bytes or 0) * per_byte, 2),
        bar_y=bar_y,
        cpus="" if scale.numbered else format_cpulist(cluster.cpus).replace(",", ", "),
        numbered=scale.numbered,
    )


def _core(column: Column, x: float, y: float, scale: _Scale, outside: frozenset[int]) -> CoreBox:
    marked = scale.mark > 0
    return CoreBox(
        x=x,
        y=y,
        width=scale.width,
        height=len(column.cpus) * scale.thread,
        kind=column.kind if marked and column.kind in KIND_MARKS else "plain",
        mark=KIND_MARKS.get(column.kind or "", "") if marked else "",
        threads=tuple(
            Thread(number, y + at * scale.thread, scale.thread, number not in outside)
            for at, number in enumerate(column.cpus)
        ),
    )


def name_of(cpu: Cpu, cluster: Cluster) -> str:
    if cluster.l3 is not None:
        return f"{l3_word(cpu)} {cluster.l3}"
    return say("CPUs") if cluster.package is None else say("Package {number}", number=cluster.package)


def l3_words(cluster: Cluster) -> str:
    if cluster.l3 is None:
        return ""
    return f"{bytes_text(cluster.size_bytes)} L3" if cluster.size_bytes else say("L3, size not known")


def _title(cpu: Cpu, cluster: Cluster, outside: frozenset[int]) -> str:
    """`CCX 0: 96 MiB L3, 8 cores, CPUs 0-7,16-23`: what a screen reader says of the tile."""
    what = cores_words(cluster)
    numbers = format_cpulist(cluster.cpus)
    cpus = say("CPU {numbers}", numbers=numbers) if len(cluster.cpus) == 1 else say("CPUs {numbers}", numbers=numbers)
    left = usable_words(cluster, outside)
    parts = [part for part in (l3_words(cluster), what, cpus, left) if part]
    return say("{what}: {details}", what=name_of(cpu, cluster), details=joined(parts))


def cores_words(cluster: Cluster) -> str:
    """`8 cores`, `4 performance cores and 4 efficiency cores`."""
    if not cluster.cores_known:
        return plural(len(cluster.columns), "CPU")
    kinds = [column.kind for column in cluster.columns if column.kind]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    if len(kinds) == len(cluster.columns) and counts:
        return listed([_kind_words(kind, count) for kind, count in counts.items()])
    return plural(len(cluster.columns), "core")


def _kind_words(kind: str, count: int) -> str:
    if kind == "performance":
        return plural(count, "performance core")
    return plural(count, "efficiency core") if kind == "efficiency" else plural(count, "core")


def usable_words(cluster: Cluster, outside: frozenset[int]) -> str:
    left = len(cluster.cpus - outside)
    total = len(cluster.cpus)
    return "" if left == total else say("{count} of {total} usable", count=left, total=total)
