"""The plot of bfloat16 beside float32."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from doctor.measure.statistics import Paired
from doctor.measure.units import DEFAULT
from doctor.measure.verdict import PRINTED_ALPHA
from doctor.present.html_plot import Mark, Plot, Point, Series, credible, named_axis, ratio_axis
from doctor.present.html_samples import Sample
from doctor.present.language import joined, say
from doctor.present.tune_words import workload_words
from doctor.tune.recommendation import Recommendation

_BFLOAT16 = "bfloat16"


class _Ratio(msgspec.Struct, frozen=True):
    """Speed in bfloat16 as a multiple of that in float32. `count`: the pairs or processes behind it."""

    name: str
    ratio: float
    low: float | None
    high: float | None
    count: int


def dtype_plot(samples: Sequence[Sample], recommended: Sequence[Recommendation] = ()) -> Plot | None:
    """bfloat16 against float32 of the same work in the same process, with the same setting otherwise.

    What a recommendation claims comes from pairs; beside it stand products that both kinds were timed of.
    """
    claimed = [row for each in recommended if each.axis == "dtype" for row in _claimed(each)]
    seen = [_seen(name, ratios) for name, ratios in _bfloat16_ratios(samples, variants=not claimed).items()]
    found = [*claimed, *seen]
    if not found:
        return None
    names = [row.name for row in found]
    points = []
    for at, row in enumerate(found):
        low, high = (None if bound is None else math.log2(bound) for bound in (row.low, row.high))
        said = say("{work}: bfloat16 is {ratio} as fast as float32", work=row.name, ratio=_times(row.ratio))
        points.append(Point(math.log2(row.ratio), float(len(found) - 1 - at), said, low, high))
    values = [2**value for point in points for value in (point.x, point.low, point.high) if value is not None]
    slower = [row.name for row in found if row.ratio < 1]
    return Plot(
        name="dtype",
        title=say("bfloat16 against float32"),
        said=_said(slower),
        x=ratio_axis(say("speed of bfloat16 against float32"), values),
        y=named_axis(names),
        series=(Series(say("bfloat16 against float32"), tuple(points), joined=False),),
        header=(say("Work"), say("bfloat16 against float32"), say("Interval"), say("Pairs")),
        rows=tuple((row.name, _times(row.ratio), _span(row), str(row.count)) for row in found),
        rule_x=Mark(0.0, say("the same")),
        across=True,
        notes=(say("Bars: the 95 % interval where six pairs or more allow one, else the lowest and the highest."),),
    )


def _said(slower: Sequence[str]) -> str:
    text = say("How fast each piece of work is in bfloat16, as a multiple of float32. Right of the line it leads.")
    if slower:
        return f"{text} {say('Slower in bfloat16: {work}.', work=joined(slower))}"
    return f"{text} {say('Nothing is slower in bfloat16.')}"


def _claimed(row: Recommendation) -> list[_Ratio]:
    """One for each workload, or one for all where they were not judged apart."""
    verdicts = row.by_workload or ({", ".join(row.workloads): row.verdict} if row.verdict else {})
    return [
        _Ratio(
            workload_words(name), 1 + verdict.gain,
            None if verdict.gain_low is None else 1 + verdict.gain_low,
            None if verdict.gain_high is None else 1 + verdict.gain_high, verdict.pairs,
        )
        for name, verdict in verdicts.items()
        if verdict.gain is not None
        and all(credible(gain) for gain in (verdict.gain, verdict.gain_low, verdict.gain_high) if gain is not None)
    ]  # fmt: skip


def _bfloat16_ratios(samples: Sequence[Sample], *, variants: bool) -> dict[str, list[float]]:
    """seconds of float32 / seconds of bfloat16, by work, one for each process that timed both. `variants`: also of
    work that autocast put into bfloat16."""
    seconds: dict[tuple[int, str, bool], float] = {}
    for sample in samples:
        autocast = sample.options.get("autocast") == _BFLOAT16
        if sample.timing.failed or (autocast and not variants) or sample.stage == "roofline":
            continue
        if sample.arm != DEFAULT and not (variants and sample.timing.variant):
            continue
        batch = f", batch {sample.options['batch']}" if "batch" in sample.options else ""
        where = "" if sample.device == "cpu" else f" on {sample.device}"
        work = workload_words(sample.workload.replace("-bf16", "")) + where + batch
        seconds.setdefault((sample.unit, work, autocast or "-bf16" in sample.workload), sample.seconds)
    ratios: dict[str, list[float]] = {}
    for (unit, work, half), own in seconds.items():
        plain = seconds.get((unit, work, False))
        if half and plain is not None and credible(plain / own) and credible(own / plain):
            ratios.setdefault(work, []).append(plain / own)
    return ratios


def _seen(name: str, ratios: Sequence[float]) -> _Ratio:
    paired = Paired([math.log(ratio) for ratio in ratios])
    if len(ratios) < 2:
        return _Ratio(name, ratios[0], None, None, 1)
    bounds, _ = paired.widest(PRINTED_ALPHA)
    return _Ratio(name, math.exp(paired.estimate), math.exp(bounds.low), math.exp(bounds.high), len(ratios))


def _span(row: _Ratio) -> str:
    return "" if row.low is None or row.high is None else say(
        "{low} to {high}", low=_times(row.low), high=_times(row.high)
    )


def _times(ratio: float) -> str:
    return f"{ratio:.3g}×" if ratio < 100 else f"{ratio:.0f}×"
