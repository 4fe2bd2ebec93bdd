"""A saved result may hold any numbers: the page is still made, and every drawing is whole."""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.machine.model import Machine, Memory
from doctor.measure.repeatability import Repeatability
from doctor.measure.units import Measured, Setting, Timing, Unit, UnitResult, Variant
from doctor.measure.verdict import Verdict
from doctor.present.html_measured import measured_view
from doctor.present.html_svg import NARROW, WIDE, svg_of
from doctor.tune.arms import Arm
from doctor.tune.confirm import Confirmation
from doctor.tune.devices.device import Device
from doctor.tune.devices.result import DeviceReport, DevicesResult
from doctor.tune.devices.sizes import Crossover, Row
from doctor.tune.plan import Plan
from doctor.tune.recommendation import BatchPoint, Recommendation, Roof
from doctor.tune.result import TuneResult
from doctor.tune.search import ArmReport

_NUMBERS = st.one_of(
    st.sampled_from([0.0, -1.0, 1.0, 1e-12, 1e-300, 1e15, 1e300]), st.floats(allow_nan=False, allow_infinity=False)
)
_MAYBE = st.none() | _NUMBERS
_TEXT = st.text(max_size=12)
_COUNTS = st.sampled_from(["0", "1", "8", "384", "x", "-3", "٣", "", "99999999999999999999"])
_WORKLOADS = ("gemm-512", "gemm-bf16-512", "triad", "fit")

_settings = st.builds(
    Setting, st.dictionaries(st.sampled_from(["OMP_NUM_THREADS", "KMP_BLOCKTIME"]), st.none() | _COUNTS, max_size=2),
    st.none() | st.sampled_from(["0-7", "8-15"]), st.dictionaries(st.sampled_from(["batch", "device"]), _COUNTS),
)  # fmt: skip
_verdicts = st.builds(Verdict, st.sampled_from(["faster", "slower", "same", "undecided"]), st.integers(0, 40),
                      _MAYBE, _MAYBE, _MAYBE, st.none() | st.integers(0, 2000))  # fmt: skip
_timings = st.builds(
    Timing, st.sampled_from(_WORKLOADS), st.lists(_NUMBERS, max_size=3).map(tuple), st.none(), _NUMBERS, _MAYBE, _MAYBE,
    st.sampled_from(["", "a"]), st.none(), st.sampled_from(["", "", "out-of-memory: x"]),
)  # fmt: skip
_variants = st.builds(
    Variant, st.just("a"),
    st.dictionaries(st.sampled_from(["batch", "device", "autocast"]), _COUNTS | st.just("bfloat16")),
)  # fmt: skip
_measured = st.builds(
    Measured,
    st.builds(Unit, st.integers(0, 99), st.sampled_from(["search", "confirm", "recommend", "roofline"]),
              st.integers(0, 3), st.sampled_from(["default", "one", "two"]), _settings, st.just(("fit",)), st.just(0),
              st.just(9.0), st.lists(_variants, max_size=1).map(tuple)),
    st.builds(UnitResult, st.sampled_from(["ok", "killed"]), _NUMBERS, st.lists(_timings, max_size=4).map(tuple)),
)  # fmt: skip
_recommendations = st.builds(
    Recommendation, st.sampled_from(["batch", "dtype", "loader"]), _TEXT, st.sampled_from(["measured", "failed"]),
    st.none() | _verdicts, st.lists(_TEXT, max_size=2).map(tuple), st.just({}), _TEXT, st.just(("fit",)),
    st.dictionaries(st.just("fit"), _verdicts), st.just(()), st.just(()),
    st.lists(st.builds(BatchPoint, st.integers(-2, 10**12), _MAYBE, st.none(), _TEXT), max_size=4).map(tuple),
)  # fmt: skip
_roofs = st.builds(Roof, st.sampled_from(_WORKLOADS), st.none() | st.integers(-1, 400), _NUMBERS,
                   st.sampled_from(["FLOP", "bytes"]), _MAYBE, _MAYBE, _TEXT)  # fmt: skip

_sizes = st.none() | st.integers(-2, 10**14)
_reports = st.builds(
    DeviceReport, st.just(Device("cuda:0", "card", "rocm")), st.sampled_from(["measured", "failed"]), st.just("ok"),
    _TEXT, _TEXT,
    st.lists(st.builds(Row, st.sampled_from(["fit", "x y"]), st.integers(-2, 10**14), _MAYBE), max_size=5).map(tuple),
    st.just({}), st.just({}),
    st.dictionaries(st.just("fit"), st.builds(Crossover, st.sampled_from(["from", "between", "unknown"]),
                                              st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), _sizes)),
)  # fmt: skip


@st.composite
def _results(draw: st.DrawFn) -> TuneResult:
    arms = tuple(Arm(name, draw(_settings), draw(_TEXT)) for name in ("one", "two"))
    candidates = [Confirmation("one", draw(_settings), draw(_verdicts), {"fit": draw(_verdicts)}, draw(_TEXT))]
    return TuneResult(
        Plan(1, ("fit",), arms, default_threads=draw(st.none() | st.integers(0, 400))),
        "confirmed", 9, 20.0, 2.0,
        tuple(ArmReport(arm.name, "out", 2, draw(_MAYBE), draw(_TEXT)) for arm in arms),
        candidates=tuple(candidates),
        repeatability=Repeatability(4, abs(draw(_NUMBERS)), 0.9, draw(st.booleans())),
        recommendations=tuple(draw(st.lists(_recommendations, max_size=2))),
        devices=DevicesResult("nothing-to-compare", tuple(draw(st.lists(_reports, max_size=2)))),
        roofline=tuple(draw(st.lists(_roofs, max_size=3))),
    )  # fmt: skip


@given(_results(), st.lists(_measured, max_size=6), st.none() | st.integers(-1, 10**15))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_numbers_make_whole_drawings(result: TuneResult, measured: list[Measured], peak: int | None) -> None:
    saved = msgspec.json.decode(msgspec.json.encode(result), type=TuneResult)
    machine = Machine(memory=Memory(peak_bytes_per_second=peak))
    view = measured_view(machine, saved, measured)
    for plot in view.plots:
        for size in (WIDE, NARROW):
            text = svg_of(plot, size)
            ElementTree.fromstring(text)
            assert "nan" not in text
            assert "inf" not in text.replace("inference", "")
