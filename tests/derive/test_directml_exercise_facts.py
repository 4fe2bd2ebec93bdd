"""What the exercises on DirectML came to."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.derive.directml_exercises import DirectmlExerciseFacts, directml_exercise_facts
from doctor.machine.model import Exercise, Machine, TorchDirectml

DEVICE = "privateuseone:0"


def row(name: str, outcome: str = "ok", detail: str | None = None, device: str | None = DEVICE) -> Exercise:
    return Exercise(name=name, device=device, outcome=outcome, detail=detail)


def facts(*rows: Exercise, **directml: Any) -> DirectmlExerciseFacts:
    return directml_exercise_facts(Machine(exercises=rows, torch_directml=TorchDirectml(**directml)))


def test_a_healthy_device() -> None:
    told = facts(*map(row, ("matmul", "train-step", "gradients", "optimizer", "inference-mode", "autocast", "lstm")))
    assert told == DirectmlExerciseFacts(
        works=True,
        failed="none",
        out_of_memory="none",
        wrong="none",
        inference_mode="ok",
        types_failed=(),
        gradients_missing=False,
    )


@pytest.mark.parametrize(
    "rows",
    [(), (row("matmul", device="cpu"),), (row("matmul", "skipped"),), (row("lstm", "signal", device="cuda:0"),)],
)
def test_where_nothing_was_tried_nothing_is_known(rows: tuple[Exercise, ...]) -> None:
    assert facts(*rows) == DirectmlExerciseFacts()
    assert directml_exercise_facts(Machine()) == DirectmlExerciseFacts()


def test_the_first_failure_speaks_and_the_others_are_named() -> None:
    told = facts(
        row("matmul"),
        row("conv", "signal", "ACCESS_VIOLATION"),
        row("train-step", "timeout", "timeout after 20 s", "privateuseone:1"),
        row("lstm", "exception"),
    )
    assert (told.failed, told.failed_detail) == ("conv on privateuseone:0", "the process died (ACCESS_VIOLATION)")
    assert told.failed_also == ("train-step on privateuseone:1 (timeout)", "lstm on privateuseone:0 (exception)")


def test_the_import_is_of_no_adapter() -> None:
    told = facts(row("import-torch-directml", "exception", "OSError: libd3d12.so", "directml"))
    assert (told.failed, told.failed_detail) == ("import-torch-directml", "it raised an error (OSError: libd3d12.so)")
    assert facts(row("import-torch-directml", "timeout", device=None)).failed == "import-torch-directml"


@pytest.mark.parametrize("name", ["inference-mode", "autocast", "dtype-fp64", "dtype-bf16"])
def test_what_has_a_rule_of_its_own_is_no_failure(name: str) -> None:
    for outcome in ("exception", "signal", "wrong"):
        told = facts(row("matmul"), row(name, outcome))
        assert (told.failed, told.wrong) == ("none", "none")


@pytest.mark.parametrize(
    "detail",
    [
        "RuntimeError: Could not allocate tensor with 4915840 bytes. There is not enough GPU video memory available!",
        "torch.OutOfMemoryError: out of memory",
    ],
)
def test_a_lack_of_memory_is_that_and_nothing_else(detail: str) -> None:
    told = facts(row("train-step", "exception", detail))
    assert (told.out_of_memory, told.failed) == ("train-step on privateuseone:0", "none")


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (row("matmul", "wrong", "off by 0.5 times the largest value"), "matmul on privateuseone:0"),
        (row("copy-between-adapters", "wrong", "numbers changed"), "copy-between-adapters on privateuseone:0"),
        (row("conv-batchnorm", "wrong"), "conv-batchnorm on privateuseone:0"),
        (row("optimizer", "wrong", "off by 2 times the largest value"), "optimizer on privateuseone:0"),
        (row("optimizer", "wrong", "only 2 of 4 parameters moved"), "none"),
        (row("optimizer-before-to", "wrong", "no parameter moved"), "none"),
        (row("gradients", "wrong", "no gradient reached 2 of 4 parameters"), "none"),
        (row("matmul", "wrong", device="cpu"), None),
    ],
)
def test_wrong_numbers(found: Exercise, wrong: str | None) -> None:
    assert facts(found).wrong == wrong


@pytest.mark.parametrize(
    ("rows", "missing", "before_to"),
    [
        ([row("optimizer"), row("optimizer-before-to", "wrong", "no parameter moved")], False, True),
        ([row("optimizer"), row("optimizer-before-to")], False, False),
        ([row("optimizer", "wrong", "no parameter moved")], True, None),
        ([row("optimizer", "wrong")], True, None),
        ([row("gradients", "wrong", "no gradient reached 1 of 4 parameters"), row("optimizer")], True, None),
        ([row("gradient-parity", "wrong", "the gradients of masked_fill: no gradient")], True, None),
        ([row("gradient-parity", "wrong", "masked_fill: off by 0.3 times the largest value")], None, None),
        ([row("train-step")], False, None),
        ([row("matmul")], None, None),
        ([row("optimizer", "signal"), row("optimizer-before-to", "signal")], None, None),
    ],
)
def test_gradients(rows: list[Exercise], missing: bool | None, before_to: bool | None) -> None:
    told = facts(*rows)
    assert (told.gradients_missing, told.before_to_moves_nothing) == (missing, before_to)


@pytest.mark.parametrize(
    ("rows", "failed"),
    [
        ([row("dtype-fp64", "exception"), row("autocast", "wrong")], ("float64", "autocast")),
        ([row("autocast", "wrong"), row("autocast", "exception")], ("autocast",)),
        ([row("dtype-fp64"), row("autocast")], ()),
        ([row("dtype-bf16", "signal")], ("bfloat16",)),
        ([row("matmul")], None),
    ],
)
def test_types_that_failed(rows: list[Exercise], failed: tuple[str, ...] | None) -> None:
    assert facts(*rows).types_failed == failed


def test_names_may_be_written_with_underscores() -> None:
    told = facts(row("inference_mode", "exception"), row("optimizer_before_to", "wrong", "no parameter moved"))
    assert (told.inference_mode, told.before_to_moves_nothing, told.failed) == ("exception", True, "none")


WARNING = (
    "UserWarning: The operator 'aten::lerp.Scalar_out' is not currently supported on the DML backend and will fall back"
    " to run on the CPU. This may have performance implications."
)


@pytest.mark.parametrize(
    ("rows", "listed", "fallbacks"),
    [
        ([row("matmul")], None, None),
        ([row("matmul")], (), ()),
        ([row("optimizer", "ok", WARNING)], None, ("aten::lerp.Scalar_out",)),
        ([row("optimizer", "ok", "the CPU did aten::a, aten::b.out and more")], None, ("aten::a", "aten::b.out")),
        ([row("optimizer", "ok", WARNING)], ("aten::topk",), ("aten::lerp.Scalar_out", "aten::topk")),
        ([row("optimizer", "ok", WARNING, "cpu")], None, None),
        ([], ("aten::topk",), ("aten::topk",)),
    ],
)
def test_fallbacks(rows: list[Exercise], listed: tuple[str, ...] | None, fallbacks: tuple[str, ...] | None) -> None:
    assert facts(*rows, cpu_fallbacks=listed).fallbacks == fallbacks
