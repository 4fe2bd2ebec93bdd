"""Recommendations, speeds against the peak and findings as lines: written by hand, as the run would give them."""

from __future__ import annotations

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from doctor.measure.verdict import Verdict
from doctor.present.terminal import Look, plain
from doctor.present.tune_ending import Around
from doctor.present.tune_screen import tune_lines
from doctor.tune.recommendation import Recommendation, Roof, TuneFinding
from doctor.tune.result import TuneResult
from doctor.tune.skipped import Skipped
from tests.present.tune_results import cases

FASTER = Verdict("faster", 10, 0.452, 0.401, 0.503)
SAME = Verdict("same", 10, 0.0, -0.01, 0.01)
NOISY = Verdict("undecided", 10, 0.03, -0.02, 0.08, needed_pairs=44)
MIXED = {"mlp-train": Verdict("faster", 10, 0.3, 0.2, 0.4), "conv-train": Verdict("slower", 10, -0.12, -0.15, -0.1)}
NETS = ("mlp-train", "conv-train")

AUTOCAST = Recommendation(
    "dtype",
    "bfloat16 autocast",
    "measured",
    FASTER,
    ('with torch.autocast("cpu", dtype=torch.bfloat16):', "    loss = loss_function(model(inputs), targets)"),
    detail="the loss after 20 steps is the same within 5 %",
    workloads=NETS,
)
BATCH = Recommendation(
    "batch",
    "batch size 128 instead of 64",
    "measured",
    Verdict("faster", 9, 0.21, 0.17, 0.25),
    ('batch_size = int(os.environ.get("AMD_DOCTOR_BATCH_SIZE", "64"))',),
    {"AMD_DOCTOR_BATCH_SIZE": "128"},
    "the smallest size within 5% of the fastest that was tried",
    ("mlp-train",),
)
ACCUMULATE = Recommendation(
    "accumulate",
    "256 does not fit: 64 x 4 accumulation steps",
    "measured",
    None,
    ("(loss_function(model(inputs), targets) / 4).backward()",),
    detail="measured 812.3 samples/s; 256 would take more than 80 % of what is free",
    workloads=("mlp-train",),
    items_per_second=(812.3,),
)
ROWS = (
    Recommendation("interop", "1 inter-op thread", "measured", NOISY, ("set_num_interop_threads(1)",), workloads=NETS),
    AUTOCAST,
    BATCH,
    ACCUMULATE,
    Recommendation("denormals", "denormals as zero", "measured", SAME, ("x",), workloads=NETS),
    Recommendation("loader", "2 loader workers", "failed", detail="wrong: mlp-train answered with 3 numbers, not 4"),
    Recommendation("allocator", "tcmalloc", "measured", FASTER, ("x",), workloads=NETS, by_workload=MIXED),
    Recommendation("fpmath", "float32 products in bfloat16", "not-tried", detail="the budget was too small"),
    Recommendation("batch", "batch size 64, as it is", "chosen", detail="sizes up to 256 gain less than 5% over it"),
)


def _result() -> TuneResult:
    roofs = (
        Roof("gemm-1024", 1, 161e9, "FLOP", 166.4e9, 0.9675, "1 core at 2.6 GHz, 64 operations a cycle"),
        Roof("gemm-1024", 2, 1.31e12, "FLOP", detail="a virtual machine does not tell the real clock"),
        Roof("triad", None, 38.21e9, "bytes", 96e9, 0.398),
    )
    found = TuneFinding(
        "far-below-peak",
        "One thread reaches 21 % of the peak",
        "gemm 4096: 30 of 144 GFLOP/s",
        "Look at ATEN_CPU_CAPABILITY.",
    )
    return msgspec.structs.replace(
        cases()["faster"],
        recommendations=ROWS,
        roofline=roofs,
        findings=(found,),
        left_out=(Skipped("roofline", "the budget was too small: it takes about 20 s"),),
        plan=msgspec.structs.replace(cases()["faster"].plan, skipped=(Skipped("openblas", "torch does not use it"),)),
    )


def _text(look: Look | None = None, *, verbose: bool = False) -> str:
    look = look or Look()
    return plain(tune_lines(_result(), look, Around(saved=True), verbose=verbose), look)


@pytest.fixture(autouse=True)
def _fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.present.tune_screen.__version__", "1.2.3")


def test_everything_beside_the_verdicts(screen_file: SnapshotAssertion) -> None:
    assert _text() == screen_file


def test_code_stands_beneath_what_was_shown_and_beneath_nothing_else() -> None:
    text = _text()
    assert 'torch.autocast("cpu"' in text and "AMD_DOCTOR_BATCH_SIZE=128" in text and ".backward()" in text
    assert "set_num_interop_threads" not in text, "it is undecided"
    _, _, behind = " ".join(text.split()).partition("what your own code can set ")
    assert behind.startswith("✓ bfloat16 autocast: faster, +45 % [40, 50] on mlp train and conv train, 10 pairs")


def test_a_recommendation_that_slows_one_workload_down_is_none() -> None:
    text = " ".join(_text().split())
    assert "! tcmalloc: +45 % [40, 50] on mlp train and conv train, 10 pairs; slower on conv train -12 %" in text


def test_what_was_left_out_is_named_with_its_reason_for_who_asks() -> None:
    assert "Not tried, the budget was too small: float32 products in bfloat16 and roofline." in _text()
    assert "Left out: openblas; -v says why." in _text()
    assert "Left out, openblas: torch does not use it." in _text(verbose=True)


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_only_code_and_commands_are_wider_than_the_terminal(columns: int) -> None:
    for line in _text(Look(columns=columns), verbose=True).splitlines()[:-1]:
        assert len(line) <= columns or line.startswith("    "), line
    assert _text(Look(ascii=True), verbose=True).isascii()
