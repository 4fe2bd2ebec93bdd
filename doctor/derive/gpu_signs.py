"""Signs that the exercises gave: of torch.compile, of hipBLASLt, of MIOpen's first search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.machine.model import Exercise, Fact, Machine

_NO_COMPILER = re.compile(
    r"InvalidCxxCompiler|No working C\+\+ compiler|Compiler: cl is not found|Failed to find (a )?C(\+\+)? compiler"
)
_NO_TRITON = re.compile(r"TritonMissing|Cannot find a working triton installation|No module named 'triton'")
_HIPBLASLT = re.compile(r"hipBLASLt on an? unsupported architecture", re.IGNORECASE)
_COMPILE = ("compile", "torch-compile")
_CONVOLUTIONS = ("conv", "conv1x1")


class GpuSignFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("compile_outcome", "compile_lacks", "hipblaslt_notice", "first_conv_seconds"), ("exercises",)
    )
    compile_outcome: str | None = None  # of an exercise of torch.compile; "none" where it was not tried
    compile_lacks: str | None = None  # what it missed: compiler, triton, none
    compile_detail: str | None = None
    hipblaslt_notice: bool | None = None  # torch said that it does not use hipBLASLt on this GPU
    counting_said: str = "nothing"  # what PyTorch warned of while it counted the GPUs
    first_conv_seconds: float | None = None  # the longest that a first convolution on a GPU took, and came out right


def gpu_sign_facts(machine: Machine, today: date | None = None) -> GpuSignFacts:
    rows = machine.exercises
    if rows is None:
        return GpuSignFacts()
    compiled = next((row for row in rows if row.name in _COMPILE and row.outcome not in (None, "skipped")), None)
    return GpuSignFacts(
        compile_outcome=compiled.outcome if compiled else "none",
        compile_lacks=_lacks(compiled),
        compile_detail=compiled.detail if compiled else None,
        counting_said=next((row.detail for row in rows if row.name == "list-devices" and row.detail), "nothing"),
        hipblaslt_notice=any(_HIPBLASLT.search(row.detail or "") for row in rows),
        first_conv_seconds=max((row.seconds or 0.0 for row in rows if _is_first_conv(row)), default=None),
    )


def _lacks(compiled: Exercise | None) -> str:
    said = (compiled.detail or "") if compiled and compiled.outcome != "ok" else ""
    return "compiler" if _NO_COMPILER.search(said) else "triton" if _NO_TRITON.search(said) else "none"


def _is_first_conv(row: Exercise) -> bool:
    on_gpu = (row.device or "").startswith("cuda")
    return on_gpu and row.name in _CONVOLUTIONS and row.outcome == "ok" and row.seconds is not None
