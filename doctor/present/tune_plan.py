"""What a run of `tune` would try, and what it leaves out: `--dry-run`."""

from __future__ import annotations

from doctor import __version__
from doctor.measure.units import Setting
from doctor.present.findings import block
from doctor.present.language import counted, phrase, say, told
from doctor.present.terminal import Line, Look, line
from doctor.present.text import columns, english_plural, wrap
from doctor.present.tune_devices_plan import planned_lines
from doctor.present.tune_words import seconds_words, variable_words, workloads_words
from doctor.tune.plan import Plan
from doctor.tune.trials import Trial

_TITLE_COLUMNS = 40
_INDENT = 3


def plan_lines(plan: Plan, look: Look) -> list[Line]:
    """Every line of the screen; the last is the summary."""
    on, budget = workloads_words(plan.workloads), seconds_words(plan.budget_seconds)
    words = phrase("amd-doctor {version} would measure {work} for {budget} at most. Nothing was measured.")
    head = say(words, version=__version__, work=on, budget=budget)
    lines = [line(part, "bold") for part in wrap(head, look.columns)]
    if plan.default_threads is not None:
        one, many = "What you have now: {count} thread.", phrase("What you have now: {count} threads.")
        lines += block(counted(one, many, plan.default_threads), look, 0)
    if plan.arms:
        lines += [line(), line(say("Settings, in the order in which a small budget takes them"), "bold")]
        lines += [row for arm in plan.arms for row in _row(told(arm.title or arm.name), arm.setting, look)]
    if plan.additions:
        lines += [line(), line(say("On top of the one that leads"), "bold")]
        for addition in plan.additions:
            lines += _row(told(addition.title or addition.name), Setting(addition.variables), look)
    if plan.trials:
        lines += [line(), line(say("Then what your own code can set, under the chosen setting"), "bold")]
        lines += [row for trial in plan.trials for row in _trial(trial, look)]
    if plan.devices is not None:
        lines += [line(), *planned_lines(plan.devices, look)]
    lines += _left_out(plan, look)
    return [*lines, line(), line(summary_line(plan), "bold")]


def summary_line(plan: Plan) -> str:
    """`amd-doctor: would try 12 settings, 3 additions, 2 recommendations; seed 1`, always in this form."""
    rows = ((plan.arms, "setting"), (plan.additions, "addition"), (plan.trials, "recommendation"))
    counts = ", ".join(english_plural(len(each), noun) for each, noun in rows)
    return f"amd-doctor: would try {counts}; seed {plan.seed}"


def _row(title: str, setting: Setting, look: Look) -> list[Line]:
    """The title, then how it is set: beside it where there is room, else beneath."""
    how = _how(setting)
    gap = " " * max(_TITLE_COLUMNS - columns(title), 2)
    if _INDENT + columns(title + gap + how) <= look.columns:
        return [line(" " * _INDENT + title + gap + how)]
    rows = [line(" " * _INDENT + part) for part in wrap(title, look.columns - _INDENT, hang=2)]
    return [*rows, *(line(" " * (_INDENT + 2) + part) for part in wrap(how, look.columns - _INDENT - 2, hang=2))]


def _trial(trial: Trial, look: Look) -> list[Line]:
    text = say("{what}: {reason}", what=trial.axis, reason=told(trial.title))
    return [line(" " * _INDENT + part) for part in wrap(text, look.columns - _INDENT, hang=2)]


def _how(setting: Setting) -> str:
    words = [variable_words(name, value) for name, value in setting.variables.items()]
    words += [f"{name}={value}" for name, value in setting.options.items()]
    return " ".join([*words, *([f"CPUs {setting.cpus}"] if setting.cpus is not None else [])])


def _left_out(plan: Plan, look: Look) -> list[Line]:
    if not plan.skipped:
        return []
    lines = [line(), line(say("Left out"), "bold")]
    for row in plan.skipped:
        text = say("{what}: {reason}", what=row.axis, reason=told(row.why))
        lines += [line(" " * _INDENT + part) for part in wrap(text, look.columns - _INDENT, hang=2)]
    return lines
