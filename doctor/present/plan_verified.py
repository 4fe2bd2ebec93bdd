"""What `plan --verify` shows: each thing that has to be so, and what to do where one is not."""

from __future__ import annotations

from doctor.derive.plan_model import Plan
from doctor.derive.plan_verify import Check, Verification
from doctor.machine.model import Machine
from doctor.present.language import phrase, say, told
from doctor.present.plan_screen import command_lines
from doctor.present.status import ERROR, OK, UNKNOWN
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import wrap

_STATUS = {True: OK, False: ERROR, None: UNKNOWN}


def verification_lines(
    machine: Machine, plan: Plan, verification: Verification, look: Look, shell: str | None = None
) -> list[Line]:
    """Every line; the last says `verified` or `not verified`."""
    python = machine.python.executable if machine.python and machine.python.executable else say("this Python")
    title = say("Does the PyTorch of {python} compute right?", python=python)
    lines = [line(part, "bold") for part in wrap(title, look.columns)]
    lines.append(line())
    for check in verification.checks:
        lines += _check(check, look)
    lines.append(line())
    if not verification.right:
        lines += _next(plan, verification, look, shell)
    word = "verified" if verification.right else "not verified"
    return [*lines, line(f"amd-doctor: {word}: {plan.backend}", "bold")]


def _check(check: Check, look: Look) -> list[Line]:
    status = _STATUS[check.right]
    head = f"{status.symbol} {status.said}"
    parts = wrap(say("{what}: {reason}", what=head, reason=told(check.words)), look.columns, hang=2)
    first: Line = (Span(head, status.style), Span(parts[0].removeprefix(head)))
    return [first, *(line(part) for part in parts[1:])]


def _next(plan: Plan, verification: Verification, look: Look, shell: str | None) -> list[Line]:
    """The first step that is still to be done; with all of them done, what says more."""
    todo = [step for step in plan.steps if step.kind not in ("verify", "constraints")]
    if plan.action not in ("keep", "refused") and todo and todo[0].commands:
        return [line(say("Next, the first step of the plan:")), *command_lines(todo[0].commands, shell)]
    missing = any(check.right is None for check in verification.checks)
    what = phrase("To see what is wrong, and what fixes it:")
    what = phrase("To see what is known, and what is not:") if missing else what
    return [line(say(what)), line("      amd-doctor check -v" if missing else "      amd-doctor check", "bold cyan")]
