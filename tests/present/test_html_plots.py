"""What the plots of a run show, also where a part of it is missing."""

from __future__ import annotations

import math
from statistics import median
from xml.etree import ElementTree

import msgspec
import pytest

from doctor.machine.model import Machine, Memory
from doctor.measure.repeatability import Repeatability
from doctor.measure.units import Measured, Setting, Timing, Unit, UnitResult, Variant
from doctor.measure.verdict import Verdict, gain_of
from doctor.present.html_batch import size_plots
from doctor.present.html_dtype import dtype_plot
from doctor.present.html_measured import measured_view
from doctor.present.html_plot import Plot, Point, Series, count_axis, linear_axis, log_axis, ratio_axis, thinned
from doctor.present.html_roofline import roofline_plot
from doctor.present.html_samples import samples_of
from doctor.present.html_scaling import estimates, scaling_plot
from doctor.present.html_svg import NARROW, WIDE, svg_of
from doctor.present.tune_devices_words import crossover_words, size_words
from doctor.tune.devices import sizes
from doctor.tune.devices.device import Device
from doctor.tune.devices.ladder import Family
from doctor.tune.devices.plan import DevicesPlan
from doctor.tune.devices.result import DeviceReport, DevicesResult
from doctor.tune.devices.sizes import Row
from doctor.tune.recommendation import BatchPoint, Recommendation, Roof
from doctor.tune.result import TuneResult
from tests.browser.tuned import tuned
from tests.tune.fake import plan_of, threads


def _svg(plot: Plot, size: tuple[int, int] = WIDE) -> ElementTree.Element:
    return ElementTree.fromstring(svg_of(plot, size))


def _unit(number: int, *timings: Timing, variants: tuple[Variant, ...] = (), stage: str = "recommend",
          arm: str = "default") -> Measured:  # fmt: skip
    workloads = tuple(dict.fromkeys(timing.workload for timing in timings))
    unit = Unit(number, stage, 0, arm, Setting(), workloads, 0, 60.0, variants)  # type: ignore[arg-type]
    return Measured(unit, UnitResult("ok", 2.0, timings))


def _plots(result: TuneResult, samples: tuple[Measured, ...] = ()) -> list[str]:
    return [plot.name for plot in measured_view(Machine(), result, samples).plots]


@pytest.mark.parametrize("name", ["desktop-7950x3d", "dual-epyc-9654", "laptop"])
def test_estimates_of_the_units_are_those_of_the_search(name: str) -> None:
    result, samples = tuned(name)
    assert result is not None
    reports = {report.name: report for report in result.arms}
    seen = estimates(result, samples)
    assert len(seen) >= 6
    for each in seen:
        report = reports[each.name]
        assert each.rounds == report.rounds
        assert report.log_ratio is not None
        assert each.gain == pytest.approx(gain_of(report.log_ratio), abs=0.02)
        if each.low is not None and each.high is not None:
            assert each.low <= each.gain <= each.high


def test_without_units_the_search_alone_is_drawn_without_intervals() -> None:
    result, _ = tuned("desktop-7950x3d")
    assert result is not None
    plot = scaling_plot(result, ())
    assert plot is not None
    assert all(point.low is None for series in plot.series[:-1] for point in series.points)
    assert plot.series[-1].name.startswith("confirmed")


def test_places_are_named_and_the_confirmed_carries_its_interval() -> None:
    result, samples = tuned("desktop-7950x3d")
    assert result is not None
    plot = scaling_plot(result, samples)
    assert plot is not None
    names = [series.name for series in plot.series]
    assert names[0] == "no mask: the system places them"
    assert {"inside CCX 0", "inside CCX 1", "spread over the CCX"} <= set(names)
    verdict = result.candidates[0].verdict
    confirmed = plot.series[-1].points[0]
    assert confirmed.confirmed
    assert verdict.gain_low is not None
    assert (confirmed.x, confirmed.low) == (3.0, pytest.approx(100 * verdict.gain_low))
    assert plot.band is not None
    assert result.repeatability is not None
    assert plot.band.high == pytest.approx(100 * result.repeatability.within)
    default = [point for point in plot.series[0].points if point.y == 0 and point.said.startswith("the default")]
    assert [point.x for point in default] == [4.0]


def test_every_height_of_a_plot_lies_on_its_axes() -> None:
    for name in ("desktop-7950x3d", "dual-epyc-9654", "laptop"):
        result, samples = tuned(name)
        assert result is not None
        for plot in measured_view(Machine(), result, samples).plots:
            for point in (point for series in plot.series for point in series.points):
                assert plot.x.low <= point.x <= plot.x.high, (plot.name, point)
                assert plot.y.low <= point.y <= plot.y.high, (plot.name, point)
                low, high = (plot.x.low, plot.x.high) if plot.across else (plot.y.low, plot.y.high)
                assert point.low is None or point.low >= low
                assert point.high is None or point.high <= high


