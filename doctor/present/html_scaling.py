"""The plot of thread scaling: what the search saw of each thread count in each place, and what was confirmed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import median

import msgspec

from doctor.measure.units import DEFAULT, Measured, Setting, log_seconds
from doctor.measure.verdict import gain_of
from doctor.present.html_plot import (
    Band,
    Mark,
    Plot,
    Point,
    Series,
    count_axis,
    credible,
    credible_log,
    linear_axis,
    measurable,
)
from doctor.present.language import joined, phrase, say
from doctor.present.text import plural
from doctor.present.tune_words import gain_words, percent, signed_percent
from doctor.tune.arms import threads_of
from doctor.tune.confirm import Confirmation
from doctor.tune.result import TuneResult

_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_DYNAMIC")
_MOST_THREADS = 65536
_PLACE = re.compile(r"threads-\d+-(?P<place>[a-z0-9-]+)")
_PLACES: tuple[tuple[str, str], ...] = (
    (r"ccx(?P<number>\d+)", phrase("inside CCX {number}")),
    (r"ccx\d+-\d+", phrase("on several CCX")),
    (r"spread\d+", phrase("spread over the CCX")),
    (r"fast", phrase("on the fast cores")),
    (r"package\d+", phrase("on one socket")),
    (r"first-siblings", phrase("one thread a core, siblings idle")),
)


def _no_mask() -> str:
    return say("no mask: the system places them")


class Estimate(msgspec.Struct, frozen=True):
    """What the search saw of one arm, as a gain in throughput against the default of the same rounds. `low` and `high`
    are the worst and the best round, None where the rounds are not kept, or there was only one."""

    name: str
    threads: int
    place: str
    cpus: str
    rounds: int
    gain: float
    low: float | None = None
    high: float | None = None


def scaling_plot(result: TuneResult, samples: Sequence[Measured]) -> Plot | None:
    """None where no thread count was measured."""
    found = estimates(result, samples)
    default = result.plan.default_threads or _default_threads(samples)
    default = default if _is_count(default) else None
    confirmed = [point for candidate in result.candidates if (point := _confirmed(candidate, result)) is not None]
    if not found and not confirmed:
        return None
    series = _series(found, default)
    if confirmed:
        series.append(Series(say("confirmed, with its 95 % interval"), tuple(confirmed), joined=False))
    points = [point for each in series for point in each.points]
    heights = [value for point in points for value in (point.y, point.low, point.high) if value is not None]
    again = result.repeatability
    within = again.within if again is not None and credible(again.within) else None
    band = Band(-100 * within, 100 * within) if within is not None else None
    heights += [0.0, *((band.low, band.high) if band else ())]
    return Plot(
        name="scaling",
        title=say("Thread counts and where they run"),
        said=_said(found, result),
        x=count_axis(say("threads"), [round(2**point.x) for point in points]),
        y=linear_axis(say("against the default"), heights, "{:+g} %"),
        series=tuple(series),
        header=(
            say("Threads"), say("Where"), say("CPUs"), say("Rounds"), say("Estimate"), say("Worst and best round"),
        ),
        rows=tuple(_row(each) for each in found),
        band=band,
        rule_y=Mark(0.0, say("the default")),
        notes=tuple(_notes(result)),
    )  # fmt: skip


def _notes(result: TuneResult) -> list[str]:
    again = result.repeatability
    notes = []
    if again is not None:
        within = percent(again.within)
        notes.append(say("Grey strip: this machine repeats itself within ±{within}.", within=within))
    return [
        *notes,
        say("The search chooses and claims nothing: its dots are the median over the rounds, their bars the worst and "
            "the best round. Only what was confirmed in fresh pairs counts."),
    ]  # fmt: skip


def _said(found: Sequence[Estimate], result: TuneResult) -> str:
    text = say("Throughput of each thread count against the default, in percent, by where the threads run.")
    if not found:
        return text
    best = max(found, key=lambda each: each.gain)
    seen = joined([plural(best.threads, "thread"), best.place, signed_percent(best.gain)])
    text += " " + say("Best in the search: {setting}.", setting=seen)
    first = next(iter(result.candidates), None)
    if first is None:
        return text
    proved = joined([gain_words(first.verdict), say(first.verdict.word)])
    return f"{text} {say('Confirmed: {gain}.', gain=proved)}"


def _confirmed(candidate: Confirmation, result: TuneResult) -> Point | None:
    threads, verdict = threads_of(candidate.setting), candidate.verdict
    threads = threads or result.plan.default_threads
    bounds = [bound for bound in (verdict.gain_low, verdict.gain_high) if bound is not None]
    if not _is_count(threads) or not all(map(credible, (verdict.gain, *bounds))):
        return None
    assert threads is not None and verdict.gain is not None
    setting = joined([plural(threads, "thread"), *([] if candidate.setting.cpus else [say("no mask")])])
    gain = joined([gain_words(verdict), say(verdict.word)])
    said = say("confirmed, {setting}: {gain}", setting=setting, gain=gain)
    low, high = (None if bound is None else 100 * bound for bound in (verdict.gain_low, verdict.gain_high))
    return Point(math.log2(threads), 100 * verdict.gain, said, low, high, confirmed=True)


def _series(found: Sequence[Estimate], default: int | None) -> list[Series]:
    places: dict[str, list[Point]] = {}
    if default is not None and found:
        said = joined([say("the default"), plural(default, "thread")])
        places[_no_mask()] = [Point(math.log2(default), 0.0, said)]
    for each in found:
        places.setdefault(each.place, []).append(_point(each))
    order = sorted(places, key=lambda place: (place != _no_mask(), -len(places[place]), place))
    return [Series(place, tuple(sorted(places[place], key=lambda point: point.x))) for place in order]


def _point(each: Estimate) -> Point:
    rounds = f" ({plural(each.rounds, 'round')})" if each.rounds else ""
    said = f"{joined([plural(each.threads, 'thread'), each.place])}: {signed_percent(each.gain)}{rounds}"
    low, high = (None if value is None else 100 * value for value in (each.low, each.high))
    return Point(math.log2(each.threads), 100 * each.gain, said, low, high)


def _row(each: Estimate) -> tuple[str, ...]:
    span = ""
    if each.low is not None and each.high is not None:
        span = say("{low} to {high}", low=signed_percent(each.low), high=signed_percent(each.high))
    return str(each.threads), each.place, each.cpus or say("all"), str(each.rounds), signed_percent(each.gain), span


def estimates(result: TuneResult, samples: Sequence[Measured]) -> tuple[Estimate, ...]:
    """Of every arm that differs from the default in threads and placement alone. From the units where those are kept,
    else from the reports of the search."""
    settings = {arm.name: arm.setting for arm in result.plan.arms}
    settings |= {each.unit.arm: each.unit.setting for each in samples if each.unit.stage == "search"}
    rounds = _gains_by_round(result, samples)
    found = []
    for report in result.arms:
        setting = settings.get(report.name, Setting())
        threads = threads_of(setting)
        if not _is_count(threads) or setting.options or set(setting.variables) - set(_COUNTS):
            continue
        assert threads is not None
        gains = rounds.get(report.name, [])
        if gains:
            low, high = (min(gains), max(gains)) if len(gains) > 1 else (None, None)
            seen = Estimate(report.name, threads, "", setting.cpus or "", len(gains), median(gains), low, high)
        elif report.log_ratio is not None and credible_log(report.log_ratio):
            seen = Estimate(report.name, threads, "", setting.cpus or "", report.rounds, gain_of(report.log_ratio))
        else:
            continue
        if all(map(credible, (seen.gain, *(bound for bound in (seen.low, seen.high) if bound is not None)))):
            found.append(msgspec.structs.replace(seen, place=_place(report.name, setting)))
    return tuple(sorted(found, key=lambda each: (each.place != _no_mask(), each.place, each.threads)))


def _is_count(threads: int | None) -> bool:
    return threads is not None and 1 <= threads <= _MOST_THREADS


def _gains_by_round(result: TuneResult, samples: Sequence[Measured]) -> dict[str, list[float]]:
    """Of each arm its gain in every round in which it and the default ran."""
    times: dict[int, dict[str, float]] = {}
    for each in samples:
        unit = each.unit
        if unit.stage == "search" and not unit.variants and _whole(each, result.plan.workloads):
            times.setdefault(unit.round, {})[unit.arm] = log_seconds(each.result, result.plan.workloads)
    gains: dict[str, list[float]] = {}
    for row in times.values():
        for arm, seconds in row.items():
            if arm != DEFAULT and DEFAULT in row and credible_log(seconds - row[DEFAULT]):
                gains.setdefault(arm, []).append(gain_of(seconds - row[DEFAULT]))
    return gains


def _whole(each: Measured, workloads: Sequence[str]) -> bool:
    """Whether every workload of a unit was timed, with times that can be some."""
    times = {timing.workload: (*timing.seconds, timing.items) for timing in each.result.timings if timing.seconds}
    return each.result.outcome == "ok" and all(
        name in times and all(map(measurable, times[name])) for name in workloads
    )


def _default_threads(samples: Sequence[Measured]) -> int | None:
    return next((each.result.threads for each in samples if each.unit.arm == DEFAULT and each.result.threads), None)


def _place(name: str, setting: Setting) -> str:
    if setting.cpus is None:
        return _no_mask()
    found = _PLACE.match(name)
    place = found["place"] if found else ""
    for pattern, words in _PLACES:
        match = re.fullmatch(pattern, place)
        if match:
            return say(words, **match.groupdict())
    return place or say("on some CPUs")

