"""The eight lines that a report begins with: what machine it is, what is wrong first, and what to do about it."""

from __future__ import annotations

from doctor import __version__
from doctor.present.checked import Checked
from doctor.present.gpu import gpu_says
from doctor.present.hardware import cpu_says, system_says
from doctor.present.language import joined, say, told
from doctor.present.next_step import first_of_plan, next_step
from doctor.present.reported import Reported
from doctor.present.says import Says
from doctor.present.software import pytorch_says
from doctor.present.summary import last_line
from doctor.present.text import bytes_text, clean, columns, listed

#: How many lines these are.
LINES = 8

_LABEL_COLUMNS = 9
_LONGEST = 160
_KINDS = {"live": "a saved check", "document": "a machine document", "report": "a report", "tree": "proc and sys"}


def summary_lines(reported: Reported) -> list[str]:
    """The eight lines. They hold no control characters, and each fits in a form."""
    checked = reported.checked
    rows = (
        (say("machine"), _machine(reported)),
        (say("system"), _first(system_says(checked.machine))),
        (say("pytorch"), _pytorch(reported)),
        (say("gpu"), _gpus(checked)),
        (say("first"), _first_finding(reported)),
        (say("next"), _next(checked)),
    )
    head = f"amd-doctor {__version__} report: {_about(reported)}"
    texts = [head, *(f"{_padded(label)}{text}" for label, text in rows), last_line(checked.diagnosis)]
    return [_cut(clean(text)) for text in texts]


def _padded(label: str) -> str:
    return label + " " * max(_LABEL_COLUMNS - columns(label), 1)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _about(reported: Reported) -> str:
    """`this machine, 2026-11-30`; of a machine that was given, what it was given as, and when that was made."""
    rows = reported.checked.machine.sources or ()
    if reported.checked.given is None:
        return joined((say("this machine"), reported.today))
    kinds = tuple(dict.fromkeys(told(_KINDS.get(row.kind, row.kind)) for row in rows if row.kind))
    taken = next((row.taken_at[:10] for row in rows if row.taken_at), reported.today)
    return joined((listed(kinds, at_most=3) or say("a machine that was given"), taken))


def _first(says: Says) -> str:
    return next(iter((*says.facts, *((says.not_applicable,) if says.not_applicable else ()), *says.missing)), "")


def _machine(reported: Reported) -> str:
    memory = reported.checked.machine.memory
    size = bytes_text(memory.total_bytes) if memory is not None and memory.total_bytes else ""
    return say("; ").join(text for text in (_first(cpu_says(reported.checked.machine)), size) if text)


def _pytorch(reported: Reported) -> str:
    python = reported.checked.machine.python
    said = _first(pytorch_says(reported.checked.machine))
    return say("; ").join((said, f"Python {python.version}")) if python is not None and python.version else said


def _gpus(checked: Checked) -> str:
    """The first GPU, and how many more there are."""
    more = len(checked.machine.gpus or ()) - 1
    return _first(gpu_says(checked.machine)) + (f" (+{more})" if more > 0 else "")


def _next(checked: Checked) -> str:
    """The next command; the first command of a plan says little without the plan."""
    if checked.plan is not None and first_of_plan(checked.plan) is not None:
        return say("amd-doctor plan: PyTorch for {title}", title=told(checked.plan.title))
    return next_step(checked).text


def _first_finding(reported: Reported) -> str:
    first = next(iter(reported.checked.diagnosis.findings), None)
    if first is None:
        return say("nothing was found")
    return say("{severity}: {title} [{rule}]", severity=told(first.severity), title=first.title, rule=first.rule)
