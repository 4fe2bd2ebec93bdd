"""An experiment whose machine is a table of speeds, whose noise is a series, and whose clock is a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from doctor.measure.units import Readings, Setting, Timing, Unit, UnitResult

#: log(seconds) of each workload under a setting.
Truth = Callable[[Setting], Mapping[str, float]]

#: log(seconds per item) that options of the worker add: a batch, autocast. 0 for none.
Options = Callable[[Mapping[str, str]], float]

#: Of the cost of a unit, the import of torch: what a process costs before it times anything.
PROCESS_SECONDS = 1.4
#: The workload's own batch, and the memory of the process with a batch.
OWN_BATCH = 32
_BYTES, _BYTES_PER_ITEM = 300_000_000, 1_000_000

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
        noise: Iterator[tuple[float, Sequence[float]]],
        heat: Heat | None = None,
        *,
        unit_seconds: float = UNIT_SECONDS,
        clock_seconds: float = 0.0,
        options: Options = lambda options: 0.0,
    ) -> None:
        self._truth, self._noise, self._heat, self._unit_seconds = truth, noise, heat, unit_seconds
        self._options = options
        self.clock_seconds = clock_seconds

    def measure(self, unit: Unit) -> UnitResult:
        (residual, within), readings = next(self._noise), Readings()
        if self._heat is not None:
            hot = self._heat.is_hot(self.clock_seconds)
            readings = self._heat.readings(hot)
            residual += math.log(self._heat.slowdown) if hot else 0.0
        truth = self._truth(unit.setting)
        if unit.variants:
            cost, timings = self._variants(unit, truth, residual, within)
        else:
            own = residual + self._options(unit.setting.options)
            timings = tuple(_timing(name, truth[name] + own, OWN_BATCH, "") for name in unit.workloads)
            cost = self._unit_seconds
        self.clock_seconds += cost
        return UnitResult("ok", cost, timings, readings)

    def _variants(
        self, unit: Unit, truth: Mapping[str, float], residual: float, within: Sequence[float]
    ) -> tuple[float, tuple[Timing, ...]]:
        """Each timing has its own place in the noise of its process."""
        places, timings = cycle(within), []
        for variant in unit.variants:
            for name in variant.workloads or unit.workloads:
                options = {**unit.setting.options, **variant.options}
                seconds = truth.get(name, 0.0) + residual + next(places) + self._options(options)
                timings.append(_timing(name, seconds, int(options.get("batch", OWN_BATCH)), variant.name))
        own = (self._unit_seconds - PROCESS_SECONDS) / len(truth)
        return PROCESS_SECONDS + own * len(timings), tuple(timings)


def _timing(name: str, log_seconds: float, batch: int, variant: str) -> Timing:
    peak = _BYTES + _BYTES_PER_ITEM * batch
    seconds = math.exp(log_seconds) * batch
    return Timing(name, (seconds,), items=batch, variant=variant, peak_resident_bytes=peak)
