"""What rules know of memory: room for another channel, ratings, and what the two rules say of recorded machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.derive.facts import complete, derive
from doctor.derive.memory import complete_memory
from doctor.derive.memory_facts import MemoryFacts, memory_facts
from doctor.diagnosis.examine import examine
from doctor.machine.model import Cpu, Machine, Memory, MemoryModule, MemorySlot
from tests.derive.memory_modules import (
    MENDOCINO,
    PHOENIX,
    RAPHAEL,
    RENOIR,
    SUMMIT_RIDGE,
    chips,
    dimm,
    facts,
    machine_of,
)
from tests.texts.memory_corpus import memory_cases

RULES = ("memory-single-channel", "memory-below-rated")


def slots(*names: tuple[str, str | None]) -> tuple[MemorySlot, ...]:
    return tuple(MemorySlot(locator=locator, bank=bank) for locator, bank in names)


def test_the_slot_at_the_same_place_in_the_other_channel() -> None:
    free = slots(("DIMM_A1", "BANK 0"), ("DIMM_B1", "BANK 2"), ("DIMM_B2", "BANK 3"))
    found = facts(dimm("BANK 1", "DIMM_A2"), slots=4, empty=free)
    assert (found.single_channel, found.free_slot) == (True, "DIMM_B2")


def test_slots_that_share_a_name_are_told_with_their_bank() -> None:
    found = facts(dimm("P0 CHANNEL A", "DIMM 0"), slots=2, empty=slots(("DIMM 0", "P0 CHANNEL B")))
    assert (found.single_channel, found.free_slot) == (True, "DIMM 0 of P0 CHANNEL B")


def test_two_modules_in_one_channel_can_be_moved() -> None:
    modules = (dimm("P0 CHANNEL A", "DIMM 0"), dimm("P0 CHANNEL A", "DIMM 1"))
    free = slots(("DIMM 0", "P0 CHANNEL B"), ("DIMM 1", "P0 CHANNEL B"))
    assert facts(*modules, slots=4, empty=free).single_channel is True


def test_no_room() -> None:
    assert facts(dimm("P0 CHANNEL A"), slots=1, empty=()).single_channel is False
    same_channel = slots(("DIMM 1", "P0 CHANNEL A"))
    assert facts(dimm("P0 CHANNEL A"), slots=2, empty=same_channel).single_channel is False
    assert facts(dimm("P0 CHANNEL A", form_factor="Row Of Chips"), slots=1, empty=()).single_channel is False


def test_room_that_cannot_be_known() -> None:
    assert facts(dimm("P0 CHANNEL A")).single_channel is None
    # A laptop with one soldered package may list the channel that was left out as an empty slot.
    soldered = dimm("P0 CHANNEL A", form_factor="Row Of Chips")
    assert facts(soldered, slots=2, empty=slots(("DIMM 0", "P0 CHANNEL B"))).single_channel is None
    assert facts(dimm(locator="DIMM1"), slots=4, empty=slots(("DIMM2", None))).single_channel is None


def test_the_processor_proves_a_second_channel() -> None:
    found = facts(dimm(locator="DIMM1"), slots=4, cpu=RAPHAEL)
    assert (found.single_channel, found.free_slot) == (True, None)


# --- rating --------------------------------------------------------------------------------------------------------


def rated(part: str, configured: int, count: int = 2, cpu: Cpu | None = RAPHAEL, **fields: Any) -> MemoryFacts:
    modules = [
        dimm(f"P0 CHANNEL {'AB'[at % 2]}", f"DIMM {at // 2}", part_number=part, configured_mts=configured, **fields)
        for at in range(count)
    ]
    return facts(*modules, cpu=cpu, slots=4)


def test_below_and_within_reach() -> None:
    found = rated("KF560C36-16", 4800, speed_mts=4800, type="DDR5")
    assert (found.below_rated, found.rated_mts, found.rated_part) == (True, 6000, "KF560C36-16")
    assert (found.doubt, found.gain_in_reach) == (None, True)


def test_a_small_gain_is_not_worth_a_warning() -> None:
    found = rated("F5-6400J3239F48G", 6000, speed_mts=5600, type="DDR5")
    assert (found.below_rated, found.doubt, found.gain_in_reach) == (True, None, False)


@pytest.mark.parametrize(
    ("part", "configured", "below"),
    [
        ("F4-2666C18-8GRS", 2667, False),
        ("F4-2666C18-8GRS", 2666, False),
        ("F4-3733C17-8GTZ", 3732, False),
        ("F4-3000C16-8GISB", 2933, True),
        ("F4-3200C16-8GIS", 3600, False),
    ],
)
def test_a_difference_in_name_is_none(part: str, configured: int, below: bool) -> None:
    assert rated(part, configured, speed_mts=2133).below_rated is below


def test_ratings_that_may_be_out_of_reach() -> None:
    kit = {"part": "F4-3200C16-8GIS", "configured": 2133, "speed_mts": 2133}
    assert rated(**kit, count=4).doubt == "two modules per channel"  # type: ignore[arg-type]
    assert rated(**kit, cpu=SUMMIT_RIDGE).doubt == "a Zen or Zen+ processor"  # type: ignore[arg-type]
    assert rated(**kit, form_factor="SODIMM").doubt == "the small modules (SODIMM) of laptops"  # type: ignore[arg-type]
    assert rated(**kit).doubt is None  # type: ignore[arg-type]
    assert rated("F4-2666C15-8GVR", 2133, speed_mts=2133, cpu=SUMMIT_RIDGE).doubt is None
    assert rated("CT8G4DFRA32A.C8FE", 2666, speed_mts=3200).doubt == "modules without a profile"


def test_laptop_modules_without_a_profile_are_as_fast_as_they_can_be() -> None:
    assert rated("HMA851S6CJR6N-XN", 2400, form_factor="SODIMM").below_rated is False
    assert rated("CMSX16GX4M2A3000C16", 2400, form_factor="SODIMM").below_rated is True


def test_the_lower_of_two_ratings_counts() -> None:
    mixed = (
        dimm("P0 CHANNEL A", part_number="F4-3600C16-16GTZN", configured_mts=2666, speed_mts=2666),
        dimm("P0 CHANNEL B", part_number="CMK16GX4M1A2666C16", configured_mts=2666, speed_mts=2666),
    )
    found = facts(*mixed, cpu=RAPHAEL)
    assert (found.below_rated, found.rated_mts, found.doubt) == (False, 2666, "modules of different kinds")


def test_a_number_that_says_nothing_leaves_it_open() -> None:
    assert rated("D12.2755BS.001", 2133, speed_mts=2133).below_rated is None
    assert facts(*[chips(f"P0 CHANNEL {name}") for name in "ABCD"], cpu=PHOENIX).below_rated is False


def test_without_modules_nothing_is_known() -> None:
    assert derive(complete(Machine(memory=Memory(total_bytes=1)))).memory == MemoryFacts()
    assert derive(complete(Machine())).memory == MemoryFacts()


# --- the rules -----------------------------------------------------------------------------------------------------


def test_what_the_rules_say(shared: Path) -> None:
    by_name = {case.name: case for case in memory_cases(shared)}
    case = by_name["expo_off_hidden_by_smbios_ddr5/Ryzen-5-7600.1EFEDC44BA90.dmidecode.txt"]
    _, diagnosis = examine(machine_of(case), only=RULES)
    below, single = sorted(diagnosis.findings, key=lambda finding: finding.rule)
    assert below.severity == single.severity == "warning"
    assert below.evidence == "KF560C36-16 is rated 6000 MT/s and runs at 4800 MT/s"
    assert "DIMM 0 of P0 CHANNEL B" in single.fix.text
    assert "MHz" not in repr(diagnosis)


def test_severity_is_info_where_the_rating_may_be_out_of_reach(shared: Path) -> None:
    severity = {}
    for case in memory_cases(shared):
        _, diagnosis = examine(machine_of(case), only=("memory-below-rated",))
        severity |= {case.name.split("/")[0]: finding.severity for finding in diagnosis.findings}
    assert severity["ddr5_desktop_4dimm_3600"] == "info"  # four modules on two channels
    assert severity["firmware_bug_conf_is_half_speed"] == "info"  # Ryzen 1600
    assert severity["threadripper_7000"] == "warning"


_small = st.none() | st.sampled_from(["DIMM_A1", "A1", "B12", "P0 CHANNEL A", "P1_Node0_ChannelB_Dimm1", "DIMM 0", ""])
_modules = st.builds(
    MemoryModule,
    locator=_small,
    bank=_small,
    type=st.sampled_from([None, "DDR4", "DDR5", "LPDDR4", "LPDDR5", "RAM"]),
    form_factor=st.sampled_from([None, "DIMM", "SODIMM", "Other", "Row Of Chips"]),
    width_bits=st.none() | st.sampled_from([16, 32, 64, 72]),
    speed_mts=st.none() | st.integers(0, 9000),
    configured_mts=st.none() | st.integers(0, 9000),
    part_number=st.none() | st.sampled_from(["KF560C36-16", "F4-3200C16-8GIS", "HMA851S6CJR6N-XN", "x"]),
)


@given(
    st.lists(_modules, max_size=5),
    st.none() | st.integers(0, 9),
    st.none() | st.lists(st.builds(MemorySlot, locator=_small, bank=_small), max_size=4),
    st.sampled_from([None, RENOIR, PHOENIX, MENDOCINO, RAPHAEL, SUMMIT_RIDGE]),
)
def test_any_modules(
    modules: list[MemoryModule], count: int | None, empty: list[MemorySlot] | None, cpu: Cpu | None
) -> None:
    memory = Memory(modules=tuple(modules), slots=count, empty_slots=None if empty is None else tuple(empty))
    machine = complete_memory(Machine(cpu=cpu, memory=memory))
    assert machine.memory is not None
    found = memory_facts(machine)
    if machine.memory.channels is not None:
        assert 1 <= machine.memory.channels <= len(modules)
    if found.single_channel:
        assert machine.memory.channels == 1
    if found.below_rated:
        assert found.rated_mts is not None
        assert machine.memory.effective_mts is not None
        assert machine.memory.effective_mts < found.rated_mts
    assert msgspec.convert(msgspec.to_builtins(machine), Machine) == machine