@pytest.mark.parametrize("ending", ["budget-too-small", "default-failed", "nothing-to-try"])
def test_a_run_that_ended_early_has_sentences_and_no_plots(ending: str) -> None:
    result = TuneResult(plan_of(threads(4)), ending, 2, 5.0, 2.5, detail="killed: SIGKILL", needed_seconds=60.0)  # type: ignore[arg-type]
    view = measured_view(Machine(), result, ())
    assert view.plots == ()
    assert view.claims == ()
    assert view.repeats == ""
    assert len(view.sentences) >= 1


def test_a_result_without_units_still_has_what_it_kept() -> None:
    result, _ = tuned("laptop")
    assert result is not None
    assert _plots(result) == ["scaling", "sizes-0", "dtype", "roofline"]
    bare = msgspec.structs.replace(result, recommendations=(), roofline=())
    assert _plots(bare) == ["scaling"]


def test_recommendations_with_code_stand_first_and_others_say_why() -> None:
    result, _ = tuned("laptop")
    assert result is not None
    view = measured_view(Machine(), result, ())
    assert [bool(row.code) for row in view.advice] == [True, False, False, False]
    assert view.advice[0].code == ("loader = DataLoader(data, batch_size=128)", "AMD_DOCTOR_BATCH_SIZE=128")
    assert "slower on conv train" in view.advice[1].says
    assert "one inter-op thread" in view.not_tried


def _compared(cpu: dict[int, float], own: dict[int, float | None]) -> TuneResult:
    """A run in which a card was compared with the CPU; None: the size did not fit."""
    rows = tuple(Row("fit", size, speed) for size, speed in cpu.items())
    others = tuple(Row("fit", size, speed, outcome="ok" if speed else "out-of-memory") for size, speed in own.items())
    families = (Family("fit", "points", ()),)
    found = DevicesResult("nothing-to-compare", (
        DeviceReport(Device("cpu", "CPU", "cpu"), "measured", rows=rows),
        DeviceReport(Device("cuda:0", "RX 7800 XT", "rocm"), "measured", rows=others,
                     crossovers={"fit": sizes.crossover(others, rows)}),
    ))  # fmt: skip
    plan = msgspec.structs.replace(plan_of(threads(4)), devices=DevicesPlan((), families))
    return TuneResult(plan, "confirmed", 9, 20.0, devices=found)


def test_devices_are_curves_and_the_crossover_is_marked() -> None:
    result = _compared({1: 400.0, 4: 1200.0, 16: 2600.0, 64: 3600.0}, {1: 250.0, 4: 1000.0, 16: 4000.0, 64: None})
    (plot,) = size_plots(result)
    assert [series.name for series in plot.series] == ["CPU", "RX 7800 XT (cuda:0)"]
    assert [len(series.points) for series in plot.series] == [4, 3]
    assert plot.rule_x is not None
    assert (2**plot.rule_x.at, plot.rule_x.text) == (16.0, "ahead from 16 on")
    assert result.devices is not None
    crossing = result.devices.reports[1].crossovers["fit"]
    assert f"RX 7800 XT: {crossover_words(crossing, 'points')}." in plot.said
    assert len(plot.notes) == 1
    assert plot.notes[0].startswith(f"{size_words('points', 64)} on RX 7800 XT (cuda:0): ")
    assert plot.rows[0] == ("CPU", "1", "400")


def test_no_crossover_is_marked_where_the_tuner_found_none() -> None:
    cpu = {1: 400.0, 4: 1200.0, 16: 2600.0}
    (plot,) = size_plots(_compared(cpu, {size: speed * 1.03 for size, speed in cpu.items()}))
    assert plot.rule_x is None
    (plot,) = size_plots(_compared(cpu, {size: speed * 3 for size, speed in cpu.items()}))
    assert plot.rule_x is None


def test_a_device_that_runs_nothing_is_told_and_not_drawn() -> None:
    (plot,) = size_plots(_compared({1: 400.0, 4: 900.0}, {1: None, 4: None}))
    assert [series.name for series in plot.series] == ["CPU"]
    assert len(plot.notes) == 2
    result, _ = tuned("desktop-7950x3d")
    assert result is not None
    view = measured_view(Machine(), result, ())
    assert [(problem.device, problem.status.word) for problem in view.problems] == [
        ("AMD Radeon Graphics (Raphael) (cuda:1)", "error"),
    ]  # fmt: skip


