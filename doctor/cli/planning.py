"""The install plan for commands that show its first step: only where that may come next, and never at their cost."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from doctor.machine.crash import Crash
from doctor.machine.model import Machine
from doctor.present.next_step import needs_plan

if TYPE_CHECKING:
    from doctor.derive.plan_model import Plan
    from doctor.diagnosis.model import Diagnosis


def plan_if_next(machine: Machine, diagnosis: Diagnosis, today: date) -> tuple[Plan | None, tuple[Crash, ...]]:
    """The plan for a judged machine, None where no step of it can come next. A plan that fails is a crash."""
    if not needs_plan(machine, diagnosis):
        return None, ()
    from doctor.derive.plan import plan
    from doctor.diagnosis.examine import derived_from
    from doctor.sources.redaction import redacted_error

    try:
        return plan(machine, machine.intent, derived_from(machine, today)[1]), ()
    except Exception as error:
        return None, (Crash(part="plan", detail=redacted_error(error)),)
