"""What follows from memory modules: on every recorded machine, and on the traps one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.derive.memory import complete_memory, half_speed_bug
from doctor.diagnosis.examine import examine
from doctor.machine.model import Machine, Memory
from tests.derive.memory_modules import MENDOCINO, PHOENIX, RAPHAEL, RENOIR, chips, completed, dimm, facts, machine_of
from tests.texts.memory_corpus import memory_cases

RULES = ("memory-single-channel", "memory-below-rated")


def test_every_recorded_machine(shared: Path) -> None:
    wrong = []
    for case in memory_cases(shared):
        machine, diagnosis = examine(machine_of(case), only=RULES)
        assert not diagnosis.crashed
        assert machine.memory is not None
        truth = case.truth["expect"]
        found = {
            "channels": machine.memory.channels,
            "bus_bits": machine.memory.bus_width_bits,
            "effective_mts": machine.memory.effective_mts,
            "half_speed_firmware_bug": half_speed_bug(machine.memory.modules or ()),
        }
        wrong += [f"{case.name}: {name} {found[name]}" for name in found if found[name] != truth[name]]
        peak = machine.memory.peak_bytes_per_second
        if not _same_peak(peak, truth.get("peak_gb_s")):
            wrong.append(f"{case.name}: peak {peak}")
        fired = {finding.rule for finding in diagnosis.findings}
        wrong += [f"{case.name}: {rule}" for rule, fires in case.truth["verdicts"].items() if (rule in fired) != fires]
    assert not wrong


def _same_peak(bytes_per_second: int | None, gigabytes: float | None) -> bool:
    if bytes_per_second is None or gigabytes is None:
        return bytes_per_second is None and gigabytes is None
    return abs(bytes_per_second / 1e9 - gigabytes) <= 0.051


def test_channels_of_the_recorded_machines_are_told_apart_as_in_the_manifest(shared: Path) -> None:
    for case in memory_cases(shared):
        memory = complete_memory(machine_of(case)).memory
        assert memory is not None
        found = [module.channel for module in memory.modules or ()]
        truth = [row["channel"] for row in case.truth["dimms"]]
        assert [at == found.index(name) for at, name in enumerate(found)] == [
            at == truth.index(name) for at, name in enumerate(truth)
        ], case.name


# --- width ---------------------------------------------------------------------------------------------------------


def test_lpddr4x_shows_half_of_its_width() -> None:
    modules = [chips(f"P0 CHANNEL {name}", type="LPDDR4", configured_mts=4266) for name in "AB"]
    memory = completed(*modules, cpu=RENOIR)
    assert (memory.channels, memory.bus_width_bits) == (2, 128)
    assert memory.peak_bytes_per_second == 68_256_000_000
    unknown_cpu = completed(*modules)
    assert (unknown_cpu.channels, unknown_cpu.bus_width_bits, unknown_cpu.peak_bytes_per_second) == (2, None, None)


def test_rows_of_64_bits_for_packages_of_32() -> None:
    modules = [chips(f"P0 CHANNEL {name}", width_bits=64) for name in "ABCD"]
    assert completed(*modules, cpu=PHOENIX).bus_width_bits == 128
    assert completed(*modules).bus_width_bits is None


def test_lpddr5_needs_no_known_cpu() -> None:
    assert completed(*[chips(f"P0 CHANNEL {name}") for name in "ABCD"]).bus_width_bits == 128


def test_mendocino_is_64_bits_wide_by_design() -> None:
    modules = [chips(f"P0 CHANNEL {name}", configured_mts=5500) for name in "AB"]
    memory = completed(*modules, cpu=MENDOCINO)
    assert (memory.channels, memory.bus_width_bits) == (2, 64)
    assert facts(*modules, cpu=MENDOCINO, slots=2).single_channel is False


def test_one_row_for_all_packages_says_nothing_about_channels() -> None:
    memory = completed(chips("P0 CHANNEL A"), cpu=PHOENIX)
    assert (memory.channels, memory.bus_width_bits) == (None, None)
    assert facts(chips("P0 CHANNEL A"), cpu=PHOENIX, slots=1).single_channel is False


def test_chips_whose_names_tell_nothing_are_a_channel_each() -> None:
    numbered = [chips(f"BANK {at}") for at in range(4)]
    assert completed(*numbered, cpu=PHOENIX).bus_width_bits == 128
    memory = completed(chips("BANK 0"), chips("BANK 0"), cpu=MENDOCINO)
    assert (memory.channels, memory.bus_width_bits) == (2, 64)


def test_modules_that_share_one_name_cannot_be_told_apart() -> None:
    memory = completed(dimm("P0 CHANNEL A"), dimm("P0 CHANNEL A"))
    assert (memory.channels, memory.bus_width_bits) == (None, None)


def test_a_bus_wider_than_the_processor_has_is_not_believed() -> None:
    modules = [dimm(f"P0 CHANNEL {name}") for name in "ABCD"]
    assert completed(*modules, cpu=RAPHAEL).bus_width_bits is None
    assert completed(*modules).bus_width_bits == 256


def test_two_modules_in_one_channel() -> None:
    memory = completed(dimm("P0 CHANNEL A", "DIMM 0"), dimm("P0 CHANNEL A", "DIMM 1"), cpu=RAPHAEL)
    assert (memory.channels, memory.bus_width_bits) == (1, 64)


def test_one_module_is_one_channel_whatever_its_name() -> None:
    assert completed(dimm(locator="DIMM3")).channels == 1
    assert completed(dimm(locator="DIMM 0", type="RAM", width_bits=None)).channels is None  # a virtual machine


def test_boards_that_only_count_their_slots() -> None:
    memory = completed(dimm(locator="DIMM0", bank="BANK0"), dimm(locator="DIMM1", bank="BANK1"))
    assert (memory.channels, memory.bus_width_bits, memory.effective_mts) == (None, None, 3200)


def test_a_module_without_a_width() -> None:
    assert completed(dimm("P0 CHANNEL A", width_bits=None)).bus_width_bits == 64
    assert completed(dimm("P0 CHANNEL A", width_bits=None, type=None)).bus_width_bits is None


# --- speed ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("speed", "configured", "effective"),
    [
        (2400, 1200, 2400),
        (2133, 1067, 2134),
        (2666, 1333, 2666),
        (3200, 1600, 3200),
        (3200, 3200, 3200),
        (3200, 2400, 2400),
        (2133, 3200, 3200),
        (3200, 1333, None),  # no DDR4 runs at 1333 MT/s, but nothing proves half
        (None, 2133, 2133),
        (3200, None, None),
    ],
)
def test_half_speed(speed: int | None, configured: int | None, effective: int | None) -> None:
    assert completed(dimm(speed_mts=speed, configured_mts=configured)).effective_mts == effective


def test_one_module_that_shows_half_speaks_for_all() -> None:
    first = dimm("P0 CHANNEL A", speed_mts=2666, configured_mts=1200)
    memory = completed(first, dimm("P0 CHANNEL B", speed_mts=2400, configured_mts=1200))
    assert memory.effective_mts == 2400


def test_half_of_the_rating_is_not_taken_for_a_speed() -> None:
    """A kit of 3600 at 1800: halved with the profile on, or slow without. Its standard speed is not 1800."""
    kit = {"part_number": "F4-3600C16-16GTZN"}
    assert completed(dimm(speed_mts=2133, configured_mts=1800, **kit)).effective_mts is None
    assert completed(dimm(speed_mts=2133, configured_mts=2133, part_number="F4-4266C19-8GTZR")).effective_mts == 2133


def test_the_slowest_module_decides() -> None:
    memory = completed(dimm("P0 CHANNEL A", configured_mts=3200), dimm("P0 CHANNEL B", configured_mts=2933))
    assert memory.effective_mts == 2933
    assert completed(dimm("P0 CHANNEL A"), dimm("P0 CHANNEL B", configured_mts=None)).effective_mts is None


def test_type_that_the_tool_had_no_word_for() -> None:
    fast = {"type": None, "speed_mts": 4800, "configured_mts": 6000}
    assert completed(dimm(**fast)).modules[0].type == "DDR5"  # type: ignore[index]
    assert completed(dimm(**{**fast, "width_bits": 32})).modules[0].type == "LPDDR5"  # type: ignore[index]
    assert completed(dimm(type=None, speed_mts=800, configured_mts=None)).modules[0].type is None  # type: ignore[index]


def test_soldered() -> None:
    modules = completed(chips("P0 CHANNEL A"), dimm("P0 CHANNEL B"), dimm("P0 CHANNEL C", form_factor="Other")).modules
    assert [module.soldered for module in modules or ()] == [True, False, None]
    assert completed(dimm("P0 CHANNEL A", form_factor="Row Of Chips")).modules[0].soldered is True  # type: ignore[index]


def test_facts_that_the_document_states_are_kept() -> None:
    stated = Memory(
        modules=(dimm("P0 CHANNEL A", channel="X", rated_mts=4000),),
        channels=8,
        bus_width_bits=512,
        effective_mts=2933,
        peak_bytes_per_second=1,
    )
    memory = complete_memory(Machine(memory=stated)).memory
    assert memory is not None
    assert (memory.channels, memory.bus_width_bits, memory.effective_mts) == (8, 512, 2933)
    assert memory.peak_bytes_per_second == 1
    assert memory.modules is not None
    assert (memory.modules[0].channel, memory.modules[0].rated_mts) == ("X", 4000)


def test_completing_twice_changes_nothing(shared: Path) -> None:
    for case in memory_cases(shared):
        once = complete_memory(machine_of(case))
        assert complete_memory(once) == once, case.name
