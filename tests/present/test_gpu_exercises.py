"""What the screen says of the GPUs of a ROCm build: how many calculate right, what failed, why nothing is known."""

from __future__ import annotations

import pytest

from doctor.machine.model import Exercise, Machine, Torch, TorchDevice, UnknownFact
from doctor.present.gpu_exercises import devices_text
from doctor.present.software import pytorch_says, rocm_says
from doctor.present.unknowns import fact_words

TORCH = Torch(installed=True, version="2.9.1+rocm6.4", hip="6.4", importable=True)


def ran(
    name: str, outcome: str, device: str = "cuda:0", detail: str | None = None, with_mask: bool | None = None
) -> Exercise:
    return Exercise(name=name, device=device, outcome=outcome, detail=detail, with_mask=with_mask)


@pytest.mark.parametrize(
    ("rows", "right", "wrong"),
    [
        ([], "", ""),
        ([ran("matmul", "skipped"), ran("matmul", "wrong", "cpu")], "", ""),
        ([ran("open-device", "ok"), ran("matmul", "ok")], "1 of 1 GPU calculates right", ""),
        ([ran("matmul", "ok"), ran("matmul", "ok", "cuda:1")], "2 of 2 GPUs calculate right", ""),
        (
            [ran("matmul", "ok"), ran("matmul", "ok", "cuda:1"), ran("conv", "signal", "cuda:1", "SIGSEGV")],
            "1 of 2 GPUs calculates right",
            "not right: conv on cuda:1 (SIGSEGV)",
        ),
        # That numbers come back is no calculation, and what works alone is not how a program runs.
        ([ran("open-device", "ok")], "0 of 1 GPU calculate right", ""),
        (
            [ran("matmul", "timeout"), ran("matmul", "ok", with_mask=True)],
            "0 of 1 GPU calculate right",
            "not right: matmul on cuda:0 (no end in time)",
        ),
        ([ran("list-devices", "signal", "cuda", "SIGSEGV")], "", "not right: list-devices on cuda (SIGSEGV)"),
    ],
)
def test_devices_text(rows: list[Exercise], right: str, wrong: str) -> None:
    assert devices_text(rows) == (right, wrong)


def test_the_line_of_rocm_says_how_many_gpus_passed() -> None:
    devices = (TorchDevice(gfx="gfx1100"), TorchDevice(gfx="gfx1036"))
    torch = Torch(installed=True, hip="6.4", is_available=True, devices=devices)
    rows = (ran("matmul", "ok"), ran("matmul", "wrong", "cuda:1"))
    says = rocm_says(Machine(torch=torch, exercises=rows))
    assert says.facts == (
        "PyTorch is built for ROCm 6.4, PyTorch sees gfx1100 and gfx1036",
        "1 of 2 GPUs calculates right",
    )
    assert says.missing == ("not right: matmul on cuda:1 (a wrong result)",)


def test_the_line_of_pytorch_is_about_the_cpu() -> None:
    rows = (ran("matmul", "ok", "cpu"), ran("matmul", "signal", "cuda:0", "SIGSEGV"))
    says = pytorch_says(Machine(torch=TORCH, exercises=rows))
    assert says.facts[-1] == "1 of 1 exercise are right" and says.missing == ()
    # Of another build there is no line of ROCm that would tell it.
    cuda = Torch(installed=True, version="2.9.1+cu128", hip="none", cuda="12.8", importable=True)
    assert pytorch_says(Machine(torch=cuda, exercises=rows)).missing == ("not right: matmul on cuda:0 (SIGSEGV)",)


def test_why_the_gpus_are_not_known() -> None:
    row = UnknownFact("torch.devices", "not-in-source", "exercises are switched off")
    says = rocm_says(Machine(torch=TORCH, unknowns=(row,)))
    assert says.facts == ("PyTorch is built for ROCm 6.4",)
    assert says.missing == ("which GPUs PyTorch sees, and whether they work: exercises are switched off",)
    assert rocm_says(Machine(torch=TORCH)).missing == ()
    assert fact_words("torch.devices") == "which GPUs PyTorch sees (torch.devices)"
