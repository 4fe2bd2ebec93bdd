"""Noise between processes: recorded, in its recorded order, or the project's own small series where none is at hand."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, pstdev

Residuals = tuple[float, ...]

#: Blocks that make one timing within a process: a fifth of a recorded process.
_BLOCKS = 3


@dataclass(frozen=True)
class Noise:
    """Log residuals of processes in their order, and for each process those of its timings, one after the other.

    `within` is about the median of its own process: what a process does to all of its timings is in `between`.
    """

    between: Residuals
    within: tuple[Residuals, ...]

    def scaled(self, sd: float) -> Noise:
        """The same noise with a standard deviation of `sd` between processes; within them, by the same factor."""
        factor = sd / pstdev(self.between)
        within = tuple(tuple(factor * value for value in timings) for timings in self.within)
        return Noise(scaled(self.between, sd), within)

    def from_start(self, start: int) -> Iterator[tuple[float, Residuals]]:
        """Process by process from `start` on, and round again."""
        return zip(from_start(self.between, start), _rows_from(self.within, start), strict=False)


def _rows_from(rows: Sequence[Residuals], start: int) -> Iterator[Residuals]:
    at = start
    while True:
        yield rows[at % len(rows)]
        at += 1


def recorded_noise(path: Path) -> Noise:
    """The noise of a recording: between its processes, and between stretches of the blocks of each."""
    within = []
    for seconds in json.loads(path.read_text(encoding="utf-8")):
        center = median(seconds)
        stretches = [seconds[at : at + _BLOCKS] for at in range(0, len(seconds) - _BLOCKS + 1, _BLOCKS)]
        within.append(tuple(math.log(median(stretch) / center) for stretch in stretches))
    return Noise(recorded(path), tuple(within))


def synthetic_noise(count: int = 96) -> Noise:
    """The project's own: within a process about two thirds of the noise between them, as in the recording."""
    draw = random.Random("synthetic noise within processes")
    between = synthetic(count)
    sd = 2 / 3 * pstdev(between)
    return Noise(between, tuple(tuple(draw.gauss(0, sd) for _ in range(5)) for _ in range(count)))


def recorded(path: Path) -> Residuals:
    """Log residuals of a recording of one setting run again and again: JSON, one list of seconds per process."""
    processes = [median(seconds) for seconds in json.loads(path.read_text(encoding="utf-8"))]
    center = median(processes)
    return tuple(math.log(seconds / center) for seconds in processes)


def synthetic(count: int = 96) -> Residuals:
    """The project's own series: slow wandering (neighbours correlate by about 0.5) and, one time in ten, a slow run."""
    draw = random.Random("synthetic residuals")
    level, series = 0.0, []
    for _ in range(count):
        level = 0.8 * level + draw.gauss(0, 1)
        series.append(level + (draw.uniform(2, 5) if draw.random() < 0.1 else 0.0))
    center = median(series)
    return tuple(value - center for value in series)


def scaled(residuals: Sequence[float], sd: float) -> Residuals:
    """The same series with a standard deviation of `sd`: 0.03 is 3 %."""
    factor = sd / pstdev(residuals)
    return tuple(value * factor for value in residuals)


def from_start(residuals: Sequence[float], start: int) -> Iterator[float]:
    """The series in its order, from `start` on and round again."""
    at = start
    while True:
        yield residuals[at % len(residuals)]
        at += 1
