"""Noise between processes: recorded, in its recorded order, or the project's own small series where none is at hand."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, pstdev

Residuals = tuple[float, ...]


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
