"""One unit: a fresh process of the target that times the workloads under one setting, and what came back from it.

These are the values that the search, the confirmation, the worker, the saved run and the result share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import Literal

import msgspec

Stage = Literal["cost", "search", "confirm", "recommend", "roofline", "devices"]

#: `ok`: it ended by itself and every workload answered. `wrong`: so did it, but the numbers differ from the default's.
Outcome = Literal["ok", "wrong", "killed", "hung", "out-of-memory", "rubbish"]

#: The name of the setting that the user has now; every other arm is compared with it.
DEFAULT = "default"


class Setting(msgspec.Struct, frozen=True, omit_defaults=True):
    """What differs from the user's own environment. The default arm is `Setting()`.

    `variables`: to set; None: to take out. `cpus`: the affinity mask as a CPU list; None: every CPU that the user's
    own process may use, which is set explicitly. `options`: what no variable sets and the worker does inside the
    process (a batch size, autocast); such a setting ends as a recommendation with code, never in an env file.
    """

    variables: dict[str, str | None] = {}
    cpus: str | None = None
    options: dict[str, str] = {}


class Variant(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of several ways to run the workloads within one process: `options` on top of those of the unit's setting.

    Its options hold for it alone: they are set before it and undone after it. Its data and model are built anew from
    the same seed, and it warms up for itself. `workloads`: which of the unit's; () stands for all of them.
    """

    name: str
    options: dict[str, str] = {}
    workloads: tuple[str, ...] = ()


class Unit(msgspec.Struct, frozen=True):
    """One process to start. `round` counts the rounds of the search or the groups of the confirmation, from 0.

    With `variants`, the process runs these in their order and nothing else: each of its workloads once under each.
    A variant that fails (an exception, no memory) does not end the process; the next one runs.
    """

    number: int
    stage: Stage
    round: int
    arm: str
    setting: Setting
    workloads: tuple[str, ...]
    pad_bytes: int  # the length of a variable that shifts the stack: its place changes the speed of some code
    limit_seconds: float  # a process that runs longer is hung
    variants: tuple[Variant, ...] = ()


class Answer(msgspec.Struct, frozen=True):
    """A few numbers that the workload computed, and how far another setting's may lie from them, as a share of the
    largest."""

    values: tuple[float, ...]
    tolerance: float


class DeviceCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was looked at on a device beside the time. None: not looked at.

    `fell_back`: operators that the CPU did instead. `warned`: other warnings that name a cause. `device_bytes`: the
    most that PyTorch held there. Of a training workload, after one step from the seeded start, compared with the CPU's:
    `gradients_off`, the largest difference as a share of a parameter's largest gradient; how many of `parameters` got
    no gradient, and how many the step did not move.
    """

    fell_back: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    device_bytes: int | None = None
    gradients_off: float | None = None
    parameters: int | None = None
    without_gradient: int | None = None
    still: int | None = None


class Grown(msgspec.Struct, frozen=True, omit_defaults=True):
    """The memory of a device while it is filled, block by block: `bytes` are held by then, and what that took from
    where, since the first look. None: not readable here. `free_bytes`: of the machine's own memory, now."""

    bytes: int
    dedicated_bytes: int | None = None
    shared_bytes: int | None = None
    free_bytes: int | None = None


class Timing(msgspec.Struct, frozen=True, omit_defaults=True):
    """One workload in one unit: seconds per step of each block after the warm-up, in the order of measuring.

    `items`: how much work a step does in the workload's own unit (samples of a batch, 1 where steps are all alike).
    `flop` and `moved_bytes`: of one step, counted from the shapes; None where a count would mean nothing.
    `loss`: of a training workload, after exactly 20 steps from its seeded start. `variant`: the name of the variant in
    a unit that has some. `failed`: how this one failed in a process that went on, its outcome first
    ("out-of-memory: …"); `seconds` is then empty. `peak_resident_bytes`: of the process up to the end of this timing.
    `device`: on another device than the CPU, what was looked at there.
    """

    workload: str
    seconds: tuple[float, ...]
    answer: Answer | None = None
    items: float = 1.0
    flop: float | None = None
    moved_bytes: float | None = None
    variant: str = ""
    loss: float | None = None
    failed: str = ""
    peak_resident_bytes: int | None = None
    device: DeviceCheck | None = None


class Readings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the machine said while a unit ran. None: not readable here."""

    clock_mhz: tuple[float, ...] | None = None  # of the CPUs in use, read between blocks
    temperature_celsius: float | None = None  # the highest
    throttle_events: int | None = None  # by how much the counters rose
    steal_share: float | None = None  # of the CPU time of the whole machine
    other_load_share: float | None = None  # CPU time of other processes / (CPUs of the budget x wall time)
    other_processes: tuple[str, ...] = ()  # names of the busiest, without arguments
    power_source: str | None = None  # ac battery
    power_saver: bool | None = None
    switches_involuntary: int | None = None
    switches_voluntary: int | None = None
    peak_resident_bytes: int | None = None


class UnitResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one unit gave. `timings` has one row per workload where `outcome` is `ok`, and may have fewer else.

    `wall_seconds` is the whole process with its import: what the unit cost. `threads` is what the target really used.
    `cpus` is the affinity mask of its main thread behind the imports: smaller than what it was started with where
    importing torch pins the process (and whatever it starts) to one CPU.
    """

    outcome: Outcome
    wall_seconds: float
    timings: tuple[Timing, ...] = ()
    readings: Readings = Readings()
    threads: int | None = None
    detail: str = ""  # of a failure: a signal's name, the last line of an error
    cpus: str | None = None
    grown: tuple[Grown, ...] = ()  # of a process that filled the memory of a device


class Measured(msgspec.Struct, frozen=True):
    """A unit with its result: one event of a run, in the order of measuring."""

    unit: Unit
    result: UnitResult


def workload_log_seconds(result: UnitResult, workload: str) -> float:
    """log of the median block of one workload, per item. Raises KeyError where it was not timed."""
    for timing in result.timings:
        if timing.workload == workload:
            return math.log(median(timing.seconds) / timing.items)
    raise KeyError(workload)


def log_seconds(result: UnitResult, workloads: Sequence[str]) -> float:
    """The objective: the mean over the workloads of `workload_log_seconds`, the logarithm of their geometric mean."""
    return fmean(workload_log_seconds(result, workload) for workload in workloads)


def checked(result: UnitResult, workloads: Sequence[str]) -> UnitResult:
    """The result, as `rubbish` where it says `ok` but lacks a workload or holds a time that cannot be one."""
    if result.outcome != "ok":
        return result
    times = {timing.workload: timing.seconds for timing in result.timings}
    for workload in workloads:
        seconds = times.get(workload, ())
        if not seconds or not all(0 < each < math.inf for each in seconds):
            return msgspec.structs.replace(result, outcome="rubbish", detail=f"no usable time of {workload}")
    return result
