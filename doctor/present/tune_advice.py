"""What a run tells beside its verdicts: recommendations with their lines of code, speeds against the peak, findings."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.present.findings import block
from doctor.present.language import counted, joined, phrase, say, told
from doctor.present.language import row as in_a_row
from doctor.present.status import INFO, NOT_APPLICABLE, OK, UNKNOWN, WARNING, Status
from doctor.present.terminal import Line, Look, line
from doctor.present.text import plural, wrap
from doctor.present.tune_words import gain_words, needed_words, percent, workload_words, workloads_words
from doctor.tune.recommendation import Recommendation, Roof
from doctor.tune.result import TuneResult

_INDENT = 2
_CODE_AT = 6


def recommendations_lines(result: TuneResult, look: Look) -> list[Line]:
    """What no variable sets. Those that are advised stand first, each with the code that does it."""
    rows = [row for row in result.recommendations if row.fate != "not-tried"]
    if not rows:
        return []
    lines = [line(say("Beyond variables: what your own code can set"), "bold")]
    for row in sorted(rows, key=lambda row: not has_code(row)):
        lines += _recommendation(row, look)
    return lines


def has_code(row: Recommendation) -> bool:
    """The code stands beneath what was shown to be faster, and beneath what stands in for a batch that does not fit."""
    return bool(row.code) and (row.advised or (row.fate == "measured" and row.verdict is None))


def _recommendation(row: Recommendation, look: Look) -> list[Line]:
    status, words = status_of(row)
    title = say("{what}: {reason}", what=told(row.title), reason=words)
    lines = [line(part, status.style) for part in wrap(f"{status.symbol} {title}", look.columns, hang=_INDENT)]
    if row.detail and (has_code(row) or row.fate != "measured"):
        lines += block(sentence(told(row.detail)), look, _INDENT)
    if has_code(row):
        lines += [line(" " * _CODE_AT + code, "cyan") for code in row.code]
        for name, value in row.variables.items():
            lines += block(say("With {variable} in the environment.", variable=f"{name}={value}"), look, _INDENT)
    return lines


def status_of(row: Recommendation) -> tuple[Status, str]:
    if row.fate == "failed":
        return WARNING, say("failed")
    if row.fate == "chosen":
        return OK, say("nothing to change")
    if row.verdict is None:
        return INFO, _speed_words(row)
    on = {"gain": gain_words(row.verdict), "work": workloads_words(row.workloads)}
    gain = counted("{gain} on {work}, {count} pair", phrase("{gain} on {work}, {count} pairs"), row.verdict.pairs, **on)
    if row.slower_on:
        slower = in_a_row(f"{workload_words(name)} {gain_words(row.by_workload[name])}" for name in row.slower_on)
        return WARNING, say("{gain}; slower on {work}", gain=gain, work=slower)
    if row.verdict.word == "undecided":
        needed = needed_words(row.verdict)
        words = phrase("too noisy to tell, {gain}; {needed} would have decided it")
        words = words if needed else phrase("too noisy to tell, {gain}")
        return UNKNOWN, say(words, gain=gain, needed=needed)
    return (OK if row.advised else NOT_APPLICABLE), joined((told(row.verdict.word), gain))


def _speed_words(row: Recommendation) -> str:
    if len(row.items_per_second) != 1:
        return say("measured")
    speed = row.items_per_second[0]
    return say("{speed:.4g} samples/s on {work}", speed=speed, work=workloads_words(row.workloads))


def not_tried_titles(result: TuneResult) -> Sequence[str]:
    """The recommendations that the budget left out."""
    return [told(row.title) for row in result.recommendations if row.fate == "not-tried"]


def roofline_lines(result: TuneResult, look: Look) -> list[Line]:
    """The measured speeds beside what the hardware could do, a paragraph for each workload."""
    lines: list[Line] = []
    for workload in dict.fromkeys(roof.workload for roof in result.roofline):
        roofs = [roof for roof in result.roofline if roof.workload == workload]
        details = dict.fromkeys(roof.detail for roof in roofs if roof.detail)
        speeds = joined(map(_speed_and_share, roofs))
        first = say("{what}: {reason}", what=workload_words(workload), reason=speeds)
        text = say("; ").join([first, *map(told, details)])
        lines += [line(part) for part in wrap(text, look.columns, hang=_INDENT)]
    return lines


def _speed_and_share(roof: Roof) -> str:
    """`161 GFLOP/s with 1 thread (97 % of the peak of 166 GFLOP/s)`."""
    text = per_second_words(roof.per_second, roof.unit)
    if roof.threads is not None:
        text = say("{speed} with {threads}", speed=text, threads=plural(roof.threads, "thread"))
    share = _share_words(roof)
    return say("{what} ({reason})", what=text, reason=share) if share else text


def _share_words(roof: Roof) -> str:
    """`97 % of the peak of 166 GFLOP/s`; empty where no peak is known."""
    if roof.share is None or roof.peak_per_second is None:
        return ""
    peak = per_second_words(roof.peak_per_second, roof.unit)
    return say("{share} of the peak of {peak}", share=percent(roof.share), peak=peak)


def roof_words(roof: Roof) -> str:
    name = workload_words(roof.workload)
    name = name if roof.threads is None else joined((name, plural(roof.threads, "thread")))
    speed = joined(part for part in (per_second_words(roof.per_second, roof.unit), _share_words(roof)) if part)
    text = say("{what}: {reason}", what=name, reason=speed)
    return say("{what} ({reason})", what=text, reason=told(roof.detail)) if roof.detail else text


def per_second_words(value: float, unit: str) -> str:
    """`410 GFLOP/s`, `38.2 GB/s`, `1.4 TFLOP/s`."""
    name = "FLOP/s" if unit == "FLOP" else "B/s"
    scale, letter = (1e12, "T") if value >= 1e12 else (1e9, "G")
    return f"{value / scale:.3g} {letter}{name}"


def findings_lines(result: TuneResult, look: Look) -> list[Line]:
    """What the run came upon: each with its evidence and what to do."""
    lines: list[Line] = []
    for found in result.findings:
        text = f"{WARNING.symbol} {told(found.title)}"
        lines += [line(part, WARNING.style) for part in wrap(text, look.columns, hang=_INDENT)]
        lines += block(told(found.evidence), look, _INDENT)
        lines += block(told(found.advice), look, _INDENT)
    return lines


def sentence(text: str) -> str:
    ends = text.endswith((".", ")", "。", "）"))
    return text[:1].upper() + text[1:] if ends else say("{sentence}.", sentence=text[:1].upper() + text[1:])
