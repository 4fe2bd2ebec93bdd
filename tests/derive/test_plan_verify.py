"""`plan --verify`: what was not seen is not right."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.plan_verify import Verification, verify
from doctor.machine.model import Machine
from doctor.present.plan_verified import verification_lines
from doctor.present.terminal import Look, plain
from tests.machines.plans import planned

LINUX = {"kind": "linux", "wsl": 0, "container": "none"}
PYTHON = {"version": "3.12.3", "machine": "x86_64", "venv": True, "manager": "pip", "executable": "~/v/bin/python"}
CARD = {"vendor": "amd", "gfx": "gfx1100", "integrated": False, "kernel_driver": "amdgpu"}
WORKS = {"installed": True, "importable": True}
CPU_TORCH = {**WORKS, "version": "2.13.0+cpu", "build": "cpu", "hip": "none", "cuda": "none"}
ROCM_TORCH = {**WORKS, "version": "2.13.0+rocm7.2", "build": "rocm", "hip": "7.2", "arch_list": ["gfx1100"]}
ON_CPU = [{"name": name, "device": "cpu", "outcome": "ok"} for name in ("matmul", "train-step")]
ON_GPU = [{"name": "matmul", "device": "cuda:0", "outcome": "ok"}]


def _verified(**plain: Any) -> Verification:
    machine, made, derived = planned(msgspec.convert({"os": LINUX, "python": PYTHON, **plain}, Machine))
    return verify(machine, made, derived)


def _answers(verification: Verification) -> list[tuple[str, bool | None]]:
    return [(check.name, check.right) for check in verification.checks]


def test_a_cpu_that_computes_right() -> None:
    verification = _verified(torch=CPU_TORCH, gpus=[], exercises=ON_CPU)
    assert _answers(verification) == [("import", True), ("build", True), ("exercises-cpu", True)]
    assert verification.right


def test_a_gpu_that_computes_right() -> None:
    verification = _verified(torch=ROCM_TORCH, gpus=[CARD], exercises=ON_CPU + ON_GPU)
    assert verification.right and _answers(verification)[-1] == ("exercises-rocm", True)


def test_a_gpu_on_which_nothing_ran_is_not_verified() -> None:
    verification = _verified(torch={**ROCM_TORCH, "is_available": True}, gpus=[CARD], exercises=ON_CPU)
    assert not verification.right and _answers(verification)[-1] == ("exercises-rocm", None)
    assert "no exercise ran on the GPU" in verification.checks[-1].words


def test_of_several_gpus_those_to_compute_on_count_while_all_are_visible() -> None:
    igpu = {**CARD, "gfx": "gfx1036", "integrated": True}
    torch = {**ROCM_TORCH, "is_available": True, "devices": [{"gfx": "gfx1100"}, {"gfx": "gfx1036"}]}
    no_code = {"name": "matmul", "device": "cuda:1", "outcome": "exception"}
    beside = _verified(torch=torch, gpus=[CARD, igpu], env={}, exercises=[*ON_CPU, *ON_GPU, no_code])
    assert beside.checks[-1].right is True
    dies = {**ON_GPU[0], "outcome": "signal"}
    alone = {**ON_GPU[0], "with_mask": True}
    together = _verified(torch=torch, gpus=[CARD, igpu], env={}, exercises=[*ON_CPU, dies, alone])
    assert together.checks[-1].right is False


@pytest.mark.parametrize("name", ["open-device", "list-devices"])
def test_a_gpu_that_only_takes_numbers_proves_nothing(name: str) -> None:
    took = {"name": name, "device": "cuda:0", "outcome": "ok"}
    verification = _verified(torch=ROCM_TORCH, gpus=[CARD], exercises=[*ON_CPU, took])
    assert verification.checks[-1].right is None


@pytest.mark.parametrize(
    ("machine", "wrong"),
    [
        ({"torch": {"installed": False}, "gpus": []}, "import"),
        ({"torch": {**CPU_TORCH, "importable": False, "import_error": "OSError"}, "gpus": []}, "import"),
        ({"torch": CPU_TORCH, "gpus": [CARD], "exercises": ON_CPU}, "build"),
        ({"torch": CPU_TORCH, "gpus": [], "exercises": [{**ON_CPU[0], "outcome": "wrong"}]}, "exercises-cpu"),
        (
            {"torch": ROCM_TORCH, "gpus": [CARD], "exercises": [*ON_CPU, {**ON_GPU[0], "outcome": "signal"}]},
            "exercises-rocm",
        ),
    ],
)
def test_what_is_wrong_is_named(machine: dict[str, Any], wrong: str) -> None:
    verification = _verified(**machine)
    assert not verification.right
    assert [check.name for check in verification.checks if check.right is False] == [wrong]


@pytest.mark.parametrize("torch", [None, {**CPU_TORCH, "importable": None}])
def test_what_was_not_tried_is_not_right(torch: dict[str, Any] | None) -> None:
    verification = _verified(torch=torch, gpus=[])
    assert not verification.right and verification.checks[0].right is None


def test_what_directml_is_known_to_lack_does_not_count() -> None:
    names = ("open-adapter", "matmul", "train-step")
    needed = [{"name": name, "device": "privateuseone:0", "outcome": "ok"} for name in names]
    lacks = [{"name": "autocast", "device": "privateuseone:0", "outcome": "exception"}]
    other = [{"name": "matmul", "device": "privateuseone:1", "outcome": "exception"}]
    plain = {
        "os": {"kind": "windows", "wsl": 0},
        "python": {**PYTHON, "machine": "AMD64"},
        "torch": {**CPU_TORCH, "version": "2.4.1+cpu"},
        "packages": {"torch": {"version": "2.4.1+cpu"}, "torch-directml": {"version": "0.2.5.dev240914"}},
        "torch_directml": {"installed": True, "version": "0.2.5.dev240914", "default_device": 0},
        "gpus": [{"vendor": "amd", "pci_id": "1002:67df"}],
    }
    assert _verified(**plain, exercises=ON_CPU + needed + lacks + other).right
    assert not _verified(**plain, exercises=[*ON_CPU, *needed, {**needed[1], "outcome": "wrong"}]).right


def test_the_screen_ends_with_the_verdict_and_says_what_next() -> None:
    machine, made, derived = planned(
        msgspec.convert({"os": LINUX, "python": PYTHON, "torch": {"installed": False}, "gpus": [CARD]}, Machine)
    )
    text = plain(verification_lines(machine, made, verify(machine, made, derived), Look()), Look())
    assert text.splitlines()[-1] == "amd-doctor: not verified: rocm-pytorch"
    assert text.splitlines()[-2].strip().startswith("~/v/bin/python -m pip install torch --index-url")
