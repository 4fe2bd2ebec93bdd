"""Runs of `tune` that never were: the real search and confirmation over a table of speeds, and units as a worker would
give them for what no variable sets."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from itertools import count

import msgspec

from doctor.measure.units import Measured, Readings, Setting, Timing, Unit, UnitResult
from doctor.measure.verdict import Verdict
from doctor.tune.arms import thread_arms
from doctor.tune.devices.device import Device
from doctor.tune.devices.ladder import Family, Rung
from doctor.tune.devices.plan import DevicePlan, DevicesPlan
from doctor.tune.devices.result import DeviceReport, DevicesResult
from doctor.tune.devices.sizes import Row, crossover
from doctor.tune.plan import Plan
from doctor.tune.recommendation import BatchPoint, Recommendation, Roof
from doctor.tune.result import TuneResult
from doctor.tune.run import events
from scripts.simulated.chips import CHIPS, Chip

#: The chip that stands for each machine; those that are not named were never tuned.
_CHIPS = {"desktop-7950x3d": "7950X3D, one model", "dual-epyc-9654": "2x EPYC 7713", "laptop": "one-CCX laptop"}
_NOISE = {"desktop-7950x3d": 0.008, "dual-epyc-9654": 0.02, "laptop": 0.03}


class _Simulated:
    """Speeds of a chip, with noise of its own seed; a unit costs 2.4 s."""

    def __init__(self, chip: Chip, noise: float, seed: int) -> None:
        self._chip, self._draw, self._noise = chip, random.Random(seed), noise

    def measure(self, unit: Unit) -> UnitResult:
        logs = self._chip.log_seconds(unit.setting)
        wobble = self._draw.gauss(0, self._noise)
        timings = tuple(
            Timing(name, tuple(math.exp(logs[name] + wobble + self._draw.gauss(0, 0.003)) for _ in range(5)))
            for name in unit.workloads
        )
        return UnitResult("ok", 2.4, timings, Readings(), threads=self._chip.use(unit.setting).threads)


def tuned(name: str, seed: int = 7) -> tuple[TuneResult | None, tuple[Measured, ...]]:
    """The result of a run on one of the machines, and its units; None and () where it was never tuned."""
    if name not in _CHIPS:
        return None, ()
    chip = next(chip for chip in CHIPS if chip.name == _CHIPS[name])
    arms = thread_arms(chip.layout, default_threads=chip.default_threads, env={})
    plan = Plan(seed, chip.workloads, arms, budget_seconds=300.0, default_threads=chip.default_threads)
    measured: list[Measured] = []
    for event in events(plan, _Simulated(chip, _NOISE[name], seed)):
        if isinstance(event, Measured):
            measured.append(event)
        elif isinstance(event, TuneResult):
            result = with_recommendations(event)
            result = with_devices(result) if name == "desktop-7950x3d" else result
            return result, (*measured, *without_variables(seed))
    raise AssertionError("a run ends with its result")


def with_recommendations(result: TuneResult) -> TuneResult:
    """The same run as it would end with axes that no variable sets, and with the peaks of the hardware."""
    sizes = (32, 64, 128, 256, 512)
    points = tuple(BatchPoint(size, 4200.0 * size / (size + 9), 10**9) for size in sizes)
    faster, slower = Verdict("faster", 12, 0.41, 0.37, 0.46), Verdict("slower", 12, -0.22, -0.24, -0.19)
    recommendations = (
        Recommendation("batch", "batch size 128 instead of 64", "measured", Verdict("faster", 12, 0.065, 0.05, 0.08),
                       ("loader = DataLoader(data, batch_size=128)",), {"AMD_DOCTOR_BATCH_SIZE": "128"},
                       workloads=("mlp-train",), points=points),
        Recommendation("dtype", "bfloat16 autocast", "measured", faster,
                       ('with torch.autocast("cpu", dtype=torch.bfloat16):', "    loss = loss_function(model(inputs))"),
                       workloads=("mlp-train", "conv-train"),
                       by_workload={"mlp-train": faster, "conv-train": slower}),
        Recommendation("denormals", "denormal numbers flushed to zero", "measured",
                       Verdict("undecided", 12, 0.011, -0.02, 0.05, 60), workloads=("mlp-train",)),
        Recommendation("loader", "DataLoader workers", "chosen", detail="no number of workers was faster"),
        Recommendation("interop", "one inter-op thread", "not-tried"),
    )  # fmt: skip
    roofline = (
        Roof("gemm-1024", 1, 118e9, "FLOP", 166e9, 118 / 166, "1 x 5200 MHz x 32 FLOP per cycle (Zen 4)"),
        Roof("gemm-4096", 16, 1530e9, "FLOP", 2480e9, 1530 / 2480, "16 x 4850 MHz x 32 FLOP per cycle (Zen 4)"),
        Roof("triad", 16, 58e9, "bytes", 76.8e9, 58 / 76.8, "speed of the modules x width of the bus"),
    )
    return msgspec.structs.replace(result, recommendations=recommendations, roofline=roofline)


#: GFLOP/s of float32 and of bfloat16, and bytes moved for each operation: of a desktop.
_GEMM: Mapping[str, tuple[float, float, float]] = {
    "gemm-512": (820.0, 610.0, 1 / 85), "gemm-1024": (1210.0, 1490.0, 1 / 170),
    "gemm-4096": (1530.0, 2980.0, 1 / 680), "gemm-skinny": (96.0, 150.0, 1 / 3.9),
}  # fmt: skip
_TRIAD_BYTES_PER_SECOND = 58e9


def without_variables(seed: int) -> tuple[Measured, ...]:
    """Units of the stages behind the confirmation: products of both kinds of number, and the bandwidth."""
    draw, numbers = random.Random(seed), count(1000)
    return tuple(_arithmetic(next(numbers), at, draw) for at in range(6))


def _unit(number: int, at: int, workloads: tuple[str, ...]) -> Unit:
    return Unit(number, "recommend", at, "default", Setting(), workloads, 0, 60.0)


def _arithmetic(number: int, at: int, draw: random.Random) -> Measured:
    timings = []
    for name, (plain, half, bytes_per_flop) in _GEMM.items():
        flop = 2.0 * 1024**3
        for workload, rate, size in ((name, plain, 1.0), (name.replace("gemm", "gemm-bf16"), half, 0.5)):
            seconds = flop / (rate * 1e9) * math.exp(draw.gauss(0, 0.02))
            timings.append(Timing(workload, (seconds,) * 3, flop=flop, moved_bytes=flop * bytes_per_flop * size))
    moved = 3 * 64e6
    seconds = moved / _TRIAD_BYTES_PER_SECOND * math.exp(draw.gauss(0, 0.02))
    timings.append(Timing("triad", (seconds,) * 3, flop=2 * 16e6, moved_bytes=moved))
    unit = _unit(number, at, tuple(timing.workload for timing in timings))
    return Measured(unit, UnitResult("ok", 3.0, tuple(timings)))


_SIZES = (4, 16, 64, 256, 1024)
_CPU, _CARD = Device("cpu", "CPU", "cpu"), Device("cuda:0", "AMD Radeon RX 7900 XTX", "rocm", gfx="gfx1100")


def with_devices(result: TuneResult) -> TuneResult:
    """The same run as it would end where a card was compared with the CPU."""
    cpu = tuple(Row("mlp-train", size, 4200 * size / (size + 9)) for size in _SIZES)
    card = (
        *(Row("mlp-train", size, 61000 * size / (size + 210)) for size in _SIZES[:-1]),
        Row("mlp-train", 1024, outcome="out-of-memory", detail="HIP out of memory"),
    )
    reports = (
        DeviceReport(_CPU, "measured", rows=cpu, sizes={"mlp-train": 64}),
        DeviceReport(_CARD, "measured", rows=card, sizes={"mlp-train": 256},
                     crossovers={"mlp-train": crossover(card, cpu)}),
        DeviceReport(Device("cuda:1", "AMD Radeon Graphics (Raphael)", "rocm", gfx="gfx1036"), "failed", "killed",
                     "SIGSEGV in the first product", "gemm-512"),
    )  # fmt: skip
    families = (Family("mlp-train", "batch", tuple(Rung("mlp-train", size, "mlp-train") for size in _SIZES)),)
    plan = msgspec.structs.replace(
        result.plan, devices=DevicesPlan((DevicePlan(_CARD, families),), families)
    )
    return msgspec.structs.replace(result, plan=plan, devices=DevicesResult("nothing-to-compare", reports))
