"""The area `measurements` of a machine document, from a saved run: what rules may judge later.

Numbers only, none of them a claim: a rule sets its own limits. What a run did not measure stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from doctor.machine.model import DenormalTimes, DtypeTimes, Gemm, Measurements, Placement
from doctor.measure.units import Measured, log_seconds
from doctor.tune.arms import threads_of
from doctor.tune.recommendation import Recommendation, Roof
from doctor.tune.result import SavedResult

#: In the names of arms (see `doctor.tune.arms`).
_ONE_GROUP, _SPREAD = "-ccx", "-spread"


def measurements_of(saved: SavedResult) -> Measurements | None:
    """What the run measured, in the shape of the machine document; None where it measured none of it."""
    result = saved.result
    found = Measurements(
        gemm=_gemm(result.roofline),
        dtype=_dtype(result.recommendations),
        placement=_placement(saved.samples, result.plan.workloads),
        denormals=_denormals(result.recommendations),
    )
    return None if found == Measurements() else found


def _gemm(roofs: Sequence[Roof]) -> Gemm | None:
    """The product on all cores."""
    products = [roof for roof in roofs if roof.unit == "FLOP" and roof.threads is not None]
    if not products:
        return None
    all_cores = max(products, key=lambda roof: roof.threads or 0)
    peak = all_cores.peak_per_second
    return Gemm(
        sgemm_gflops=all_cores.per_second / 1e9,
        peak_sgemm_gflops=None if peak is None else peak / 1e9,
    )


def _dtype(rows: Sequence[Recommendation]) -> DtypeTimes | None:
    times = _times(rows, "dtype")
    return None if times is None else DtypeTimes(float32_seconds=times[0], bfloat16_seconds=times[1])


def _denormals(rows: Sequence[Recommendation]) -> DenormalTimes | None:
    times = _times(rows, "denormals")
    return None if times is None else DenormalTimes(kept_seconds=times[0], flushed_seconds=times[1])


def _times(rows: Sequence[Recommendation], axis: str) -> tuple[float, float] | None:
    """Seconds per item without and with it, over several workloads their geometric mean. None where its numbers were
    wrong, or it was not measured."""
    row = next((row for row in rows if row.axis == axis and row.fate == "measured" and row.items_per_second), None)
    return None if row is None else (_seconds(row.base_items_per_second), _seconds(row.items_per_second))


def _seconds(items_per_second: Sequence[float]) -> float:
    return math.exp(-fmean(map(math.log, items_per_second)))


def _placement(samples: Sequence[Measured], workloads: Sequence[str]) -> Placement | None:
    """As many threads in one L3 group and spread over all, where the search tried both: seconds of every round."""
    groups: dict[tuple[int, str], list[float]] = {}
    for sample in samples:
        unit, threads = sample.unit, threads_of(sample.unit.setting)
        where = next((mark for mark in (_ONE_GROUP, _SPREAD) if mark in unit.arm), None)
        if unit.stage != "search" or sample.result.outcome != "ok" or threads is None or where is None or (
            "+" in unit.arm
        ):
            continue
        try:
            seconds = math.exp(log_seconds(sample.result, workloads))
        except (KeyError, ValueError):
            continue
        groups.setdefault((threads, where), []).append(seconds)
    both = [threads for threads, where in groups if where == _ONE_GROUP and (threads, _SPREAD) in groups]
    if not both:
        return None
    most = max(both)
    return Placement(
        unit="seconds",
        one_l3_group=tuple(groups[most, _ONE_GROUP]),
        spread=tuple(groups[most, _SPREAD]),
    )
