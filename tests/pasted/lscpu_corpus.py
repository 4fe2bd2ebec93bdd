"""The lscpu texts of ../shared/corpus, and what is true of each without asking lscpu's own count of cores or caches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

_WORDS = {"Dual": 2, "Quad": 4, "Six": 6, "Eight": 8}
_KIB_PER_CORE = 512  # L2 of a core of Zen to Zen 3

#: Machines with two sockets; every other has one. Taken from their CPU numbers and the cores in the product's name.
_TWO_SOCKETS = frozenset(
    {"8F7FF50C55", "B7F3606E31", "A35E7D3EB0", "4231BB05CE", "2175466EA1", "4FC6787907", "EB0C95C2B3", "D140FF934B"}
    | {"4D9ABAAE4C"}
)
#: Cores of products whose name does not tell and of which no text has a sum of L2 caches (AMD's product pages). Of
#: family 15h the modules, which Linux counts as cores.
_OTHERS = {
    "A10-7850K-Radeon-R7-12-Compute-Cores-4C+8G": 2,
    "A12-9800-RADEON-R7-12-COMPUTE-CORES-4C+8G": 2,
    "FX-8150-Eight-Core": 4,
    "FX-8350-Eight-Core": 4,
    "3015e-with-Radeon-Graphics": 2,
    "Athlon-220GE-with-Radeon-Vega-Graphics": 2,
    "Athlon-240GE-with-Radeon-Vega-Graphics": 2,
    "Ryzen-3-2200GE-with-Radeon-Vega-Graphics": 4,
    "Ryzen-3-PRO-2100GE-w-Radeon-Vega-Graphics": 2,
    "Ryzen-5-4600G-with-Radeon-Graphics": 6,
    "Ryzen-5-Microsoft-Surface-Edition": 4,
    "Ryzen-Embedded-R1606G-with-Radeon-Vega-Gfx": 2,
    "epyc-7451-dual": 48,
    "hp-pavilion-ryzen-7-3750h-decimal-comma": 4,
}


def lscpu_files(shared: Path) -> list[Path]:
    return sorted((shared / "corpus" / "lscpu").rglob("*.txt"))


def machine_id(path: Path) -> str:
    """The ten digits that tell one machine from another: the same text lies in several folders."""
    return path.name.split(".")[-2]


def product(path: Path) -> str:
    return path.name.split(".")[0]


def line(text: str, label: str) -> str | None:
    """The value behind a label that begins a line, as a person would look it up."""
    found = re.search(rf"^{re.escape(label)}:[ \t]*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else None


def true_cores(path: Path, files: Iterable[Path]) -> int:
    """Cores of the machine: from the product's name, or from the sum of the L2 caches of the same product."""
    name = product(path)
    sockets = 2 if machine_id(path) in _TWO_SOCKETS else 1
    if name in _OTHERS:
        return _OTHERS[name]
    told = re.search(rf"(\d+|{'|'.join(_WORDS)})-Core", name)
    if told:
        return sockets * (_WORDS.get(told[1]) or int(told[1]))
    return sockets * _cores_by_l2(tuple(files))[name]


@cache
def _cores_by_l2(files: tuple[Path, ...]) -> Mapping[str, int]:
    found: dict[str, set[int]] = defaultdict(set)
    for path in files:
        size = re.fullmatch(r"(\d+) ([KM])iB.*", line(path.read_text(), "L2 cache") or "")
        if size:
            found[product(path)].add(int(size[1]) * {"K": 1, "M": 1024}[size[2]] // _KIB_PER_CORE)
    assert all(len(counts) == 1 for counts in found.values())
    return {name: counts.pop() for name, counts in found.items()}


@cache
def groups_by_pairs(files: tuple[Path, ...]) -> Mapping[tuple[str, str], tuple[int, int]]:
    """(L3 groups of one socket, size of each in MiB) by product and model: one text tells the size of one cache,
    another the sum of all, and a few count them. Nothing here looks at cores."""
    one: dict[tuple[str, str], set[int]] = defaultdict(set)
    total: dict[tuple[str, str], set[int]] = defaultdict(set)
    counted: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
    for path in files:
        text = path.read_text()
        key, value = (product(path), line(text, "Model") or ""), line(text, "L3 cache") or ""
        sockets = 2 if machine_id(path) in _TWO_SOCKETS else 1
        if "Off-line" in text:
            continue
        if size := re.fullmatch(r"(\d+)K", value):
            one[key].add(int(size[1]) // 1024)
        elif size := re.fullmatch(r"(\d+) MiB", value):
            total[key].add(int(size[1]) // sockets)
        elif size := re.fullmatch(r"(\d+) MiB \((\d+) instances?\)", value):
            counted[key].add((int(size[2]), int(size[1]) // int(size[2])))
    both = one.keys() & total.keys()
    found = {key: {(whole // size, size) for size in one[key] for whole in total[key]} for key in both}
    for key, each in counted.items():
        found.setdefault(key, set()).update(each)
    assert all(len(each) == 1 for each in found.values())
    return {key: each.pop() for key, each in found.items()}