def test_what_the_search_for_a_batch_kept_is_drawn() -> None:
    result = TuneResult(plan_of(threads(4)), "confirmed", 9, 20.0)
    points = (BatchPoint(8, 10.0), BatchPoint(16, 12.0), BatchPoint(32, None, None, "no memory"))
    row = Recommendation("batch", "batch", "measured", workloads=("fit",), points=points)
    (plot,) = size_plots(msgspec.structs.replace(result, recommendations=(row,)))
    assert [point.said for point in plot.series[0].points] == ["CPU, 8: 10 samples/s", "CPU, 16: 12 samples/s"]
    assert len(plot.notes) == 1
    assert "32 on CPU: no memory" in plot.notes[0]
    one = msgspec.structs.replace(row, points=points[:1])
    assert size_plots(msgspec.structs.replace(result, recommendations=(one,))) == ()


def test_bfloat16_is_compared_within_each_process() -> None:
    units = [
        _unit(at, Timing("gemm-512", (2.0 * slow,)), Timing("gemm-bf16-512", (1.0 * slow,)))
        for at, slow in enumerate((1.0, 3.0, 9.0, 1.0, 5.0, 2.0))
    ]
    plot = dtype_plot(list(samples_of(units)))
    assert plot is not None
    assert plot.rows == (("gemm 512", "2×", "2× to 2×", "6"),)
    assert plot.said.endswith("Nothing is slower in bfloat16.")


def test_a_claim_of_autocast_goes_before_single_timings() -> None:
    variants = (Variant("base"), Variant("bf16", {"autocast": "bfloat16"}))
    unit = _unit(0, Timing("fit", (1.0,), variant="base"), Timing("fit", (4.0,), variant="bf16"), variants=variants)
    samples = list(samples_of([unit]))
    alone = dtype_plot(samples)
    assert alone is not None
    assert alone.rows == (("fit", "0.25×", "", "1"),)
    assert "Slower in bfloat16: fit." in alone.said
    verdict = Verdict("slower", 12, -0.7, -0.72, -0.68)
    claimed = dtype_plot(samples, [Recommendation("dtype", "x", "measured", verdict, workloads=("fit",))])
    assert claimed is not None
    assert claimed.rows == (("fit", "0.3×", "0.28× to 0.32×", "12"),)


_PRODUCT = Timing("gemm-1024", (1e-3, 1.1e-3), flop=2e9, moved_bytes=1e7)
_TRIAD = Timing("triad", (1e-3,), flop=4e6, moved_bytes=4.8e7)


def test_the_roofline_compares_with_the_peaks() -> None:
    rows = (Roof("gemm-1024", 8, 1.9e12, "FLOP", 4e12, 0.475, "x"), Roof("triad", 8, 48e9, "bytes", 60e9, 0.8, "y"))
    plot = roofline_plot(Machine(), list(samples_of([_unit(0, _PRODUCT, _TRIAD)])), rows)
    assert plot is not None
    rate = 2e9 / median(_PRODUCT.seconds)
    assert plot.rows[0] == ("gemm 1024", "200", "1905", f"{rate / 4e12:.0%}")
    assert plot.rows[1][3] == "80%"
    assert [series.name for series in plot.series] == [
        "measured in float32", "memory, by its modules: 60 GB/s", "memory, measured: 48 GB/s",
        "arithmetic in float32, 8 threads: 4000 GFLOP/s",
    ]  # fmt: skip


def test_a_roofline_without_peaks_compares_nothing_with_itself() -> None:
    machine = Machine(memory=Memory(peak_bytes_per_second=60_000_000_000))
    plot = roofline_plot(machine, list(samples_of([_unit(0, _PRODUCT, _TRIAD)])))
    assert plot is not None
    assert [row[3] for row in plot.rows] == ["", ""]
    assert "best measured (gemm 1024)" in plot.series[-1].name


def test_without_units_the_shares_of_the_peaks_are_drawn() -> None:
    rows = (Roof("gemm-1024", 1, 9e10, "FLOP", 1e11, 0.9, "x"), Roof("triad", 8, 48e9, "bytes"))
    plot = roofline_plot(Machine(), [], rows)
    assert plot is not None
    assert plot.rows == (("gemm 1024, 1 thread", "90G", "100G", "90%"),)
    assert len(plot.notes) == 2
    assert roofline_plot(Machine(), [], ()) is None
    assert roofline_plot(Machine(), [], rows[1:]) is None


