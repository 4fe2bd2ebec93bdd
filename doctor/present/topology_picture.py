"""The topology as a picture in text: a box is a group of cores with one L3 cache, a column is a core.

Many alike boxes are folded: one stands for all, and the CPU numbers of each follow as a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cpu, Machine
from doctor.present.clusters import Cluster, Column, absent_cpus, clusters_of, usable_cpus
from doctor.present.findings import block as paragraph
from doctor.present.hardware import budget_reasons, cores_text, l3_groups_text, l3_word, short_cpu_name
from doctor.present.language import counted, joined, phrase, say
from doctor.present.says import NO_REASON, reason_of
from doctor.present.terminal import Line, Look, line
from doctor.present.text import bytes_text, columns, listed, padded, plural

#: More boxes than this are folded where several look alike.
MOST_BOXES = 8
_OUTSIDE = "x"
_GAP = "  "


def topology_lines(machine: Machine, look: Look) -> list[Line]:
    """The whole picture with its legend."""
    cpu = machine.cpu
    clusters = clusters_of(cpu) if cpu is not None else ()
    if cpu is None or not clusters:
        return _nothing_known(machine, look)
    usable = usable_cpus(machine.limits)
    outside = frozenset[int]() if usable is None else frozenset(n for c in clusters for n in c.cpus) - usable
    picture = _Picture(cpu, clusters, outside, look)
    lines = [line(part, "bold") for part in _text(_headline(cpu, clusters), look)]
    lines += [line(), *(line(text) for text in picture.lines()), line()]
    return lines + [row for text in _legend(machine, clusters, outside) for row in paragraph(text, look, 0)]


def _text(text: str, look: Look) -> list[str]:
    return ["".join(span.text for span in row) for row in paragraph(text, look, 0)]


def _headline(cpu: Cpu, clusters: Sequence[Cluster]) -> str:
    parts = [short_cpu_name(cpu.name)] if cpu.name else [say("A CPU of unknown name")]
    parts += [cpu.generation] if cpu.generation else []
    packages = {cluster.package for cluster in clusters if cluster.package is not None}
    parts += [plural(len(packages), "package")] if len(packages) > 1 else []
    count = sum(cluster.l3 is not None for cluster in clusters)
    parts += [l3_groups_text(cpu, count)] if count else []
    cpus = frozenset[int]().union(*(cluster.cpus for cluster in clusters))
    return joined([*parts, cores_text(cpu) or plural(len(cpus), "CPU")])


class _Picture:
    """Draws clusters for one machine: the width of a CPU number is the same everywhere."""

    def __init__(self, cpu: Cpu, clusters: Sequence[Cluster], outside: frozenset[int], look: Look) -> None:
        self._word = l3_word(cpu)
        self._l3_unknown = cpu.l3_groups is None
        self._memory = {at: node.memory_bytes for at, node in enumerate(cpu.numa_nodes or ())}
        self._clusters = clusters
        self._outside = outside
        self._width = look.columns
        self._digits = max((len(str(number)) for cluster in clusters for number in cluster.cpus), default=1)
        self._digits += 1 if outside else 0
        self._hybrid = len({column.kind for cluster in clusters for column in cluster.columns if column.kind}) > 1
        packages, nodes = {c.package for c in clusters}, {c.node for c in clusters}
        #: Where each package is one cluster, the box itself names the package and needs no heading.
        self._one_per_package = len(packages) == len(clusters) and len(packages) > 1
        self._names_packages = len(packages) > 1
        self._names_nodes = len(nodes) > 1

    def lines(self) -> list[str]:
        shapes = {cluster.shape for cluster in self._clusters}
        if len(self._clusters) > MOST_BOXES and len(shapes) < len(self._clusters):
            return self._folded()
        if self._one_per_package:
            return self._flow(self._box(cluster) for cluster in self._clusters)
        return self._flow(self._section(heading, inside) for heading, inside in self._sections())

    def _section(self, heading: str, inside: Sequence[Cluster]) -> list[str]:
        """A heading and its boxes as one block of equally long lines."""
        rows = [*([heading] if heading else []), *self._flow(self._box(cluster) for cluster in inside)]
        return [padded(row, max(map(columns, rows))) for row in rows]

    def _sections(self) -> list[tuple[str, list[Cluster]]]:
        """Clusters of one package and NUMA node, with the heading that says so."""
        by_place = groupby(self._clusters, key=lambda cluster: (cluster.package, cluster.node))
        return [(self._heading(package, node), list(inside)) for (package, node), inside in by_place]

    def _heading(self, package: int | None, node: int | None) -> str:
        parts = [say("Package {number}", number=package)] if self._names_packages and package is not None else []
        if self._names_nodes and node is not None:
            memory = self._memory.get(node)
            parts.append(say("NUMA node {number}", number=node))
            if memory is not None:
                parts.append(bytes_text(memory) if memory else say("no memory of its own"))
        return joined(parts)

    def _title(self, cluster: Cluster) -> str:
        if cluster.l3 is not None:
            size = f"{bytes_text(cluster.size_bytes)} L3" if cluster.size_bytes else say("L3 of unknown size")
            name = say("{what}: {reason}", what=f"{self._word} {cluster.l3}", reason=size)
            package = say("Package {number}", number=cluster.package)
            return joined((package, name)) if self._one_per_package else name
        name = say("CPUs") if cluster.package is None else say("Package {number}", number=cluster.package)
        return joined((name, say("L3 not known") if self._l3_unknown else say("no L3")))

    def _box(self, cluster: Cluster) -> list[str]:
        title = self._title(cluster)
        room = max(1, (self._width - 4 + 1) // (self._digits + 1))
        room -= room % 8 if room >= 8 else 0
        grid: list[str] = []
        for at in range(0, len(cluster.columns), room):
            band = self._grid(cluster.columns[at : at + room])
            grid += [*([""] if grid and len(band) > 1 else []), *band]
        inner = max([columns(title), *map(len, grid)])
        rows = [f"│ {row.ljust(inner)} │" for row in grid]
        return [f"┌ {title} {'─' * (inner - columns(title))}┐", *rows, f"└{'─' * (inner + 2)}┘"]

    def _grid(self, inside: Sequence[Column]) -> list[str]:
        """The kinds of the cores where they differ, then a row for each thread."""
        rows = []
        if self._hybrid:
            marks = {"performance": "P", "efficiency": "e"}
            rows.append(" ".join(self._cell(marks.get(column.kind or "", "?")) for column in inside))
        for thread in range(max(len(column.cpus) for column in inside)):
            rows.append(" ".join(self._number(column, thread) for column in inside).rstrip())
        return rows

    def _number(self, column: Column, thread: int) -> str:
        if thread >= len(column.cpus):
            return " " * self._digits
        number = column.cpus[thread]
        return self._cell(str(number), _OUTSIDE if number in self._outside else " ")

    def _cell(self, text: str, mark: str = " ") -> str:
        return (text + mark if self._outside else text).rjust(self._digits)

    def _flow(self, blocks: Iterable[list[str]]) -> list[str]:
        """Blocks beside each other, as many as the width takes."""
        rows: list[list[list[str]]] = []
        for new in blocks:
            if rows and sum(columns(block[0]) + len(_GAP) for block in rows[-1]) + columns(new[0]) <= self._width:
                rows[-1].append(new)
            else:
                rows.append([new])
        return [text for row in rows for text in _beside(row)]

    def _folded(self) -> list[str]:
        """One box for each shape, then the CPU numbers of every cluster."""
        lines: list[str] = []
        shapes = list(dict.fromkeys(cluster.shape for cluster in self._clusters))
        for shape in shapes:
            alike = [cluster for cluster in self._clusters if cluster.shape == shape]
            count = len(alike[0].columns)
            size = plural(count, "core") if alike[0].cores_known else plural(count, "CPU")
            words = phrase("One of {count} alike, with {size}:")
            words = words if len(alike) > 1 else phrase("The only one like this, with {size}:")
            lines += [say(words, count=len(alike), size=size), *self._box(alike[0]), ""]
        lines.append(say("All of them, with their CPU numbers:"))
        for heading, inside in self._sections():
            lines += [heading] if heading and not self._one_per_package else []
            lines += self._listed(inside)
        return lines

    def _listed(self, inside: Sequence[Cluster]) -> list[str]:
        """`CCX 3: 24-31,216-223` in columns."""
        entries = [self._entry(cluster) for cluster in inside]
        wide = max(map(columns, entries)) + 2
        per_line = max(1, (self._width - 2) // wide)
        chunks = [entries[at : at + per_line] for at in range(0, len(entries), per_line)]
        return ["  " + "".join(padded(entry, wide) for entry in chunk).rstrip() for chunk in chunks]

    def _entry(self, cluster: Cluster) -> str:
        """`CCX 3: 24-31,216-223`, with how many of its CPUs this process may use, where those are not all."""
        entry = say("{what}: {reason}", what=self._short(cluster), reason=format_cpulist(cluster.cpus))
        left = len(cluster.cpus - self._outside)
        if left == len(cluster.cpus):
            return entry
        words = phrase("{cpus} ({count} usable)") if left else phrase("{cpus} (none usable)")
        return say(words, cpus=entry, count=left)

    def _short(self, cluster: Cluster) -> str:
        if self._one_per_package and cluster.package is not None:
            return say("package {number}", number=cluster.package)
        return f"{self._word} {cluster.l3}" if cluster.l3 is not None else say("CPUs")


def _beside(blocks: Sequence[list[str]]) -> list[str]:
    """Blocks of different height beside each other; the lower ones end earlier."""
    height = max(map(len, blocks))
    filled = [block + [" " * columns(block[0])] * (height - len(block)) for block in blocks]
    return [_GAP.join(rows).rstrip() for rows in zip(*filled, strict=True)]


def _legend(machine: Machine, clusters: Sequence[Cluster], outside: frozenset[int]) -> list[str]:
    """What the picture means, and what is not known."""
    cpu = machine.cpu
    assert cpu is not None
    says = [_meaning(cpu, clusters)]
    kinds = {column.kind for cluster in clusters for column in cluster.columns if column.kind}
    if len(kinds) > 1:
        says.append(say("P is a performance core, e an efficiency core."))
    if outside:
        cpus = format_cpulist(outside)
        says.append(say("{mark} marks CPUs that this process may not use: {cpus}.", mark=_OUTSIDE, cpus=cpus))
    says += _budget(machine, outside)
    absent = absent_cpus(clusters)
    if absent:
        says.append(say("CPU {cpus}: not online, or never there.", cpus=absent))
    says += _unknown(machine, clusters)
    return says


def _meaning(cpu: Cpu, clusters: Sequence[Cluster]) -> str:
    word = l3_word(cpu)
    if any(cluster.l3 is not None for cluster in clusters):
        box = say("A box is one {word}: cores that share one L3 cache, and are fastest with each other.", word=word)
    else:
        box = say("A box is a package.") if clusters[0].package is not None else ""
    threads = max(len(column.cpus) for cluster in clusters for column in cluster.columns)
    numbers = say("A column is one core; the numbers in it are the CPU numbers of its threads.")
    if not all(cluster.cores_known for cluster in clusters):
        numbers = say("The numbers are CPU numbers.")
    elif threads < 2:
        numbers = say("Each number is the CPU number of one core with one thread.")
    return say("{sentence} {next}", sentence=box, next=numbers) if box else numbers


def _budget(machine: Machine, outside: frozenset[int]) -> list[str]:
    """The CPU quota, which leaves every CPU usable but not all at once."""
    limits = machine.limits
    cgroup = limits.cgroup if limits else None
    if limits is None or limits.cpu_budget is None or cgroup is None or not isinstance(cgroup.quota_cpus, int | float):
        return []
    total = machine.cpu.logical_cpus if machine.cpu else None
    if total is not None and limits.cpu_budget >= total - len(outside):
        return []
    reasons = listed(budget_reasons(limits, None))
    one = "This process gets the time of {count} CPU, whichever they are ({reasons})."
    many = phrase("This process gets the time of {count} CPUs, whichever they are ({reasons}).")
    return [counted(one, many, limits.cpu_budget, reasons=reasons)]


def _unknown(machine: Machine, clusters: Sequence[Cluster]) -> list[str]:
    cpu = machine.cpu
    says = []
    if not all(cluster.cores_known for cluster in clusters):
        says.append(_because(say("Which CPUs are threads of one core is not known"), machine, "cpu.cores", "cpu"))
    if cpu is not None and cpu.l3_groups is None:
        says.append(_because(say("Which cores share an L3 cache is not known"), machine, "cpu.l3_groups", "cpu"))
    elif cpu is not None and not cpu.l3_groups:
        says.append(say("No L3 cache is reported: the CPU has none, or a virtual machine hides it."))
    return says


def _because(what: str, machine: Machine, *facts: str) -> str:
    """`what` as a sentence, with the reason where one is known: `…: not readable without root.`"""
    reason = reason_of(machine, *facts)
    if reason != say(NO_REASON):
        what = say("{what}: {reason}", what=what, reason=reason)
    return say("{sentence}.", sentence=what)


def _nothing_known(machine: Machine, look: Look) -> list[Line]:
    cpu = machine.cpu
    says = [say("{sentence}.", sentence=short_cpu_name(cpu.name))] if cpu and cpu.name else []
    says += [say("It has {cores}.", cores=cores_text(cpu))] if cpu and cores_text(cpu) else []
    what = say("How its cores, caches and CPU numbers lie is not known")
    says.append(_because(what, machine, "cpu.cores", "cpu.online", "cpu"))
    return paragraph(" ".join(says), look, 0)
