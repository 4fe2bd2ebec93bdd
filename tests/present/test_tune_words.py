"""The words for settings, gains and times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.measure.units import Setting
from doctor.measure.verdict import MAX_NEEDED_PAIRS, Verdict, judge
from doctor.present.tune_words import (
    gain_words,
    needed_words,
    seconds_words,
    setting_words,
    signed_percent,
    workloads_words,
)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (Setting(), "the default"),
        (Setting({"OMP_NUM_THREADS": "1"}), "1 thread"),
        (Setting({"OMP_NUM_THREADS": "12", "MKL_NUM_THREADS": "12"}), "12 threads"),
        (Setting({"OMP_NUM_THREADS": "12", "MKL_NUM_THREADS": "6"}), "12 threads, MKL_NUM_THREADS=6"),
        (Setting({"OPENBLAS_NUM_THREADS": "2"}), "2 threads"),
        (Setting({"OMP_NUM_THREADS": "16", "MKL_DYNAMIC": "FALSE"}), "16 threads, MKL_DYNAMIC=FALSE"),
        (Setting({"OMP_NUM_THREADS": None}), "OMP_NUM_THREADS unset"),
        (Setting({"OMP_NUM_THREADS": "8,2"}), "OMP_NUM_THREADS=8,2"),
        (Setting({"OMP_NUM_THREADS": "6"}, "0-5,12-17"), "6 threads on CPUs 0-5,12-17"),
        (Setting({}, "3"), "on CPU 3"),
        (Setting({"OMP_WAIT_POLICY": "PASSIVE"}), "OMP_WAIT_POLICY=PASSIVE"),
        (Setting({"LD_PRELOAD": None, "OMP_NUM_THREADS": "2"}), "2 threads, LD_PRELOAD unset"),
        (Setting(options={"batch": "64", "accumulate": "4"}), "batch 64, gradients of 4 steps added up"),
        (Setting({"OMP_NUM_THREADS": "4"}, options={"autocast": "bfloat16"}), "4 threads, autocast to bfloat16"),
        (Setting(options={"something-new": "7"}), "something-new 7"),
    ],
)
def test_a_setting_in_words(setting: Setting, words: str) -> None:
    assert setting_words(setting) == words


def test_a_short_setting_counts_its_cpus() -> None:
    setting = Setting({"OMP_NUM_THREADS": "64"}, "0-63,128-191")
    assert setting_words(setting, short=True) == "64 threads on 128 CPUs"
    assert setting_words(Setting({}, "3"), short=True) == "on 1 CPU"


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict("faster", 12, 0.18, 0.14, 0.22), "+18 % [14, 22]"),
        (Verdict("same", 12, 0.004, -0.006, 0.012), "+0.4 % [-0.6, 1.2]"),
        (Verdict("slower", 12, -0.053, -0.082, -0.043), "-5.3 % [-8.2, -4.3]"),
        (Verdict("slower", 12, -0.20, -0.21, -0.20), "-20 % [-21, -20]"),
        (Verdict("undecided", 12, 0.07, 0.02, 0.14), "+7 % [2, 14]"),
        (Verdict("faster", 12, 3.5, 3.39, 3.61), "+350 % [339, 361]"),
        (Verdict("undecided", 5, 0.2), "+20 %"),
        (Verdict("undecided", 0, None), "not measured"),
        (Verdict("same", 12, -0.0001, -0.0004, 0.0002), "+0.0 % [0.0, 0.0]"),
    ],
)
def test_a_gain_in_words(verdict: Verdict, words: str) -> None:
    assert gain_words(verdict) == words


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=20))
def test_every_verdict_has_words_with_its_bounds_in_order(log_ratios: list[float]) -> None:
    verdict = judge(log_ratios)
    text = gain_words(verdict)
    assert text.startswith(("+", "-")) and "-0 " not in text and "[-0," not in text
    if "[" in text:
        low, high = (float(part) for part in text.partition("[")[2].rstrip("]").split(","))
        assert low <= float(text.split(" ")[0]) <= high


def test_signs_and_zero() -> None:
    assert [signed_percent(share) for share in (0.18, -0.004, 0.0, -0.0001)] == ["+18 %", "-0.4 %", "+0.0 %", "+0.0 %"]


def test_needed_pairs_in_words() -> None:
    assert needed_words(Verdict("undecided", 12, 0.07, needed_pairs=46)) == "about 46 pairs"
    more = Verdict("undecided", 12, 0.07, needed_pairs=MAX_NEEDED_PAIRS)
    assert needed_words(more) == f"more than {MAX_NEEDED_PAIRS} pairs"
    assert needed_words(Verdict("undecided", 2, 0.07)) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-3, "0 s"), (0.4, "0 s"), (59.4, "59 s"), (60, "1 min"), (125.2, "2 min 5 s"), (3600, "60 min")],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words


def test_workloads_in_words() -> None:
    assert workloads_words(("gemm-1024", "mlp-train")) == "gemm 1024 and mlp train"
    assert workloads_words(("command",)) == "your command"
