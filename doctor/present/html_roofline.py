"""The roofline: how much of what memory and arithmetic units allow each piece of work reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import msgspec

from doctor.machine.model import Machine
from doctor.measure.units import DEFAULT
from doctor.present.html_plot import Mark, Plot, Point, Series, linear_axis, log_axis, measurable, named_axis, number
from doctor.present.html_samples import Sample
from doctor.present.language import say
from doctor.present.text import plural
from doctor.present.tune_advice import roof_words
from doctor.present.tune_words import workload_words
from doctor.tune.recommendation import Roof as RoofRow

_TRIAD = "triad"
#: A measured speed may lie above what was taken for the peak, but not that far.
_LARGEST_SHARE = 100.0


class Roof(msgspec.Struct, frozen=True):
    """A bound: of arithmetic in one kind of number in flop/s, or of memory in bytes/s. `measured`: it is no peak of
    the hardware, but the best that was seen."""

    name: str
    per_second: float
    kind: str  # memory float32 bfloat16
    measured: bool = False


def roofline_plot(machine: Machine, samples: Sequence[Sample], rows: Sequence[RoofRow] = ()) -> Plot | None:
    """`rows`: what the run compared with the peaks that the facts imply; the best of what was measured joins them.

    Without units that tell how much they moved, the shares of those rows alone are drawn. None where there are none.
    """
    rows = [row for row in rows if _is_sound(row)]
    work = _work(samples)
    memory, peaks = _memory_roofs(machine, samples, rows), _peaks(rows)
    compute = [*peaks, *_best_measured(work, {peak.kind for peak in peaks})]
    if not work or not memory or not compute:
        return _shares_plot(rows)
    left = min(intensity for intensity, _ in work.values()) / 4
    right = max(intensity for intensity, _ in work.values()) * 4
    lines = [_memory_line(roof, left, right, max(each.per_second for each in compute)) for roof in memory]
    lines += [_flat_line(roof, max(each.per_second for each in memory), right) for roof in compute]
    kinds = dict.fromkeys(_kind(name) for name in work)
    measured = [_measured(kind, {name: of for name, of in work.items() if _kind(name) == kind}) for kind in kinds]
    heights = [10**point.y for line in (*measured, *lines) for point in line.points]
    return Plot(
        name="roofline",
        title=say("Roofline"),
        said=say(
            "Speed of each piece of work, over how much it computes for each byte that it moves; both axes are "
            "logarithmic. The rising lines are what memory allows, the flat ones what arithmetic allows: what lies far "
            "below both leaves speed unused."
        ),
        x=log_axis(say("floating-point operations for each byte moved"), [left, right]),
        y=log_axis("GFLOP/s", [height / 1e9 for height in heights]),
        series=tuple(_giga(line) for line in (*measured, *lines)),
        header=(say("Work"), say("Operations a byte"), "GFLOP/s", say("Of what is allowed")),
        rows=tuple(
            (name, number(intensity), number(rate / 1e9), _share(_kind(name), intensity, rate, [*memory, *compute]))
            for name, (intensity, rate) in work.items()
        ),
        notes=tuple(f"{roof_words(row)}." for row in rows),
    )


def _is_sound(row: RoofRow) -> bool:
    known = (each for each in (row.per_second, row.peak_per_second) if each is not None)
    return all(map(measurable, known)) and (row.share is None or 0 <= row.share <= _LARGEST_SHARE)


def _shares_plot(rows: Sequence[RoofRow]) -> Plot | None:
    """What was reached of each peak that is known."""
    known = [(f"{workload_words(row.workload)}, {_threads(row.threads)}", row) for row in rows if row.share is not None]
    if not known:
        return None
    points = tuple(
        Point(100 * (row.share or 0.0), float(len(known) - 1 - at), f"{name}: {row.share or 0.0:.0%}")
        for at, (name, row) in enumerate(known)
    )
    return Plot(
        name="roofline",
        title=say("Measured against the peak"),
        said=say("How much of what the hardware allows each piece of work reached, in percent."),
        x=linear_axis(say("of the peak"), [0.0, 100.0, *(point.x for point in points)], "{:g} %"),
        y=named_axis([name for name, _ in known]),
        series=(Series(say("of the peak"), points, joined=False),),
        header=(say("Work"), say("Measured, a second"), say("Peak, a second"), say("Share")),
        rows=tuple((name, number(row.per_second), number(row.peak_per_second or 0.0), f"{row.share or 0.0:.0%}")
                   for name, row in known),
        rule_x=Mark(100.0, say("the peak")),
        across=True,
        notes=tuple(f"{roof_words(row)}." for row in rows),
    )  # fmt: skip


def _peaks(rows: Sequence[RoofRow]) -> list[Roof]:
    """The peaks of arithmetic that the run counted."""
    return [
        Roof(say("arithmetic in float32, {threads}", threads=_threads(row.threads)), row.peak_per_second, "float32")
        for row in rows
        if row.unit == "FLOP" and row.peak_per_second
    ]


def _threads(count: int | None) -> str:
    return say("all threads") if count is None else plural(count, "thread")


def _kind(name: str) -> str:
    return "bfloat16" if "bf16" in name else "float32"


def _measured(kind: str, work: dict[str, tuple[float, float]]) -> Series:
    points = tuple(
        Point(
            math.log10(intensity), math.log10(rate), f"{name}: {number(rate / 1e9)} GFLOP/s",
            label=name.replace(" bf16", ""),
        )
        for name, (intensity, rate) in work.items()
    )  # fmt: skip
    return Series(say("measured in {kind}", kind=kind), points, joined=False)


def _work(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """Of each piece of work its operations for each byte, and the median of its operations for each second."""
    rates: dict[str, list[float]] = {}
    intensity: dict[str, float] = {}
    for sample in samples:
        timing = sample.timing
        own = sample.stage == "roofline" or (sample.arm == DEFAULT and not sample.options)
        if not own or timing.failed or not timing.flop or not timing.moved_bytes:
            continue
        if not all(map(measurable, (timing.flop, timing.moved_bytes, timing.flop / sample.seconds))):
            continue
        name = workload_words(sample.workload) + (f", {sample.arm}" if sample.stage == "roofline" else "")
        rates.setdefault(name, []).append(timing.flop / sample.seconds)
        intensity[name] = timing.flop / timing.moved_bytes
    return {name: (intensity[name], median(values)) for name, values in rates.items()}


def _memory_roofs(machine: Machine, samples: Sequence[Sample], rows: Sequence[RoofRow]) -> list[Roof]:
    """The peak by the modules, and the best that was measured."""
    peaks = [row.peak_per_second for row in rows if row.unit == "bytes" and row.peak_per_second]
    peak = next(iter(peaks), None) or (machine.memory.peak_bytes_per_second if machine.memory else None)
    rates = [row.per_second for row in rows if row.unit == "bytes"] or [
        sample.timing.moved_bytes / sample.seconds
        for sample in samples
        if sample.workload == _TRIAD and sample.arm == DEFAULT and sample.timing.moved_bytes
        and not sample.timing.failed
    ]  # fmt: skip
    roofs = [Roof(say("memory, by its modules"), float(peak), "memory")] if peak and measurable(peak) else []
    rates = [rate for rate in rates if measurable(rate)]
    return [*roofs, Roof(say("memory, measured"), max(rates), "memory", measured=True)] if rates else roofs


def _best_measured(work: dict[str, tuple[float, float]], known: set[str]) -> list[Roof]:
    """Of each kind of number without a peak the fastest work, as the bound of its arithmetic."""
    roofs = []
    for kind in dict.fromkeys(_kind(name) for name in work if _kind(name) not in known):
        best = max((name for name in work if _kind(name) == kind), key=lambda name: work[name][1])
        name = say("arithmetic in {kind}, best measured ({work})", kind=kind, work=best)
        roofs.append(Roof(name, work[best][1], kind, measured=True))
    return roofs


def _memory_line(roof: Roof, left: float, right: float, ceiling: float) -> Series:
    ends = [x for x in (left, min(ceiling / roof.per_second, right)) if x > 0]
    points = tuple(Point(math.log10(x), math.log10(x * roof.per_second), roof.name) for x in ends)
    return Series(f"{roof.name}: {number(roof.per_second / 1e9)} GB/s", points, roof=True)


def _flat_line(roof: Roof, memory: float, right: float) -> Series:
    start = min(roof.per_second / memory, right)
    points = tuple(Point(math.log10(x), math.log10(roof.per_second), roof.name) for x in (start, right))
    return Series(f"{roof.name}: {number(roof.per_second / 1e9)} GFLOP/s", points, roof=True)


def _giga(series: Series) -> Series:
    return msgspec.structs.replace(
        series, points=tuple(msgspec.structs.replace(point, y=point.y - 9) for point in series.points)
    )


def _share(kind: str, intensity: float, rate: float, roofs: Sequence[Roof]) -> str:
    """The part of the lower bound, where both are peaks of the hardware; empty where that would compare a measurement
    with itself."""
    peaks = [roof for roof in roofs if not roof.measured]
    memory = [roof.per_second for roof in peaks if roof.kind == "memory"]
    compute = [roof.per_second for roof in peaks if roof.kind == kind]
    if not memory or not compute:
        return ""
    return f"{rate / min(max(compute), intensity * max(memory)):.0%}"
