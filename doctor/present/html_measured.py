"""What the page says of a run of `tune`: its verdicts, its plots, and how well the machine repeats itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.machine.model import Machine
from doctor.measure.units import Measured
from doctor.measure.verdict import gain_of
from doctor.present.html_batch import size_plots
from doctor.present.html_dtype import dtype_plot
from doctor.present.html_plot import Plot, credible_log
from doctor.present.html_roofline import roofline_plot
from doctor.present.html_samples import samples_of
from doctor.present.html_scaling import scaling_plot
from doctor.present.language import joined, phrase, say
from doctor.present.status import ERROR, WARNING, Status
from doctor.present.text import plural
from doctor.present.tune_advice import has_code, not_tried_titles, sentence, status_of
from doctor.present.tune_devices import devices_sentences, memory_sentences
from doctor.present.tune_devices_words import named
from doctor.present.tune_elsewhere import measured_elsewhere
from doctor.present.tune_ending import conclusion
from doctor.present.tune_table import not_tried_words, titles_of
from doctor.present.tune_words import (
    gain_words,
    percent,
    seconds_words,
    setting_words,
    signed_percent,
    verdict_words,
    workload_words,
    workloads_words,
)
from doctor.tune.devices.findings import problems_of
from doctor.tune.devices.result import DevicesResult
from doctor.tune.recommendation import Recommendation, TuneFinding
from doctor.tune.result import TuneResult

_FATES = {
    "chosen": phrase("chosen"),
    "left": phrase("stayed to the end"),
    "out": phrase("out"),
    "failed": phrase("failed"),
}


class Claim(msgspec.Struct, frozen=True):
    """One row of what was confirmed; `part` marks a row about one workload of the row above."""

    setting: str
    gain: str
    word: str
    pairs: int
    part: bool = False


class Tried(msgspec.Struct, frozen=True):
    setting: str
    estimate: str
    rounds: int
    fate: str


class Advice(msgspec.Struct, frozen=True):
    """What no variable sets. `code`: the lines that do it, where that was shown to help."""

    title: str
    status: Status
    says: str
    detail: str
    code: tuple[str, ...]


class Problem(msgspec.Struct, frozen=True):
    """What a device does wrong."""

    device: str
    status: Status
    says: str


class MeasuredView(msgspec.Struct, frozen=True):
    sentences: tuple[str, ...]
    about: str
    claims: tuple[Claim, ...]
    repeats: str
    disturbed: tuple[str, ...]
    devices: tuple[str, ...]
    problems: tuple[Problem, ...]
    memory: tuple[str, ...]
    memory_settings: tuple[str, ...]
    plots: tuple[Plot, ...]
    advice: tuple[Advice, ...]
    findings: tuple[TuneFinding, ...]
    tried: tuple[Tried, ...]
    not_tried: tuple[str, ...]


def measured_view(machine: Machine, result: TuneResult, measured: Sequence[Measured]) -> MeasuredView:
    """`measured`: the units of the same run, () where they were not kept; then what needs them is left out."""
    samples = list(samples_of(measured))
    advised, devices, memory = result.recommendations, result.devices, result.igpu_memory
    plots = [scaling_plot(result, measured), *size_plots(result), dtype_plot(samples, advised)]
    plots.append(roofline_plot(machine, samples, result.roofline))
    processes = plural(result.units, "process", "processes")
    about = say(
        "Measured with {processes} in {time}, on {workloads}.",
        processes=processes,
        time=seconds_words(result.spent_seconds),
        workloads=workloads_words(result.plan.workloads),
    )
    return MeasuredView(
        sentences=conclusion(result),
        about=" ".join(sentence for sentence in (about, measured_elsewhere(machine, result)) if sentence),
        claims=tuple(_claims(result)),
        repeats=_repeats(result),
        disturbed=result.disturbances,
        devices=tuple(devices_sentences(devices)) if devices is not None else (),
        problems=tuple(_problems(devices)) if devices is not None else (),
        memory=tuple(memory_sentences(memory)) if memory is not None else (),
        memory_settings=memory.settings if memory is not None else (),
        plots=tuple(plot for plot in plots if plot is not None),
        advice=tuple(_advice(row) for row in sorted(advised, key=_last) if row.fate != "not-tried"),
        findings=result.findings,
        tried=tuple(_tried(result)),
        not_tried=(*not_tried_words(result.arms, titles_of(result)), *not_tried_titles(result)),
    )


def _problems(found: DevicesResult) -> Iterator[Problem]:
    for report in found.reports:
        for problem in problems_of(report):
            yield Problem(named(report), ERROR if problem.breaks else WARNING, problem.words)


def _claims(result: TuneResult) -> list[Claim]:
    rows = []
    for candidate in result.candidates:
        name = setting_words(candidate.setting)
        if candidate.setting.cpus is None and len(result.candidates) > 1:
            name = joined([name, say("no mask")])
        verdict = candidate.verdict
        rows.append(Claim(name, gain_words(verdict), verdict_words(candidate), verdict.pairs))
        if len(result.plan.workloads) > 1:
            for workload, own in candidate.by_workload.items():
                part = say("on {workload}", workload=workload_words(workload))
                rows.append(Claim(part, gain_words(own), say(own.word), own.pairs, part=True))
    return rows


def _repeats(result: TuneResult) -> str:
    again = result.repeatability
    if again is None:
        return ""
    within, pairs = percent(again.within), plural(again.pairs, "pair")
    text = say("This machine repeats itself within ±{within} ({pairs} of the default with itself).",
               within=within, pairs=pairs)  # fmt: skip
    return f"{text} {say('It drifts: later runs differ from earlier ones.')}" if again.drifts else text


def _tried(result: TuneResult) -> list[Tried]:
    titles = titles_of(result)
    rows = []
    for report in result.arms:
        if report.fate == "not-tried":
            continue
        known = report.log_ratio is not None and credible_log(report.log_ratio)
        estimate = signed_percent(gain_of(report.log_ratio)) if known and report.log_ratio is not None else ""
        fate = say(_FATES.get(report.fate, report.fate)) + (f": {report.detail}" if report.detail else "")
        rows.append(Tried(titles.get(report.name, report.name), estimate, report.rounds, fate))
    return rows


def _last(row: Recommendation) -> bool:
    """What has code to copy stands first."""
    return not has_code(row)


def _advice(row: Recommendation) -> Advice:
    status, says = status_of(row)
    code = (*row.code, *(f"{name}={value}" for name, value in row.variables.items())) if has_code(row) else ()
    detail = sentence(row.detail) if row.detail and (code or row.fate != "measured") else ""
    return Advice(row.title, status, says, detail, code)
