"""The screen of `plan`: what to compute on and why, the steps with their commands, the way back, what it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from doctor import __version__
from doctor.derive.plan_model import Lines, OtherWay, Plan, PythonChoice, Step, TableRow
from doctor.machine.model import Machine
from doctor.present.findings import block
from doctor.present.status import ERROR, OK, UNKNOWN, Status
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import plural, wrap

_AT = 11  # where the text behind a heading begins
_COMMAND_AT = 6

_ACTIONS = {
    "keep": "It suits: nothing has to be installed.",
    "install": "PyTorch is not there yet.",
    "replace": "It is replaced, in the environment where it is.",
    "environment": "It stays as it is: the new one gets an environment of its own.",
    "look-up": "No table proves what to install.",
    "refused": "",
}
_SHELL_WORDS = {"sh": "shell", "cmd": "cmd", "powershell": "PowerShell"}


def plan_lines(
    machine: Machine, plan: Plan, look: Look, given: str | None = None, shell: str | None = None
) -> list[Line]:
    """Every line of the screen; the last is the summary. `given` names the file that the machine was read from,
    `shell` the one that the reader types into, where that is known."""
    whose = "this machine" if given is None else given
    title = f"amd-doctor {__version__}: the install plan for {whose}."
    lines = [line(part, "bold") for part in wrap(title, look.columns)]
    lines += [line(), *_head(machine, plan, look), *_not_known(plan, look)]
    lines += _steps(plan, look, shell)
    lines += _way_back(plan, look, shell)
    lines += [*_others(plan, look), *_look_up(plan, look)]
    lines += _tables(plan.sources, look)
    return [*lines, line(), line(summary_line(plan), "bold")]


def summary_line(plan: Plan) -> str:
    """`amd-doctor: plan rocm-pytorch: replace, 5 steps`, always in this form."""
    return f"amd-doctor: plan {plan.backend}: {plan.action}, {plural(len(plan.steps), 'step')}"


def _head(machine: Machine, plan: Plan, look: Look) -> list[Line]:
    lines = _titled("Backend", plan.title, look, _status(plan))
    lines += _under(plan.reason, look)
    if plan.gives_up:
        lines += _under(f"It gives up {'; '.join(plan.gives_up)}.", look)
    for note in plan.notes:
        lines += _under(note, look)
    if plan.python is not None:
        lines += _titled("Python", _python_text(machine, plan.python), look)
        lines += _under(plan.python.reason, look)
    lines += _titled("Now", _present_text(machine, plan), look)
    return lines


def _status(plan: Plan) -> Status:
    if plan.action == "refused":
        return ERROR
    return UNKNOWN if plan.action == "look-up" else OK


def _titled(title: str, text: str, look: Look, status: Status | None = None) -> list[Line]:
    """`Backend    the CPU alone`, the text in the colour of its status."""
    parts = wrap(text, look.columns - _AT)
    first = (Span(title.ljust(_AT)), Span(parts[0], status.style if status else ""))
    return [first, *(line(" " * _AT + part) for part in parts[1:])]


def _under(text: str, look: Look) -> list[Line]:
    return [line(" " * _AT + part) for part in wrap(text, look.columns - _AT, hang=2)] if text else []


def _python_text(machine: Machine, python: PythonChoice) -> str:
    path = machine.python.executable if machine.python and machine.python.executable else None
    if python.fits is False:
        return f"{python.take}, in a new environment" if python.take else "another one is needed"
    if python.present is None:
        return path or "not known"
    version = (machine.python.version if machine.python else None) or python.present
    return f"{version}, as it is{f': {path}' if path else ''}"


def _present_text(machine: Machine, plan: Plan) -> str:
    torch = machine.torch
    proven = f" {_ACTIONS['look-up']}" if plan.action == "look-up" else ""
    if torch is None or torch.installed is None:
        return f"Whether PyTorch is installed is not known.{proven}"
    if not torch.installed:
        return f"PyTorch is not installed.{proven}"
    build = {"cpu": "CPU build", "cuda": "CUDA build", "rocm": "ROCm build"}.get(torch.build or "", "")
    name = f"torch {torch.version or 'of an unknown version'}{f', {build}' if build else ''}."
    words = "It is left as it is." if plan.option == "cuda" else _ACTIONS.get(plan.action, "")
    return f"{name} {words}".strip()


def _steps(plan: Plan, look: Look, shell: str | None) -> list[Line]:
    if not plan.steps:
        return []
    lines = [line(), line("Steps", "bold")]
    for number, step in enumerate(plan.steps, start=1):
        lines += _step(number, step, look, shell)
    return lines


def _step(number: int, step: Step, look: Look, shell: str | None) -> list[Line]:
    mark = f"{number}. "
    parts = wrap(mark + step.text, look.columns, hang=len(mark))
    return [*(line(part) for part in parts), *command_lines(step.commands, shell)]


def command_lines(commands: Lines, shell: str | None = None) -> list[Line]:
    """Lines to copy, each whole: those of `shell`; once where every shell takes the same, else under the name of each
    shell."""
    own = commands.get(shell) if shell is not None else None
    if own is not None or len(set(commands.values())) <= 1:
        texts = own if own is not None else next(iter(commands.values()), ())
        return [line(" " * _COMMAND_AT + text, "bold cyan") for text in texts]
    lines: list[Line] = []
    for name, texts in commands.items():
        lines.append(line(" " * (_COMMAND_AT - 3) + f"in {_SHELL_WORDS[name]}:"))
        lines += [line(" " * _COMMAND_AT + text, "bold cyan") for text in texts]
    return lines


def _way_back(plan: Plan, look: Look, shell: str | None) -> list[Line]:
    if plan.way_back is None:
        return []
    text = block(plan.way_back.text, look, 3)
    return [line(), line("The way back", "bold"), *text, *command_lines(plan.way_back.restore, shell)]


def _others(plan: Plan, look: Look) -> list[Line]:
    lines: list[Line] = []
    if plan.other_ways:
        lines += [line(), line("Other ways", "bold")]
    for way in plan.other_ways:
        lines += _other_way(way, look)
    # That this tool has nothing for NVIDIA's cards is no news.
    impossible = [each for each in plan.refusals if each.option not in (plan.option, "cuda")]
    if impossible:
        lines += [line(), line("What cannot work here", "bold")]
    for refusal in impossible:
        lines += block(f"{refusal.option}: {refusal.reason}", look, 3)
    return lines


def _other_way(way: OtherWay, look: Look) -> list[Line]:
    text = f"--backend {way.option}: {way.title}"
    text += ", which the plan takes by itself" if way.is_default else ""
    against = (way.why_not or "").rstrip(".")
    return block(f"{text}; but {against[0].lower()}{against[1:]}." if against else f"{text}.", look, 3)


def _not_known(plan: Plan, look: Look) -> list[Line]:
    lines: list[Line] = []
    if plan.unknowns:
        lines += [line(), line("Not known, and it would change the plan", "bold")]
    for fact in plan.unknowns:
        lines += block(f"{fact.fact}: {fact.matters}. {fact.find_out}", look, 3)
    return lines


def _look_up(plan: Plan, look: Look) -> list[Line]:
    lines: list[Line] = []
    told = " ".join(step.text for step in plan.steps)
    pages = [each for each in plan.look_up if each.what not in told]
    if pages:
        lines += [line(), line("Look it up", "bold")]
    for page in pages:
        lines += [*block(f"{page.what}:", look, 3), line(f"      {page.page}")]
    return lines


def _tables(rows: Sequence[TableRow], look: Look) -> list[Line]:
    if not rows:
        return []
    lines = [line(), line("What this rests on", "bold")]
    for row in rows:
        lines += block(f"{row.table} of {row.date}: {row.row}", look, 3)
        lines += [line(" " * 6 + part, "dim") for part in wrap(f"from {row.source}", look.columns - 6)]
    return lines
