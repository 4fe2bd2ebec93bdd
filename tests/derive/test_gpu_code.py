"""Has torch code for the GPU that it would run on?"""

from __future__ import annotations

import pytest

from doctor.derive.gpu_code import GpuCode, gpu_code_facts
from doctor.machine.model import Gpu, Machine, Os, Package, Python, Torch, TorchDevice

LINUX = Os(kind="linux", wsl=0)
OLD = Torch(installed=True, version="2.4.1+rocm6.0", hip="6.0.32830", build="rocm")
CARD = Gpu(vendor="amd", name="RX 6600", gfx="gfx1032", integrated=False, kernel_driver="amdgpu")


def only(**parts: object) -> GpuCode:
    machine = Machine(**{"os": LINUX, "torch": OLD, "gpus": (CARD,), **parts})  # type: ignore[arg-type]
    (row,) = gpu_code_facts(machine).gpus or ()
    return row


def test_a_target_that_the_wheel_lacks_by_table() -> None:
    row = only(env={}, python=Python(version="3.12.1", machine="x86_64"))
    assert (row.lacks_code, row.in_use, row.helpful_override) == (True, True, "10.3.0")
    assert (row.requirement, row.index_url) == ("torch[device-gfx1032]", "https://repo.amd.com/rocm/whl-multi-arch/")


def test_with_an_override_the_override_is_the_matter() -> None:
    assert only(env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}).lacks_code is False
    wrong = only(env={"HSA_OVERRIDE_GFX_VERSION": "11.0.0"})
    assert (wrong.lacks_code, wrong.override_verdict) == (False, "wrong-family")
    assert wrong.override_does == "that is another generation, whose code crashes it or computes nonsense"


@pytest.mark.parametrize(("listed", "lacks"), [("gfx1032", True), ("gfx1030", None), (None, None)])
def test_torch_lists_the_real_target_only_without_an_override(listed: str | None, lacks: bool | None) -> None:
    torch = Torch(version="2.4.1+rocm6.0", hip="6.0", devices=(TorchDevice(gfx=listed),))
    assert only(env=None, torch=torch).lacks_code is lacks


def test_where_only_torch_names_its_devices_they_are_judged() -> None:
    torch = Torch(version="2.4.1+rocm6.0", hip="6.0", devices=(TorchDevice(gfx="gfx1032"),))
    row = only(gpus=None, torch=torch)
    assert (row.gfx, row.lacks_code, row.in_use) == ("gfx1032", True, True)
    torch = Torch(version="2.3.1+rocm5.7", hip="5.7", devices=(TorchDevice(gfx="gfx1030"),))
    assert only(gpus=None, torch=torch).lacks_code is False, "an override may stand behind it"


def test_of_several_that_torch_lists_the_card_is_in_use() -> None:
    devices = (TorchDevice(gfx="gfx1036"), TorchDevice(gfx="gfx1100:sramecc-"))
    torch = Torch(version="2.4.1+rocm6.0", hip="6.0", devices=devices)
    rows = gpu_code_facts(Machine(os=LINUX, torch=torch)).gpus
    assert rows is not None
    assert [(row.gfx, row.in_use, row.lacks_code) for row in rows] == [
        ("gfx1036", False, True),
        ("gfx1100", True, False),
    ]


def test_a_generic_target_is_code() -> None:
    torch = Torch(hip="7.13", arch_list=("gfx10-3-generic", "gfx1100"))
    assert only(env={}, torch=torch).lacks_code is False


def test_what_is_not_known_is_not_said() -> None:
    assert gpu_code_facts(Machine(torch=OLD)).gpus is None
    assert only(env={}, torch=Torch(version="2.2.0", hip="6.0")).lacks_code is None, "not a wheel of the table"
    nameless = only(env={}, gpus=(Gpu(vendor="amd", kernel_driver="amdgpu"),))
    assert (nameless.lacks_code, nameless.gfx) == (None, None)
    half = Torch(version="2.4.1+rocm6.0", hip="6.0", devices=(TorchDevice(gfx="gfx1032"), TorchDevice(name="x")))
    assert gpu_code_facts(Machine(torch=half)).gpus is None


def test_a_torch_from_a_distribution_is_not_replaced_by_a_wheel() -> None:
    torch = Torch(version="2.2.0", hip="6.0", arch_list=("gfx1030",))
    packages = {"torch": Package(version="2.2.0", installer="distro")}
    row = only(env={}, torch=torch, packages=packages, python=Python(version="3.12.1", machine="x86_64"))
    assert (row.lacks_code, row.requirement, row.index_url) == (True, None, None)


def test_windows_has_no_override() -> None:
    torch = Torch(hip="7.2", arch_list=("gfx1100",))
    row = only(os=Os(kind="windows"), env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}, torch=torch)
    assert (row.lacks_code, row.helpful_override, row.override) == (True, "none", "none")
