"""`amd-doctor check --python` on an environment with the stand-in for a ROCm build: whatever breaks on its GPUs becomes
a finding, and never a traceback of the doctor's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run_doctor
from tests.inside.rocm_environment import environment_with_rocm, skip_without_torch, told

CARD = {"name": "AMD Radeon RX 7900 XTX", "gfx": "gfx1100"}
MASKS = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skip_without_torch()
    return environment_with_rocm(tmp_path_factory.mktemp("environment") / "venv")


@pytest.fixture(autouse=True)
def no_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in MASKS:
        monkeypatch.delenv(name, raising=False)


def check(python: Path, *arguments: str, **what: Any) -> dict[str, Any]:
    ended = run_doctor("check", "--python", python, "--json", *arguments, env=told(**what))
    assert "Traceback" not in ended.stderr
    document = json.loads(ended.stdout)
    assert document["crashed"] == []
    return document


def rows(document: dict[str, Any], device: str, *, alone: bool = False) -> dict[str, tuple[str, str | None]]:
    told = [row for row in document["machine"]["exercises"] if row["device"] == device]
    return {
        row["name"]: (row["outcome"], row.get("detail")) for row in told if bool(row.get("with_mask")) == alone
    }


def of_rule(document: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in document["findings"] if finding["rule"] == rule]


def test_four_gpus_of_which_one_is_sound(python: Path) -> None:
    """The second dies of a convolution, for the third there is no code, the fourth gives wrong products."""
    no_code = {**CARD, "name": "AMD Radeon RX 580", "gfx": "gfx803:xnack-"}
    document = check(
        python,
        devices=[CARD, CARD, no_code, {**CARD, "name": "", "memory": 16 << 30, "free": 1 << 30}],
        at={"conv2d@1": "segfault", "matmul@2": "raise", "half@2": "raise", "conv2d@2": "raise", "matmul@3": "wrong"},
    )
    torch = document["machine"]["torch"]
    assert (torch["hip"], torch["is_available"], torch["device_count"]) == ("6.4.43484-123eb5128", True, 4)
    assert torch["arch_list"] == ["gfx1030", "gfx1100"]
    assert [device["gfx"] for device in torch["devices"]] == ["gfx1100", "gfx1100", "gfx803", "gfx1100"]
    assert torch["devices"][3] == {"gfx": "gfx1100", "total_memory_bytes": 16 << 30, "free_memory_bytes": 1 << 30}

    steps = ("open-device", "matmul", "dtype-fp16", "conv", "train-step")
    assert rows(document, "cuda:0") == dict.fromkeys(steps, ("ok", None))
    assert rows(document, "cuda:1")["matmul"] == ("ok", None)
    assert rows(document, "cuda:1")["conv"] == rows(document, "cuda:1")["train-step"] == ("signal", "SIGSEGV")
    assert rows(document, "cuda:2")["matmul"] == ("exception", "RuntimeError: HIP error: invalid device function")
    assert rows(document, "cuda:3")["matmul"] == ("wrong", "off by 0.5 times the largest value")
    assert rows(document, "cuda:3")["conv"] == ("ok", None)
    # Those that died or cannot begin were tried as the only one: it is no matter of the others.
    assert rows(document, "cuda:1", alone=True)["conv"] == ("signal", "SIGSEGV")
    assert rows(document, "cuda:2", alone=True)["matmul"][0] == "exception"
    assert rows(document, "cuda:0", alone=True) == rows(document, "cuda:3", alone=True) == {}
    on_cpu = rows(document, "cpu")
    assert on_cpu["train-step"] == on_cpu["matmul"] == ("ok", None)
    assert torch["blas"] and torch["onednn"]

    failed = {finding["title"][-6:]: finding for finding in of_rule(document, "rocm-exercise-fails")}
    assert {place: finding["severity"] for place, finding in failed.items()} == dict.fromkeys(
        ("cuda:1", "cuda:2", "cuda:3"), "error"
    )
    assert failed["cuda:1"]["evidence"] == (
        "conv: the process died (SIGSEGV); failed as well: train-step (signal); "
        "with the other GPUs hidden: the process died (SIGSEGV) as well."
    )
    assert "invalid device function" in failed["cuda:2"]["evidence"]
    assert failed["cuda:3"]["evidence"].startswith("matmul: the numbers are wrong (off by 0.5 times")
    assert not {"rocm-sees-no-gpu", "cpu-exercise-fails"} & {finding["rule"] for finding in document["findings"]}


def test_gpus_that_hang_the_process_while_they_are_counted_together(python: Path) -> None:
    document = check(
        python,
        *("--timeout", "25"),
        devices=[CARD, {**CARD, "name": "AMD Radeon(TM) Graphics", "gfx": "gfx1036"}],
        together={"is_available": "hang"},
    )
    torch = document["machine"]["torch"]
    assert rows(document, "cuda") == {"list-devices": ("timeout", "timeout after 25 s")}
    assert rows(document, "cuda:1") == {}
    assert rows(document, "cuda:1", alone=True)["matmul"] == rows(document, "cpu")["matmul"] == ("ok", None)
    assert "train-step" not in rows(document, "cpu"), "it would have counted them as well"
    unknown = {row["fact"]: (row["reason"], row["detail"]) for row in document["machine"]["unknowns"]}
    why = ("timed-out", "counting the GPUs ended in: timeout after 25 s")
    assert unknown["torch.is_available"] == unknown["torch.device_count"] == why
    assert [device["gfx"] for device in torch["devices"]] == ["gfx1100", "gfx1036"], "as each was listed alone"
    (finding,) = of_rule(document, "rocm-exercise-fails")
    assert (finding["severity"], finding["title"]) == ("error", "PyTorch does not calculate right on any GPU")
    assert "counting the GPUs: it did not end (timeout after 25 s)" in finding["evidence"]
    assert finding["fix"]["commands"][0].endswith("HIP_VISIBLE_DEVICES=0")


def test_without_exercises_it_is_said_why_the_gpus_are_not_known(python: Path) -> None:
    document = check(python, "--no-exercise")
    unknown = {row["fact"]: (row["reason"], row["detail"]) for row in document["machine"]["unknowns"]}
    why = ("not-in-source", "exercises are switched off")
    for fact in ("torch.is_available", "torch.device_count", "torch.devices", "torch.arch_list", "exercises"):
        assert unknown[fact] == why
    undecided = {row["rule"]: row["needs"] for row in document["undecided"]}
    assert {"fact": "exercises", "reason": "not-in-source"} in undecided["rocm-exercise-fails"]
