"""What a tune run meets: a chip, which of its settings are how fast, and whole runs over it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from doctor.machine.cpulist import format_cpulist
from doctor.measure.units import Setting
from doctor.tune.arms import Addition, Arm, thread_arms
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from doctor.tune.run import course
from doctor.tune.trials import Trial

from .chips import Chip
from .experiment import OWN_BATCH, Options, SimulatedMachine, Truth
from .noise import Noise

#: Speed at half or twice the best thread count of a hill, as a share of the best.
_HALF_OR_DOUBLE = 0.8

Key = tuple[tuple[tuple[str, str | None], ...], str | None]


#: On top of the leading setting, as they are planned on Linux. On these machines they change nothing.
ADDITIONS = (
    Addition("huge-pages", {"THP_MEM_ALLOC_ENABLE": "1"}),
    Addition("wait-passive", {"OMP_WAIT_POLICY": "PASSIVE"}, for_threads=True),
    Addition("wait-active", {"OMP_WAIT_POLICY": "ACTIVE"}, for_threads=True),
)
_ADDED = frozenset(name for addition in ADDITIONS for name in addition.variables)


def key_of(setting: Setting) -> Key:
    variables = ((name, value) for name, value in setting.variables.items() if name not in _ADDED)
    return tuple(sorted(variables)), setting.cpus


@dataclass(frozen=True)
class Landscape:
    """`log_ratios` of settings that differ from the default; every other setting is as fast as the default.

    None: the chip's own published speeds, or where `peak` is set, a hill over the thread counts. `advice`: what a batch
    size or autocast changes.
    """

    chip: Chip
    arms: tuple[Arm, ...]
    log_ratios: Mapping[Key, float] | None = None
    peak: float | None = None
    advice: Options = lambda options: 0.0

    def _log_seconds(self, setting: Setting) -> Mapping[str, float]:
        if self.log_ratios is not None:
            return dict.fromkeys(self.chip.workloads, self.log_ratios.get(key_of(setting), 0.0))
        if self.peak is not None:
            threads = self.chip.use(setting).threads
            loss = math.log(_HALF_OR_DOUBLE) * (math.log(threads / self.peak) / math.log(2)) ** 2
            return dict.fromkeys(self.chip.workloads, -loss)
        return self.chip.log_seconds(setting)

    def truth(self) -> Truth:
        known: dict[Key, Mapping[str, float]] = {}

        def log_seconds(setting: Setting) -> Mapping[str, float]:
            key = key_of(setting)
            if key not in known:
                known[key] = self._log_seconds(setting)
            return known[key]

        return log_seconds


def arms_of(chip: Chip) -> tuple[Arm, ...]:
    return thread_arms(chip.layout, default_threads=chip.default_threads, env={})


def published(chip: Chip) -> list[Landscape]:
    return [Landscape(chip, arms_of(chip), advice=batches_pay)]


def batches_pay(options: Mapping[str, str]) -> float:
    """Assumed: a step costs as much as 16 items beside its own, so 256 gives 41 % more than 32, and larger ones up to
    6 % more than that. Measured on one core of a chip with the instructions: autocast took 1.9 times as long for a
    product, which is what it costs here."""
    batch = int(options.get("batch", OWN_BATCH))
    overhead = math.log((batch + 16) / batch) - math.log((OWN_BATCH + 16) / OWN_BATCH)
    return overhead + (math.log(1.9) if "autocast" in options else 0.0)


def all_but_default(gain: float) -> Options:
    """Everything that is not as it was is that much faster."""
    return lambda options: -math.log1p(gain) if set(options) - {"device"} else 0.0


def all_equal(chip: Chip, gain: float = 0.0) -> list[Landscape]:
    """No setting differs from another; with `gain`, every one but the default is that much faster."""
    arms = arms_of(chip)
    ratios = {key_of(arm.setting): -math.log1p(gain) for arm in arms}
    return [Landscape(chip, arms, ratios, advice=all_but_default(gain))]


def one_faster(chip: Chip, gain: float) -> list[Landscape]:
    """One arm is faster than all others: a landscape for each arm."""
    arms = arms_of(chip)
    return [Landscape(chip, arms, {key_of(lucky.setting): -math.log1p(gain)}) for lucky in arms]


def hills(chip: Chip) -> list[Landscape]:
    """The best thread count lies anywhere, mostly between two arms: twenty places from 2 threads to the budget."""
    arms, steps = arms_of(chip), 20
    peaks = [2 * (chip.layout.budget / 2) ** (at / (steps - 1)) for at in range(steps)]
    return [Landscape(chip, arms, peak=peak) for peak in peaks]


def plan_of(landscape: Landscape, seed: int, budget_seconds: float) -> Plan:
    """What a run without any wish of the user's plans, as far as this machine can be told from another."""
    chip = landscape.chip
    return Plan(
        seed=seed,
        workloads=chip.workloads,
        arms=landscape.arms,
        additions=ADDITIONS,
        budget_seconds=budget_seconds,
        default_threads=chip.default_threads,
        trials=(
            Trial("batch", "batch size", chip.workloads[:1], in_process=True),
            Trial("dtype", "autocast", chip.workloads, in_process=True, options={"autocast": "bfloat16"}),
        ),
        memory_bytes=1 << 34,
    )


