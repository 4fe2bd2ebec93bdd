"""The tables of a run: what was confirmed, each workload of it, and with -v what the search saw."""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.measure.units import Setting
from doctor.measure.verdict import Verdict, gain_of
from doctor.present.language import counted, joined, phrase, say, told
from doctor.present.status import ERROR, INFO, OK, UNKNOWN, WARNING
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import columns, padded, plural, wrap
from doctor.present.tune_words import gain_words, setting_words, signed_percent, verdict_words, workload_words
from doctor.tune.confirm import Confirmation
from doctor.tune.result import TuneResult
from doctor.tune.search import ArmReport

_GAIN_COLUMNS = 24
_VERDICT_COLUMNS = 12
_PAIRS_COLUMNS = 5

_STYLES = {
    "faster": OK.style,
    "slower": WARNING.style,
    "same": "",
    "undecided": UNKNOWN.style,
    "mixed": WARNING.style,
    "failed": ERROR.style,
}

_MADE_UP = re.compile(r"threads-([0-9]{1,5})(?:-(.+))?")

_FATES = {
    "chosen": phrase("chosen"),
    "left": phrase("stayed to the end"),
    "out": phrase("out"),
    "failed": phrase("failed"),
    "not-tried": phrase("not tried"),
}
_WORDS = {
    "faster": phrase("faster"),
    "slower": phrase("slower"),
    "same": phrase("same"),
    "undecided": phrase("undecided"),
    "mixed": phrase("mixed"),
    "failed": phrase("failed"),
}


def confirmed_lines(result: TuneResult, look: Look) -> list[Line]:
    """The claims: one row for each candidate, beneath it one for each workload where there are several."""
    if not result.candidates:
        return []
    lines = [*_row(say("Setting"), say("gain, 95 % interval"), say("verdict"), say("pairs"), look, "bold")]
    for candidate in result.candidates:
        lines += _candidate(candidate, result, look)
    return lines


def _candidate(candidate: Confirmation, result: TuneResult, look: Look) -> list[Line]:
    name = setting_words(candidate.setting)
    if candidate.setting.cpus is None and len(result.candidates) > 1:
        name = say("{setting}, without its CPUs", setting=name)
    lines = _verdict_row(name, candidate.verdict, verdict_words(candidate), look)
    if len(result.plan.workloads) > 1:
        for workload, verdict in candidate.by_workload.items():
            name = "  " + say("on {workload}", workload=workload_words(workload))
            lines += _verdict_row(name, verdict, verdict.word, look)
    return lines


def _verdict_row(name: str, verdict: Verdict, word: str, look: Look) -> list[Line]:
    said, style = say(_WORDS.get(word, word)), _STYLES.get(word, INFO.style)
    return _row(name, gain_words(verdict), said, str(verdict.pairs), look, style)


def _row(name: str, gain: str, word: str, pairs: str, look: Look, style: str) -> list[Line]:
    """One row; a long name goes on beneath itself."""
    room = look.columns - _GAIN_COLUMNS - _VERDICT_COLUMNS - _PAIRS_COLUMNS - 2
    indent = len(name) - len(name.lstrip())
    parts = [" " * indent + part for part in wrap(name, room - indent, hang=2)]
    first = parts[0] + " " * max(room + 2 - columns(parts[0]), 1)
    last = " " * (_PAIRS_COLUMNS - columns(pairs)) + pairs
    rest = f"{padded(gain, _GAIN_COLUMNS)}{padded(word, _VERDICT_COLUMNS)}{last}"
    return [(Span(first), Span(rest, style)), *(line(part) for part in parts[1:])]


def search_lines(result: TuneResult, look: Look) -> list[Line]:
    """Every setting that was tried: estimates of the search, which claims nothing."""
    tried = [report for report in result.arms if report.fate != "not-tried"]
    if not tried:
        return []
    lines = [line(say("Tried in the search (estimates, no claims)"), "bold")]
    titles = titles_of(result)
    for report in tried:
        lines += _tried(report, titles.get(report.name) or arm_words(report.name), look)
    return lines


def arm_words(name: str) -> str:
    """The name of an arm that the run made up between two others: `threads-4-ccx0` is `4 threads, ccx0`."""
    found = _MADE_UP.fullmatch(name)
    if found is None:
        return name
    return joined((plural(int(found[1]), "thread"), *((found[2],) if found[2] else ())))


def failed_lines(result: TuneResult, look: Look) -> list[Line]:
    """The settings that failed, or computed something else than the default."""
    titles, lines = titles_of(result), []
    for report in result.arms:
        if report.fate == "failed":
            setting = titles.get(report.name, report.name)
            text = say("out, {setting}: {reason}", setting=setting, reason=told(report.detail or ""))
            rows = wrap(f"{WARNING.symbol} {text}", look.columns, hang=2)
            lines += [line(part, WARNING.style) for part in rows]
    return lines


def _tried(report: ArmReport, title: str, look: Look) -> list[Line]:
    estimate = "" if report.log_ratio is None else signed_percent(gain_of(report.log_ratio))
    fate = say(_FATES.get(report.fate, report.fate))
    if report.fate == "out":
        fate = counted("out after {count} round", "out after {count} rounds", report.rounds)
    if report.detail:
        fate = say("{what}: {reason}", what=fate, reason=told(report.detail))
    room = look.columns - 3 - 10
    head = f"   {estimate:<10}"
    parts = wrap(say("{what} ({reason})", what=title, reason=fate), room, hang=2)
    return [line(head + parts[0]), *(line(" " * len(head) + part) for part in parts[1:])]


def titles_of(result: TuneResult) -> dict[str, str]:
    """What each arm is called on a screen, by its name in the run: by its title where the plan gives one."""
    titles = {arm.name: told(arm.title) if arm.title else setting_words(arm.setting) for arm in result.plan.arms}
    for addition in result.plan.additions:
        title = told(addition.title) if addition.title else setting_words(Setting(addition.variables))
        titles[addition.name] = title
        titles |= {addition.on(arm).name: joined((titles[arm.name], title)) for arm in result.plan.arms}
    return titles


def not_tried_words(reports: Iterable[ArmReport], titles: dict[str, str]) -> list[str]:
    """The settings that the budget left out."""
    return [titles.get(report.name, report.name) for report in reports if report.fate == "not-tried"]
