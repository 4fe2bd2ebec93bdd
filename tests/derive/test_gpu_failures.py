"""Which GPU failed, how, and whether it works alone."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.derive.facts import complete
from doctor.derive.gpu_code import gpu_code_facts
from doctor.derive.gpu_failures import GpuFailure
from doctor.machine.model import Exercise, Gpu, Machine, Os, Torch, TorchDevice

CARD = Gpu(vendor="amd", name="Navi 31", gfx="gfx1100", kernel_driver="amdgpu", pci_address="0000:03:00.0")
IGPU = Gpu(vendor="amd", name="Raphael", gfx="gfx1036", kernel_driver="amdgpu", pci_address="0000:0d:00.0")
OLD = Gpu(vendor="amd", name="Ellesmere", gfx="gfx803", kernel_driver="amdgpu", pci_address="0000:04:00.0")
TARGETS = ("gfx1030", "gfx1100")
BOTH = (TorchDevice(name="a", gfx="gfx1100"), TorchDevice(name="b", gfx="gfx1036"))


def ran(
    name: str, outcome: str, device: str = "cuda:0", detail: str | None = None, alone: bool | None = None
) -> Exercise:
    return Exercise(name=name, device=device, outcome=outcome, detail=detail, with_mask=alone)


def failed(
    *rows: Exercise,
    gpus: tuple[Gpu, ...] | None = (CARD,),
    devices: tuple[TorchDevice, ...] | None = None,
    env: dict[str, str] | None = None,
) -> tuple[GpuFailure, ...] | None:
    torch = Torch(hip="6.4", arch_list=TARGETS, devices=devices)
    system = Os(kind="linux", wsl=0)
    machine = Machine(os=system, gpus=gpus, torch=torch, env={} if env is None else env, exercises=rows)
    return gpu_code_facts(complete(machine)).failed


def one(*rows: Exercise, **rest: Any) -> GpuFailure:
    found = failed(*rows, **rest)
    assert found is not None and len(found) == 1
    return found[0]


def test_what_was_not_tried_did_not_fail() -> None:
    assert failed() is None
    assert failed(ran("matmul", "skipped"), ran("conv", "wrong", "cpu"), ran("import-torch", "signal")) is None
    assert failed(ran("matmul", "signal", alone=True)) is None, "with the others hidden, no program runs"
    assert failed(ran("open-device", "ok"), ran("matmul", "ok")) == ()


def test_the_first_failure_is_told_and_the_others_are_named() -> None:
    assert one(
        ran("open-device", "ok"),
        ran("matmul", "exception", detail="HIP error: invalid device function"),
        ran("dtype-fp16", "signal", detail="SIGSEGV"),
        ran("conv", "skipped"),
        ran("train-step", "timeout"),
    ) == GpuFailure(
        name="Navi 31",
        where="cuda:0",
        exercise="matmul",
        outcome="it raised an error (HIP error: invalid device function)",
        also="dtype-fp16 (signal), train-step (timeout)",
        alone="not tried",
    )


@pytest.mark.parametrize(
    ("rows", "words", "index"),
    [
        ([], "not tried", None),
        ([ran("matmul", "ok", "cuda:1", alone=True)], "it came out right", 1),
        ([ran("conv", "ok", "cuda:1", alone=True)], "not tried", None),
        ([ran("matmul", "ok", "cuda:0", alone=True)], "not tried", None),
        ([ran("matmul", "signal", "cuda:1", "SIGBUS", True)], "the process died (SIGBUS) as well", None),
    ],
)
def test_what_came_of_it_alone(rows: list[Exercise], words: str, index: int | None) -> None:
    first = ran("matmul", "signal", "cuda:1", "SIGSEGV")
    found = one(first, *rows, gpus=(CARD, IGPU), devices=BOTH)
    assert (found.alone, found.alone_index) == (words, index)


@pytest.mark.parametrize("env", [{"HIP_VISIBLE_DEVICES": "1,0"}, {"ROCR_VISIBLE_DEVICES": "0,1"}])
def test_the_number_of_a_new_mask_is_not_known_where_one_is_set(env: dict[str, str]) -> None:
    rows = (ran("matmul", "signal", "cuda:1"), ran("matmul", "ok", "cuda:1", alone=True))
    found = one(*rows, gpus=(CARD, IGPU), devices=BOTH, env=env)
    assert (found.alone, found.alone_index) == ("it came out right", None)


def test_where_hip_dies_of_counting_the_first_that_works_alone_is_told() -> None:
    found = one(
        ran("list-devices", "signal", "cuda", "SIGSEGV"),
        ran("matmul", "signal", "cuda:0", "SIGSEGV", True),
        ran("open-device", "ok", "cuda:1", alone=True),
        ran("matmul", "ok", "cuda:1", alone=True),
        gpus=(CARD, IGPU),
    )
    assert (found.name, found.where, found.exercise) == (None, "any GPU", "counting the GPUs")
    assert (found.outcome, found.alone_index) == ("the process died (SIGSEGV)", 1)


def test_only_a_full_memory() -> None:
    full = ran("matmul", "exception", detail="OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB.")
    assert one(full).out_of_memory
    assert not one(full, ran("conv", "wrong")).out_of_memory


def test_which_gpu_it_is() -> None:
    rows = (ran("matmul", "wrong", "cuda:1"),)
    assert one(*rows, gpus=(CARD, IGPU), devices=BOTH).name == "Raphael", "by its target"
    assert one(*rows, gpus=(CARD, IGPU)).name is None
    alike = tuple(TorchDevice(gfx="gfx1030", pci_address=gpu.pci_address) for gpu in (IGPU, CARD))
    env = {"HSA_OVERRIDE_GFX_VERSION": "10.3.0", "HIP_VISIBLE_DEVICES": "1,0"}
    assert one(*rows, gpus=(CARD, IGPU), devices=alike, env=env).name == "Navi 31", "by its place on the bus"
    assert one(*rows, gpus=(CARD, IGPU), devices=alike[::-1], env=env).name == "Raphael"
    assert one(*rows, gpus=None, devices=BOTH).name == "gfx1036", "as the other rules call it then"
    assert one(ran("matmul", "wrong"), gpus=None).name is None
    assert one(ran("matmul", "wrong", "cuda"), gpus=(CARD,)).name == "Navi 31", "there is no other"
    assert one(*rows, gpus=(CARD,)).name is None, "a second one that the document does not know"


def test_a_gpu_beside_the_one_that_computes() -> None:
    igpu = one(ran("matmul", "ok"), ran("matmul", "wrong", "cuda:1"), gpus=(CARD, IGPU), devices=BOTH)
    assert igpu.spare
    card = one(ran("matmul", "wrong"), ran("matmul", "ok", "cuda:1"), gpus=(CARD, IGPU), devices=BOTH)
    assert not card.spare
    two = (TorchDevice(gfx="gfx1100"), TorchDevice(gfx="gfx803"))
    no_code = ran("matmul", "exception", "cuda:1")
    assert one(ran("matmul", "ok"), no_code, gpus=(CARD, OLD), devices=two).spare, "another one works, this has no code"
    found = failed(ran("matmul", "signal"), no_code, gpus=(CARD, OLD), devices=two)
    assert found is not None and [row.spare for row in found] == [False, False]
