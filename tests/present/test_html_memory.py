"""The picture of the memory: slots by channel, and who reaches how much of what a GPU shares."""

from __future__ import annotations

import pytest

from doctor.machine.model import Gpu, Machine, Memory, MemoryModule, MemorySlot, Os, UnknownFact
from doctor.present.html_memory import Bar, gpu_pictures, memory_picture
from tests.browser.machines import MACHINES

GIB = 1 << 30


def test_slots_stand_by_channel_the_empty_ones_too() -> None:
    picture = memory_picture(MACHINES["desktop-7950x3d"]())
    assert picture.count == "2 channels, 2 modules, 2 empty slots"
    assert [channel.name for channel in picture.channels] == ["A", "B"]
    assert [(slot.label, slot.size, slot.empty) for slot in picture.channels[0].slots] == [
        ("DIMM_A1", "empty", True),
        ("DIMM_A2", "32 GiB", False),
    ]
    assert picture.channels[0].slots[1].title == "DIMM_A2: 32 GiB, DDR5, at 4800 MT/s, made for 6000 MT/s"


def test_24_channels_of_two_sockets_are_in_order() -> None:
    names = [channel.name for channel in memory_picture(MACHINES["dual-epyc-9654"]()).channels]
    assert names == [f"P{socket}{letter}" for socket in (0, 1) for letter in "ABCDEFGHIJKL"]


def test_modules_without_a_channel_stand_last() -> None:
    modules = (MemoryModule(locator="DIMM 1", size_bytes=8 * GIB), MemoryModule(channel="A", size_bytes=8 * GIB))
    picture = memory_picture(Machine(memory=Memory(modules=modules, empty_slots=(MemorySlot("DIMM 0"),))))
    assert [channel.name for channel in picture.channels] == ["A", ""]
    assert [slot.label for slot in picture.channels[1].slots] == ["DIMM 0", "DIMM 1"]


def test_hidden_modules_are_said_and_not_drawn() -> None:
    machine = Machine(
        memory=Memory(total_bytes=8 * GIB), unknowns=(UnknownFact("memory.modules", "needs-root"),)
    )
    picture = memory_picture(machine)
    assert picture.channels == ()
    assert picture.facts == ("8 GiB",)
    assert picture.missing == ("module speed and channels: not readable without root",)


def _shares(bar: Bar) -> list[tuple[str, float, float]]:
    return [(part.kind, round(part.start, 1), round(part.share, 1)) for part in bar.segments]


def test_the_memory_of_an_integrated_gpu_has_one_scale() -> None:
    gpu = Gpu(vendor="amd", name="Radeon 780M", integrated=True, vram_total_bytes=4 * GIB, gtt_total_bytes=14 * GIB)
    machine = Machine(os=Os(kind="linux", wsl=0), memory=Memory(total_bytes=28 * GIB), gpus=(gpu,))
    bars = {bar.label: bar for bar in gpu_pictures(machine)[0].bars}
    assert _shares(bars["carve-out (VRAM)"]) == [("carved", 0, 12.5)]
    assert _shares(bars["shared (GTT)"]) == [("shared", 12.5, 43.8)]
    assert _shares(bars["the CPU reaches"]) == [("shared", 12.5, 43.8), ("system", 56.2, 43.8)]
    assert bars["the CPU reaches"].value == "28.0 GiB"


def test_windows_has_its_own_words_and_directml() -> None:
    picture = gpu_pictures(MACHINES["laptop"]())[0]
    assert [bar.label for bar in picture.bars] == ["dedicated", "shared", "the CPU reaches", "DirectML reaches"]
    assert picture.bars[3].value == "16.1 GiB"
    assert picture.kinds == ("carved", "shared", "system")
    assert picture.advice == (
        "To change it: Variable Graphics Memory in AMD Software (Performance, Tuning), or UMA in the firmware.",
    )


@pytest.mark.parametrize("name", MACHINES)
def test_no_bar_leaves_its_track(name: str) -> None:
    for picture in gpu_pictures(MACHINES[name]()):
        for bar in picture.bars:
            assert all(part.share > 0 and part.start >= 0 for part in bar.segments)
            assert all(part.start + part.share <= 100.001 for part in bar.segments)


def test_what_can_be_shared_at_most_is_a_line_to_copy() -> None:
    gpu = Gpu(vendor="amd", gfx="gfx1151", integrated=True, vram_total_bytes=GIB // 2, gtt_total_bytes=16 * GIB)
    system = Os(kind="linux", wsl=0, kernel="6.17.0", kernel_modules=("amdgpu", "ttm"))
    picture = gpu_pictures(Machine(os=system, memory=Memory(total_bytes=128 * GIB), gpus=(gpu,)))[0]
    assert len(picture.commands) == 1
    assert picture.commands[0].startswith("ttm.pages_limit=")
    assert not any("pages_limit=" in sentence for sentence in picture.advice)


def test_a_card_has_its_own_memory_and_an_unknown_one_none() -> None:
    card = Gpu(vendor="amd", name="Radeon RX 7900 XTX", integrated=False, vram_total_bytes=24 * GIB)
    own, nothing = gpu_pictures(Machine(gpus=(card, Gpu(vendor="amd", name="x"))))
    assert own.bars[0].title == "its own memory (VRAM): 24.0 GiB"
    assert nothing.bars == ()
