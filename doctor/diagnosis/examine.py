"""The whole way from a machine document to its diagnosis. What fails on the way costs its own part only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import msgspec

from doctor.derive.facts import COMPLETE, DERIVE, Derived
from doctor.diagnosis.engine import diagnose
from doctor.diagnosis.model import Diagnosis
from doctor.diagnosis.rules import RuleSet, load_rules
from doctor.knowledge.catalog import ENGLISH
from doctor.machine.crash import Crash
from doctor.machine.model import Machine
from doctor.sources.redaction import redacted_error


def examine(
    machine: Machine,
    only: Sequence[str] = (),
    today: date | None = None,
    rule_set: RuleSet | None = None,
    language: str = ENGLISH,
) -> tuple[Machine, Diagnosis]:
    """The document with what follows from its own facts, and what the rules say of it.

    `only` names rules or areas. `today` is what the age of the knowledge tables is counted to (default: today). Parts
    that failed stand in `Diagnosis.crashed`: `derive:AREA`, `rule:ID`.
    """
    rule_set = rule_set or load_rules()
    completed, derived, crashed = derived_from(machine, today or date.today())
    diagnosis = diagnose(completed, derived, rule_set.rules, only, language)
    broken = [crash for crash in rule_set.broken if not only or crash.part.removeprefix("rule:") in only]
    return completed, msgspec.structs.replace(diagnosis, crashed=(*crashed, *broken, *diagnosis.crashed))


def derived_from(machine: Machine, today: date | None = None) -> tuple[Machine, Derived, tuple[Crash, ...]]:
    """`complete` and `derive`, with every area on its own."""
    crashed: list[Crash] = []
    for area, complete in COMPLETE:
        try:
            machine = complete(machine)
        except Exception as error:
            crashed.append(_crash(area, error))
    facts: dict[str, Any] = {}
    for area, derive in DERIVE:
        try:
            facts[area] = derive(machine, today)
        except Exception as error:
            crashed.append(_crash(area, error))
    return machine, Derived(**facts), tuple(crashed)


def _crash(area: str, error: Exception) -> Crash:
    return Crash(part=f"derive:{area}", detail=redacted_error(error))
