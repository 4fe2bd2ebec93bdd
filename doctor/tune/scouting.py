"""The search of the recommendations: which batch size, how many workers. It chooses, and never claims.

One process times several variants, sizes in ascending order, because only growing memory can be read. A process that
dies at a size is an answer: that size does not fit.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from statistics import median

from doctor.measure.units import Timing, UnitResult, Variant
from doctor.tune.arms import Arm
from doctor.tune.batch import BatchFound, first_sizes, fits, next_sizes, predicted_bytes, still_rising, timing_seconds
from doctor.tune.claims import Claim, Costs
from doctor.tune.meter import Meter, Step
from doctor.tune.recommendation import BatchPoint
from doctor.tune.trials import Trial

#: A size may take this share of what is left.
_SHARE_OF_A_SIZE = 0.1
#: Outcomes of a process that say: there was no room. The kernel kills without a word.
_NO_ROOM = ("out-of-memory", "killed")


def rows_of(result: UnitResult, variant: str) -> dict[str, Timing]:
    """What a unit gave for one variant, by workload."""
    return {timing.workload: timing for timing in result.timings if timing.variant == variant}


def speed(timing: Timing) -> float:
    """Items per second of the median block."""
    return timing.items / median(timing.seconds)


def batch_found(
    meter: Meter, base: Arm, trial: Trial, costs: Costs, until_seconds: float
) -> Generator[Step, UnitResult, BatchFound | None]:
    """The points of the sweep; None where not even the workload's own size ran, or how large that is was not told.

    Larger sizes are only looked at while that ends before `until_seconds` of the run: the claim is still to come.
    """
    (workload,) = trial.workloads
    own = meter.own_items.get(workload)
    if own is None:
        return None
    points: list[BatchPoint] = []
    wanted, limit = meter.plan.batch, meter.plan.memory_bytes
    sizes, rounds = first_sizes(own), 0
    too_large: int | None = None
    why = ""
    while sizes:
        points += yield from _sweep(meter, base, workload, sizes, costs)
        failed = next((point for point in points if point.failed), None)
        if failed is not None:
            too_large, why = failed.batch, failed.failed
            break
        rounds += 1
        sizes = next_sizes(points, rounds)
        room = [size for size in sizes if fits(points, size, limit)]
        if len(room) < len(sizes):
            too_large = sizes[len(room)]
            why = _predicted(points, too_large, limit)
        most = _SHARE_OF_A_SIZE * meter.left_seconds
        sizes = tuple(size for size in room if timing_seconds(points, size) <= most)
        if meter.spent_seconds + costs.process + costs.timing * len(sizes) > until_seconds:
            break
    if wanted is not None and all(point.batch != wanted for point in points):
        if fits(points, wanted, limit):
            points += yield from _sweep(meter, base, workload, (wanted,), costs)
        else:
            too_large, why = wanted, _predicted(points, wanted, limit)
    found = BatchFound(own, tuple(sorted(points, key=lambda point: point.batch)), too_large, why)
    return found if any(point.batch == own and not point.failed for point in points) else None


def _predicted(points: Sequence[BatchPoint], batch: int, limit_bytes: int | None) -> str:
    predicted = predicted_bytes(points, batch)
    if predicted is None or limit_bytes is None or predicted <= limit_bytes:
        return "how much memory it takes cannot be foretold from smaller ones"
    return f"it would take about {predicted / 2**30:.1f} GiB, {limit_bytes / 2**30:.1f} may be used"


def _sweep(
    meter: Meter, base: Arm, workload: str, sizes: Sequence[int], costs: Costs
) -> Generator[Step, UnitResult, list[BatchPoint]]:
    variants = tuple(Variant(f"batch {size}", {"batch": str(size)}, (workload,)) for size in sizes)
    expected = costs.process + costs.timing * len(sizes)
    booked = yield from meter.measure_variants(base, variants, (workload,), expected)
    points: list[BatchPoint] = []
    for size, variant in zip(sizes, variants, strict=True):
        timing = rows_of(booked.result, variant.name).get(workload)
        if timing is not None and timing.seconds and not timing.failed:
            points.append(BatchPoint(size, speed(timing), timing.peak_resident_bytes))
        elif timing is not None and timing.failed:
            points.append(BatchPoint(size, failed=timing.failed))
        elif booked.result.outcome in _NO_ROOM:
            # The process died here: what it did not come to is not known.
            points.append(BatchPoint(size, failed=booked.failure))
            break
        else:
            break
    return points


def choice_found(
    meter: Meter, base: Arm, trial: Trial, threads: int | None, costs: Costs
) -> Generator[Step, UnitResult, Claim | None]:
    """The fastest of the choices, if it is faster than the base at all."""
    options = [each for choice in trial.choices for each in _with_fewer_threads(choice, threads)]
    named = [(Claim(trial, _title(trial, each), each), each) for each in options]
    variants = (named[0][0].base, *(claim.variant for claim, _ in named))
    expected = costs.process + 2 * costs.timing * len(variants)
    booked = yield from meter.measure_variants(base, variants, trial.workloads, expected)
    speeds = {variant.name: _speed_of(booked.result, variant) for variant in variants}
    own = speeds.pop(variants[0].name)
    best = max((claim for claim, _ in named), key=lambda claim: speeds[claim.variant.name] or 0.0)
    fastest = speeds[best.variant.name]
    return best if fastest is not None and fastest > (own or 0.0) else None


def _with_fewer_threads(choice: dict[str, str], threads: int | None) -> list[dict[str, str]]:
    """The choice as it is, and with as many threads fewer as it starts workers."""
    left = (threads or 0) - int(choice.get("loader_workers", "0"))
    return [choice, {**choice, "intra_threads": str(left)}] if left >= 1 else [choice]


def _title(trial: Trial, options: dict[str, str]) -> str:
    workers = int(options.get("loader_workers", "0"))
    words = f"{workers} DataLoader worker{'' if workers == 1 else 's'}"
    return f"{words}, {options['intra_threads']} threads" if "intra_threads" in options else words


def _speed_of(result: UnitResult, variant: Variant) -> float | None:
    rows = rows_of(result, variant.name).values()
    speeds = [speed(row) for row in rows if row.seconds and not row.failed]
    return speeds[0] if speeds else None


def still_pays(found: BatchFound) -> bool:
    """Whether the sweep ended while larger sizes still gained."""
    return still_rising(found.points)
