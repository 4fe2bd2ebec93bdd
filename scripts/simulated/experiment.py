"""An experiment whose machine is a table of speeds, whose noise is a series, and whose clock is a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from doctor.measure.units import Readings, Setting, Timing, Unit, UnitResult

#: log(seconds) of each workload under a setting.
Truth = Callable[[Setting], Mapping[str, float]]

#: What a unit costs, as measured on the machine of the recording: most of it the import of torch. With an optimizer,
#: which makes torch import its compiler, 3.6.
UNIT_SECONDS = 2.4
UNIT_SECONDS_WITH_OPTIMIZER = 3.6


@dataclass(frozen=True)
class Heat:
    """Hot and cool stretches that follow each other, the same for every setting. Hot, the clock falls in mid-unit."""

    period_seconds: float
    hot_share: float
    slowdown: float

    def is_hot(self, at_seconds: float) -> bool:
        return at_seconds % self.period_seconds < self.hot_share * self.period_seconds

    def readings(self, hot: bool) -> Readings:
        clock = 4000.0
        low = clock / self.slowdown if hot else clock
        return Readings(clock_mhz=(clock, low), temperature_celsius=95.0 if hot else 70.0)


class SimulatedMachine:
    """Runs units at once. `clock_seconds` is how long they would have taken; it starts where the heat is then."""

    def __init__(
        self,
        truth: Truth,
        noise: Iterator[float],
        heat: Heat | None = None,
        *,
        unit_seconds: float = UNIT_SECONDS,
        clock_seconds: float = 0.0,
    ) -> None:
        self._truth, self._noise, self._heat, self._unit_seconds = truth, noise, heat, unit_seconds
        self.clock_seconds = clock_seconds

    def measure(self, unit: Unit) -> UnitResult:
        residual, readings = next(self._noise), Readings()
        if self._heat is not None:
            hot = self._heat.is_hot(self.clock_seconds)
            readings = self._heat.readings(hot)
            residual += math.log(self._heat.slowdown) if hot else 0.0
        self.clock_seconds += self._unit_seconds
        truth = self._truth(unit.setting)
        timings = tuple(Timing(name, (math.exp(truth[name] + residual),)) for name in unit.workloads)
        return UnitResult("ok", self._unit_seconds, timings, readings)
