"""The screen of `tune`: what was measured, the verdicts, what the machine did meanwhile, and the one next command."""

from __future__ import annotations

from doctor import __version__
from doctor.measure.repeatability import LIMIT
from doctor.present.findings import block
from doctor.present.language import counted, joined, phrase, say, told
from doctor.present.status import OK, WARNING
from doctor.present.terminal import Line, Look, line
from doctor.present.text import listed, plural, wrap
from doctor.present.tune_advice import findings_lines, not_tried_titles, recommendations_lines, roofline_lines
from doctor.present.tune_devices import devices_lines
from doctor.present.tune_ending import Around, conclusion, last_line, next_step, other_use
from doctor.present.tune_table import confirmed_lines, failed_lines, not_tried_words, search_lines, titles_of
from doctor.present.tune_words import percent, seconds_words, workloads_words
from doctor.tune.result import TuneResult

#: Names of what was not tried, before the rest is counted.
_MOST_NAMES = 4


def tune_lines(result: TuneResult, look: Look, around: Around, *, verbose: bool = False) -> list[Line]:
    """Every line of the screen. The last is the summary, the one before it the next command."""
    lines = [line(part, "bold") for part in wrap(_head(result), look.columns)]
    parts = [
        confirmed_lines(result, look),
        [row for text in conclusion(result) for row in block(text, look, 0)],
        [*failed_lines(result, look), *_default_failures(around, look)],
        search_lines(result, look) if verbose else [],
        recommendations_lines(result, look),
        devices_lines(result, look, verbose=verbose),
        findings_lines(result, look),
        [*_machine(result, look), *roofline_lines(result, look)],
        _not_tried(result, look, verbose=verbose),
        _other_use(result, around, look),
    ]
    for part in parts:
        lines += [line(), *part] if part else []
    return [*lines, line(), *_end(result, look, around)]


def _head(result: TuneResult) -> str:
    on = workloads_words(result.plan.workloads)
    tried = sum(report.fate != "not-tried" for report in result.arms)
    settings = [plural(tried, "setting")] if tried else []
    took = [*settings, plural(result.units, "process", "processes"), seconds_words(result.spent_seconds)]
    threads = result.plan.default_threads
    now = say("what you have now")
    if threads is not None:
        now = say("what you have now, {threads}", threads=plural(threads, "thread"))
    facts = {"version": __version__, "work": on, "now": now, "took": joined(took)}
    return say("amd-doctor {version} measured {work} against {now}: {took}.", **facts)


def _machine(result: TuneResult, look: Look) -> list[Line]:
    """How well the machine repeats itself, and what disturbed it."""
    lines: list[Line] = []
    again = result.repeatability
    if again is not None:
        one = "This machine repeats itself within ±{within} ({count} pair of the default alone)."
        many = phrase("This machine repeats itself within ±{within} ({count} pairs of the default alone).")
        lines += block(counted(one, many, again.pairs, within=percent(again.within)), look, 0)
        if again.drifts:
            lines += _disturbed(say("it drifts: its later runs differ from its earlier ones"), look)
        elif again.disturbed:
            lines += _disturbed(say("it repeats itself worse than ±{limit:.0f} %", limit=100 * LIMIT), look)
    for sentence in result.disturbances:
        lines += _disturbed(told(sentence), look)
    if result.pairs_left_out:
        one, many = "{count} disturbed pair of {all} left out.", phrase("{count} disturbed pairs of {all} left out.")
        lines += block(counted(one, many, result.pairs_left_out, all=result.pairs), look, 0)
    return lines


def _default_failures(around: Around, look: Look) -> list[Line]:
    """What the user has now ran, and then failed: each time a pair less."""
    failures = around.default_failures
    if not failures:
        return []
    one = phrase("what you have now failed in {count} process, a pair was lost: {reason}")
    many = phrase("what you have now failed in {count} processes, so many pairs were lost: {reason}")
    text = counted(one, many, len(failures), reason=told(failures[0]))
    return [line(part, WARNING.style) for part in wrap(f"{WARNING.symbol} {text}", look.columns, 2)]


def _disturbed(sentence: str, look: Look) -> list[Line]:
    text = say("disturbed: {sentence}", sentence=sentence)
    return [line(part, WARNING.style) for part in wrap(f"{WARNING.symbol} {text}", look.columns, 2)]


def _not_tried(result: TuneResult, look: Look, *, verbose: bool) -> list[Line]:
    """What the budget left out, and what was left out before, with its reasons or how to learn them."""
    lines: list[Line] = []
    names = [*not_tried_words(result.arms, titles_of(result)), *not_tried_titles(result)]
    names += [each.axis for each in result.left_out]
    if names:
        few = listed(names, at_most=0 if verbose else _MOST_NAMES)
        lines += block(say("Not tried, the budget was too small: {names}.", names=few), look, 0)
    skipped = result.plan.skipped
    if verbose:
        lines += [row for each in skipped for row in block(_skipped(each.axis, each.why), look, 0)]
    elif skipped:
        axes = listed(list(dict.fromkeys(each.axis for each in skipped)), at_most=_MOST_NAMES)
        lines += block(say("Left out: {axes}; -v says why.", axes=axes), look, 0)
    return lines


def _skipped(axis: str, why: str) -> str:
    return say("Left out, {axis}: {why}.", axis=axis, why=told(why))


def _other_use(result: TuneResult, around: Around, look: Look) -> list[Line]:
    step = other_use(result, around)
    return [] if step is None else [*block(step.intro, look, 0), line(f"    {step.command}", "cyan")]


def _end(result: TuneResult, look: Look, around: Around) -> list[Line]:
    """The next command and the summary. The command stays whole, so that it can be copied."""
    step = next_step(result, around)
    last = line(last_line(result, around), "bold")
    intro = block(step.intro, look, 0)
    if not step.command:
        return [*(line(row[0].text, OK.style) for row in intro), last]
    return [*intro, line(f"    {step.command}", "bold cyan"), last]
