"""Wrong numbers disqualify, however they are wrong."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.measure.answers import answers_of, wrong_answer
from doctor.measure.units import Answer, Timing, UnitResult

REFERENCE = {"gemm": Answer((100.0, -50.0, 0.001), 1e-3), "triad": Answer((2.0,), 0.0)}


def answered(gemm: tuple[float, ...] = (100.0, -50.0, 0.001), triad: tuple[float, ...] = (2.0,)) -> UnitResult:
    given = (("gemm", gemm), ("triad", triad))
    return UnitResult("ok", 1.0, tuple(Timing(name, (1.0,), Answer(values, 0.0)) for name, values in given))


def test_the_same_numbers_are_right_and_small_steps_within_the_tolerance_too() -> None:
    assert wrong_answer(REFERENCE, answered()) is None
    # 0.1 of 100 is allowed for every number, also for the small one: rounding grows with the largest.
    assert wrong_answer(REFERENCE, answered(gemm=(100.09, -50.09, 0.09))) is None


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (answered(gemm=(100.0, -50.2, 0.001)), "gemm is off by 0.002 of its largest number; 0.001 is allowed"),
        (answered(triad=(2.0000001,)), "triad is off by"),
        (answered(gemm=(100.0, math.nan, 0.001)), "gemm answered with a number that is not finite"),
        (answered(gemm=(math.inf, -50.0, 0.001)), "not finite"),
        (answered(gemm=(100.0, -50.0)), "gemm answered with 2 numbers, not with 3"),
        (answered(triad=()), "triad answered with 0 numbers, not with 1"),
        (UnitResult("ok", 1.0, (Timing("gemm", (1.0,)),)), "gemm answered with 0 numbers, not with 3"),
    ],
)
def test_wrong_numbers_are_told(result: UnitResult, told: str) -> None:
    said = wrong_answer(REFERENCE, result)
    assert said is not None and told in said


def test_an_empty_tensor_where_zeros_were_expected_is_wrong() -> None:
    zeros = {"gemm": Answer((0.0, 0.0), 1e-3)}
    same = UnitResult("ok", 1.0, (Timing("gemm", (1.0,), Answer((0.0, 0.0), 1e-3)),))
    other = UnitResult("ok", 1.0, (Timing("gemm", (1.0,), Answer((0.0, 1e-9), 1e-3)),))
    assert wrong_answer(zeros, same) is None
    assert "off by inf" in (wrong_answer(zeros, other) or "")


def test_a_setting_that_calculates_in_a_lower_type_is_allowed_what_that_type_allows() -> None:
    low = UnitResult("ok", 1.0, (Timing("gemm", (1.0,), Answer((103.0, -50.0, 0.0), 0.05)),))
    assert wrong_answer({"gemm": REFERENCE["gemm"]}, low) is None
    far = UnitResult("ok", 1.0, (Timing("gemm", (1.0,), Answer((106.0, -50.0, 0.0), 0.05)),))
    assert "0.05 is allowed" in (wrong_answer({"gemm": REFERENCE["gemm"]}, far) or "")


def test_a_workload_without_numbers_is_not_compared() -> None:
    assert answers_of(UnitResult("ok", 1.0, (Timing("fit", (1.0,)),))) == {}
    assert wrong_answer({}, answered()) is None


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.floats(0, 0.1))
def test_an_answer_is_never_off_from_itself(values: list[float], tolerance: float) -> None:
    answer = Answer(tuple(values), tolerance)
    assert wrong_answer({"x": answer}, UnitResult("ok", 1.0, (Timing("x", (1.0,), answer),))) is None
