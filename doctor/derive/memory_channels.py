"""Which memory channel a slot belongs to, read from what the board's firmware calls it.

Known are, of 25,717 recorded Zen machines, the names of 98 %: `P0 CHANNEL A` (AMD's own, as bank), `DIMM_A2` (ASUS,
Gigabyte), `P0_Node0_ChannelA_Dimm0` (Supermicro; the channel is hexadecimal), `ChannelA-DIMM0`, `A5` (Dell servers);
besides these, names of other servers, and of boards for Intel, where each of two controllers has a `ChannelA`.
A name that is not among them gives None: boards that only count (`DIMM 0`, `PROC 1 DIMM 3`) do not say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec


class Slot(Protocol):
    """A module or an empty slot."""

    @property
    def locator(self) -> str | None: ...

    @property
    def bank(self) -> str | None: ...


class _Channel(msgspec.Struct, frozen=True):
    """A channel, as far as the firmware names it."""

    name: str
    socket: str | None = None
    node: str | None = None


_SOCKET = re.compile(r"(?:^|[^A-Z0-9])(?:P|CPU|PROC|SOCKET)[ _-]?(\d)(?=$|[^0-9])", re.IGNORECASE)
_NODE = re.compile(r"(?:NODE|CONTROLLER)[ _-]?(\d)", re.IGNORECASE)
#: Two sockets of twelve channels may be lettered through, A to X.
_CHANNEL = re.compile(r"CHANNEL[ _-]?(\d{1,2}|[A-X])(?![A-Z])", re.IGNORECASE)
_DIMM = re.compile(r"DIMM[ _-]?(?:P\d[ _-](?P<behind>[A-X])|(?P<letter>[A-OQ-X]))[ _-]?\d(?!\d)", re.IGNORECASE)
_CPU_LETTER = re.compile(r"(?:^|[^A-Z])CPU\d[ _-](?P<letter>[A-X])\d(?!\d)", re.IGNORECASE)
_LETTER_NUMBER = re.compile(r"([A-P])(\d{1,2})")


def channels_of(slots: Sequence[Slot]) -> tuple[str | None, ...]:
    """The channel of each slot, such as `A` or, where there are more sockets or nodes, `P1A` or `P0N0C3`."""
    found = [_channel(slot) for slot in slots]
    if not any(found):
        found = _by_letter_and_number(slots)
    several_sockets = len({channel.socket for channel in found if channel}) > 1
    return tuple(None if channel is None else _label(channel, several_sockets) for channel in found)


def _label(channel: _Channel, several_sockets: bool) -> str:
    if channel.node is not None:
        return f"P{channel.socket or 0}N{channel.node}C{channel.name}"
    return f"P{channel.socket or 0}{channel.name}" if several_sockets else channel.name


def _channel(slot: Slot) -> _Channel | None:
    bank, locator = slot.bank or "", slot.locator or ""
    for text in (bank, locator):
        if found := _CHANNEL.search(text):
            node = _NODE.search(text)
            return _Channel(found[1].upper(), _socket(text) or _socket(locator), node[1] if node else None)
    found = _DIMM.search(locator) or _CPU_LETTER.search(locator)
    if found is None:
        return None
    name = found.groupdict().get("behind") or found["letter"]
    # ASUS servers put the socket into the bank: "DIMM_A1" of "NODE 1" and of "NODE 2".
    node = _NODE.search(bank)
    return _Channel(name.upper(), _socket(locator) or _socket(bank) or (node[1] if node else None))


def _socket(text: str) -> str | None:
    found = _SOCKET.search(text)
    return found[1] if found else None


def _by_letter_and_number(slots: Sequence[Slot]) -> list[_Channel | None]:
    """Slots that are all called `A1`, `B2`. On a board with two per letter, the letter is the channel. On Dell's
    servers it is the processor: with 8 or 12 slots each has a channel of its own, with 16 the second eight share the
    channels of the first (Dell, PowerEdge R7425 and R6615 manuals)."""
    found = [_LETTER_NUMBER.fullmatch(slot.locator or "") for slot in slots]
    numbers = {int(match[2]) for match in found if match}
    highest = max(numbers, default=0)
    if not all(found) or highest not in (1, 2, 8, 12, 16):
        return [None for _ in slots]
    channels: list[_Channel | None] = []
    for match in found:
        assert match is not None
        number = int(match[2])
        name = match[1] if highest <= 2 else f"{match[1]}{(number - 1) % (8 if highest == 16 else highest) + 1}"
        channels.append(_Channel(name))
    return channels
