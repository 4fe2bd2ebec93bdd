from __future__ import annotations

import pytest

from doctor.derive.gpu_signs import gpu_sign_facts
from doctor.machine.model import Exercise, Machine


def signs(*rows: Exercise):  # type: ignore[no-untyped-def]
    return gpu_sign_facts(Machine(exercises=rows))


@pytest.mark.parametrize(
    ("detail", "lacks"),
    [
        ("InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx", "compiler"),
        ("RuntimeError: Compiler: cl is not found.", "compiler"),
        ("RuntimeError: Failed to find C compiler. Please specify via CC environment variable.", "compiler"),
        ("TritonMissing: Cannot find a working triton installation.", "triton"),
        ("CppCompileError: C++ compile error", "none"),
        (None, "none"),
    ],
)
def test_what_torch_compile_misses(detail: str | None, lacks: str) -> None:
    facts = signs(Exercise(name="compile", device="cpu", outcome="exception", detail=detail))
    assert (facts.compile_outcome, facts.compile_lacks) == ("exception", lacks)


def test_torch_compile_that_was_not_tried_misses_nothing() -> None:
    assert signs(Exercise(name="matmul", device="cpu", outcome="ok")).compile_outcome == "none"
    assert signs(Exercise(name="compile", device="cpu", outcome="skipped")).compile_outcome == "none"
    assert gpu_sign_facts(Machine()).compile_outcome is None


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ("Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas", True),
        ("UserWarning: Attempting to use hipBLASLt on a unsupported architecture!", True),
        ("hipBLASLt failed", False),
        (None, False),
    ],
)
def test_the_notice_about_hipblaslt(detail: str | None, said: bool) -> None:
    assert signs(Exercise(name="matmul", device="cuda:0", outcome="ok", detail=detail)).hipblaslt_notice is said


def test_the_longest_first_convolution_on_a_gpu() -> None:
    rows = (
        Exercise(name="conv", device="cuda:0", outcome="ok", seconds=12.5),
        Exercise(name="conv", device="cuda:1", outcome="ok", seconds=2.0),
        Exercise(name="conv1x1", device="cuda:0", outcome="timeout", seconds=60.0),
        Exercise(name="conv", device="cpu", outcome="ok", seconds=99.0),
    )
    assert signs(*rows).first_conv_seconds == 12.5
    assert signs(*rows[2:]).first_conv_seconds is None
