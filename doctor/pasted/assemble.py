"""Puts the pieces of one or several texts together to one machine, and says where they contradict each other.

The more direct source wins, among equals the later one. What belongs together is taken from one piece: of two PyTorch
versions, the build of the one is never mixed with the version of the other. A piece that speaks of another processor
or another operating system speaks of another machine, and is set aside as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from doctor.machine.model import Contradiction, Fact, Gpu, LogLine, Machine, SourceRow, UnknownFact
from doctor.machine.unknowns import MAPS, is_partial, without_known_unknowns
from doctor.pasted.agreement import agreed, is_compared
from doctor.pasted.gpu_rows import matched
from doctor.pasted.one_machine import Piece, contradiction, of_one_environment, of_one_machine
from doctor.pasted.parts import Part

#: How directly a source tells what it tells. What asks the hardware, or PyTorch itself, goes before what quotes it.
_DIRECTNESS: Mapping[str, int] = {
    "live": 9,
    "recording": 9,
    "tree": 9,
    "document": 8,
    "report": 8,
    "cpuinfo": 7,
    "dmidecode": 7,
    "rocminfo": 7,
    "rocm-smi": 7,
    "amd-smi": 7,
    "torch-config": 7,
    "pip-list": 7,
    "conda-list": 7,
    "log": 1,
}
_USUAL = 6
#: A list of packages names versions of wheels: of PyTorch itself it tells less than whatever imported it.
_LISTS = ("pip-list", "conda-list")
_OF_WHEELS = ("torch", "torch_directml")
_AS_TOLD_BY_A_LIST = 2

#: What no text holds unless a part of it does: each is a row of `unknowns` where it is missing.
_WANTED = (
    *("cpu", "env", "exercises", "gpus", "libraries", "limits", "memory", "nodes", "os", "packages", "power"),
    *("python", "rocm", "torch", "torch_directml"),
)
#: Fields of an area that is there, which a text may lack.
_WANTED_FIELDS = (
    *("cpu.cores", "cpu.isa", "cpu.l3_groups", "memory.modules"),
    *("torch.arch_list", "torch.importable", "torch.num_threads"),
)
#: Packages of which it matters that a later list lacks them.
_WORTH_A_WORD = ("torch", "numpy", "triton", "rocm")
_SET_APART = ("schema", "sources", "log", "contradictions", "unknowns")
_MOST_CONTRADICTIONS = 30


class Told(msgspec.Struct, frozen=True):
    """A part, and the name of the file that it was read from."""

    part: Part
    name: str

    def label(self, *, several: bool) -> str:
        """`collect_env, line 12 of ticket.md`."""
        first, end = self.part.span
        where = [f"line {first + 1}"] if end else []
        where += [f"of {self.name}" if where else self.name] if several else []
        return ", ".join(text for text in (self.part.kind, " ".join(where)) if text)


class Assembled(msgspec.Struct, frozen=True):
    """One machine. `origins` maps a dotted fact to what gave it; `set_aside`: some parts spoke of another machine."""

    machine: Machine
    origins: Mapping[str, str] = {}
    set_aside: bool = False


def assembled(told: Sequence[Told]) -> Assembled:
    """The machine that all parts together speak of. Never raises."""
    several = len({each.name for each in told}) > 1
    labels = [each.label(several=several) for each in told]
    pieces = sorted(_pieces(told, labels), key=lambda piece: piece.directness)
    clashes: list[Contradiction] = []
    same = of_one_machine(pieces, clashes)
    kept = of_one_environment(same, clashes)
    whole = Machine()
    givers: dict[str, str] = {}
    origins: dict[str, str] = {}
    for piece in kept:
        whole = _Joining(clashes, givers, piece.label).machine(whole, piece)
        origins.update(piece.origins)
    used = {piece.label for piece in kept}
    machine = msgspec.structs.replace(
        whole,
        sources=_rows(each for each, label in zip(told, labels, strict=True) if label in used),
        log=_log(kept),
        contradictions=_contradictions(kept, clashes),
        unknowns=(*_told_unknowns(kept), *_missing(whole)),
    )
    machine = without_known_unknowns(machine)
    rows = (*(machine.unknowns or ()), *_partial_rows(machine, kept))
    machine = msgspec.structs.replace(machine, unknowns=rows)
    return Assembled(machine, origins, set_aside=len(same) < len(pieces))


def _pieces(told: Sequence[Told], labels: Sequence[str]) -> Iterable[Piece]:
    for place, (each, label) in enumerate(zip(told, labels, strict=True)):
        part, machine = each.part, each.part.machine
        direct = _DIRECTNESS.get(part.kind, _USUAL)
        whole = frozenset(
            name
            for name in MAPS
            if getattr(machine, name) is not None and name not in part.partial and not is_partial(machine, name)
        )
        if part.kind in _LISTS:
            of_wheels = {area: getattr(machine, area) for area in _OF_WHEELS}
            half = Machine(**of_wheels)
            yield Piece(part.kind, label, place, half, part.origins, _AS_TOLD_BY_A_LIST, frozenset())
            machine = msgspec.structs.replace(machine, **dict.fromkeys(_OF_WHEELS))
        yield Piece(part.kind, label, place, machine, part.origins, direct, whole)


class _Joining:
    """Lays one piece over what is there. `givers` says for each fact which piece gave it."""

    def __init__(self, clashes: list[Contradiction], givers: dict[str, str], label: str) -> None:
        self._clashes = clashes
        self._givers = givers
        self._label = label

    def machine(self, whole: Machine, piece: Piece) -> Machine:
        changes = {}
        for area in Machine.__struct_fields__:
            newer = getattr(piece.machine, area)
            if area in _SET_APART or newer is None:
                continue
            older = self._compatible(area, getattr(whole, area), newer)
            if area in piece.whole:
                older = self._replaced(area, older, newer)
            changes[area] = self._joined(area, older, newer)
        return msgspec.structs.replace(whole, **changes)

    def _compatible(self, area: str, older: Any, newer: Any) -> Any:
        """What is there, but for the other half of a machine: the Linux of WSL and its Windows."""
        return None if area == "os" and older is not None and older.kind != newer.kind else older

    def _replaced(self, area: str, older: Any, newer: Any) -> Any:
        """Of a map that a list tells in full, what is there only where the list has it too."""
        if not isinstance(older, dict):
            return older
        for name, value in older.items():
            if name not in newer and (area == "env" or any(word in name for word in _WORTH_A_WORD)):
                self._record(f"{area}.{name}", getattr(value, "version", value), "none")
        return {name: value for name, value in older.items() if name in newer}

    def _joined(self, fact: str, older: Any, newer: Any) -> Any:
        if newer is None:
            return older
        if fact == "gpus" and older:
            return self._gpus(older, newer)
        if isinstance(newer, Fact) and (older is None or isinstance(older, Fact)):
            pairs = {name: (getattr(older, name, None), getattr(newer, name)) for name in newer.__struct_fields__}
            joined = {name: self._joined(f"{fact}.{name}", *pair) for name, pair in pairs.items()}
            return msgspec.structs.replace(newer, **joined)
        if isinstance(newer, dict) and isinstance(older, dict):
            both = {name: self._joined(f"{fact}.{name}", older.get(name), value) for name, value in newer.items()}
            return {**older, **both}
        return self._one(fact, older, newer)

    def _gpus(self, older: tuple[Gpu, ...], newer: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
        """Two lists of cards: what each tells of one card belongs together."""
        pairs = matched(older, newer)
        if pairs is None:
            return self._one("gpus", older, newer)  # type: ignore[no-any-return]
        return tuple(self._joined(f"gpus[{at}]", *pair) for at, pair in enumerate(pairs))

    def _one(self, fact: str, older: Any, newer: Any) -> Any:
        if older is None:
            self._givers[fact] = self._label
            return newer
        both = agreed(fact, older, newer)
        if both is None:
            self._record(fact, older, newer)
            both = newer
        if both != older:
            self._givers[fact] = self._label
        return both

    def _record(self, fact: str, older: Any, newer: Any) -> None:
        if is_compared(fact):
            self._clashes.append(contradiction(fact, newer, self._label, older, self._giver(fact)))

    def _giver(self, fact: str) -> str:
        """Which piece gave a fact: its own entry, or that of the nearest thing that holds it."""
        name = fact
        while name and name not in self._givers:
            name = name.rpartition(".")[0]
        return self._givers.get(name, "another source")


def _rows(told: Iterable[Told]) -> tuple[SourceRow, ...]:
    """One row for each kind of text in each file. A document names its own sources."""
    rows: list[SourceRow] = []
    for each in told:
        rows += each.part.machine.sources or (SourceRow(kind=each.part.kind, name=each.name),)
    return tuple(row for at, row in enumerate(rows) if row not in rows[:at])


def _contradictions(pieces: Iterable[Piece], clashes: Sequence[Contradiction]) -> tuple[Contradiction, ...] | None:
    """Those that a document was saved with, and those of the texts given now."""
    saved = [row for piece in pieces for row in piece.machine.contradictions or ()]
    return tuple(dict.fromkeys((*saved, *clashes)))[:_MOST_CONTRADICTIONS] or None


def _log(pieces: Iterable[Piece]) -> tuple[LogLine, ...] | None:
    rows: dict[tuple[str | None, str | None], LogLine] = {}
    told = [piece.machine.log for piece in pieces if piece.machine.log is not None]
    for row in (row for log in told for row in log):
        rows.setdefault((row.kind, row.about), row)
    return tuple(rows.values()) if told else None


def _told_unknowns(pieces: Iterable[Piece]) -> Iterable[UnknownFact]:
    """What documents and probes say that they do not know. Maps that are told in part are seen to at the end."""
    for piece in pieces:
        for row in piece.machine.unknowns or ():
            if row.fact not in MAPS or getattr(piece.machine, row.fact) is None:
                yield row


def _missing(whole: Machine) -> Iterable[UnknownFact]:
    """What was not in any text, as far as a person could add it."""
    for fact in (*_WANTED, *_WANTED_FIELDS):
        area, _, field = fact.partition(".")
        if not field or getattr(whole, area) is not None:
            yield UnknownFact(fact=fact, reason="not-in-source")


def _partial_rows(machine: Machine, pieces: Sequence[Piece]) -> Iterable[UnknownFact]:
    """A row for each map of which only some names were told."""
    for name in MAPS:
        if getattr(machine, name) is not None and not any(name in piece.whole for piece in pieces):
            yield UnknownFact(fact=name, reason="not-in-source", detail="the text lists only some of them")
