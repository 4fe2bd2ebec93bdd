"""Puts the pieces of one or several texts together to one machine, and says where they contradict each other.

The more direct source wins, among equals the later one. What belongs together is taken from one piece: of two PyTorch
versions, the build of the one is never mixed with the version of the other. A piece that speaks of another processor
or another operating system speaks of another machine, and is set aside as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from doctor.machine.model import Contradiction, Fact, Gpu, LogLine, Machine, SourceRow, UnknownFact
from doctor.machine.unknowns import MAPS, is_partial, without_known_unknowns
from doctor.pasted.agreement import agreed, is_compared, same_cpu
from doctor.pasted.gpu_rows import matched
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
#: From here on a source looked at the machine itself.
_OWN = 8
#: A list of packages names versions of wheels: of PyTorch itself it tells less than whatever imported it.
_LISTS = ("pip-list", "conda-list")
_OF_WHEELS = ("torch", "torch_directml")
_AS_TOLD_BY_A_LIST = 2

#: What hangs on one PyTorch, and on one Python: of two that contradict each other nothing is mixed.
_OF_ONE_TORCH = ("torch", "torch_directml", "packages", "libraries", "exercises")
_OF_ONE_PYTHON = ("python", *_OF_ONE_TORCH)
#: What no text holds unless a part of it does: each is a row of `unknowns` where it is missing.
_WANTED = (
    *("cpu", "env", "exercises", "gpus", "libraries", "limits", "memory", "nodes", "os", "packages", "power"),
    *("python", "rocm", "torch", "torch_directml"),
)
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
    """One machine. `origins` maps a dotted fact to what gave it."""

    machine: Machine
    origins: Mapping[str, str] = {}


_Clash: TypeAlias = Contradiction


def assembled(told: Sequence[Told]) -> Assembled:
    """The machine that all parts together speak of. Never raises."""
    several = len({each.name for each in told}) > 1
    labels = [each.label(several=several) for each in told]
    pieces = sorted(_pieces(told, labels), key=lambda piece: piece.directness)
    clashes: list[_Clash] = []
    kept = _of_one_machine(pieces, clashes)
    kept = _of_one_environment(kept, clashes)
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
        contradictions=tuple(clashes[:_MOST_CONTRADICTIONS]) or None,
        unknowns=(*_told_unknowns(kept), *(UnknownFact(fact=fact, reason="not-in-source") for fact in _WANTED)),
    )
    machine = without_known_unknowns(machine)
    rows = (*(machine.unknowns or ()), *_partial_rows(machine, kept))
    return Assembled(msgspec.structs.replace(machine, unknowns=rows), origins)


class _Piece(msgspec.Struct, frozen=True):
    """What one part, or a half of it, brings in. `place` is that of the part among all, `whole` are the maps that it
    tells in full."""

    kind: str
    label: str
    place: int
    machine: Machine
    origins: Mapping[str, str]
    directness: int
    whole: frozenset[str]


def _pieces(told: Sequence[Told], labels: Sequence[str]) -> Iterable[_Piece]:
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
            yield _Piece(part.kind, label, place, half, part.origins, _AS_TOLD_BY_A_LIST, frozenset())
            machine = msgspec.structs.replace(machine, **dict.fromkeys(_OF_WHEELS))
        yield _Piece(part.kind, label, place, machine, part.origins, direct, whole)


def _of_one_machine(pieces: Sequence[_Piece], clashes: list[_Clash]) -> list[_Piece]:
    """The pieces without those that speak of another machine than the most direct, or latest, one does."""
    last_cpu = next((piece for piece in reversed(pieces) if piece.machine.cpu and piece.machine.cpu.name), None)
    last_os = next((piece for piece in reversed(pieces) if piece.machine.os and piece.machine.os.kind), None)
    kept = []
    for piece in pieces:
        clash = _other_cpu(piece, last_cpu) or _other_os(piece, last_os)
        if clash is None:
            kept.append(piece)
        else:
            clashes.append(clash)
    return kept


def _other_cpu(piece: _Piece, last: _Piece | None) -> _Clash | None:
    cpu, believed = piece.machine.cpu, last.machine.cpu if last else None
    if last is None or cpu is None or believed is None or same_cpu(cpu, believed):
        return None
    return _clash("cpu.name", believed.name, last.label, cpu.name, f"{piece.label}; set aside as a whole")


def _other_os(piece: _Piece, last: _Piece | None) -> _Clash | None:
    """Windows and the Linux of WSL may well be one machine."""
    system, believed = piece.machine.os, last.machine.os if last else None
    if last is None or system is None or believed is None or None in (system.kind, believed.kind):
        return None
    kinds = {system.kind, believed.kind}
    in_wsl = any(each.kind == "linux" and each.wsl for each in (system, believed))
    if len(kinds) == 1 or (kinds == {"windows", "linux"} and in_wsl):
        return None
    return _clash("os.kind", believed.kind, last.label, system.kind, f"{piece.label}; set aside as a whole")


def _of_one_environment(pieces: Sequence[_Piece], clashes: list[_Clash]) -> list[_Piece]:
    """The pieces, each without what it says of another Python, or of another PyTorch, than the one that is believed:
    what looked at the machine itself, else the latest text. A list of packages names a PyTorch too."""
    kept = list(pieces)
    for fact, version, areas in (
        ("python.version", _python_version, _OF_ONE_PYTHON),
        ("torch.version", _torch_version, _OF_ONE_TORCH),
    ):
        claims = [piece for piece in kept if version(piece.machine) is not None]
        if not claims:
            continue
        believed = max(claims, key=lambda piece: (piece.directness >= _OWN, piece.place))
        wanted = version(believed.machine)
        for at, piece in enumerate(kept):
            told = version(piece.machine)
            if told is None or agreed(fact, told, wanted) is not None:
                continue
            clashes.append(_clash(fact, wanted, believed.label, told, piece.label))
            kept[at] = msgspec.structs.replace(
                piece, machine=msgspec.structs.replace(piece.machine, **dict.fromkeys(areas)), whole=frozenset()
            )
    return kept


def _python_version(machine: Machine) -> str | None:
    return machine.python.version if machine.python else None


def _torch_version(machine: Machine) -> str | None:
    if machine.torch is not None and machine.torch.version is not None:
        return machine.torch.version
    package = (machine.packages or {}).get("torch")
    return package.version if package else None


def _clash(fact: str, kept: Any, kept_from: str, dropped: Any, dropped_from: str) -> _Clash:
    return Contradiction(
        fact=fact, kept=_shown(kept), kept_from=kept_from, dropped=_shown(dropped), dropped_from=dropped_from
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} of them"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)[:200]


class _Joining:
    """Lays one piece over what is there. `givers` says for each fact which piece gave it."""

    def __init__(self, clashes: list[_Clash], givers: dict[str, str], label: str) -> None:
        self._clashes = clashes
        self._givers = givers
        self._label = label

    def machine(self, whole: Machine, piece: _Piece) -> Machine:
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
            self._clashes.append(_clash(fact, newer, self._label, older, self._giver(fact)))

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


def _log(pieces: Iterable[_Piece]) -> tuple[LogLine, ...] | None:
    rows: dict[tuple[str | None, str | None], LogLine] = {}
    told = [piece.machine.log for piece in pieces if piece.machine.log is not None]
    for row in (row for log in told for row in log):
        rows.setdefault((row.kind, row.about), row)
    return tuple(rows.values()) if told else None


def _told_unknowns(pieces: Iterable[_Piece]) -> Iterable[UnknownFact]:
    """What documents and probes say that they do not know. Maps that are told in part are seen to at the end."""
    for piece in pieces:
        for row in piece.machine.unknowns or ():
            if row.fact not in MAPS or getattr(piece.machine, row.fact) is None:
                yield row


def _partial_rows(machine: Machine, pieces: Sequence[_Piece]) -> Iterable[UnknownFact]:
    """A row for each map of which only some names were told."""
    for name in MAPS:
        if getattr(machine, name) is not None and not any(name in piece.whole for piece in pieces):
            yield UnknownFact(fact=name, reason="not-in-source", detail="the text lists only some of them")
