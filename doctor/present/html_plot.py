"""What a plot is, apart from how it is drawn: points with intervals, axes with marks, and the same as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec


class Point(msgspec.Struct, frozen=True):
    """`low` and `high`: its interval, along y or, in a plot with rows, along x; None where there is none. `said`: the
    words over the dot. `label`: a short name beside it, where there is room."""

    x: float
    y: float
    said: str
    low: float | None = None
    high: float | None = None
    confirmed: bool = False
    label: str = ""


class Series(msgspec.Struct, frozen=True):
    """Points in the order of drawing. `joined`: by a line. `roof`: a bound, drawn without dots."""

    name: str
    points: tuple[Point, ...]
    joined: bool = True
    roof: bool = False

    @property
    def confirmed(self) -> bool:
        return any(point.confirmed for point in self.points)


class Mark(msgspec.Struct, frozen=True):
    """A place on an axis, in the units that are drawn, and what is written there."""

    at: float
    text: str


class Axis(msgspec.Struct, frozen=True):
    title: str
    marks: tuple[Mark, ...]
    low: float
    high: float


class Band(msgspec.Struct, frozen=True):
    """A strip between two heights over the whole width."""

    low: float
    high: float


#: What can be a time, a speed or a count of a machine, in any of its units. A saved result may hold anything.
_SMALLEST, _LARGEST = 1e-15, 1e21
#: More than this a gain or a ratio cannot be.
_LARGEST_GAIN = 1e4


def measurable(value: float | None) -> bool:
    """Whether a number can be a measurement: positive, and neither tiny nor huge beyond reason."""
    return value is not None and _SMALLEST <= value <= _LARGEST


def credible(gain: float | None) -> bool:
    """Whether a number can be a gain in throughput."""
    return gain is not None and -1 < gain <= _LARGEST_GAIN


def credible_log(log_ratio: float | None) -> bool:
    """The same of the logarithm of a ratio of times."""
    return log_ratio is not None and abs(log_ratio) <= math.log(_LARGEST_GAIN)


class Plot(msgspec.Struct, frozen=True):
    """A plot, and everything that says the same without one.

    Axes may be logarithmic: then points, marks and limits hold the logarithms. `rule_x` and `rule_y` are lines that
    stand for a value to compare with. `across`: the intervals lie along x, and rows have names instead of heights.
    """

    name: str  # for ids
    title: str
    said: str  # what it shows, in a sentence or two: stands beneath the title, and is its description
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    band: Band | None = None
    rule_x: Mark | None = None
    rule_y: Mark | None = None
    across: bool = False
    notes: tuple[str, ...] = ()


#: Between powers of ten, from fine to coarse.
_FACTORS = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,))


def log_axis(title: str, values: Sequence[float], *, most: int = 8) -> Axis:
    """An axis of decimal logarithms, with as many round marks as have room. The limits leave room beside the outermost
    values."""
    low, high = math.log10(min(values)), math.log10(max(values))
    pad = max((high - low) * 0.05, 0.06)
    powers = range(math.floor(low - pad), math.ceil(high + pad) + 1)
    inside: list[tuple[float, float]] = []
    for factors in _FACTORS:
        marks = [(power + math.log10(factor), factor * 10.0**power) for power in powers for factor in factors]
        inside = [(at, value) for at, value in marks if low - pad <= at <= high + pad]
        if len(inside) <= most:
            break
    step = -(-len(inside) // most) or 1
    return Axis(title, tuple(Mark(at, number(value)) for at, value in inside[::step]), low - pad, high + pad)


#: Ratios that are worth a mark.
_RATIOS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0)


def ratio_axis(title: str, ratios: Sequence[float]) -> Axis:
    """A logarithmic axis to the base 2 of ratios, 1 always on it."""
    low, high = (math.log2(bound(1.0, *ratios)) for bound in (min, max))
    pad = max((high - low) * 0.08, 0.12)
    marks = [Mark(math.log2(each), f"{each:g}×") for each in _RATIOS if low - pad <= math.log2(each) <= high + pad]
    step = -(-len(marks) // 8)
    kept = marks if step == 1 else [mark for mark in marks if mark.at == int(mark.at)]
    return Axis(title, tuple(kept), low - pad, high + pad)


def count_axis(title: str, counts: Sequence[int]) -> Axis:
    """A logarithmic axis with a mark at each count that was measured; what draws it leaves out what has no room."""
    marks = tuple(Mark(math.log2(count), str(count)) for count in sorted(set(counts)))
    low, high = math.log2(min(counts)), math.log2(max(counts))
    pad = max((high - low) * 0.05, 0.3)
    return Axis(title, marks, low - pad, high + pad)


def linear_axis(title: str, values: Sequence[float], text: str = "{:g}", *, about: int = 6) -> Axis:
    """Marks at round steps, about as many as asked for."""
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0
    rough = span / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    marks = tuple(Mark(at * step, text.format(round(at * step, 10)) if at else "0") for at in range(first, last + 1))
    return Axis(title, marks, first * step, last * step)


def thinned(marks: Sequence[Mark], least: float) -> tuple[Mark, ...]:
    """The marks that can stand `least` apart: whole numbers first, which on a logarithmic axis are the round ones."""
    kept: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.at != int(mark.at), mark.at)):
        if all(abs(mark.at - other.at) >= least for other in kept):
            kept.append(mark)
    return tuple(sorted(kept, key=lambda mark: mark.at))


def named_axis(names: Sequence[str]) -> Axis:
    """Rows from the top: the first name stands highest."""
    marks = tuple(Mark(float(len(names) - 1 - at), name) for at, name in enumerate(names))
    return Axis("", marks, -0.6, len(names) - 0.4)


def number(value: float) -> str:
    """Three digits that count: `1024`, `3.5k`, `0.25`."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            scaled = value / (1e3 if letter == "k" else size)
            return f"{scaled:.3g}{letter}" if scaled < 1000 else f"{scaled:.0f}{letter}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
