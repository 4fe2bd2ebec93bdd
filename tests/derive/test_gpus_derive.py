"""What the GPUs come to: on the small machines of the probes, and on documents in part."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.facts import complete
from doctor.derive.gpus import GpuFacts, complete_gpus, gpu_facts
from doctor.machine.model import Exercise, Gpu, Machine, Os, Torch, TorchDevice
from doctor.probes.collect import collect
from doctor.sources.recording import RecordingSource
from tests.probes import gpu_machines as machines

WHEEL = Torch(
    installed=True,
    version="2.9.1+rocm6.4",
    hip="6.4.43484",
    build="rocm",
    arch_list=("gfx900", "gfx906", "gfx1030", "gfx1100", "gfx1101"),
)
LINUX = Os(kind="linux", wsl=0)


def machine_of(plain: dict[str, Any], **areas: Any) -> Machine:
    names = ("system", "environment", "nodes", "gpus", "rocm")
    found = collect(RecordingSource(plain, "test"), tuple((name, f"doctor.probes.{name}") for name in names))
    assert found.crashed == ()
    return complete(msgspec.structs.replace(found.machine, **areas))


def facts(plain: dict[str, Any], **areas: Any) -> GpuFacts:
    return gpu_facts(machine_of(plain, **areas))


def of(*gpus: Gpu, env: dict[str, str] | None = None, system: Os = LINUX, **areas: Any) -> GpuFacts:
    return gpu_facts(complete(Machine(os=system, gpus=gpus, env=env, **areas)))


CARD = Gpu(vendor="amd", gfx="gfx1100", kernel_driver="amdgpu")
IGPU = Gpu(vendor="amd", gfx="gfx1036", kernel_driver="amdgpu")


def test_a_cezanne() -> None:
    found = facts(machines.CEZANNE, torch=WHEEL)
    assert (found.amd_gpus, found.usable_gpus, found.integrated_gpus, found.discrete_gpus) == (1, 1, 1, 0)
    assert (found.wheel_gpus, found.gfx, found.mixed) == (0, ("gfx90c",), False)
    assert found.main is not None
    assert (found.main.wheel_exists, found.main.amd_extra, found.main.first_torch) == (False, "none", "none")
    assert (found.main.in_wheel, found.main.runs, found.main.helpful_override) == (False, "no", "9.0.0")


def test_a_card_beside_the_gpu_of_the_processor() -> None:
    found = facts(machines.RAPHAEL_AND_CARD, torch=WHEEL)
    assert (found.discrete_gpus, found.integrated_gpus, found.mixed) == (1, 1, True)
    assert found.main is not None and found.main.name == "AMD Radeon RX 7900 XTX" and found.main.in_use
    card, igpu = found.devices or ()
    assert (card.in_use, igpu.in_use) == (True, False)
    assert (card.runs, igpu.runs, igpu.helpful_override) == ("natively", "no", "10.3.0")
    assert found.integrated_missing is True
    assert found.integrated_is_first is None  # HIP was not asked


def test_a_strix_halo() -> None:
    found = facts(machines.STRIX_HALO, torch=Torch(version="2.10.0+rocm7.1", hip="7.1.25424"))
    assert found.main is not None and (found.main.in_wheel, found.main.integrated) == (True, True)


def test_an_old_card_has_no_wheel() -> None:
    found = facts(machines.RX_580, torch=WHEEL)
    assert (found.amd_gpus, found.usable_gpus, found.wheel_gpus) == (1, 1, 0)
    assert found.main is not None and (found.main.runs, found.main.helpful_override) == ("no", "none")


def test_a_card_that_belongs_to_a_virtual_machine_is_not_used() -> None:
    found = facts(machines.CARD_FOR_A_GUEST, torch=WHEEL)
    assert (found.amd_gpus, found.usable_gpus, found.discrete_gpus, found.mixed) == (2, 1, 0, False)
    assert found.main is not None and found.main.gfx == "gfx1036"
    assert [device.in_use for device in found.devices or ()] == [False, True]


def test_other_vendors_are_counted_apart() -> None:
    found = facts(machines.NVIDIA)
    assert (found.amd_gpus, found.nvidia_gpus, found.wheel_gpus, found.main) == (0, 1, 0, None)


def test_no_gpu_is_known_to_be_none() -> None:
    found = facts(machines.NO_GPU)
    assert (found.amd_gpus, found.wheel_gpus, found.gfx, found.mixed, found.main) == (0, 0, (), False, None)
    assert gpu_facts(Machine()).amd_gpus is None


def test_wsl_shows_what_rocminfo_says() -> None:
    assert facts(machines.wsl(dxg=True)).amd_gpus is None
    told = machines.wsl(dxg=True, commands={"rocminfo": machines.replied(machines.ROCMINFO_XTX)})
    found = facts(told, torch=WHEEL)
    assert found.main is not None and (found.main.usable, found.main.runs) == (True, "natively")


# One GPU at a time


def device(gpu: Gpu, **more: Any) -> Any:
    (found,) = of(gpu, **more).devices or ()
    return found


def test_windows_has_wheels_of_its_own() -> None:
    windows = Os(kind="windows")
    found = device(Gpu(vendor="amd", gfx="gfx90c"), system=windows, env={"HSA_OVERRIDE_GFX_VERSION": "9.0.0"})
    assert (found.wheel_exists, found.usable) == (False, True)
    assert (found.override, found.override_verdict) == ("none", "none")  # its runtime does not read it
    assert device(Gpu(vendor="amd", gfx="gfx1032"), system=windows).wheel_exists is True


@pytest.mark.parametrize(
    ("env", "override", "verdict", "runs"),
    [
        ({}, "none", "none", "no"),
        ({"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}, "10.3.0", "needed", "override"),
        ({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, "11.0.0", "wrong-family", "no"),
        ({"HSA_OVERRIDE_GFX_VERSION": "ten"}, "ten", "unparsable", "no"),
        ({"HSA_OVERRIDE_GFX_VERSION": ""}, "none", "none", "no"),
        ({"HSA_OVERRIDE_GFX_VERSION_1": "10.3.0"}, "10.3.0", "needed", "override"),
        ({"HSA_OVERRIDE_GFX_VERSION": "9.0.0", "HSA_OVERRIDE_GFX_VERSION_1": "10.3.0"}, "10.3.0", "needed", "override"),
        ({"HSA_OVERRIDE_GFX_VERSION_2": "11.0.0"}, "none", "none", "no"),
        (None, None, None, "no"),
    ],
)
def test_the_override_of_a_node(
    env: dict[str, str] | None, override: str | None, verdict: str | None, runs: str | None
) -> None:
    found = device(Gpu(vendor="amd", gfx="gfx1032", kernel_driver="amdgpu", kfd_node=1), torch=WHEEL, env=env)
    assert (found.override, found.override_verdict, found.runs) == (override, verdict, runs)


def test_whose_node_an_override_is_for_must_be_known() -> None:
    found = device(Gpu(vendor="amd", gfx="gfx1032"), torch=WHEEL, env={"HSA_OVERRIDE_GFX_VERSION_1": "10.3.0"})
    assert (found.override, found.override_verdict) == (None, None)


def test_an_override_may_be_in_the_way_of_native_code() -> None:
    found = device(CARD, torch=WHEEL, env={"HSA_OVERRIDE_GFX_VERSION": "11.0.1"})
    assert (found.in_wheel, found.override_verdict, found.runs) == (True, "native", None)
    assert device(CARD, torch=WHEEL).runs is None  # whether one is set is not known


def test_a_gpu_without_a_target_is_unknown() -> None:
    found = device(Gpu(vendor="amd", pci_id="1002:fffe", kernel_driver="amdgpu"), torch=WHEEL, env={})
    assert (found.name, found.wheel_exists, found.in_wheel, found.runs) == ("AMD GPU 1002:fffe", None, None, None)


# Which one computes


def test_a_mask_chooses_and_torch_tells_which() -> None:
    env = {"HIP_VISIBLE_DEVICES": "1"}
    assert [d.in_use for d in of(CARD, IGPU, env=env).devices or ()] == [None, None]
    seen = Torch(hip="6.4", devices=(TorchDevice(gfx="gfx1036"),))
    assert [d.in_use for d in of(CARD, IGPU, env=env, torch=seen).devices or ()] == [False, True]
    renamed = {**env, "HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
    assert [d.in_use for d in of(CARD, IGPU, env=renamed, torch=seen).devices or ()] == [None, None]


def test_of_several_cards_the_larger_one() -> None:
    small = Gpu(vendor="amd", gfx="gfx1030", kernel_driver="amdgpu", vram_total_bytes=16 << 30)
    large = msgspec.structs.replace(CARD, vram_total_bytes=24 << 30)
    found = of(small, large, IGPU).main
    assert found is not None and found.gfx == "gfx1100"
    assert of(CARD, Gpu(vendor="amd", gfx="gfx1030")).main is None  # sizes are not known
    assert of(CARD, CARD).main is not None
    assert of(CARD, Gpu(vendor="amd")).main is None  # what the other one is, is not known


def test_counts_are_unknown_where_one_gpu_is() -> None:
    strange = Gpu(vendor="amd", pci_id="1002:fffe", kernel_driver="amdgpu")
    found = of(CARD, strange, env={})
    assert (found.amd_gpus, found.usable_gpus, found.discrete_gpus, found.gfx) == (2, 2, None, None)
    assert found.wheel_gpus == 1 and of(strange).wheel_gpus is None
    assert of(Gpu(vendor="amd", gfx="gfx1100")).usable_gpus is None  # no driver is told


# Masks and exercises


def test_masks() -> None:
    found = of(CARD, env={"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "3"})
    assert found.masks == ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") and found.masked
    assert (found.masks_disagree, found.mask_hides_all) == (True, "HIP_VISIBLE_DEVICES")
    assert found.mask_beyond == "CUDA_VISIBLE_DEVICES"
    assert of(CARD, env={}).masked is False and of(CARD).masked is None


def exercise(name: str, outcome: str, device: str = "cuda:0", *, with_mask: bool | None = None) -> Exercise:
    return Exercise(name=name, device=device, outcome=outcome, detail="x", with_mask=with_mask)


def test_exercises_on_a_gpu() -> None:
    rows = (
        exercise("import-torch", "exception"),
        exercise("matmul", "ok", "cpu"),
        exercise("matmul", "exception"),
        exercise("matmul", "ok", with_mask=True),
        exercise("conv", "skipped"),
    )
    found = of(CARD, exercises=rows)
    assert (found.worked, found.worked_masked, found.failed, found.failed_detail) == (False, True, "matmul", "x")
    found = of(CARD, exercises=(exercise("matmul", "ok"),))
    assert (found.worked, found.failed) == (True, "none")
    assert of(CARD).worked is None
    # Numbers that came back unchanged prove nothing.
    found = of(CARD, exercises=(exercise("open-device", "ok"), exercise("matmul", "exception")))
    assert (found.worked, found.failed) == (False, "matmul")
    found = of(CARD, exercises=(exercise("list-devices", "signal", "cuda"),))
    assert (found.worked, found.failed) == (False, "list-devices")


def test_families_of_a_wheel() -> None:
    assert of(CARD, torch=WHEEL).wheel_families == 3
    assert of(CARD, torch=Torch(arch_list=("gfx1100", "gfx1151"))).wheel_families == 1


# Completing


def test_target_and_kind_by_table() -> None:
    machine = complete_gpus(Machine(gpus=(Gpu(pci_id="1002:164e"), Gpu(pci_id="10de:2204"), Gpu(vendor="amd"))))
    assert machine.gpus == (
        Gpu(vendor="amd", pci_id="1002:164e", gfx="gfx1036", integrated=True),
        Gpu(vendor="nvidia", pci_id="10de:2204"),
        Gpu(vendor="amd"),
    )


def test_what_is_known_stays() -> None:
    gpu = Gpu(vendor="amd", pci_id="1002:744c", gfx="gfx1030", integrated=True)
    assert complete_gpus(Machine(gpus=(gpu,))).gpus == (gpu,)


def indices(*listed: str, gpus: tuple[Gpu, ...], env: dict[str, str] | None = None) -> list[int | None]:
    devices = tuple(TorchDevice(gfx=gfx) for gfx in listed)
    machine = complete_gpus(Machine(gpus=gpus, torch=Torch(devices=devices), env={} if env is None else env))
    return [gpu.hip_index for gpu in machine.gpus or ()]


def test_the_number_for_hip_is_where_torch_lists_it() -> None:
    assert indices("gfx1036", "gfx1100:xnack-", gpus=(CARD, IGPU)) == [1, 0]
    assert indices("gfx1100", "gfx1100", gpus=(CARD, CARD)) == [None, None]
    assert indices("gfx1036", "gfx1100", gpus=(CARD, IGPU), env={"HIP_VISIBLE_DEVICES": "0,1"}) == [None, None]
    assert indices("gfx1030", "gfx1100", gpus=(CARD, IGPU), env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}) == [None, None]


def test_an_integrated_gpu_may_be_the_first() -> None:
    torch = Torch(devices=(TorchDevice(gfx="gfx1036"), TorchDevice(gfx="gfx1100")))
    assert of(CARD, IGPU, env={}, torch=torch).integrated_is_first is True
    swapped = Torch(devices=(TorchDevice(gfx="gfx1100"), TorchDevice(gfx="gfx1036")))
    assert of(CARD, IGPU, env={}, torch=swapped).integrated_is_first is False


def test_the_number_for_hip_by_the_place_on_the_bus() -> None:
    """Of two alike, and under an override that gives both one name, only their place tells which is which."""
    two = (
        Gpu(vendor="amd", gfx="gfx1100", pci_address="0000:03:00.0"),
        Gpu(vendor="amd", gfx="gfx1100", pci_address="0000:83:00.0"),
    )

    def numbers(*addresses: str | None, env: dict[str, str]) -> list[int | None]:
        devices = tuple(TorchDevice(gfx="gfx1030", pci_address=address) for address in addresses)
        machine = complete_gpus(Machine(gpus=two, env=env, torch=Torch(devices=devices)))
        return [gpu.hip_index for gpu in machine.gpus or ()]

    places = ("0000:83:00.0", "0000:03:00.0")
    assert numbers(*places, env={}) == [1, 0]
    assert numbers(*places, env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}) == [1, 0]
    assert numbers(*places, env={"HIP_VISIBLE_DEVICES": "1,0"}) == [None, None], "a mask renumbers them"
    assert numbers(places[0], None, env={}) == numbers(places[0], "0000:c3:00.0", env={}) == [None, None]
