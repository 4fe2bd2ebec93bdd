"""Units and results: the objective, results that cannot be used, and JSON that gives back the same values."""

from __future__ import annotations

import math

import msgspec
import pytest

from doctor.measure.units import (
    Answer,
    Measured,
    Readings,
    Setting,
    Timing,
    Unit,
    UnitResult,
    checked,
    log_seconds,
    workload_log_seconds,
)


def result(**seconds: tuple[float, ...]) -> UnitResult:
    return UnitResult("ok", 2.4, tuple(Timing(name, blocks) for name, blocks in seconds.items()))


def test_a_workload_counts_by_its_median_block() -> None:
    assert workload_log_seconds(result(gemm=(9.0, 1.0, 2.0)), "gemm") == pytest.approx(math.log(2.0))
    with pytest.raises(KeyError):
        workload_log_seconds(result(gemm=(1.0,)), "triad")


def test_the_objective_is_the_geometric_mean_of_the_workloads_asked_for() -> None:
    both = result(gemm=(2.0,), triad=(8.0,), other=(1e9,))
    assert log_seconds(both, ("gemm", "triad")) == pytest.approx(math.log(4.0))
    assert log_seconds(both, ("triad", "gemm")) == pytest.approx(math.log(4.0))


@pytest.mark.parametrize("blocks", [(), (0.0,), (-1.0, 1.0), (math.nan,), (math.inf, 1.0)])
def test_a_time_that_cannot_be_one_is_rubbish(blocks: tuple[float, ...]) -> None:
    given = checked(result(gemm=blocks), ("gemm",))
    assert (given.outcome, given.detail) == ("rubbish", "no usable time of gemm")


def test_a_missing_workload_is_rubbish_and_a_surplus_one_is_not() -> None:
    assert checked(result(gemm=(1.0,)), ("gemm", "triad")).outcome == "rubbish"
    assert checked(result(gemm=(1.0,), triad=(0.0,)), ("gemm",)).outcome == "ok"


def test_a_failure_stays_what_it_was() -> None:
    killed = UnitResult("killed", 1.0, detail="SIGSEGV")
    assert checked(killed, ("gemm",)) is killed


def test_a_measured_unit_survives_json() -> None:
    setting = Setting({"OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": None}, cpus="0-7,16-23")
    unit = Unit(7, "confirm", 3, "threads-8-ccx0", setting, ("gemm",), pad_bytes=17, limit_seconds=30.0)
    timings = (Timing("gemm", (0.1, 0.30000000000000004), Answer((1.5, -2.0), 1e-4)),)
    readings = Readings(clock_mhz=(4000.0, 3990.5), other_processes=("make",), steal_share=0.01)
    measured = Measured(unit, UnitResult("ok", 2.4, timings, readings, threads=8))
    assert msgspec.json.decode(msgspec.json.encode(measured), type=Measured) == measured


def test_an_outcome_that_nobody_knows_is_not_read() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"outcome": "fine", "wall_seconds": 1.0}', type=UnitResult)
