"""/proc/cpuinfo of an x86 Linux: who the CPU is, its feature list, and one row per visible processor.

Rows are what counts: in a container `siblings` and `cpu cores` describe the host while a part of it is visible.
Nothing here trusts `cache size`: on AMD it is the L2 of one core.
"""

from __future__ import annotations

import msgspec

from doctor.machine.cpulist import MAX_CPU_ID
from doctor.machine.model import Cpu
from doctor.texts.flags import isa_of


class CpuinfoRow(msgspec.Struct, frozen=True):
    """One block of the file. `siblings` counts the threads of the package, as the host has them."""

    processor: int
    package: int | None = None
    core_id: int | None = None
    siblings: int | None = None


class CpuinfoCore(msgspec.Struct, frozen=True):
    """One core: its processors and its package."""

    cpus: frozenset[int]
    package: int


class Cpuinfo(msgspec.Struct, frozen=True):
    """The file. Identity is that of the first block that states it. `flags_complete` is False where the text ends
    inside the feature list, `blocks_alike` where it ends inside a block: the kernel writes the same lines in each."""

    rows: tuple[CpuinfoRow, ...] = ()
    vendor: str | None = None
    name: str | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None
    flags: tuple[str, ...] | None = None
    flags_complete: bool = True
    blocks_alike: bool = True

    @property
    def is_excerpt(self) -> bool:
        """True for a lone first block of a larger machine, or of one that may be larger: what people paste of
        `head /proc/cpuinfo`."""
        return len(self.rows) == 1 and self.rows[0].siblings != 1

    @property
    def cpu(self) -> Cpu:
        """Who the CPU is and what its feature list promises."""
        return Cpu(
            vendor=self.vendor,
            name=self.name,
            family=self.family,
            model=self.model,
            stepping=self.stepping,
            # A list that was cut would be read as complete by whoever gets the document.
            flags=self.flags if self.flags_complete else None,
            isa=isa_of(self.flags, complete=self.flags_complete) if self.flags else None,
        )

    @property
    def online(self) -> frozenset[int]:
        """The processors; none where the text shows a part of them only, or out of order."""
        partial = self.is_excerpt or not self.blocks_alike
        return frozenset() if partial else frozenset(row.processor for row in self.rows)

    @property
    def cores(self) -> tuple[CpuinfoCore, ...]:
        """Cores by package and core id, in the order of their first processor; none where the rows do not tell.

        Not before Zen: K10 and family 15h repeat core ids inside a package.
        """
        if not self.online or (self.vendor == "AuthenticAMD" and (self.family or 0) < 0x17):
            return ()
        threads: dict[tuple[int, int], set[int]] = {}
        for row in self.rows:
            if row.package is None or row.core_id is None:
                return ()
            threads.setdefault((row.package, row.core_id), set()).add(row.processor)
        found = [CpuinfoCore(frozenset(cpus), package) for (package, _), cpus in threads.items()]
        return tuple(sorted(found, key=lambda core: min(core.cpus)))


_ROW_FIELDS = {"physical id": "package", "core id": "core_id", "siblings": "siblings"}
_IDENTITY = {"cpu family": "family", "model": "model", "stepping": "stepping"}


def read_cpuinfo(text: str) -> Cpuinfo:
    """The facts in a /proc/cpuinfo. Anything else gives an empty `Cpuinfo`; nothing raises."""
    rows: list[dict[str, int]] = []
    keys: list[list[str]] = []  # of each row's block
    identity: dict[str, int | str] = {}
    flags: tuple[str, ...] | None = None
    flags_complete = True
    lines = text.split("\n")
    for at, line in enumerate(lines):
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        ends_here = at == len(lines) - 1  # no newline behind it: the value may be cut
        if not colon or (ends_here and key != "flags"):
            continue
        number = _number(value)
        if key == "processor" and number is not None and number <= MAX_CPU_ID:
            rows.append({"processor": number})
            keys.append([])
        elif keys:
            keys[-1].append(key)
        if key in _ROW_FIELDS:
            if rows and number is not None:
                rows[-1].setdefault(_ROW_FIELDS[key], number)
        elif key in _IDENTITY:
            if number is not None:
                identity.setdefault(_IDENTITY[key], number)
        elif key == "vendor_id" and value:
            identity.setdefault("vendor", value)
        elif key == "model name" and value and value.lower() != "unknown":
            identity.setdefault("name", " ".join(value.split()))
        elif key == "flags" and flags is None and value:
            names = value.split()
            flags, flags_complete = tuple(names[:-1] if ends_here else names), not ends_here
    known = {"flags": flags, "flags_complete": flags_complete, "blocks_alike": _alike(keys)}
    return msgspec.convert({**identity, **known, "rows": _distinct(rows)}, Cpuinfo)


def _alike(blocks: list[list[str]]) -> bool:
    """Whether no block has lines that the first one has not, or has them in another order, and the last one ends like
    another. What follows the last block may have lines of its own."""
    if len(blocks) < 2:
        return True
    wanted = set(blocks[0])
    *others, last = ([key for key in block if key in wanted] for block in blocks)
    return last in others and all(_is_part(block, blocks[0]) for block in others)


def _is_part(block: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(key in rest for key in block)


def _number(text: str) -> int | None:
    """A plain decimal number of at most nine digits, else None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _distinct(rows: list[dict[str, int]]) -> list[dict[str, int]]:
    """The rows, one per processor: a text pasted twice counts once."""
    return list({row["processor"]: row for row in reversed(rows)}.values())[::-1]
