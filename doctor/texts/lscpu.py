"""`lscpu` of util-linux: the flat form of a pipe, the tree of a terminal, and `--json`; in any of its languages.

Three traps. "L3 cache" means one instance, a product or a sum, depending on the release. With CPUs switched off, cores
and threads are counted among the rest and mean nothing. On a terminal a long line is cut at its edge, in the middle of
a word. Lines are only taken where they are whole: what is not ended by a newline may have been cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from doctor.knowledge.lscpu_labels import lscpu_labels
from doctor.machine.cpulist import MAX_CPU_ID, parse_cpulist
from doctor.texts.lscpu_flags import FlagList, read_flags

KIB, MIB = 1024, 1024 * 1024

#: One of these must be there, or the text is of something else; and at least as many known lines as below.
_COUNTS = frozenset({"cpus", "online", "threads_per_core", "cores_per_socket", "sockets"})
_ENOUGH = 3

#: As many characters of a text are searched for labels in other languages.
_SEARCHED = 500_000

_ANY_LABEL = re.compile(r"\s*[^\s:：][^:：]{0,60}[:：](?:\s|$)")
#: What a terminal wraps begins below the value, not below the label.
_INDENT = " " * 8
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_ONE_INSTANCE = re.compile(r"(\d{1,7})K")
_SIZE = re.compile(r"(\d{1,6})(?:[.,]\d+)? ([KMG])iB(?: \((\d{1,4}) [^()]*\))?")
_BYTES = re.compile(r"(\d{1,12}) \((\d{1,4}) [^()]*\)")
_UNITS = {"K": KIB, "M": MIB, "G": 1024 * MIB}


class L3Line(msgspec.Struct, frozen=True):
    """The third level cache as a release of lscpu tells it.

    one_bytes: what CPU 0 has (up to 2.33: `8192K`).
    product_bytes: that, times the number of such caches if all were alike (2.34 to 2.36: `16 MiB`).
    instances, sum_bytes: what was counted and added up (from 2.37 on: `16 MiB (2 instances)`).
    A size that was rounded to print it is left out.
    """

    one_bytes: int | None = None
    product_bytes: int | None = None
    instances: int | None = None
    sum_bytes: int | None = None


class LscpuNode(msgspec.Struct, frozen=True):
    id: int
    cpus: frozenset[int]


class Lscpu(msgspec.Struct, frozen=True):
    """The facts as they stand there. `first` and `end` are the lines they stand on, `end` behind the last.

    cpus: how many are present, switched on or not.
    offline: there is a line of CPUs that are switched off.
    flags: the words of the list that are certain; None where there is no list.
    doubtful: further words that may be in it, cut at the edge of a terminal.
    flags_cut: there are more of them than these: the text ends in the list, or somebody shortened it.
    """

    vendor: str | None = None
    name: str | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None
    cpus: int | None = None
    online: frozenset[int] | None = None
    offline: bool = False
    threads_per_core: int | None = None
    cores_per_socket: int | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    nodes: tuple[LscpuNode, ...] = ()
    l3: L3Line | None = None
    max_mhz: float | None = None
    boost: bool | None = None
    hypervisor: str | None = None
    flags: tuple[str, ...] | None = None
    doubtful: tuple[str, ...] = ()
    flags_cut: bool = False
    first: int = 0
    end: int = 0


def read_lscpu(text: str) -> Lscpu | None:
    """The first output of lscpu in a text; None where there is none. Never raises."""
    flattened = _from_json(text)
    lines = (text if flattened is None else flattened).split("\n")
    # A last line without a newline may be cut. Only a list of flags is of use then.
    whole = lines if lines[-1] and _field(lines[-1])[0] == "flags" else lines[:-1]
    for run in _runs(whole):
        read = _read(lines, run)
        if read is not None:
            return read if flattened is None else msgspec.structs.replace(read, first=0, end=text.count("\n") + 1)
    return None


def looks_like_lscpu(text: str) -> bool:
    """Whether a label of it stands anywhere, in whatever language."""
    if "per core:" in text or "On-line CPU" in text or '"lscpu"' in text:
        return True
    labels = lscpu_labels().fields
    return any(labels.get(_label(line)[0]) in _COUNTS for line in text[:_SEARCHED].split("\n"))


def _label(line: str) -> tuple[str, str]:
    """(label, value) of a line; a label that a translation left without its colon ends at two spaces."""
    found = re.search(r"\s*[:：]|\s{2,}(?=\S)", line.strip())
    if found is None:
        return "", ""
    plain = line.strip()
    return plain[: found.start()].replace("\xa0", " "), plain[found.end() :].strip()


def _field(line: str) -> tuple[str, str]:
    """(field, value): a name of `Lscpu`, `node <n>`, or "" for any other line."""
    label, value = _label(line)
    labels = lscpu_labels()
    if label in labels.fields:
        return labels.fields[label], value
    for before, behind in labels.nodes:
        number = label[len(before) : len(label) - len(behind)]
        if label.startswith(before) and label.endswith(behind) and number.isascii() and number.isdigit():
            return f"node {number[:5]}", value
    return "", value


def _runs(lines: Sequence[str]) -> Iterator[range]:
    """Stretches of lines that may be one output: labelled lines, and what a terminal wrapped. Between them a blank line
    ends the stretch unless a line of lscpu follows."""
    start: int | None = None
    for at, line in enumerate(lines):
        if start is None:
            start = at if _field(line)[0] else None
        elif not line.strip():
            following = next((other for other in lines[at + 1 : at + 3] if other.strip()), "")
            if not _field(following)[0]:
                yield range(start, at)
                start = None
        elif not _field(line)[0] and not _ANY_LABEL.match(line) and not line.startswith(_INDENT):
            yield range(start, at)
            start = None
    if start is not None:
        yield range(start, len(lines))


def _read(lines: Sequence[str], run: range) -> Lscpu | None:
    found: dict[str, Any] = {}
    nodes: dict[int, frozenset[int]] = {}
    first, end = run.start, run.start
    for at in run:
        field, value = _field(lines[at])
        if field == "architecture" and field in found:
            if _is_enough(found):
                break  # the next output begins
            found, nodes, first = {}, {}, at
        if field == "flags" and value and "flags" not in found:
            found["flags"], end = _flags(lines, at, run.stop)
        elif field.startswith("node ") and (number := int(field[5:])) not in nodes and (cpus := _cpus(value)):
            nodes[number] = cpus
            end = at + 1
        elif field in _READ and field not in found and (known := _READ[field](value)) is not None:
            found[field] = known
            end = at + 1
    if not _is_enough(found):
        return None
    found.pop("architecture", None)
    flags: FlagList = found.pop("flags", FlagList())
    return Lscpu(
        **found,
        nodes=tuple(LscpuNode(number, cpus) for number, cpus in nodes.items()),
        flags=flags.words or None,
        doubtful=flags.doubtful,
        flags_cut=flags.cut,
        first=first,
        end=end,
    )


def _is_enough(found: Mapping[str, Any]) -> bool:
    return len(found) >= _ENOUGH and bool(_COUNTS & found.keys())


def _flags(lines: Sequence[str], at: int, stop: int) -> tuple[FlagList, int]:
    """The list that begins in line `at`, and the line behind it."""
    end = at + 1
    while end < stop and lines[end].startswith(_INDENT) and not _field(lines[end])[0] and ":" not in lines[end]:
        end += 1
    # On a terminal the list is wrapped, and further lines follow. Where they do not, the text ends inside it.
    on_a_terminal = end > at + 1 or lines[at].startswith(" ") or lines[-1].startswith(_INDENT)
    unfinished = end == len(lines) or (on_a_terminal and end >= len(lines) - 1)
    return read_flags(lines[at:end], _label(lines[at])[1], unfinished=unfinished), end


def _l3(value: str) -> L3Line | None:
    if one := _ONE_INSTANCE.fullmatch(value):
        return L3Line(one_bytes=int(one[1]) * KIB)
    if exact := _BYTES.fullmatch(value):
        return L3Line(instances=int(exact[2]) or None, sum_bytes=int(exact[1]))
    size = _SIZE.fullmatch(value)
    if size is None:
        return None
    in_bytes = None if re.search(r"\d[.,]", value) else int(size[1]) * _UNITS[size[2]]
    if size[3] is None:
        return L3Line(product_bytes=in_bytes)
    return L3Line(instances=int(size[3]) or None, sum_bytes=in_bytes)


def _cpus(value: str) -> frozenset[int] | None:
    try:
        ranges = [(int(low), int(high or low)) for low, high in _RANGE.findall(value)]
        if sum(high - low + 1 for low, high in ranges) > MAX_CPU_ID + 1:
            return None
        return parse_cpulist(value) or None
    except ValueError:
        return None


def _name(value: str) -> str | None:
    plain = " ".join(value.split())
    return None if plain.lower() in ("", "-", "unknown") else plain


def _number(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 6 else None


def _count(value: str) -> int | None:
    return _number(value) or None


def _decimal(value: str) -> float | None:
    """`2300.0000`, or `2300,0000` where the language writes it so."""
    return float(value.replace(",", ".")) or None if re.fullmatch(r"\d{1,6}(?:[.,]\d{1,6})?", value) else None


#: How the value of each field is read; None where it is no such value.
_READ: Mapping[str, Callable[[str], Any]] = {
    "architecture": _name,
    "vendor": _name,
    "name": _name,
    "family": _number,
    "model": _number,
    "stepping": _number,
    "cpus": _count,
    "online": _cpus,
    "offline": lambda value: True if value else None,
    "threads_per_core": _count,
    "cores_per_socket": _count,
    "sockets": _count,
    "numa_nodes": _count,
    "l3": _l3,
    "max_mhz": _decimal,
    "boost": lambda value: lscpu_labels().switches.get(value),
    "hypervisor": _name,
}


def _from_json(text: str) -> str | None:
    """`lscpu --json` as the lines of the flat form; None for any other text."""
    if '"lscpu"' not in text[:200]:
        return None
    try:
        rows = json.loads(text)["lscpu"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return "".join(f"{line}\n" for line in _json_lines(rows, 0))


def _json_lines(rows: Any, depth: int) -> Iterator[str]:
    for row in rows if isinstance(rows, list) and depth < 9 else ():
        if isinstance(row, dict) and isinstance(row.get("field"), str) and isinstance(row.get("data"), str | None):
            yield f"{row['field']} {row.get('data') or ''}".replace("\n", " ")
            yield from _json_lines(row.get("children"), depth + 1)
