"""What is wanted, what the build can, and what a GPU showed."""

from __future__ import annotations

import pytest

from doctor.derive.backend import backend_facts
from doctor.derive.torch_build import complete_torch_build
from doctor.machine.model import (
    DenormalTimes,
    Exercise,
    Gpu,
    Intent,
    Machine,
    Measurements,
    Os,
    Package,
    Torch,
    TorchDevice,
    TorchDirectml,
)

LINUX = Os(kind="linux", wsl=0, container="none")
CARD = Gpu(vendor="amd", gfx="gfx1100", integrated=False, kernel_driver="amdgpu")
SCREEN = Gpu(vendor="amd", gfx="gfx1036", integrated=True, kernel_driver="amdgpu")
POLARIS = Gpu(vendor="amd", gfx="gfx803", integrated=False, kernel_driver="amdgpu")
ROCM = Torch(installed=True, version="2.9.1+rocm6.4", hip="6.4.43484", build="rocm")
CPU_BUILD = Torch(installed=True, version="2.9.1+cpu", hip="none", cuda="none", build="cpu")


@pytest.mark.parametrize(
    ("torch", "is_rocm"),
    [
        (ROCM, True),
        (Torch(version="2.1.0a0+git7ce932a", hip="0.0.0"), False),
        (Torch(build="rocm"), True),
        (CPU_BUILD, False),
        (Torch(installed=False), False),
        (Torch(installed=True), None),
        (None, None),
    ],
)
def test_a_build_is_for_rocm_only_where_it_found_hip(torch: Torch | None, is_rocm: bool | None) -> None:
    assert backend_facts(Machine(torch=torch)).rocm_build is is_rocm


@pytest.mark.parametrize(
    ("gpus", "count"),
    [
        ((CARD,), 1),
        ((CARD, SCREEN), 1),
        ((SCREEN,), 0),
        ((POLARIS,), 0),
        ((Gpu(vendor="nvidia"),), 0),
        ((), 0),
        ((Gpu(vendor="amd", gfx="gfx1100", kernel_driver="vfio-pci"),), 0),
        ((Gpu(vendor="amd", kernel_driver="amdgpu"),), None),
        (None, None),
    ],
)
def test_gpus_worth_a_wheel(gpus: tuple[Gpu, ...] | None, count: int | None) -> None:
    assert backend_facts(Machine(os=LINUX, gpus=gpus)).wheel_gpus == count


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (Machine(os=LINUX, torch=ROCM), True),
        (Machine(os=LINUX, torch=ROCM, intent=Intent(backend="cpu")), False),
        (Machine(os=LINUX, torch=CPU_BUILD, intent=Intent(backend="rocm")), True),
        (Machine(os=LINUX, torch=CPU_BUILD, gpus=(CARD,)), True),
        (Machine(os=LINUX, torch=CPU_BUILD, gpus=(CARD, Gpu(vendor="nvidia"))), False),
        (Machine(os=LINUX, torch=CPU_BUILD, gpus=()), False),
        (Machine(os=LINUX, torch=CPU_BUILD), None),
        (Machine(os=LINUX, torch=Torch(installed=False), gpus=(CARD,)), None),
        (Machine(os=LINUX, torch=Torch(version="2.1.0a0+git7", hip="0.0.0")), True),
        (Machine(os=LINUX, torch=CPU_BUILD, packages={"rocm-sdk-core": Package(version="7.14.0")}), True),
        (Machine(os=Os(kind="windows"), torch=CPU_BUILD, torch_directml=TorchDirectml(installed=True)), False),
    ],
)
def test_rocm_is_expected_where_it_was_asked_for_or_a_gpu_waits_for_it(machine: Machine, expected: bool | None) -> None:
    assert backend_facts(machine).rocm_expected is expected


def test_no_gpu_is_seen_where_torch_says_so() -> None:
    def seen(**torch: object) -> bool | None:
        return backend_facts(Machine(torch=Torch(**torch))).sees_no_gpu  # type: ignore[arg-type]

    assert seen(is_available=False) is True
    assert seen(device_count=0) is True
    assert seen(is_available=True) is False
    assert seen() is None


