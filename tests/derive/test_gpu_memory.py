"""The memory of an integrated GPU, by kernel, setting and what was seen."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.derive.facts import complete
from doctor.derive.gpu_memory import GpuMemoryFacts, gpu_memory_facts
from doctor.derive.kernel_options import has_options, module_option, number_option
from doctor.machine.model import Gpu, Machine, Memory, Os, Torch, TorchDevice

MIB, GIB = 1 << 20, 1 << 30


def apu(**more: Any) -> Gpu:
    sizes = {"vram_total_bytes": 512 * MIB, "gtt_total_bytes": 7686 * MIB}
    return Gpu(**{"vendor": "amd", "gfx": "gfx90c", "kernel_driver": "amdgpu", **sizes, **more})


def facts(gpu: Gpu, kernel: str | None = "6.12.74", ram: int = 15 * GIB, **more: Any) -> GpuMemoryFacts:
    system = Os(**{"kind": "linux", "wsl": 0, "kernel": kernel, **more.pop("os", {})})
    machine = Machine(os=system, gpus=(gpu,), memory=Memory(total_bytes=ram), env={}, **more)
    return gpu_memory_facts(complete(machine))


def test_a_cezanne() -> None:
    found = facts(apu())
    assert (found.applies, found.carve_out_bytes, found.shared_bytes) == (True, 512 * MIB, 7686 * MIB)
    assert found.reachable_bytes == 8198 * MIB
    assert (found.rocm_pool, found.rocm_bytes, found.old_kernel) == ("shared", 7686 * MIB, False)
    assert (found.small_carve_out, found.small_share) == (True, False)
    assert (found.wanted_gib, found.wanted_pages) == (11, 11 * 262144)


@pytest.mark.parametrize(
    ("kernel", "carve_out", "shared", "pool"),
    [
        ("5.19.0", 512 * MIB, 3 * GIB, "carve-out"),
        ("6.9.8", 512 * MIB, 7 * GIB, "carve-out"),
        ("6.9.9", 512 * MIB, 7 * GIB, "shared"),
        ("6.10", 512 * MIB, 7 * GIB, "shared"),
        ("6.15.2-arch1", 96 * GIB, 15 * GIB, "shared"),
        ("6.16.3", 96 * GIB, 15 * GIB, None),
        ("6.16.3", 512 * MIB, 15 * GIB, "shared"),
        ("6.16.9", 96 * GIB, 15 * GIB, "carve-out"),
        ("7.1.0", 4 * GIB, 96 * GIB, "shared"),
        (None, 512 * MIB, 7 * GIB, None),
    ],
)
def test_where_rocm_takes_memory_from(kernel: str | None, carve_out: int, shared: int, pool: str | None) -> None:
    assert facts(apu(vram_total_bytes=carve_out, gtt_total_bytes=shared), kernel).rocm_pool == pool


def test_the_compute_driver_knows_better_than_the_version() -> None:
    found = facts(apu(kfd_memory_bytes=512 * MIB))
    assert (found.rocm_pool, found.rocm_bytes) == ("carve-out", 512 * MIB)


def test_what_torch_sees_goes_before_both() -> None:
    torch = Torch(devices=(TorchDevice(gfx="gfx90c", total_memory_bytes=512 * MIB),))
    found = facts(apu(kfd_memory_bytes=7686 * MIB), torch=torch)
    assert (found.torch_bytes, found.rocm_pool, found.rocm_bytes) == (512 * MIB, "carve-out", 512 * MIB)
    assert found.seen_share == pytest.approx(512 / 8198)


def test_of_two_devices_the_number_tells() -> None:
    devices = (TorchDevice(total_memory_bytes=1), TorchDevice(total_memory_bytes=2))
    assert facts(apu(hip_index=1), torch=Torch(devices=devices)).torch_bytes == 2
    assert facts(apu(), torch=Torch(devices=devices)).torch_bytes is None


def test_amds_own_driver_has_its_own_rules() -> None:
    by_version = facts(apu(driver_version="6.8.5"), "6.5.0")
    by_module = facts(apu(), "6.5.0", os={"kernel_modules": ("amdttm",)})
    for found in (by_version, by_module):
        assert (found.rocm_pool, found.old_kernel) == (None, None)
    assert facts(apu(), "6.5.0").old_kernel is True


def test_a_large_carve_out_comes_back_to_the_ram() -> None:
    found = facts(apu(gfx="gfx1151", vram_total_bytes=64 * GIB, gtt_total_bytes=31 * GIB), "6.18.4", ram=62 * GIB)
    assert (found.rocm_pool, found.rocm_bytes) == ("carve-out", 64 * GIB)
    assert found.wanted_gib == int((62 + 63.5) * 0.75)


@pytest.mark.parametrize(
    ("system", "limit", "size", "both"),
    [
        ({"kernel_cmdline": "quiet ttm.pages_limit=25165824", "modprobe_options": {}}, 25165824, "none", False),
        ({"kernel_cmdline": "", "modprobe_options": {"ttm": "pages_limit=100"}}, 100, "none", False),
        ({"kernel_cmdline": "ttm.pages_limit=7", "modprobe_options": {"ttm": "pages_limit=100"}}, 7, "none", False),
        ({"kernel_cmdline": "amdgpu.gttsize=8192 ttm.pages_limit=7", "modprobe_options": {}}, 7, 8192, True),
        ({"kernel_cmdline": "quiet", "modprobe_options": {}}, "none", "none", False),
        ({"kernel_cmdline": "quiet"}, None, None, None),
        ({"kernel_cmdline": "ttm.pages_limit=x", "modprobe_options": {}}, None, "none", None),
        ({}, None, None, None),
    ],
)
def test_settings(system: dict[str, Any], limit: Any, size: Any, both: bool | None) -> None:
    found = facts(apu(), os=system)
    assert (found.pages_limit_set, found.gttsize_set, found.both_set) == (limit, size, both)


def test_options_of_a_module_that_is_not_loaded() -> None:
    quiet = {"kernel_cmdline": "", "modprobe_options": {"ttm": "pages_limit=100"}}
    found = facts(apu(), os={**quiet, "kernel_modules": ("amdgpu", "amdttm")})
    assert (found.module, found.foreign_module_option, found.pages_limit_set) == ("amdttm", "ttm", "none")
    found = facts(apu(), os={**quiet, "kernel_modules": ("amdgpu", "ttm")})
    assert (found.module, found.foreign_module_option, found.pages_limit_set) == ("ttm", "none", 100)
    assert facts(apu(), os=quiet).foreign_module_option is None


def test_cards_and_unused_integrated_gpus_are_no_matter() -> None:
    card = Gpu(vendor="amd", gfx="gfx1100", kernel_driver="amdgpu", vram_total_bytes=24 * GIB, gtt_total_bytes=15 * GIB)
    assert facts(card) == GpuMemoryFacts(applies=False)
    both = Machine(os=Os(kind="linux", wsl=0), gpus=(card, apu(gfx="gfx1036")), env={})
    assert gpu_memory_facts(complete(both)) == GpuMemoryFacts(applies=False)
    assert gpu_memory_facts(Machine()) == GpuMemoryFacts()
    assert gpu_memory_facts(complete(Machine(gpus=(Gpu(vendor="amd"),)))).applies is None


def test_windows_has_other_words_for_it() -> None:
    gpu = Gpu(vendor="amd", gfx="gfx90c", dedicated_bytes=2 * GIB, shared_bytes=7 * GIB)
    machine = Machine(os=Os(kind="windows"), gpus=(gpu,), memory=Memory(total_bytes=14 * GIB), env={})
    found = gpu_memory_facts(complete(machine))
    assert (found.carve_out_bytes, found.shared_bytes, found.reachable_bytes) == (2 * GIB, 7 * GIB, 9 * GIB)
    assert (found.rocm_pool, found.old_kernel, found.wanted_pages) == (None, None, None)


def test_the_kernel_of_wsl_says_nothing() -> None:
    found = facts(apu(), "6.6.87.2-microsoft-standard-WSL2", os={"wsl": 2})
    assert (found.old_kernel, found.rocm_pool, found.wanted_gib) == (None, None, None)


def test_options_of_modules() -> None:
    machine = Machine(os=Os(kernel_cmdline="a.b=1 a.b=2 a.c", modprobe_options={"d": "e=3 f"}))
    assert module_option(machine, "a", "b") == "2"  # the last one counts
    assert number_option(machine, "d", "e") == 3
    assert module_option(machine, "d", "g") == "none" and has_options(machine, "a") is True
    assert has_options(machine, "x") is False and has_options(Machine(), "x") is None
