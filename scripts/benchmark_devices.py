"""`benchmark.py devices`: the real comparison of devices over simulated ones, and what it gets right.

Only the processes are simulated: their times follow from a model of each device, times recorded noise. The table is
Markdown.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from doctor.measure.units import Setting, Unit, UnitResult
from doctor.tune.devices.arms import arms_of, ways_of
from doctor.tune.devices.course import compared
from doctor.tune.devices.device import Device
from doctor.tune.devices.ladder import families
from doctor.tune.devices.plan import DevicePlan, DevicesPlan
from doctor.tune.devices.result import DevicesResult
from doctor.tune.meter import Meter, Step
from doctor.tune.plan import Plan
from scripts.simulated.devices import FakeDevices, Model
from scripts.simulated.noise import Residuals, recorded, scaled, synthetic

RECORDING = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "timing" / "aa96.json"
LEVELS = (0.01, 0.02, 0.03, 0.05, 0.35)
#: True gains of the device over the CPU. 2 % lies on the margin of *faster*: the hardest case.
GAINS = (0.0, 0.02, 0.05, 0.20, 0.80)
SECONDS = 231.0  # what the devices get of the usual 420
WORKLOADS = ("mlp-train",)
CPU = Model(speed=1000.0, overhead=0.001)
ADAPTER = Device("privateuseone:0", "adapter", "directml", integrated=False)
GPU = Device("cuda:0", "GPU", "rocm", integrated=False)


@dataclass(frozen=True)
class Cell:
    """What some runs came to, as shares: verdicts, settings of the device that were called faster and are not, and how
    often the printed interval held the truth."""

    device: str
    gain: float
    sd: float
    faster: float
    slower: float
    same: float
    own: float
    held: float


def main(seeds: int) -> None:
    residuals = recorded(RECORDING) if RECORDING.exists() else synthetic()
    began = time.monotonic()
    work = list(product((ADAPTER, GPU), GAINS, LEVELS))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        cells = list(pool.map(_cell, *zip(*work, strict=True), [seeds] * len(work), [residuals] * len(work)))
    print(f"{seeds} seeds a cell, {len(work)} cells; took {time.monotonic() - began:.0f} s\n")
    print("| device, true gain | " + " | ".join(f"sd {100 * sd:g} %" for sd in LEVELS) + " |")
    print("| --- |" + " --- |" * len(LEVELS))
    for device, gain in product((ADAPTER, GPU), GAINS):
        row = [cell for cell in cells if cell.device == device.backend and cell.gain == gain]
        print(f"| {device.backend}, +{100 * gain:g} %: *faster* | " + " | ".join(f"{c.faster:.2%}" for c in row) + " |")
    for name, value in (
        ("*slower*, none is", lambda cell: cell.slower),
        ("a setting of the device *faster*, none is", lambda cell: cell.own),
        ("+20 % and more called *same*", lambda cell: cell.same if cell.gain >= 0.2 else 0.0),
    ):
        worst = [max(value(cell) for cell in cells if cell.sd == sd) for sd in LEVELS]
        print(f"| {name}, worst | " + " | ".join(f"{share:.2%}" for share in worst) + " |")
    least = [min(cell.held for cell in cells if cell.sd == sd) for sd in LEVELS]
    print("| the interval holds the truth, least | " + " | ".join(f"{share:.1%}" for share in least) + " |")


def _cell(device: Device, gain: float, sd: float, seeds: int, residuals: Residuals) -> Cell:
    noise = scaled(residuals, sd)
    runs = [_run(device, gain, noise, seed) for seed in range(seeds)]
    found = [run.compared for run in runs if run.compared is not None]
    words = [each.verdict.word for each in found]
    truth = math.log1p(gain)
    held = [
        math.log1p(each.verdict.gain_low) <= truth <= math.log1p(each.verdict.gain_high)
        for each in found
        if each.verdict.gain_low is not None and each.verdict.gain_high is not None
    ]
    return Cell(
        device.backend,
        gain,
        sd,
        words.count("faster") / seeds,
        words.count("slower") / seeds,
        words.count("same") / seeds,
        sum(each.own is not None and each.own.word == "faster" for each in found) / seeds,
        sum(held) / max(len(held), 1),
    )


def _run(device: Device, gain: float, noise: Residuals, seed: int) -> DevicesResult:
    start = random.Random(f"{seed} {gain} {len(noise)}").randrange(len(noise))

    def factor(unit: Unit) -> float:
        return math.exp(noise[(start + unit.number) % len(noise)])

    own = families(WORKLOADS)
    row = DevicePlan(device, own, arms_of(device, own, {}), ways_of(device, own))
    models = {"cpu": CPU, device.name: Model(CPU.speed * (1 + gain), CPU.overhead / (1 + gain))}
    meter = Meter(Plan(seed=seed, workloads=WORKLOADS, arms=(), budget_seconds=SECONDS))
    steps = compared(meter, DevicesPlan((row,), own), Setting(), SECONDS)
    return _driven(steps, FakeDevices(models, noise=factor))


def _driven(steps: Generator[Step, UnitResult, DevicesResult], worker: FakeDevices) -> DevicesResult:
    try:
        step = next(steps)
        while True:
            step = steps.send(worker.measure(step.unit))
    except StopIteration as end:
        found: DevicesResult = end.value
        return found