def test_a_gpu_that_is_listed_could_be_opened() -> None:
    def seen(**torch: object) -> bool:
        return backend_facts(Machine(torch=Torch(**torch))).sees_gpu  # type: ignore[arg-type]

    assert seen(hip="6.4", is_available=True) and seen(hip="6.4", devices=(TorchDevice(gfx="gfx1100"),))
    assert not seen(hip="6.4", is_available=False) and not seen(hip="6.4")
    assert not seen(hip="none", cuda="12.4", is_available=True), "that may be a GPU of NVIDIA"


def test_exercises_on_the_cpu_say_nothing_of_the_gpu() -> None:
    rows = (
        Exercise(name="matmul", device="cpu", outcome="ok"),
        Exercise(name="conv", device="cpu", outcome="signal", detail="SIGFPE"),
    )
    facts = backend_facts(Machine(exercises=rows))
    assert (facts.gpu_worked, facts.gpu_failed) == (False, False)
    on_gpu = (
        Exercise(name="matmul", device="cuda:0", outcome="ok"),
        Exercise(name="conv", device="cuda:0", outcome="timeout"),
    )
    facts = backend_facts(Machine(exercises=on_gpu))
    assert (facts.gpu_worked, facts.gpu_failed) == (True, True)


@pytest.mark.parametrize(
    ("torch", "installer", "own"),
    [
        (ROCM, None, True),
        (Torch(version="2.2.0", hip="6.0"), "distro", False),
        (Torch(version="2.2.0", hip="6.0"), None, None),
        (Torch(version="2.2.0", hip="6.0", bundles=("libamdhip64.so",)), None, True),
    ],
)
def test_a_wheel_brings_its_own_rocm(torch: Torch, installer: str | None, own: bool | None) -> None:
    packages = {"torch": Package(version=torch.version, installer=installer)}
    assert backend_facts(Machine(torch=torch, packages=packages)).own_rocm is own


def test_the_gpu_of_wsl_is_wanted_by_what_can_use_it() -> None:
    wsl = Os(kind="linux", wsl=2)

    def wanted(**parts: object) -> bool | None:
        return backend_facts(Machine(os=wsl, **parts)).wsl_gpu_wanted  # type: ignore[arg-type]

    assert wanted(torch=ROCM) is True
    assert wanted(torch_directml=TorchDirectml(installed=True)) is True
    assert wanted(torch=CPU_BUILD, torch_directml=TorchDirectml(installed=False)) is False
    assert wanted(torch=ROCM, intent=Intent(backend="cpu")) is False
    assert wanted(torch=Torch(version="2.9.1", build="cuda")) is None


def test_denormals_cost_nothing_that_was_not_measured() -> None:
    times = Measurements(denormals=DenormalTimes(kept_seconds=3.0, flushed_seconds=1.5))
    assert backend_facts(Machine(measurements=times)).denormal_time_ratio == 2.0
    assert backend_facts(Machine()).denormal_time_ratio == "none"
    nothing = Measurements(denormals=DenormalTimes(kept_seconds=3.0, flushed_seconds=0.0))
    assert backend_facts(Machine(measurements=nothing)).denormal_time_ratio == "none"


@pytest.mark.parametrize(
    ("torch", "build", "cuda", "hip"),
    [
        (Torch(version="2.3.1+cpu"), "cpu", "none", "none"),
        (Torch(version="2.6.0+cu124"), "cuda", None, "none"),
        (Torch(version="2.9.1+rocm6.4"), "rocm", "none", None),
        (Torch(version="2.1.0a0+git7ce932a", hip="0.0.0"), "source", None, "0.0.0"),
        (Torch(version="2.6.0"), None, None, None),
        (Torch(version="2.6.0", cuda="none", hip="none"), "cpu", "none", "none"),
        (Torch(version="2.6.0", build="cuda"), "cuda", None, None),
        (Torch(installed=False), None, None, None),
    ],
)
def test_the_version_tells_the_build_where_it_has_a_local_part(
    torch: Torch, build: str | None, cuda: str | None, hip: str | None
) -> None:
    completed = complete_torch_build(Machine(torch=torch)).torch
    assert completed is not None
    assert (completed.build, completed.cuda, completed.hip) == (build, cuda, hip)
