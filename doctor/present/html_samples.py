"""The single timings of a run, with the options under which each was taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

import msgspec

from doctor.measure.units import Measured, Timing
from doctor.present.html_plot import measurable


class Sample(msgspec.Struct, frozen=True):
    """One timing, with the options that were in force and a name for the process that gave it."""

    unit: int
    stage: str
    arm: str
    workload: str
    options: Mapping[str, str]
    timing: Timing

    @property
    def device(self) -> str:
        return self.options.get("device", "cpu")

    @property
    def seconds(self) -> float:
        return median(self.timing.seconds)


def samples_of(measured: Sequence[Measured]) -> Iterator[Sample]:
    """Every timing of every unit that ended by itself."""
    for each in measured:
        variants = {variant.name: variant.options for variant in each.unit.variants}
        for timing in each.result.timings:
            options = {**each.unit.setting.options, **variants.get(timing.variant, {})}
            usable = each.result.outcome == "ok" and all(map(measurable, (*timing.seconds, timing.items)))
            if usable and (timing.seconds or timing.failed):
                yield Sample(each.unit.number, each.unit.stage, each.unit.arm, timing.workload, options, timing)