def tune(landscape: Landscape, truth: Truth, residuals: Noise, seed: int, budget_seconds: float) -> TuneResult:
    """One whole run of the real search and confirmation. The seed also says where in the series the run begins, and
    how hot the machine is by then."""
    chip = landscape.chip
    plan = plan_of(landscape, seed, budget_seconds)
    draw = random.Random(seed)
    noise = residuals.from_start(draw.randrange(len(residuals.between)))
    begins = draw.uniform(0, 1000)
    machine = SimulatedMachine(
        truth,
        noise,
        chip.heat,
        unit_seconds=chip.unit_seconds,
        clock_seconds=begins,
        options=landscape.advice,
    )
    steps = course(plan)
    try:
        step = next(steps)
        while True:
            step = steps.send(machine.measure(step.unit))
    except StopIteration as end:
        result = end.value
        assert isinstance(result, TuneResult)
        return result


def objective(truth: Truth, setting: Setting) -> float:
    """log of the geometric mean of the workloads' seconds."""
    return fmean(truth(setting).values())


def exhaustive(chip: Chip) -> list[Setting]:
    """Every thread count up to the budget without a mask, on each CCX of its own likeness, and spread over all."""
    layout = chip.layout
    settings = [_threads(count, None) for count in range(1, layout.budget + 1)]
    seen = set()
    for group in layout.groups if len(layout.groups) > 1 else ():
        if group.like not in seen:
            seen.add(group.like)
            cpus = format_cpulist(group.cpus)
            settings += [_threads(count, cpus) for count in range(1, min(len(group.cpus), layout.budget) + 1)]
    if len(layout.groups) > 1:
        rows = [core for at in range(len(layout.cores)) for group in layout.groups for core in group.cores[at : at + 1]]
        for count in range(1, layout.physical + 1):
            settings.append(_threads(count, format_cpulist(cpu for core in rows[:count] for cpu in core)))
    return settings


def simple_rules(chip: Chip) -> dict[str, Setting]:
    """What people do without measuring. All of them look at the machine, not at a quota."""
    cores = chip.layout.cores
    firsts = format_cpulist(core[0] for core in cores)
    return {
        "all logical": _threads(sum(map(len, cores)), None),
        "all physical": _threads(len(cores), None),
        # torch 2.13 torch/backends/xeon/run_cpu.py without options: one instance, numactl -C on every physical core.
        "run_cpu": _threads(len(cores), firsts),
    }


def _threads(count: int, cpus: str | None) -> Setting:
    return Setting({"OMP_NUM_THREADS": str(count)}, cpus)
