"""What the machine says while a unit runs, read from outside of it: load, heat, throttling, power.

Each reading stands for itself: one that this system does not give is None, and none of them ends a run.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Collection
from pathlib import Path

import msgspec
import psutil

from doctor.derive.power import power_facts
from doctor.machine.model import Machine, Os
from doctor.measure.load import CpuTimes, Snapshot, busiest, cpu_times, own_family, snapshot
from doctor.measure.units import Readings
from doctor.probes import power
from doctor.sources.base import Source
from doctor.sources.live import ThisMachine

#: The sensors of AMD CPUs. `Tdie` is the temperature itself; `Tctl` is raised by 10 to 27 degrees on some older chips.
_DRIVERS = ("k10temp", "zenpower")
_LABELS = ("Tdie", "Tctl")

_LOOK_SECONDS = 0.5
_THROTTLED = "thermal_throttle/core_throttle_count"


class Power(msgspec.Struct, frozen=True):
    source: str | None
    saver: bool | None


class Watch:
    """Begins with a unit and ends with it; `look` in between."""

    def __init__(self, cpus: Collection[int], source: Source | None = None) -> None:
        """`cpus`: those of the budget, whatever the setting uses of them."""
        self._cpus = frozenset(cpus)
        self._source = source if source is not None else ThisMachine()
        self._celsius: list[float] = []
        self._looked_at = -math.inf
        self.look()
        self._throttled = throttle_events(self._cpus)
        self._children = _children_seconds()
        self._processes: Snapshot = snapshot()
        self._own = time.process_time()
        self._times: CpuTimes = cpu_times(self._cpus)
        self._began = time.monotonic()

    def look(self) -> None:
        """Read what has to be read while the unit is at work. Cheap to call often: it looks about twice a second."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        celsius = temperature_celsius()
        if celsius is not None:
            self._celsius.append(celsius)

    def end(self, told_seconds: float | None) -> Readings:
        """`told_seconds`: the CPU time that the child told of itself, for systems that do not tell a parent."""
        wall = time.monotonic() - self._began
        times, own = cpu_times(self._cpus), time.process_time() - self._own
        children = _children_seconds()
        if self._children is not None and children is not None:
            told_seconds = children - self._children
        self._looked_at = -math.inf
        self.look()
        throttled = throttle_events(self._cpus)
        supply = power_of(self._source)
        all_seconds = times.all - self._times.all
        others = None
        if told_seconds is not None:
            busy = times.busy - self._times.busy - told_seconds - own
            others = min(max(busy / (max(wall, 1e-6) * max(len(self._cpus), 1)), 0.0), 1.0)
        named = busiest(self._processes, snapshot(), len(self._cpus), but=own_family())
        return Readings(
            temperature_celsius=max(self._celsius, default=None),
            throttle_events=None if throttled is None or self._throttled is None else throttled - self._throttled,
            steal_share=(times.stolen - self._times.stolen) / all_seconds if all_seconds > 0 else None,
            other_load_share=others,
            other_processes=tuple(process.name for process in named),
            power_source=supply.source,
            power_saver=supply.saver,
        )


def _children_seconds() -> float | None:
    """The CPU time of all children that have ended, and of theirs."""
    if sys.platform == "win32":
        return None
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def temperature_celsius() -> float | None:
    """The highest temperature that an AMD CPU tells."""
    ask = getattr(psutil, "sensors_temperatures", None)  # Linux only
    try:
        sensors = ask() if ask is not None else {}
    except (OSError, ValueError):
        return None
    rows = [row for driver in _DRIVERS for row in sensors.get(driver, ())]
    for label in _LABELS:
        named = [row.current for row in rows if row.label == label and row.current is not None]
        if named:
            return float(max(named))
    return None


def throttle_events(cpus: Collection[int], folder: str = "/sys/devices/system/cpu") -> int | None:
    """How often these CPUs were throttled so far; None where nobody counts."""
    counts = []
    for cpu in cpus:
        try:
            text = Path(f"{folder}/cpu{cpu}/{_THROTTLED}").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        counts.append(int(text) if text.strip().isdigit() else 0)
    return sum(counts) if counts else None


def power_of(source: Source) -> Power:
    """Mains or battery, and whether anything holds the clock down to save power."""
    facts = power.probe(source).facts
    told = facts.get("power")
    facts_of_power = power_facts(Machine(power=told, cpu=facts.get("cpu"), os=Os(kind=source.origin.platform)))
    saving = (
        facts_of_power.slow_plan,
        facts_of_power.slow_mode,
        facts_of_power.slow_governor,
        facts_of_power.slow_profile,
    )
    return Power(told.source if told is not None else None, any(saving) if told is not None else None)
