"""`rocm_exercises.py` by itself, on GPUs that the stand-in for a ROCm build makes; and what wakes them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from doctor.sources.exercise_events import ALONE_STEPS, CPU_STEPS, GPU_STEPS, ROCM_STEPS
from tests.inside.rocm_environment import FAKE, skip_without_torch, told

INSIDE = Path(__file__).resolve().parents[2] / "doctor" / "inside"
SCRIPT = INSIDE / "rocm_exercises.py"

Events = list[dict[str, Any]]

CARD = {"name": "AMD Radeon RX 7900 XTX", "gfx": "gfx1100", "memory": 25753026560, "free": 25000000000}
IGPU = {"name": "", "gfx": "gfx90a:sramecc+:xnack-", "memory": 8000000000}


def perform(
    device: str, *steps: str, script: Path = SCRIPT, mask: str | None = None, **what: Any
) -> tuple[Events, int]:
    """The ends that the script told, in order, and its exit status. `what` is to go wrong."""
    skip_without_torch()
    env = {**os.environ, "PYTHONPATH": str(FAKE), **told(**what)}
    env.pop("HIP_VISIBLE_DEVICES", None)
    if mask is not None:
        env["HIP_VISIBLE_DEVICES"] = mask
    run = subprocess.run(
        [sys.executable, str(script), device, "-", "60", *steps], capture_output=True, env=env, timeout=120
    )
    events = [json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{")]
    return [event for event in events if event["event"] == "end"], run.returncode


def outcomes(ends: Events) -> dict[str, str]:
    return {end["name"]: end["outcome"] for end in ends}


def end_of(ends: Events, name: str) -> dict[str, Any]:
    return next(end for end in ends if end["name"] == name)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rocm_exercises_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_runner_asks_for_steps_that_exist(script: ModuleType) -> None:
    assert set(ROCM_STEPS) | {"import-torch"} == set(script.STEPS)
    assert set(GPU_STEPS) <= set(ROCM_STEPS) and set(ALONE_STEPS) <= set(ROCM_STEPS)
    assert set(script.PREPARATION) | set(script.ELSEWHERE) <= set(script.STEPS)
    assert set(script.STEPS) - set(script.ELSEWHERE) == set(GPU_STEPS)


@pytest.mark.parametrize(
    ("asked", "todo"),
    [
        (("list-devices", "open-device", "matmul"), ["import-torch", "list-devices", "open-device", "matmul"]),
        (("conv", "config"), ["import-torch", "open-device", "conv", "config"]),
        (("config", "libraries"), ["import-torch", "config", "libraries"]),
        (("import-torch", "matmul"), ["import-torch", "open-device", "matmul"]),
    ],
)
def test_what_a_step_needs_is_done_before_it(script: ModuleType, asked: tuple[str, ...], todo: list[str]) -> None:
    assert script.in_order(asked)[0] == todo


@pytest.fixture(scope="module")
def sound() -> Events:
    """Every step on the first of two GPUs, both of which are sound."""
    ends, status = perform("cuda:0", *ROCM_STEPS, devices=[CARD, IGPU])
    assert status == 0
    return ends


def test_a_sound_gpu_does_every_step_right(sound: Events) -> None:
    assert [end["name"] for end in sound] == ["import-torch", *ROCM_STEPS]
    assert set(outcomes(sound).values()) == {"ok"}
    assert end_of(sound, "import-torch")["again"] is True
    for name in ("matmul", "conv", "train-step", "train-step-on-cpu"):
        assert end_of(sound, name)["facts"]["relative_error"] < 1e-4
    assert 1e-5 < end_of(sound, "dtype-fp16")["facts"]["relative_error"] < 0.01, "half precision is less exact"
    losses = [end_of(sound, name)["facts"]["losses"] for name in ("train-step", "train-step-on-cpu")]
    assert losses[0] == pytest.approx(losses[1])


def test_the_gpus_are_listed_in_the_order_of_hip(sound: Events) -> None:
    facts = end_of(sound, "list-devices")["facts"]
    assert (facts["is_available"], facts["count"], facts["failures"]) == (True, 2, [])
    assert [(device["name"], device["gfx"]) for device in facts["devices"]] == [
        ("AMD Radeon RX 7900 XTX", "gfx1100"),
        (None, "gfx90a:sramecc+:xnack-"),
    ]
    assert facts["devices"][0]["total_memory_bytes"] == 25753026560
    assert end_of(sound, "open-device")["facts"] == {"free_bytes": 25000000000, "total_bytes": 25753026560}


def test_each_line_tells_where_it_happened(sound: Events) -> None:
    devices = {end["name"]: end["device"] for end in sound}
    assert {devices[name] for name in GPU_STEPS} == {"cuda:0"}
    assert {devices[name] for name in ("import-torch", "list-devices", "config", "libraries")} == {"cuda"}
    assert devices["train-step-on-cpu"] == "cpu"


def test_the_build_and_the_libraries_are_told(sound: Events) -> None:
    assert "Build settings" in end_of(sound, "config")["facts"]["config"]
    if sys.platform == "linux":
        assert any("gomp" in path for path in end_of(sound, "libraries")["facts"]["mapped"])


def test_a_build_without_code_for_the_gpu_raises_in_every_calculation() -> None:
    """Numbers still come back unchanged, and the listing is fine: neither needs code."""
    at = dict.fromkeys(("matmul@1", "half@1", "conv2d@1", "backward@1"), "raise")
    ends, status = perform("cuda:1", *GPU_STEPS, devices=[CARD, IGPU], at=at)
    assert status == 0
    assert {end["device"] for end in ends[1:]} == {"cuda:1"}
    assert outcomes(ends)["open-device"] == "ok"
    details = {end_of(ends, name)["detail"] for name in ("matmul", "dtype-fp16", "conv", "train-step")}
    assert details == {"RuntimeError: HIP error: invalid device function"}, "not the advice that follows it"


def test_wrong_numbers_a_full_memory_and_a_warning_are_told_apart() -> None:
    at = {"matmul": "wrong", "half": "full", "conv2d": "warn", "mem_get_info": "raise"}
    ends, _ = perform("cuda:0", "open-device", "matmul", "dtype-fp16", "conv", at=at)
    assert end_of(ends, "open-device")["outcome"] == "ok"
    assert "invalid device function" in end_of(ends, "open-device")["facts"]["memory_failure"]
    assert end_of(ends, "matmul")["outcome"] == "wrong"
    assert end_of(ends, "matmul")["detail"] == "off by 0.5 times the largest value"
    assert end_of(ends, "dtype-fp16")["detail"].startswith("OutOfMemoryError: HIP out of memory.")
    assert end_of(ends, "conv")["outcome"] == "ok"
    assert end_of(ends, "conv")["facts"]["warnings"][0].startswith("Attempting to use hipBLASLt on an unsupported")
    assert "warnings" not in end_of(ends, "matmul")["facts"]


def test_a_process_that_hip_answers_no_more_leaves_the_rest_to_another_one() -> None:
    ends, status = perform("cuda:0", *GPU_STEPS, at={"matmul": "spoil"})
    assert [end["name"] for end in ends] == ["import-torch", "open-device", "matmul"]
    assert end_of(ends, "matmul")["detail"] == "RuntimeError: HIP error: unspecified launch failure"
    assert status == 0


def test_where_hip_sees_no_gpu_there_is_nothing_to_exercise(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    ends, status = perform("cuda:0", *ROCM_STEPS, mask="7", at={"is_available": "warn"}, touched=str(touched))
    assert status == 0
    facts = end_of(ends, "list-devices")["facts"]
    assert (facts["is_available"], facts["count"], facts["devices"]) == (False, 0, [])
    assert "hipBLASLt" in facts["warnings"][0]
    assert end_of(ends, "open-device")["detail"] == "HIP sees no GPU"
    assert end_of(ends, "matmul")["detail"] == "the GPU could not be opened"
    assert outcomes(ends)["train-step-on-cpu"] == outcomes(ends)["config"] == "ok"
    # The stand-in notices what wakes HIP, as the test below relies on.
    assert set(touched.read_text().split()) == {"is_available", "start_device_threads", "show_config"}


def test_a_gpu_that_does_not_answer_keeps_its_place_and_wrong_numbers_on_the_way_are_no_calculation() -> None:
    at = {"properties@0": "raise", "to@1": "wrong"}
    ends, _ = perform("cuda:1", "list-devices", "open-device", "matmul", devices=[CARD, IGPU], at=at)
    facts = end_of(ends, "list-devices")["facts"]
    assert facts["devices"][0] == {} and facts["devices"][1]["gfx"].startswith("gfx90a")
    assert facts["failures"] == ["RuntimeError: HIP error: invalid device function"]
    assert end_of(ends, "open-device")["detail"] == "numbers came back changed"
    assert outcomes(ends)["matmul"] == "skipped"


def test_the_exercises_on_the_cpu_wake_no_gpu(tmp_path: Path) -> None:
    """Neither asked for by name, nor by what looks harmless: the text of the build, and the first backward()."""
    touched = tmp_path / "touched"
    ends, status = perform(
        "cpu", *CPU_STEPS, script=INSIDE / "exercises.py", touched=str(touched), targets=["gfx1030", "gfx1100"]
    )
    assert status == 0
    assert not touched.exists(), touched.read_text()
    assert end_of(ends, "build")["facts"]["hip"] == "6.4.43484-123eb5128"
    assert end_of(ends, "build")["facts"]["targets"] == ["gfx1030", "gfx1100"]
    assert "config" not in end_of(ends, "build")["facts"]
    assert end_of(ends, "matmul")["outcome"] == end_of(ends, "dtype-bf16")["outcome"] == "ok"
    assert end_of(ends, "train-step")["detail"] == "done together with the GPU"
    assert end_of(ends, "is-available")["detail"] == "asked together with the GPU"
