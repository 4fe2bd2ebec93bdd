"""The worker on GPUs of ROCm, as the stand-in makes them: it waits by synchronising, reads PyTorch's own figures, keeps
what hipBLASLt warns of, and tells a GPU without memory from one that is broken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from doctor.measure.units import Setting, Unit, UnitResult, Variant
from doctor.measure.worker import WorkerExperiment
from tests.inside.rocm_environment import environment_with_rocm, skip_without_torch, told

GPU = {"name": "AMD Radeon 780M", "gfx": "gfx1103", "memory": 8 << 30}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skip_without_torch()
    return environment_with_rocm(tmp_path_factory.mktemp("rocm"))


def measured(python: Path, workload: str, options: dict[str, str], **what: Any) -> UnitResult:
    environ = {**os.environ, **told(devices=[GPU], targets=["gfx1103"], **what)}
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0)))) if hasattr(os, "sched_getaffinity") else "0"
    variant = Variant("", options, (workload,))
    setting = Setting(options={"device": "cuda:0"})
    unit = Unit(0, "devices", 0, "cuda:0", setting, (workload,), 7, 120.0, (variant,))
    return WorkerExperiment(str(python), environ, all_cpus=cpus).measure(unit)


def test_it_tells_what_pytorch_held_and_that_the_gradients_are_right(python: Path) -> None:
    result = measured(python, "mlp-train", {"batch": "8", "check": "1"}, allocated=123456789)
    (timing,) = result.timings
    assert result.outcome == "ok" and not timing.failed and timing.device is not None
    assert timing.device.device_bytes == 123456789
    assert timing.device.gradients_off is not None and timing.device.gradients_off < 1e-4
    assert timing.device.without_gradient == timing.device.still == 0


def test_it_waits_by_synchronising(python: Path, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    measured(python, "gemm-512", {}, touched=str(touched))
    assert "synchronize" in touched.read_text(encoding="utf-8").split()
    result = measured(python, "gemm-512", {}, at={"synchronize": "raise"})
    assert "invalid device function" in result.timings[0].failed


def test_a_warning_that_names_a_cause_is_kept(python: Path) -> None:
    result = measured(python, "gemm-512", {}, at={"matmul": "warn", "__matmul__": "warn"})
    (timing,) = result.timings
    assert timing.device is not None and "hipBLASLt on an unsupported architecture" in timing.device.warned[0]


@pytest.mark.parametrize(
    ("does", "word"), [("full", "out-of-memory: HIP out of memory"), ("raise", "rubbish: "), ("spoil", "rubbish: ")]
)
def test_how_it_fails_is_told_apart(python: Path, does: str, word: str) -> None:
    result = measured(python, "conv-train", {"batch": "4"}, at={"conv2d": does})
    assert result.outcome == "ok", "the process goes on"
    assert result.timings[0].failed.startswith(word)


def test_wrong_numbers_are_seen_in_the_gradients(python: Path) -> None:
    result = measured(python, "conv-train", {"batch": "4", "check": "1"}, at={"conv2d": "wrong"})
    check = result.timings[0].device
    assert check is not None and check.gradients_off is not None and check.gradients_off > 0.1


def test_a_hang_is_ended_and_named(python: Path) -> None:
    environ = {**os.environ, **told(devices=[GPU], targets=["gfx1103"], at={"conv2d": "hang"})}
    unit = Unit(0, "devices", 0, "cuda:0", Setting(options={"device": "cuda:0"}), ("conv-train",), 7, 15.0,
                (Variant("", {"batch": "4"}),))
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0)))) if hasattr(os, "sched_getaffinity") else "0"
    result = WorkerExperiment(str(python), environ, all_cpus=cpus).measure(unit)
    assert result.outcome == "hung" and result.timings == ()
