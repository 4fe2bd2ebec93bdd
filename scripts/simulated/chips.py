"""How fast each simulated machine is under a setting: published figures, and what had to be assumed between them.

Speeds are relative; only their ratios matter. Figures marked "published" were measured by others, on the chip named
or on its nearest kin; everything else is an assumption, made to let the published ones come out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Machine
from doctor.measure.units import Setting
from doctor.tune.layout import Layout, layout_of

from .documents import MIB, document
from .experiment import UNIT_SECONDS, UNIT_SECONDS_WITH_OPTIMIZER, Heat


@dataclass(frozen=True)
class Use:
    """How a setting lies on a machine: `threads` on `cores` cores of the L3 groups in `groups`; `pinned` by a mask."""

    threads: int
    cores: int
    groups: tuple[int, ...]
    pinned: bool


#: Speed of each workload under a use.
Speed = Callable[[Use], Mapping[str, float]]


@dataclass(frozen=True)
class Chip:
    name: str
    machine: Machine
    speed: Speed
    workloads: tuple[str, ...] = ("decode",)
    heat: Heat | None = None
    unit_seconds: float = UNIT_SECONDS
    _places: dict[str | None, tuple[int, tuple[int, ...]]] = field(default_factory=dict)

    @cached_property
    def layout(self) -> Layout:
        layout = layout_of(self.machine)
        assert layout is not None
        return layout

    @property
    def default_threads(self) -> int:
        assert self.machine.torch is not None and self.machine.torch.num_threads is not None
        return self.machine.torch.num_threads

    def use(self, setting: Setting) -> Use:
        threads = int(setting.variables.get("OMP_NUM_THREADS") or self.default_threads)
        if setting.cpus not in self._places:
            self._places[setting.cpus] = self._place(setting.cpus or self.layout.all_cpus)
        return Use(threads, *self._places[setting.cpus], pinned=setting.cpus is not None)

    def _place(self, cpus: str) -> tuple[int, tuple[int, ...]]:
        allowed = parse_cpulist(cpus)
        shares = [sum(bool(allowed.intersection(core)) for core in group.cores) for group in self.layout.groups]
        return sum(shares), tuple(at for at, share in enumerate(shares) if share)

    def log_seconds(self, setting: Setting) -> dict[str, float]:
        speeds = self.speed(self.use(setting))
        return {name: -math.log(speeds[name]) for name in self.workloads}


def curve(points: Mapping[int, float], at: int) -> float:
    """Between the points along straight lines in logarithms; outside them the nearest point's value, below the first
    in proportion to `at`."""
    xs = sorted(points)
    if at <= xs[0]:
        return points[xs[0]] * at / xs[0]
    for low, high in pairwise(xs):
        if at <= high:
            share = math.log(at / low) / math.log(high / low)
            return math.exp((1 - share) * math.log(points[low]) + share * math.log(points[high]))
    return points[xs[-1]]


def ryzen_5950x(use: Use) -> dict[str, float]:
    """llama-bench README, published for 8, 16, 32 threads of a chip it does not name: prompt 32.3, 33.5, 59.0 and
    generation 16.7, 15.3, 16.4. Assumed: below 8 threads the prompt scales, generation saturates; where the threads
    lie does not matter, but a mask of few cores holds no more than two threads a core."""
    threads = min(use.threads, 2 * use.cores)
    prompt = curve({8: 32.3, 16: 33.5, 32: 59.0}, threads)
    generation = curve({1: 5.0, 2: 9.0, 4: 14.0, 8: 16.7, 16: 15.3, 32: 16.4}, threads)
    return {"prompt": prompt, "generation": generation}


def ryzen_7950x3d(use: Use) -> dict[str, float]:
    """Published (sqliteai/warp ENGINE.md section 47): capping to the fast cores +25 % on one model, -34 % on another.
    Assumed: the first model lives in the large cache of group 0, the second in the number of cores."""
    threads = min(use.threads, 2 * use.cores)
    by_threads = curve({1: 0.2, 4: 0.7, 8: 1.0, 16: 1.0, 32: 0.95}, threads)
    cached = by_threads * (1.25 if use.groups == (0,) else 0.93 if use.groups == (1,) else 0.97 if threads <= 8 else 1)
    counted = curve({1: 0.12, 4: 0.40, 8: 0.66, 16: 1.0, 32: 1.03}, threads)
    if len(use.groups) == 1:
        counted = min(counted, 0.66)
    return {"cached": cached, "counted": counted}


def ryzen_9900x(use: Use) -> dict[str, float]:
    """Published (sqliteai/warp ENGINE.md, issue 23): 6 threads on one die 16.0 tokens/s, over both 12.1, left to roam
    over 24 CPUs 10 % less than 16.0; the other die within 0.5 %. Assumed: the rise below 6 threads, 12 threads 12.9."""
    threads = min(use.threads, 2 * use.cores)
    one_die = curve({1: 4.8, 2: 8.8, 3: 11.8, 4: 13.9, 5: 15.2, 6: 16.0, 12: 15.4}, threads)
    if len(use.groups) == 1:
        return {"decode": one_die * (1.0 if use.groups == (0,) else 0.995)}
    if threads <= 6:
        return {"decode": one_die * (12.1 / 16.0 if use.pinned else 0.90)}
    return {"decode": curve({6: 12.1, 12: 12.9, 24: 12.0}, threads)}


def two_epyc_7713(use: Use) -> dict[str, float]:
    """Published for an EPYC 9654 (llama.cpp#6434): about 60 of 96 cores are best, all of them slower; here the same
    share, 80 of 128. Assumed: 15 % lost with all cores, 30 % with all CPUs; one socket alone has half the memory but
    no far accesses, 0.8; one CCX alone is held back by its own link, 0.12."""
    threads = min(use.threads, 2 * use.cores)
    speed = curve({1: 0.03, 8: 0.22, 16: 0.42, 32: 0.70, 64: 0.96, 80: 1.0, 128: 0.85, 256: 0.70}, threads)
    if len(use.groups) <= 8:
        speed = min(speed, 0.12 * len(use.groups), 0.8)
    return {"decode": speed}


def ryzen_5700g(use: Use) -> dict[str, float]:
    """Published (llama.cpp#39), a 7B model, ms per token: 4 threads 137, 6 100, 8 112, 10 132, 12 133. Assumed: below
    4 threads in proportion, 16 threads as 12."""
    milliseconds = {4: 137, 6: 100, 8: 112, 10: 132, 12: 133, 16: 133}
    return {"decode": curve({threads: 1000 / each for threads, each in milliseconds.items()}, use.threads)}


def one_ccx_laptop(use: Use) -> dict[str, float]:
    """Published for a Ryzen 7 3700X (sqliteai/warp pull request 44): nothing above the noise. Assumed: all cores are
    best by a little, so the default is right and nothing should be exported."""
    return {"decode": curve({1: 0.22, 2: 0.42, 4: 0.78, 6: 0.97, 8: 1.0, 16: 0.98}, use.threads)}


def limited_container(use: Use) -> dict[str, float]:
    """A quota of 4 CPUs on a host of 32 cores, where torch starts 32 threads. Published (FreeToken#371): capping the
    threads on a small host took a load from 19 min to 61 s. Assumed, and much milder: up to 4 threads scale, each
    further 4 cost as much as half of the work."""
    threads = min(use.threads, 2 * use.cores)
    return {"decode": threads if threads <= 4 else 4 / (1 + 0.5 * (threads / 4 - 1))}


CHIPS: tuple[Chip, ...] = (
    Chip(
        "5950X",
        document("AMD Ryzen 9 5950X 16-Core Processor", group_cores=(8, 8), group_bytes=(32 * MIB, 32 * MIB)),
        ryzen_5950x,
        ("prompt", "generation"),
    ),
    Chip(
        "7950X3D, one model",
        document("AMD Ryzen 9 7950X3D 16-Core Processor", group_cores=(8, 8), group_bytes=(96 * MIB, 32 * MIB)),
        ryzen_7950x3d,
        ("cached",),
    ),
    Chip(
        "7950X3D, two models",
        document("AMD Ryzen 9 7950X3D 16-Core Processor", group_cores=(8, 8), group_bytes=(96 * MIB, 32 * MIB)),
        ryzen_7950x3d,
        ("cached", "counted"),
    ),
    Chip(
        "9900X",
        document("AMD Ryzen 9 9900X 12-Core Processor", group_cores=(6, 6), group_bytes=(32 * MIB, 32 * MIB)),
        ryzen_9900x,
    ),
    Chip(
        "2x EPYC 7713",
        document("AMD EPYC 7713 64-Core Processor", group_cores=(8,) * 16, group_bytes=(32 * MIB,) * 16, sockets=2),
        two_epyc_7713,
    ),
    Chip(
        "5700G",
        document("AMD Ryzen 7 5700G with Radeon Graphics", group_cores=(8,), group_bytes=(16 * MIB,)),
        ryzen_5700g,
    ),
    Chip(
        "one-CCX laptop",
        document("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", group_cores=(8,), group_bytes=(16 * MIB,)),
        one_ccx_laptop,
    ),
    Chip(
        "container, 4 CPUs",
        document(
            "AMD EPYC 7543 32-Core Processor", group_cores=(4,) * 8, group_bytes=(32 * MIB,) * 8, quota_cpus=4.0
        ),
        limited_container,
    ),
    Chip(
        "throttling laptop",
        document("AMD Ryzen 7 5800H with Radeon Graphics", group_cores=(8,), group_bytes=(16 * MIB,)),
        ryzen_5700g,
        # Published: more power gave 11 to 38 % on four laptops (system76-power#8); here heat costs the 38. Assumed:
        # stretches of a minute and more, as limits on the temperature of the skin act.
        heat=Heat(period_seconds=150.0, hot_share=0.5, slowdown=1.38),
    ),
)

#: The machine of the last target: two CPUs, and one thread set in the shell.
TWO_CPUS = Chip(
    "2 CPUs, OMP_NUM_THREADS=1",
    document("AMD EPYC 9004 virtual CPU", group_cores=(1,), group_bytes=(32 * MIB,), default_threads=1),
    lambda use: {"train": 1.0 if use.threads == 1 else 1.8},
    ("train",),
    unit_seconds=UNIT_SECONDS_WITH_OPTIMIZER,
)
