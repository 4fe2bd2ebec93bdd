"""The one next command: the line before the last."""

from __future__ import annotations

import msgspec

from doctor.derive.plan_model import Plan
from doctor.diagnosis.model import Diagnosis, Finding
from doctor.machine.model import Machine
from doctor.present.ask import COMMAND, told_little
from doctor.present.checked import Checked
from doctor.present.language import phrase, say, told

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
        planned = first_of_plan(checked.plan, say("Next") if checked.given is None else say("Next on that machine"))
        if planned is not None:
            return planned
    if serious:
        return _step_of(serious[0], say("Next") if checked.given is None else say("Next, on that machine"))
    if checked.with_root:
        return Step(checked.with_root, (say("Nothing to fix was found. To let root add what is not known:"),))
    known = phrase("Nothing to fix was found.")
    if torch is None or torch.installed is None:
        known = phrase("Nothing to fix was found, but of PyTorch itself nothing is known.")
    elif checked.diagnosis.undecided:
        known = phrase("Nothing to fix was found in what is known.")
    if checked.diagnosis.undecided and told_little(checked):
        more = say("To know more, have this run on that machine, and the file pasted back:")
        return Step(COMMAND, (say("{sentence} {next}", sentence=say(known), next=more),))
    return Step(say(known))


def _serious(diagnosis: Diagnosis) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.severity in _WORTH_A_STEP]


def _lacks_torch(machine: Machine) -> bool:
    return machine.torch is not None and machine.torch.installed is False


def first_of_plan(plan: Plan, when: str = "") -> Step | None:
    """The first line of the plan's first step. None where the plan leaves things as they are."""
    if plan.action in ("keep", "refused") or not plan.steps:
        return None
    head = say("PyTorch for {title}, step 1 of {count}", title=told(plan.title), count=len(plan.steps))
    head = say("{what}: {reason}", what=when, reason=head) if when else head
    first = plan.steps[0]
    text = told(first.text)
    # PowerShell is what a terminal of Windows starts with.
    lines = first.commands.get("powershell") or next(iter(first.commands.values()), ())
    if not lines:
        return Step(COMMAND_OF_PLAN, (say("{head}: {text}", head=head, text=text),))
    words = phrase("{head} ({command} shows them all): {text}")
    return Step(lines[0], (say(words, head=head, command=COMMAND_OF_PLAN, text=text),))


def _step_of(finding: Finding, when: str) -> Step:
    """The first command of a finding; where its fix is no command, the one that explains it."""
    for command in finding.fix.commands:
        if command.strip():
            return Step(command.splitlines()[0], (say("{when}:", when=when),))
    words = phrase("{when}: the fix of {rule}. What stands behind it:")
    return Step(f"amd-doctor rules {finding.rule}", (say(words, when=when, rule=finding.rule),))
