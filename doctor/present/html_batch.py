"""The plots of sizes: how fast each device is at each batch, and from where on one is ahead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from doctor.present.html_plot import Mark, Plot, Point, Series, count_axis, log_axis, measurable, number
from doctor.present.language import joined, say
from doctor.present.text import listed
from doctor.present.tune_devices_words import ITEMS, UNITS, crossover_words, named, outcome_words, size_words
from doctor.present.tune_words import workload_words
from doctor.tune.devices.result import DeviceReport, DevicesResult
from doctor.tune.recommendation import Recommendation
from doctor.tune.result import TuneResult

_LARGEST_SIZE = 1 << 40

#: Speed by size.
_Speeds = Mapping[int, float]


def size_plots(result: TuneResult) -> tuple[Plot, ...]:
    """One for each family of work that was run at several sizes: on each device, else on the CPU alone."""
    plots = list(_of_devices(result))
    seen = {family for report in _reports(result) for family in (row.family for row in report.rows)}
    plots += [plot for row in result.recommendations if not set(row.workloads) & seen for plot in _of_batch(row)]
    return tuple(msgspec.structs.replace(plot, name=f"sizes-{at}") for at, plot in enumerate(plots))


def _reports(result: TuneResult) -> Sequence[DeviceReport]:
    return result.devices.reports if result.devices is not None else ()


def _of_batch(row: Recommendation) -> list[Plot]:
    """What the search for a batch size kept: one speed for each size."""
    speeds = {point.batch: point.items_per_second for point in row.points
              if point.items_per_second is not None and _drawable(point.batch, point.items_per_second)}  # fmt: skip
    failed = [say("{size} on {device}: {why}.", size=size_words("batch", point.batch), device="CPU", why=point.failed)
              for point in row.points if point.failed]  # fmt: skip
    if len(speeds) < 2:
        return []
    return [_plot(next(iter(row.workloads), "work"), "batch", {"CPU": speeds}, (), failed, None)]


def _of_devices(result: TuneResult) -> Sequence[Plot]:
    found, plan = result.devices, result.plan.devices
    if found is None:
        return ()
    units = {family.name: str(family.unit) for family in (plan.families if plan is not None else ())}
    families = dict.fromkeys(row.family for report in found.reports for row in report.rows)
    plots = (_of_family(found, family, units.get(family, "batch")) for family in families if units.get(family) != "")
    return [plot for plot in plots if plot is not None]


def _of_family(found: DevicesResult, family: str, unit: str) -> Plot | None:
    speeds: dict[str, dict[int, float]] = {}
    sentences, failed, even = [], [], None
    for report in found.reports:
        name, rows = named(report), report.of_family(family)
        own = {row.size: row.items_per_second for row in rows
               if row.items_per_second is not None and _drawable(row.size, row.items_per_second)}  # fmt: skip
        if own:
            speeds[name] = own
        failed += [
            say("{size} on {device}: {why}.", size=size_words(unit, row.size), device=name, why=outcome_words(row))
            for row in rows if not row.ran
        ]  # fmt: skip
        crossing = report.crossovers.get(family)
        if crossing is None:
            continue
        if own:
            sentences.append(f"{report.device.title}: {crossover_words(crossing, unit)}.")
        begins = crossing.from_size if crossing.word in ("from", "between") else None
        if even is None and begins is not None and begins in own:
            even = Mark(math.log2(begins), say("ahead from {size} on", size=begins))
    if not speeds or max(map(len, speeds.values())) < 2:
        return None
    return _plot(family, unit, speeds, sentences, failed, even)


def _drawable(size: int, speed: float) -> bool:
    return 1 <= size <= _LARGEST_SIZE and measurable(speed)


def _plot(
    work: str, unit: str, speeds: Mapping[str, _Speeds], sentences: Sequence[str], failed: Sequence[str],
    even: Mark | None,
) -> Plot:  # fmt: skip
    every = [speed for of in speeds.values() for speed in of.values()]
    words, items = workload_words(work), say(ITEMS.get(unit, ""))
    said = say("Speed of {workload} at each size in {items}, on {devices}; both axes are logarithmic.",
               items=items, workload=words, devices=listed(tuple(speeds)))  # fmt: skip
    return Plot(
        name="sizes",
        title=say("Sizes of {workload}", workload=words),
        said=" ".join([said, *sentences]),
        x=count_axis(say(UNITS.get(unit) or "size"), [size for of in speeds.values() for size in of]),
        y=log_axis(items, every),
        series=tuple(_series(name, of, items) for name, of in speeds.items()),
        header=(say("Device"), say(UNITS.get(unit) or "size"), items),
        rows=tuple((name, str(size), number(of[size])) for name, of in speeds.items() for size in sorted(of)),
        rule_x=even,
        notes=tuple(failed),
    )


def _series(name: str, speeds: _Speeds, items: str) -> Series:
    points = [
        Point(math.log2(size), math.log10(speed), f"{joined([name, str(size)])}: {number(speed)} {items}")
        for size, speed in sorted(speeds.items())
    ]
    return Series(name, tuple(points))