def test_a_unit_that_died_gives_no_sample() -> None:
    unit = _unit(0, _PRODUCT)
    dead = msgspec.structs.replace(unit, result=UnitResult("killed", 1.0, unit.result.timings))
    nonsense = _unit(1, msgspec.structs.replace(_PRODUCT, seconds=(0.0, math.inf)))
    assert list(samples_of([dead, nonsense])) == []


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_drawing_holds_nothing_that_a_strict_policy_refuses(size: tuple[int, int]) -> None:
    result, samples = tuned("desktop-7950x3d")
    assert result is not None
    plots = measured_view(Machine(), result, samples).plots
    assert len(plots) == 4
    for plot in plots:
        text = svg_of(plot, size)
        assert "<!--" not in text
        root = ElementTree.fromstring(text)
        for element in root.iter():
            assert element.tag.rpartition("}")[2] in ("svg", "g", "path", "rect", "circle", "text", "title", "desc")
            assert set(element.attrib) <= {
                "class", "d", "x", "y", "cx", "cy", "r", "rx", "ry", "width", "height", "transform", "id", "role",
                "viewBox", "aria-labelledby",
            }  # fmt: skip


def test_text_in_a_drawing_is_text() -> None:
    hostile = "</text><script>alert(1)</script>\u202e&\""
    point = Point(0.0, 1.0, hostile, label=hostile)
    axis = linear_axis(hostile, [0.0, 2.0])
    plot = Plot("x", hostile, hostile, axis, axis, (Series(hostile, (point,)),), (), ())
    root = _svg(plot)
    assert not [element for element in root.iter() if "script" in element.tag]
    said = [element.text for element in root.iter() if element.text]
    assert "</text><script>alert(1)</script>&\"" in said


def test_every_point_is_drawn_with_what_it_says() -> None:
    result, samples = tuned("laptop")
    assert result is not None
    plot = scaling_plot(result, samples)
    assert plot is not None
    root = _svg(plot)
    dots = [element for element in root.iter() if "dot" in element.get("class", "").split()]
    points = [point for series in plot.series for point in series.points]
    assert len(dots) == len(points)
    titles = {element.text for element in root.iter() if element.tag.endswith("title")}
    assert {point.said for point in points} <= titles
    bars = [element for element in root.iter() if "interval" in element.get("class", "").split()]
    assert len(bars) == sum(point.low is not None for point in points)
    assert len([element for element in root.iter() if element.get("class") == "band"]) == 1


def test_two_drawings_of_one_plot_share_no_id() -> None:
    result, _ = tuned("laptop")
    assert result is not None
    plot = scaling_plot(result, ())
    assert plot is not None
    ids = [
        {element.get("id") for element in ElementTree.fromstring(svg_of(plot, size, suffix)).iter()} - {None}
        for size, suffix in ((WIDE, ""), (NARROW, "-narrow"))
    ]
    assert not ids[0] & ids[1]


def test_a_drift_is_told() -> None:
    result, _ = tuned("laptop")
    assert result is not None
    drifting = msgspec.structs.replace(result, repeatability=Repeatability(8, 0.031, 0.95, drifts=True))
    assert "±3.1 %" in measured_view(Machine(), drifting, ()).repeats
    assert "It drifts" in measured_view(Machine(), drifting, ()).repeats


def test_axes_have_round_marks_around_all_values() -> None:
    axis = linear_axis("x", [-80.7, 26.0], "{:+g} %")
    assert [mark.text for mark in axis.marks] == ["-100 %", "-80 %", "-60 %", "-40 %", "-20 %", "0", "+20 %", "+40 %"]
    assert [mark.text for mark in log_axis("x", [250.0, 22000.0]).marks] == [
        "200", "500", "1000", "2000", "5000", "10k", "20k",
    ]  # fmt: skip
    assert [mark.text for mark in log_axis("x", [1300.0, 4100.0]).marks] == ["1500", "2000", "3000", "4000"]
    assert [mark.text for mark in log_axis("x", [0.04, 7000.0]).marks] == ["0.1", "1", "10", "100", "1000", "10k"]
    assert [mark.text for mark in ratio_axis("x", [0.8, 1.9]).marks] == ["0.75×", "1×", "1.5×", "2×"]
    marks = count_axis("x", [1, 2, 4, 6, 7, 8, 12, 16, 32]).marks
    assert [mark.text for mark in thinned(marks, 0.4)] == ["1", "2", "4", "6", "8", "12", "16", "32"]
    same = log_axis("x", [5.0, 5.0])
    assert same.low < math.log10(5) < same.high
