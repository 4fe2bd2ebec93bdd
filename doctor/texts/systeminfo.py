"""`systeminfo` of Windows: which Windows, which processors, how much memory. Nothing of its owner or network is read.

It speaks the language of Windows. What is read without knowing the language: the version, whose build stands twice
(`10.0.22631 N/A Build 22631`), the product, and the processors (`[01]: AMD64 Family 25 ...`), which come from the
registry. The memory needs its label; those below were seen in outputs that people published.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

MIB = 1024 * 1024

#: Labels of the memory in English, German, French, Spanish, Portuguese, Russian, Chinese and Japanese.
_TOTAL = frozenset(
    {"total physical memory", "gesamter physischer speicher", "mémoire physique totale", "memória física total"}
    | {"cantidad total de memoria física", "полный объем физической памяти", "物理内存总量", "物理メモリの合計"}
)
_AVAILABLE = frozenset(
    {"available physical memory", "verfügbarer physischer speicher", "mémoire physique disponible"}
    | {"memoria física disponible", "доступная физическая память", "可用的物理内存", "利用できる物理メモリ"}
)

#: As many characters of a text are searched.
_SEARCHED = 500_000

_LABEL = re.compile(r"([^:：]{1,59}?[^:：\s])\s*[:：]\s*(.*)")
_VERSION = re.compile(r"(\d{1,2})\.(\d)\.(\d{4,5}) \S.* (\d{4,5})")
_PRODUCT = re.compile(r"Microsoft(?:\(R\))? (Windows(?:\(R\))? .*)")
_PROCESSOR = re.compile(
    r"\s*\[(\d\d)\] ?: (?:AMD64|Intel64|x64|x86|EM64T) Family (\d{1,3}) Model (\d{1,3}) Stepping (\d{1,2})"
    r" (AuthenticAMD|HygonGenuine|GenuineIntel) ~\d{2,5} [Mm][Hh]z\s*"
)
#: `65,190 MB`, `65.190 MB`, `16 323 Mo`, `16 302 МБ`: whole mebibytes, grouped as the language writes it.
_MEMORY = re.compile(r"(\d{1,3}(?:[.,\s]\d{3})*|\d{1,9}) (?:MB|Mo|МБ)")


class SystemProcessor(msgspec.Struct, frozen=True):
    """One socket, also one that a hypervisor made up."""

    vendor: str
    family: int
    model: int
    stepping: int


class Systeminfo(msgspec.Struct, frozen=True):
    """The facts as they stand there. `processors_complete`: as many as the line before them counts.

    `first` and `end` are the lines they stand on, `end` behind the last.
    """

    product: str | None = None  # Windows 11 Pro
    kernel: str | None = None  # 10.0.22631
    build: int | None = None
    processors: tuple[SystemProcessor, ...] = ()
    processors_complete: bool = False
    total_bytes: int | None = None
    available_bytes: int | None = None
    first: int = 0
    end: int = 0


def looks_like_systeminfo(text: str) -> bool:
    """Whether a line of it is there that says something."""
    return any(_PROCESSOR.fullmatch(line) or _facts(line) for line in text[:_SEARCHED].split("\n"))


def read_systeminfo(text: str) -> Systeminfo | None:
    """The first output of systeminfo in a text; None where there is none. Never raises.

    It takes a version and a product, or a line of processors, for such an output. The last line counts only where a
    newline ends it.
    """
    lines = text.split("\n")[:-1]
    found: dict[str, object] = {}
    places: list[int] = []
    for at, line in enumerate(lines):
        known = {name: value for name, value in _facts(line).items() if name not in found}
        if known:
            found.update(known)
            places.append(at)
    processors, complete, processor_places = _processors(lines)
    if not processors and not {"product", "build"} <= found.keys():
        return None
    places += processor_places
    known = {**found, "processors": processors, "processors_complete": complete}
    return msgspec.convert({**known, "first": min(places), "end": max(places) + 1}, Systeminfo)


def _facts(line: str) -> dict[str, object]:
    """What one line says, by field of `Systeminfo`."""
    found = _LABEL.fullmatch(line.strip())
    if found is None:
        return {}
    label, value = found[1].lower(), found[2]
    if (version := _VERSION.fullmatch(value)) and version[3] == version[4]:
        return {"kernel": f"{version[1]}.{version[2]}.{version[3]}", "build": int(version[3])}
    if product := _PRODUCT.fullmatch(value):
        return {"product": " ".join(product[1].split())}
    memory = _MEMORY.fullmatch(value)
    size = int(re.sub(r"\D", "", memory[1])) * MIB if memory else None
    if size and label in _TOTAL:
        return {"total_bytes": size}
    return {"available_bytes": size} if size and label in _AVAILABLE else {}


def _processors(lines: Sequence[str]) -> tuple[tuple[SystemProcessor, ...], bool, list[int]]:
    """(one per socket, whether that is all of them, their lines). The first row in an unbroken order counts."""
    found: list[SystemProcessor] = []
    places: list[int] = []
    for at, line in enumerate(lines):
        row = _PROCESSOR.fullmatch(line)
        if row is None or int(row[1]) != len(found) + 1 or (places and places[-1] != at - 1):
            continue
        places.append(at)
        found.append(SystemProcessor(row[5], int(row[2]), int(row[3]), int(row[4])))
    counted = re.findall(r"\d+", lines[places[0] - 1].partition(":")[2]) if places and places[0] else []
    return tuple(found), counted == [str(len(found))], places
