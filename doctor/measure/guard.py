"""Which units were disturbed, judged from what the machine said while they ran. Never from their times.

The limits are fixed beforehand. Some disturbances come from outside; runs under them may be left out. Others a
setting can bring on by itself: all cores at work heat the chip, and a host takes more from a guest that asks for more.
Runs under those are kept and marked: to leave them out would show a candidate cooler than it is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from doctor.measure.units import Readings

Kind = Literal["throttled", "hot", "steal", "busy", "battery", "power-saver"]

#: Lowest over highest clock inside one unit, below which it was throttled.
CLOCK_RATIO = 0.85
HOT_CELSIUS = 90.0
STEAL_SHARE = 0.02
BUSY_SHARE = 0.10


#: Kinds that no setting brings on by itself.
_EXTERNAL: frozenset[Kind] = frozenset({"busy", "battery", "power-saver"})


class Disturbance(msgspec.Struct, frozen=True):
    """One reason not to trust a unit, in words for the screen."""

    kind: Kind
    detail: str

    @property
    def external(self) -> bool:
        return self.kind in _EXTERNAL


def disturbances(readings: Readings) -> tuple[Disturbance, ...]:
    """Every reason, in a fixed order. What could not be read disturbs nothing."""
    found = ((kind, judge(readings)) for kind, judge in _JUDGES)
    return tuple(Disturbance(kind, detail) for kind, detail in found if detail is not None)


def in_words(found: Iterable[Disturbance]) -> tuple[str, ...]:
    """Each kind once, in the order of first appearance, with its first detail."""
    first: dict[str, str] = {}
    for disturbance in found:
        first.setdefault(disturbance.kind, disturbance.detail)
    return tuple(first.values())


def _throttled(readings: Readings) -> str | None:
    if readings.throttle_events:
        return f"the CPU reported {readings.throttle_events} throttling events"
    clocks = [clock for clock in readings.clock_mhz or () if clock > 0]
    if len(clocks) < 2 or min(clocks) >= CLOCK_RATIO * max(clocks):
        return None
    return f"the clock fell from {max(clocks):.0f} to {min(clocks):.0f} MHz"


def _hot(readings: Readings) -> str | None:
    celsius = readings.temperature_celsius
    return None if celsius is None or celsius < HOT_CELSIUS else f"the CPU was at {celsius:.0f} °C"


def _steal(readings: Readings) -> str | None:
    share = readings.steal_share
    return None if share is None or share <= STEAL_SHARE else f"the host took {share:.0%} of the CPU time for others"


def _busy(readings: Readings) -> str | None:
    share = readings.other_load_share
    if share is None or share <= BUSY_SHARE:
        return None
    names = ", ".join(readings.other_processes[:3])
    return f"other processes used {share:.0%} of the CPUs" + (f": {names}" if names else "")


def _battery(readings: Readings) -> str | None:
    return "on battery" if readings.power_source == "battery" else None


def _power_saver(readings: Readings) -> str | None:
    return "power saver is on" if readings.power_saver else None


_JUDGES: tuple[tuple[Kind, Callable[[Readings], str | None]], ...] = (
    ("throttled", _throttled),
    ("hot", _hot),
    ("steal", _steal),
    ("busy", _busy),
    ("battery", _battery),
    ("power-saver", _power_saver),
)
