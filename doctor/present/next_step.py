"""The one next command: the line before the last."""

from __future__ import annotations

import msgspec

from doctor.derive.plan_model import Plan
from doctor.diagnosis.model import Diagnosis, Finding
from doctor.machine.model import Machine
from doctor.present.ask import COMMAND, told_little
from doctor.present.checked import Checked

_WORTH_A_STEP = ("error", "warning")

COMMAND_OF_PLAN = "amd-doctor plan"

#: Rules that say: another PyTorch, or another Python for it. What to install then is the plan's to say.
PLANNED_RULES = (
    "wrong-torch-build",
    "torch-wheel-overwritten",
    "gfx-not-in-arch-list",
    "python-unsupported",
    "dml-python-unsupported",
    "rocm-wheel-python-unsupported",
)


class Step(msgspec.Struct, frozen=True):
    """`text` is the line before the last; `intro` are the sentences before it, none where there is nothing to do."""

    text: str
    intro: tuple[str, ...] = ()


def needs_plan(machine: Machine, diagnosis: Diagnosis) -> bool:
    """May a step of the install plan come next? Where PyTorch is missing or of the wrong build, and nothing about the
    Python or the PyTorch that is there has to be mended before."""
    serious = _serious(diagnosis)
    if serious and serious[0].rule in PLANNED_RULES:
        return True
    in_the_way = [each for each in serious if each.area in ("python", "pytorch") and each.rule not in PLANNED_RULES]
    return _lacks_torch(machine) and not in_the_way


def next_step(checked: Checked) -> Step:
    """What to do next: the first step of the plan, else the first finding's command, else how to learn more."""
    serious = _serious(checked.diagnosis)
    torch = checked.machine.torch
    if checked.plan is not None and needs_plan(checked.machine, checked.diagnosis):
        planned = first_of_plan(checked.plan, "Next" if checked.given is None else "Next on that machine")
        if planned is not None:
            return planned
    if serious:
        return _step_of(serious[0], "Next" if checked.given is None else "Next, on that machine")
    if checked.with_root:
        return Step(checked.with_root, ("Nothing to fix was found. To let root add what is not known:",))
    known = "Nothing to fix was found"
    if torch is None or torch.installed is None:
        known += ", but of PyTorch itself nothing is known"
    elif checked.diagnosis.undecided:
        known += " in what is known"
    if checked.diagnosis.undecided and told_little(checked):
        return Step(COMMAND, (f"{known}. To know more, have this run on that machine, and the file pasted back:",))
    return Step(f"{known}.")


def _serious(diagnosis: Diagnosis) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.severity in _WORTH_A_STEP]


def _lacks_torch(machine: Machine) -> bool:
    return machine.torch is not None and machine.torch.installed is False


def first_of_plan(plan: Plan, when: str = "") -> Step | None:
    """The first line of the plan's first step. None where the plan leaves things as they are."""
    if plan.action in ("keep", "refused") or not plan.steps:
        return None
    head = f"{when}{': ' if when else ''}PyTorch for {plan.title}, step 1 of {len(plan.steps)}"
    first = plan.steps[0]
    # PowerShell is what a terminal of Windows starts with.
    lines = first.commands.get("powershell") or next(iter(first.commands.values()), ())
    if not lines:
        return Step(COMMAND_OF_PLAN, (f"{head}: {first.text}",))
    return Step(lines[0], (f"{head} ({COMMAND_OF_PLAN} shows them all): {first.text}",))


def _step_of(finding: Finding, when: str) -> Step:
    """The first command of a finding; where its fix is no command, the one that explains it."""
    for command in finding.fix.commands:
        if command.strip():
            return Step(command.splitlines()[0], (f"{when}:",))
    return Step(f"amd-doctor rules {finding.rule}", (f"{when}: the fix of {finding.rule}. What stands behind it:",))
