"""Which devices a machine document names, and which of them a user's words mean."""

from __future__ import annotations

import pytest

from doctor.machine.model import Gpu, Machine, Torch, TorchDevice, TorchDirectml
from doctor.tune.devices.device import Device, chosen, devices_of

GIB = 1 << 30
ROCM = Torch(
    installed=True,
    hip="7.2",
    devices=(
        TorchDevice(name="AMD Radeon RX 7900 XTX", gfx="gfx1100", total_memory_bytes=24 * GIB),
        TorchDevice(name="AMD Radeon Graphics", gfx="gfx1036", total_memory_bytes=16 * GIB),
    ),
)
BOTH = (
    Gpu(vendor="amd", gfx="gfx1100", integrated=False, hip_index=0),
    Gpu(vendor="amd", gfx="gfx1036", integrated=True, hip_index=1),
)


def test_rocm_devices_come_in_the_order_of_hip() -> None:
    found = devices_of(Machine(torch=ROCM, gpus=BOTH, env={}))
    assert [(device.name, device.integrated, device.hip_index) for device in found] == [
        ("cuda:0", False, 0),
        ("cuda:1", True, 1),
    ]
    assert all(device.backend == "rocm" and device.measurable for device in found)


def test_where_nothing_is_known_of_the_card_its_target_tells_whether_it_is_integrated() -> None:
    torch = Torch(hip="7.2", devices=(TorchDevice(name="780M", gfx="gfx1103"), TorchDevice(name="XTX", gfx="gfx1100")))
    assert [device.integrated for device in devices_of(Machine(torch=torch, env={}))] == [True, False]


def test_a_mask_that_is_set_is_not_set_again() -> None:
    found = devices_of(Machine(torch=ROCM, gpus=BOTH, env={"HIP_VISIBLE_DEVICES": "0,1"}))
    assert [device.hip_index for device in found] == [None, None]


def test_adapters_of_directml_are_found_by_their_names() -> None:
    machine = Machine(
        torch=Torch(installed=True, hip="none"),
        torch_directml=TorchDirectml(installed=True, device_names=("AMD Radeon(TM) Graphics\0", "RX 6600")),
        gpus=(
            Gpu(vendor="amd", name="RX 6600", integrated=False, dedicated_bytes=8 * GIB, shared_bytes=16 * GIB),
            Gpu(
                vendor="amd",
                name="AMD Radeon(TM) Graphics",
                integrated=True,
                dedicated_bytes=GIB,
                shared_bytes=7 * GIB,
            ),
        ),
    )
    first, second = devices_of(machine)
    assert (first.name, first.title, first.integrated) == ("privateuseone:0", "AMD Radeon(TM) Graphics", True)
    assert first.memory_bytes == 8 * GIB, "an integrated one may fill both parts"
    assert second.memory_bytes == 8 * GIB, "a card has its own"


def test_what_cannot_be_measured_is_told_with_its_reason() -> None:
    nvidia = Machine(torch=Torch(cuda="12.8", is_available=True, devices=(TorchDevice(name="RTX 4060"),)))
    (device,) = devices_of(nvidia)
    assert not device.measurable and "not measured" in device.why_not and device.title == "RTX 4060"
    unused = Machine(torch=Torch(hip="none"), gpus=(Gpu(vendor="amd", name="Radeon RX 580"),))
    (device,) = devices_of(unused)
    assert not device.measurable and "amd-doctor plan" in device.why_not


CARD = Device("cuda:0", "Radeon RX 7900 XTX", "rocm", integrated=False, memory_bytes=24 * GIB)
IGPU = Device("cuda:1", "Radeon 890M", "rocm", integrated=True, memory_bytes=32 * GIB)
OTHER = Device("cuda:9", "RTX 4060", "other", why_not="NVIDIA GPUs are told of, not measured")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("auto",), ["cuda:0"]),
        (("all",), ["cuda:0", "cuda:1"]),
        (("cuda:1",), ["cuda:1"]),
        (("rocm",), ["cuda:0", "cuda:1"]),
        (("890m",), ["cuda:1"]),
        (("cpu",), []),
        (("cpu", "7900"), ["cuda:0"]),
        ((), []),
    ],
)
def test_names_mean_devices(asked: tuple[str, ...], expected: list[str]) -> None:
    assert [device.name for device in chosen((CARD, IGPU, OTHER), asked)] == expected


def test_a_name_that_means_nothing_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"no device is called 'vega': there are cpu, cuda:0 \(Radeon RX 7900 XTX\)"):
        chosen((CARD,), ("vega",))
    with pytest.raises(ValueError, match="there is the CPU alone"):
        chosen((), ("cuda:0",))
    with pytest.raises(ValueError, match="RTX 4060 is not measured"):
        chosen((CARD, OTHER), ("rtx",))
