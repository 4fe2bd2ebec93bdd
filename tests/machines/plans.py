"""The machines that plans are made for, and what makes each plan right (`plans.json`).

`facts` and `rules` are words of FACTS.md and RULES.md in `../shared/knowledge`, `tables` are rows that the plan must
name, `commands` parts that some command must have, `never` words that none may have.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from doctor.derive.facts import Derived, complete, derive
from doctor.derive.plan import plan
from doctor.derive.plan_model import Lines, Plan
from doctor.machine.document import read_document
from doctor.machine.model import Intent, Machine

_FOLDER = Path(__file__).resolve().parent
CASES: dict[str, dict[str, Any]] = json.loads((_FOLDER / "plans.json").read_text(encoding="utf-8"))


def machine_of(name: str) -> Machine:
    """The machine of a case, with what its user asks for."""
    case = CASES[name]
    plain = json.loads((_FOLDER / "plans" / f"{case['machine']}.json").read_text(encoding="utf-8"))
    asked = None if case["asked"] is None else Intent(backend=case["asked"])
    return msgspec.structs.replace(read_document(plain).machine, intent=asked)


def planned(machine: Machine) -> tuple[Machine, Plan, Derived]:
    """The completed machine, its plan, its derived facts."""
    machine = complete(machine)
    derived = derive(machine)
    return machine, plan(machine, machine.intent, derived), derived


def every_command(made: Plan) -> list[tuple[str, str]]:
    """(shell, line) for every command that a plan prints."""
    parts: list[Lines] = [step.commands for step in made.steps]
    parts += [made.way_back.restore] if made.way_back is not None else []
    return [(shell, line) for part in parts for shell, lines in part.items() for line in lines]
