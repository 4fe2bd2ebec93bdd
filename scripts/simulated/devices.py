"""Devices that are numbers: what a step takes follows from its size, and what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from doctor.measure.units import (
    Answer,
    DeviceCheck,
    Grown,
    Outcome,
    Timing,
    Unit,
    UnitResult,
    Variant,
)

#: The size of a workload where no batch is asked for.
OWN_SIZES = {"mlp-train": 128, "conv-train": 32, "transformer-infer": 8, "fit": 1_000_000}
ANSWER = Answer((1.0, 2.0, 3.0), 1e-3)

#: A failure of one run: it raises. Of the process: it ends there.
Raises = str
Dies = tuple[Outcome, str]


@dataclass
class Model:
    """A step of `size` items takes `overhead + size / speed` seconds; above `knee` items each takes `spill` times as
    long. `fits`: the largest size that is not refused. `ends`: by workload and smallest size, how it fails there."""

    speed: float
    overhead: float = 0.0
    knee: int = 10**12
    spill: float = 1.0
    fits: int = 10**12
    ends: Mapping[str, tuple[int, Raises | Dies]] = field(default_factory=dict)
    answer: Answer = ANSWER
    check: DeviceCheck | None = None
    factors: Mapping[str, float] = field(default_factory=dict)  # of time, by workload

    def seconds(self, workload: str, size: int) -> float:
        items = min(size, self.knee) + max(size - self.knee, 0) * self.spill
        return (self.overhead + items / self.speed) * self.factors.get(workload, 1.0)


@dataclass
class FakeDevices:
    """Runs units over models, by the device of the unit. `settings`: a factor on the time for a variable's value,
    on every device ("NAME=1") or on one ("cpu: NAME=1")."""

    models: Mapping[str, Model]
    cost_seconds: float = 2.0
    hang_seconds: float | None = None  # None: as long as the limit allows
    noise: Callable[[Unit], float] = lambda unit: 1.0
    settings: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, float] = field(default_factory=dict)  # a factor for "autocast=float16"
    grown: tuple[Grown, ...] = ()
    grown_ended: str = "refused: no more"
    bytes_per_item: int = 1 << 20
    ran: list[Unit] = field(default_factory=list)

    def measure(self, unit: Unit) -> UnitResult:
        self.ran.append(unit)
        device = unit.setting.options.get("device", "cpu")
        if unit.workloads == ("device-memory",):
            return UnitResult("ok", self.cost_seconds, detail=self.grown_ended, grown=self.grown)
        timings: list[Timing] = []
        for variant in unit.variants or (Variant(""),):
            for workload in variant.workloads or unit.workloads:
                timing = self._timing(unit, device, workload, variant)
                if isinstance(timing, UnitResult):
                    return UnitResult(timing.outcome, timing.wall_seconds, tuple(timings), detail=timing.detail)
                timings.append(timing)
        return UnitResult("ok", self.cost_seconds + 0.1 * len(timings), tuple(timings), threads=8)

    def _timing(self, unit: Unit, device: str, workload: str, variant: Variant) -> Timing | UnitResult:
        model, options = self.models[device], {**unit.setting.options, **variant.options}
        if workload.startswith("transfer"):
            return Timing(workload, (0.01,), None, moved_bytes=1e8, variant=variant.name)
        each = int(options.get("batch", OWN_SIZES.get(workload, 1)))
        steps = int(options.get("accumulate", 1))
        least, how = model.ends.get(workload, (0, ""))
        if how and each >= least:
            if isinstance(how, tuple):
                seconds = unit.limit_seconds if how[0] == "hung" else self.cost_seconds
                return UnitResult(how[0], self.hang_seconds or seconds, detail=how[1])
            return Timing(workload, (), variant=variant.name, failed=how)
        if each > model.fits:
            return Timing(workload, (), variant=variant.name, failed="out-of-memory: there is not enough memory")
        seconds = steps * model.seconds(workload, each) * self.noise(unit)
        for name, value in unit.setting.variables.items():
            seconds *= self.settings.get(f"{name}={value}", 1.0) * self.settings.get(f"{device}: {name}={value}", 1.0)
        for name, value in options.items():
            seconds *= self.options.get(f"{name}={value}", 1.0)
        check = model.check if device != "cpu" else None
        return Timing(
            workload,
            (seconds,),
            model.answer,
            items=each * steps,
            variant=variant.name,
            peak_resident_bytes=(300 << 20) + each * self.bytes_per_item,
            device=check,
        )
