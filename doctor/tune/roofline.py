"""Measured products and memory bandwidth beside the peak that the facts imply.

Two processes near the end of a run: one thread, and a thread on every core. The peak of a product is the cores, times
their clock under this very load, times the operations of a cycle. A measured value above it says that a fact is wrong;
one thread far below it, that a wrong kernel runs. Where a fact is unknown (a virtual machine tells no clock, memory
modules can be read by root only) the speed is told without a share, and nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from statistics import median

import msgspec

from doctor.measure.guard import disturbances
from doctor.measure.units import DEFAULT, Readings, Setting, Timing, UnitResult, Variant
from doctor.tune.arms import MKL_THREADS, THREADS, Arm
from doctor.tune.meter import Meter, Step
from doctor.tune.peaks import Peaks
from doctor.tune.recommendation import Roof, TuneFinding

#: The best block may lie this far above the peak: clocks are read between blocks.
ABOVE = 1.05
#: One thread below this share runs another kernel than the chip deserves. With all threads other things count too:
#: the memory, the size of the product. One thread cannot fill the memory bus of a large chip.
FAR_BELOW = 0.35

PRODUCT, LARGE_PRODUCT, BANDWIDTH = "gemm-1024", "gemm-4096", "triad"
#: On more cores, a product of 1024 x 1024 is too small to keep all of them at work.
_MOST_CORES_OF_SMALL = 4
_UNITS = 2


class Roofline(msgspec.Struct, frozen=True):
    rows: tuple[Roof, ...] = ()
    findings: tuple[TuneFinding, ...] = ()


def roofline_seconds(meter: Meter) -> float:
    """About what it takes: two processes; nothing where the plan has no peaks."""
    return _UNITS * meter.cost_of(DEFAULT) if meter.plan.peaks is not None else 0.0


def roofline(meter: Meter, peaks: Peaks) -> Generator[Step, UnitResult, Roofline]:
    """Measure both, and compare. A process that fails leaves its rows out."""
    rows: list[Roof] = []
    findings: list[TuneFinding] = []
    for number, threads in enumerate(dict.fromkeys((1, peaks.cores))):
        product = LARGE_PRODUCT if threads > _MOST_CORES_OF_SMALL else PRODUCT
        arm = Arm("one thread" if threads == 1 else "all cores", Setting(_counted(threads)))
        # As variants, so that a bandwidth that finds no room does not take the product with it.
        variants = tuple(Variant(name, workloads=(name,)) for name in (product, BANDWIDTH))
        expected = meter.cost_of(DEFAULT)
        booked = yield from meter.measure_variants(
            arm, variants, (product, BANDWIDTH), expected, number, "roofline"
        )
        for timing in booked.result.timings:
            row = _roof(timing, threads, booked.result.readings, peaks)
            if row is not None:
                rows.append(row)
                findings += _finding(row, booked.result.readings)
    return Roofline(tuple(rows), tuple(findings))


def _counted(threads: int) -> dict[str, str | None]:
    return {THREADS: str(threads), MKL_THREADS: None}


def _roof(timing: Timing, threads: int, readings: Readings, peaks: Peaks) -> Roof | None:
    """The row of the best block: STREAM's rule, and the fair one against a peak."""
    work = timing.moved_bytes if timing.workload == BANDWIDTH else timing.flop
    if not timing.seconds or not work or timing.failed:
        return None
    per_second = work / min(timing.seconds)
    peak, detail = _bandwidth(peaks) if timing.workload == BANDWIDTH else _flops(threads, readings, peaks)
    return Roof(
        workload=timing.workload,
        threads=threads,
        per_second=per_second,
        unit="bytes" if timing.workload == BANDWIDTH else "FLOP",
        peak_per_second=peak,
        share=None if peak is None else per_second / peak,
        detail=detail,
    )


def _bandwidth(peaks: Peaks) -> tuple[float | None, str]:
    if peaks.bytes_per_second is None:
        return None, "the speed and channels of the memory are not known; root can read them"
    return float(peaks.bytes_per_second), "speed of the modules x width of the bus"


def _flops(threads: int, readings: Readings, peaks: Peaks) -> tuple[float | None, str]:
    if peaks.flop_per_cycle is None:
        return None, "how much a core can do in a cycle is not known for this chip"
    if peaks.no_clock:
        return None, peaks.no_clock
    if not readings.clock_mhz:
        return None, "the clock could not be read under load"
    mhz = median(readings.clock_mhz)
    cores = min(threads, peaks.cores)
    detail = f"{cores} x {mhz:.0f} MHz x {peaks.flop_per_cycle} FLOP per cycle ({peaks.generation})"
    return cores * mhz * 1e6 * peaks.flop_per_cycle, detail


def _finding(row: Roof, readings: Readings) -> Sequence[TuneFinding]:
    if row.share is None:
        return ()
    what = "memory bandwidth" if row.unit == "bytes" else f"float32 products on {_threads(row.threads)}"
    evidence = f"{what}: {row.per_second / 1e9:.4g} G{row.unit}/s, {row.share:.0%} of {row.detail}"
    if row.share > ABOVE:
        title = "A measured speed is above what the facts allow: one of them is wrong"
        return (TuneFinding("above-peak", title, evidence, "Please report it with `amd-doctor record`."),)
    disturbed = any(each.kind in ("busy", "steal") for each in disturbances(readings))
    if row.unit == "FLOP" and row.threads == 1 and row.share < FAR_BELOW and not disturbed:
        title = "Matrix products on one thread run far below what this core can do"
        advice = "A kernel for older chips runs: `amd-doctor check` names variables and limits that lead to it."
        return (TuneFinding("far-below-peak", title, evidence, advice),)
    return ()


def _threads(count: int | None) -> str:
    return "one thread" if count == 1 else f"{count} threads"
