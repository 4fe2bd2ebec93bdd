"""Which pieces speak of one machine, and of one Python and PyTorch on it? The others are left out, and that is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doctor.machine.model import Contradiction, Machine
from doctor.pasted.agreement import agreed, same_cpu

#: From here on a source looked at the machine itself.
_OWN = 8
#: What hangs on one PyTorch, and on one Python: of two that contradict each other nothing is mixed.
_OF_ONE_TORCH = ("torch", "torch_directml", "packages", "libraries", "exercises")
_OF_ONE_PYTHON = ("python", *_OF_ONE_TORCH)


class Piece(msgspec.Struct, frozen=True):
    """What one part, or a half of it, brings in. `place` is that of the part among all, `whole` are the maps that it
    tells in full."""

    kind: str
    label: str
    place: int
    machine: Machine
    origins: Mapping[str, str]
    directness: int
    whole: frozenset[str]


def of_one_machine(pieces: Sequence[Piece], clashes: list[Contradiction]) -> list[Piece]:
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


def _other_cpu(piece: Piece, last: Piece | None) -> Contradiction | None:
    cpu, believed = piece.machine.cpu, last.machine.cpu if last else None
    if last is None or cpu is None or believed is None or same_cpu(cpu, believed):
        return None
    return contradiction("cpu.name", believed.name, last.label, cpu.name, f"{piece.label}; set aside as a whole")


def _other_os(piece: Piece, last: Piece | None) -> Contradiction | None:
    """Windows and the Linux of WSL may well be one machine."""
    system, believed = piece.machine.os, last.machine.os if last else None
    if last is None or system is None or believed is None or None in (system.kind, believed.kind):
        return None
    kinds = {system.kind, believed.kind}
    in_wsl = any(each.kind == "linux" and each.wsl for each in (system, believed))
    if len(kinds) == 1 or (kinds == {"windows", "linux"} and in_wsl):
        return None
    return contradiction("os.kind", believed.kind, last.label, system.kind, f"{piece.label}; set aside as a whole")


def of_one_environment(pieces: Sequence[Piece], clashes: list[Contradiction]) -> list[Piece]:
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
            clashes.append(contradiction(fact, wanted, believed.label, told, piece.label))
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


def contradiction(fact: str, kept: Any, kept_from: str, dropped: Any, dropped_from: str) -> Contradiction:
    return Contradiction(
        fact=fact, kept=_shown(kept), kept_from=kept_from, dropped=_shown(dropped), dropped_from=dropped_from
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} of them"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)[:200]
