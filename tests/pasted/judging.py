"""From a pasted text to what the rules say of it, without a process."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

from doctor.diagnosis.examine import examine
from doctor.diagnosis.model import Diagnosis
from doctor.diagnosis.rules import load_rules
from doctor.machine.model import Machine
from doctor.pasted.assemble import Told, assembled
from doctor.pasted.parts import Part
from doctor.pasted.pieces import parts_of
from doctor.pasted.unquote import unquoted
from doctor.sources.redaction import Redactor

PASTES = Path(__file__).resolve().parents[1] / "pastes"
TODAY = date(2026, 11, 30)
_RULES = load_rules()


def paste(name: str) -> str:
    return (PASTES / name).read_text(encoding="utf-8")


def parts(text: str) -> tuple[Part, ...]:
    return parts_of(unquoted(text), Redactor())


def machine_of(*texts: str) -> Machine:
    """The machine that the texts speak of; each is a file named a, b, c."""
    told = [Told(part, name) for name, text in zip("abcdef", texts, strict=False) for part in parts(text)]
    return assembled([each for each in told if each.part.kind != "unreadable"]).machine


def judged(machine: Machine) -> Diagnosis:
    _, diagnosis = examine(machine, (), TODAY, _RULES)
    assert diagnosis.crashed == ()
    return diagnosis


def serious(texts: Iterable[str]) -> set[str]:
    """The rules that end in an error or a warning."""
    return {row.rule for row in judged(machine_of(*texts)).findings if row.severity in ("error", "warning")}
