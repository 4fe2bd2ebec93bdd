"""Channels out of the names that boards give their slots."""

from __future__ import annotations

import pytest

from doctor.derive.memory_channels import channels_of
from doctor.machine.model import MemorySlot


def channels(*names: tuple[str | None, str | None]) -> list[str | None]:
    return list(channels_of([MemorySlot(locator=locator, bank=bank) for locator, bank in names]))


@pytest.mark.parametrize(
    ("locator", "bank", "channel"),
    [
        ("DIMM 0", "P0 CHANNEL A", "A"),
        ("DIMM_A2", "BANK 1", "A"),
        ("DIMM_B1", "BANK 2", "B"),
        ("P0_DIMM_H0", "P0 CHANNEL H", "H"),
        ("P1-DIMMA1", "P0_Node0_Channel0_Dimm0", "P0N0C0"),
        ("P2-DIMMK1", "P1_Node0_ChannelA_Dimm0", "P1N0CA"),
        ("ChannelA-DIMM0", "BANK 0", "A"),
        ("Channel-1-DIMM-0", "BANK 0", "1"),
        ("ChannelB0", None, "B"),
        ("DIMM_P0_C1", None, "C"),
        ("DIMM_P1_P0", "BANK 0", "P"),
        ("CPU1_DIMM_Q1", "P1 CHANNEL Q", "Q"),
        ("Controller1-ChannelA-DIMM0", "BANK 0", "P0N1CA"),
        ("DIMM_P1", None, None),
        ("CPU1_D0", None, "D"),
        ("DIMM_A1", "NODE 1", "A"),
        ("Bottom - on board", "Channel B", "B"),
        ("DIMM 0", "BANK 0", None),
        ("DIMM3", "BANK3", None),
        ("PROC 1 DIMM 3", None, None),
        ("A1_DIMM0", "A1_BANK0", None),  # a default that AMI leaves in
        ("RAM slot #0", "RAM slot #0", None),
        ("M0001", None, None),
        (None, None, None),
    ],
)
def test_one_slot(locator: str | None, bank: str | None, channel: str | None) -> None:
    assert channels((locator, bank)) == [channel]


def test_sockets_are_kept_apart() -> None:
    assert channels(("DIMM 0", "P0 CHANNEL A"), ("DIMM 0", "P1 CHANNEL A")) == ["P0A", "P1A"]
    assert channels(("DIMM_A1", "NODE 1"), ("DIMM_A1", "NODE 2")) == ["P1A", "P2A"]
    assert channels(("P0_DIMM_A0", None), ("P1_DIMM_A0", None)) == ["P0A", "P1A"]


def test_hexadecimal_channels() -> None:
    pairs = zip("AIKL", "08AB", strict=True)
    names = [(f"P1-DIMM{letter}1", f"P0_Node0_Channel{digit}_Dimm0") for letter, digit in pairs]
    assert channels(*names) == ["P0N0C0", "P0N0C8", "P0N0CA", "P0N0CB"]


def test_letters_of_a_desktop_board_are_channels() -> None:
    assert channels(("A1", None), ("A2", None), ("B1", None), ("B2", None)) == ["A", "A", "B", "B"]


def test_letters_of_a_dell_server_are_processors() -> None:
    names = [(f"{socket}{number}", None) for socket in "AB" for number in range(1, 17)]
    found = channels(*names)
    assert len(set(found)) == 16
    assert found[0] == found[8] == "A1"
    assert found[16] == "B1"
    twelve = channels(*[(f"A{number}", None) for number in range(1, 13)])
    assert len(set(twelve)) == 12


def test_numbers_that_fit_no_known_board() -> None:
    assert channels(*[(f"A{number}", None) for number in range(1, 7)]) == [None] * 6
    assert channels(("A1", None), ("A2", None), ("SODIMM", None)) == [None] * 3
