"""What a run would compare: which sizes of which work on which device, what is tried there, and when it is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.machine.model import Gpu, Machine, Memory, Os, Torch, TorchDevice, TorchDirectml
from doctor.measure.units import Setting
from doctor.tune.axes import plan_for
from doctor.tune.devices.arms import arms_of, setting_of, ways_of
from doctor.tune.devices.ladder import families
from doctor.tune.devices.plan import devices_plan, seconds_for
from doctor.tune.wanted import Wanted
from tests.tune.devices.test_course import CARD, IGPU, VEGA

GIB = 1 << 30
ROCM = Machine(
    os=Os(kind="linux", kernel="6.17.0", wsl=0),
    memory=Memory(total_bytes=24 * GIB, available_bytes=20 * GIB),
    torch=Torch(installed=True, hip="7.2", devices=(TorchDevice(name="Radeon 780M", total_memory_bytes=12 * GIB),)),
    gpus=(Gpu(vendor="amd", gfx="gfx1103", integrated=True, kernel_driver="amdgpu", vram_total_bytes=4 * GIB,
              gtt_total_bytes=12 * GIB),),
    env={},
)


def plan(machine: Machine, *asked: str, workloads: tuple[str, ...] = ("mlp-train",), **more: Any):  # type: ignore[no-untyped-def]
    return devices_plan(machine, asked or ("all",), workloads, more.pop("mode", None), more.pop("environ", {}), **more)


def test_an_integrated_gpu_is_filled_and_its_memory_known_beforehand() -> None:
    found = plan(ROCM)
    (row,) = found.devices
    assert row.device.name == "cuda:0" and row.fill_bytes == 12 * GIB
    assert found.igpu is not None
    assert (found.igpu.carve_out_bytes, found.igpu.shared_bytes, found.igpu.system) == (4 * GIB, 12 * GIB, "linux")
    assert not found.note and not found.told


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Machine(torch=Torch(installed=True, hip="none")), "this PyTorch sees no other device"),
        (Machine(torch=Torch(installed=True, hip="7.2", devices=())), "built for ROCm, and ROCm shows it no GPU"),
        (Machine(torch_directml=TorchDirectml(installed=True, device_names=())), "lists no adapter"),
        (Machine(torch=Torch(hip="none"), gpus=(Gpu(vendor="amd", name="RX 580"),)), "RX 580 is here, but this"),
        (
            Machine(torch=Torch(cuda="12.8", is_available=True, devices=(TorchDevice(name="RTX 4060"),))),
            "RTX 4060 is here, but NVIDIA GPUs are told of, not measured",
        ),
    ],
)
def test_without_a_device_one_sentence_says_why(machine: Machine, words: str) -> None:
    found = plan(machine)
    assert found.devices == () and found.note.startswith("The CPU alone is measured: ")
    assert words in found.note and found.note.count(". ") == 0


def test_work_that_no_gpu_does_is_not_compared() -> None:
    for workloads in (("numpy-gemm",), ("triad", "small-ops"), ("command",)):
        found = plan(ROCM, workloads=workloads)
        assert not found.devices and "none of these workloads runs on a GPU" in found.note


def test_the_plan_of_a_run_holds_the_devices_only_where_they_were_asked_for() -> None:
    assert plan_for(ROCM, Wanted(("mlp-train",), 1), {}).devices is None
    whole = plan_for(ROCM, Wanted(("mlp-train",), 1, devices=("auto",), batch=512), {})
    assert whole.devices is not None and whole.devices.wanted_batch == 512
    assert whole.devices.free_bytes == whole.memory_bytes == int(0.8 * 20 * GIB)
    with pytest.raises(ValueError, match="no device is called 'vega'"):
        plan_for(ROCM, Wanted(("mlp-train",), 1, devices=("vega",)), {})
    assert seconds_for(1) > 180 and seconds_for(3) > seconds_for(2) > seconds_for(1)


def test_ladders() -> None:
    mlp, fit = families(("mlp-train",), "train")
    assert [rung.options for rung in mlp.rungs][:2] == [{"batch": "4"}, {"batch": "16"}] and mlp.counts and mlp.trains
    assert (fit.unit, fit.rungs[-1].size, fit.counts) == ("points", 1_000_000, False)
    assert mlp.at(128).variant(check="1").options == {"batch": "128", "check": "1"}
    infer = families(("transformer-infer", "gemm-skinny"), "infer")
    assert [family.name for family in infer] == ["transformer-infer", "gemm-skinny", "gemm"]
    assert [rung.workload for rung in infer[2].rungs] == ["gemm-512", "gemm-1024", "gemm-4096"]
    assert infer[1].rungs[0].variant().options == {} and infer[1].unit == ""
    with pytest.raises(KeyError):
        infer[2].at(2048)
    assert len({rung.name for family in infer for rung in family.rungs}) == sum(len(f.rungs) for f in infer)


def test_bfloat16_is_not_tried_where_it_ends_the_process() -> None:
    machine = Machine(torch_directml=TorchDirectml(installed=True, device_names=("RX 6600",)))
    found = plan(machine, workloads=("gemm-bf16-512", "gemm-512"))
    assert [family.name for family in found.devices[0].families] == ["gemm"]
    assert [family.name for family in found.families] == ["gemm-bf16", "gemm"]


def test_what_is_tried_on_a_device_follows_from_its_backend_and_the_work() -> None:
    nets, products = families(("conv-train",)), families(("gemm-1024",))
    assert [arm.variables for arm in arms_of(CARD, nets, {})] == [
        {"TORCH_BLAS_PREFER_HIPBLASLT": "1"},
        {"TORCH_BLAS_PREFER_HIPBLASLT": "0"},
        {"MIOPEN_FIND_MODE": "FAST"},
        {"MIOPEN_FIND_MODE": "NORMAL"},
        {"HIP_VISIBLE_DEVICES": "0"},
    ]
    assert len(arms_of(CARD, products, {})) == 3, "without convolutions MIOpen is not asked"
    set_already = {"TORCH_BLAS_PREFER_HIPBLASLT": "1", "MIOPEN_FIND_MODE": "fast"}
    assert [arm.name for arm in arms_of(CARD, nets, set_already)] == [
        "torch_blas_prefer_hipblaslt-0",
        "find-mode-normal",
        "alone",
    ]
    assert arms_of(VEGA, nets, {}) == ()
    assert [way.name for way in ways_of(VEGA, nets)] == ["foreach"]
    assert [way.name for way in ways_of(VEGA, families(("transformer-infer",)))] == ["half"]
    assert [way.name for way in ways_of(CARD, nets)] == ["autocast-float16", "autocast-bfloat16"]


def test_a_process_of_a_device_runs_under_what_the_file_will_hold() -> None:
    tuned = Setting({"OMP_NUM_THREADS": "6"}, "0-5", {"batch": "64", "autocast": "bfloat16"})
    assert setting_of(IGPU, tuned) == Setting({"OMP_NUM_THREADS": "6"}, "0-5", {"device": "cuda:1"})
    alone = arms_of(IGPU, families(("gemm-1024",)), {})[-1]
    assert setting_of(IGPU, tuned, alone) == Setting(
        {"OMP_NUM_THREADS": "6", "HIP_VISIBLE_DEVICES": "1"}, "0-5", {"device": "cuda:0"}
    )

