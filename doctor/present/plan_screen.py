"""The screen of `plan`: what to compute on and why, the steps with their commands, the way back, what it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from doctor import __version__
from doctor.derive.plan_model import Lines, OtherWay, Plan, PythonChoice, Step, TableRow
from doctor.machine.model import Machine
from doctor.present.findings import block
from doctor.present.language import phrase, say, told
from doctor.present.status import ERROR, OK, UNKNOWN, Status
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import english_plural, padded, wrap

_AT = 11  # where the text behind a heading begins
_COMMAND_AT = 6

_ACTIONS = {
    "keep": phrase("It suits: nothing has to be installed."),
    "install": phrase("PyTorch is not there yet."),
    "replace": phrase("It is replaced, in the environment where it is."),
    "environment": phrase("It stays as it is: the new one gets an environment of its own."),
    "look-up": phrase("No table proves what to install."),
    "refused": "",
}
_SHELL_WORDS = {"sh": phrase("shell"), "cmd": "cmd", "powershell": "PowerShell"}


def plan_lines(
    machine: Machine, plan: Plan, look: Look, given: str | None = None, shell: str | None = None
) -> list[Line]:
    """Every line of the screen; the last is the summary. `given` names the file that the machine was read from,
    `shell` the one that the reader types into, where that is known."""
    whose = say("this machine") if given is None else told(given)
    title = say("amd-doctor {version}: the install plan for {machine}.", version=__version__, machine=whose)
    lines = [line(part, "bold") for part in wrap(title, look.columns)]
    lines += [line(), *_head(machine, plan, look), *_not_known(plan, look)]
    lines += _steps(plan, look, shell)
    lines += _way_back(plan, look, shell)
    lines += [*_others(plan, look), *_look_up(plan, look)]
    lines += _tables(plan.sources, look)
    return [*lines, line(), line(summary_line(plan), "bold")]


def summary_line(plan: Plan) -> str:
    """`amd-doctor: plan rocm-pytorch: replace, 5 steps`, always in this form."""
    return f"amd-doctor: plan {plan.backend}: {plan.action}, {english_plural(len(plan.steps), 'step')}"


def _head(machine: Machine, plan: Plan, look: Look) -> list[Line]:
    lines = _titled(say("Backend"), told(plan.title), look, _status(plan))
    lines += _under(told(plan.reason), look)
    if plan.gives_up:
        lines += _under(say("It gives up {things}.", things=say("; ").join(map(told, plan.gives_up))), look)
    for note in plan.notes:
        lines += _under(told(note), look)
    if plan.python is not None:
        lines += _titled(say("Python"), _python_text(machine, plan.python), look)
        lines += _under(told(plan.python.reason), look)
    lines += _titled(say("Now"), _present_text(machine, plan), look)
    return lines


def _status(plan: Plan) -> Status:
    if plan.action == "refused":
        return ERROR
    return UNKNOWN if plan.action == "look-up" else OK


def _titled(title: str, text: str, look: Look, status: Status | None = None) -> list[Line]:
    """`Backend    the CPU alone`, the text in the colour of its status."""
    parts = wrap(text, look.columns - _AT)
    first = (Span(padded(title, _AT)), Span(parts[0], status.style if status else ""))
    return [first, *(line(" " * _AT + part) for part in parts[1:])]


def _under(text: str, look: Look) -> list[Line]:
    return [line(" " * _AT + part) for part in wrap(text, look.columns - _AT, hang=2)] if text else []


def _python_text(machine: Machine, python: PythonChoice) -> str:
    path = machine.python.executable if machine.python and machine.python.executable else None
    if python.fits is False:
        if python.take is None:
            return say("another one is needed")
        return say("{version}, in a new environment", version=python.take)
    if python.present is None:
        return path or say("not known")
    version = (machine.python.version if machine.python else None) or python.present
    text = say("{version}, as it is", version=version)
    return say("{what}: {path}", what=text, path=path) if path else text


def _present_text(machine: Machine, plan: Plan) -> str:
    torch = machine.torch
    proven = say(_ACTIONS["look-up"]) if plan.action == "look-up" else ""
    if torch is None or torch.installed is None:
        return _sentences(say("Whether PyTorch is installed is not known."), proven)
    if not torch.installed:
        return _sentences(say("PyTorch is not installed."), proven)
    version = torch.version or say("of an unknown version")
    build = _BUILDS.get(torch.build or "")
    name = say("torch {version}.", version=version)
    name = say("torch {version}, {build}.", version=version, build=say(build)) if build else name
    words = phrase("It is left as it is.") if plan.option == "cuda" else _ACTIONS.get(plan.action, "")
    return _sentences(name, say(words))


_BUILDS = {"cpu": phrase("CPU build"), "cuda": phrase("CUDA build"), "rocm": phrase("ROCm build")}


def _sentences(first: str, second: str) -> str:
    return say("{sentence} {next}", sentence=first, next=second) if second else first


def _steps(plan: Plan, look: Look, shell: str | None) -> list[Line]:
    if not plan.steps:
        return []
    lines = [line(), line(say("Steps"), "bold")]
    for number, step in enumerate(plan.steps, start=1):
        lines += _step(number, step, look, shell)
    return lines


def _step(number: int, step: Step, look: Look, shell: str | None) -> list[Line]:
    mark = f"{number}. "
    parts = wrap(mark + told(step.text), look.columns, hang=len(mark))
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
        lines.append(line(" " * (_COMMAND_AT - 3) + say("in {shell}:", shell=say(_SHELL_WORDS[name]))))
        lines += [line(" " * _COMMAND_AT + text, "bold cyan") for text in texts]
    return lines


def _way_back(plan: Plan, look: Look, shell: str | None) -> list[Line]:
    if plan.way_back is None:
        return []
    text = block(told(plan.way_back.text), look, 3)
    return [line(), line(say("The way back"), "bold"), *text, *command_lines(plan.way_back.restore, shell)]


def _others(plan: Plan, look: Look) -> list[Line]:
    lines: list[Line] = []
    if plan.other_ways:
        lines += [line(), line(say("Other ways"), "bold")]
    for way in plan.other_ways:
        lines += _other_way(way, look)
    # That this tool has nothing for NVIDIA's cards is no news.
    impossible = [each for each in plan.refusals if each.option not in (plan.option, "cuda")]
    if impossible:
        lines += [line(), line(say("What cannot work here"), "bold")]
    for refusal in impossible:
        lines += block(say("{what}: {reason}", what=refusal.option, reason=told(refusal.reason)), look, 3)
    return lines


def _other_way(way: OtherWay, look: Look) -> list[Line]:
    text = say("{what}: {reason}", what=f"--backend {way.option}", reason=told(way.title))
    text = say("{way}, which the plan takes by itself", way=text) if way.is_default else text
    if not way.why_not:
        return block(say("{sentence}.", sentence=text), look, 3)
    against = told(way.why_not)
    if against == way.why_not:  # in English it goes on in small letters
        against = way.why_not[0].lower() + way.why_not[1:]
    return block(say("{way}; but {against}.", way=text, against=against.rstrip(".。")), look, 3)


def _not_known(plan: Plan, look: Look) -> list[Line]:
    lines: list[Line] = []
    if plan.unknowns:
        lines += [line(), line(say("Not known, and it would change the plan"), "bold")]
    for fact in plan.unknowns:
        words = {"fact": fact.fact, "matters": told(fact.matters), "find_out": told(fact.find_out)}
        lines += block(say("{fact}: {matters}. {find_out}", **words), look, 3)
    return lines


def _look_up(plan: Plan, look: Look) -> list[Line]:
    lines: list[Line] = []
    steps = " ".join(step.text for step in plan.steps)
    pages = [each for each in plan.look_up if each.what not in steps]
    if pages:
        lines += [line(), line(say("Look it up"), "bold")]
    for page in pages:
        lines += [*block(say("{what}:", what=told(page.what)), look, 3), line(f"      {page.page}")]
    return lines


def _tables(rows: Sequence[TableRow], look: Look) -> list[Line]:
    if not rows:
        return []
    lines = [line(), line(say("What this rests on"), "bold")]
    for row in rows:
        text = say("{table} of {date}: {row}", table=row.table, date=row.date, row=told(row.row))
        lines += block(text, look, 3)
        source = say("from {source}", source=row.source)
        lines += [line(" " * 6 + part, "dim") for part in wrap(source, look.columns - 6)]
    return lines
