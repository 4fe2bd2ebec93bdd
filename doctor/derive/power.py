"""Power settings that hold the CPU back. Each cause that holds stands in its own field, so that a text can name it.

Not slow: `powersave` under amd-pstate-epp or intel_pstate, where it is the normal governor and the hardware chooses
the clock; the Balanced plan on mains. Under acpi-cpufreq and under amd-pstate in passive or guided mode the governor
`powersave` means the lowest clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.machine.model import Cpu, Fact, Machine, Power

_LOWEST_CLOCK_UNDER = ("acpi-cpufreq", "amd-pstate")


class PowerFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "slow": (
            "os.kind",
            "power.source",
            "power.plan",
            "power.platform_profile",
            "cpu.governor",
            "cpu.scaling_driver",
        ),
    }
    slow: bool | None = None
    slow_source: str | None = None  # battery
    slow_plan: str | None = None  # power-saver
    slow_mode: str | None = None  # efficiency
    slow_governor: str | None = None  # powersave
    slow_profile: str | None = None  # low-power


def power_facts(machine: Machine, today: date | None = None) -> PowerFacts:
    power, cpu, kind = machine.power or Power(), machine.cpu or Cpu(), machine.os.kind if machine.os else None
    # What another system does not have is no cause there.
    on_windows, on_linux = kind in (None, "windows"), kind in (None, "linux")
    slow = {
        "source": _is(power.source, "battery"),
        "plan": _is(power.plan, "power-saver") if on_windows else False,
        "mode": power.mode == "efficiency",
        "governor": _slow_governor(cpu) if on_linux else False,
        "profile": _is(power.platform_profile, "low-power") if on_linux else False,
    }
    return PowerFacts(
        slow=True if True in slow.values() else None if None in slow.values() else False,
        slow_source=power.source if slow["source"] else None,
        slow_plan=power.plan if slow["plan"] else None,
        slow_mode=power.mode if slow["mode"] else None,
        slow_governor=cpu.governor if slow["governor"] else None,
        slow_profile=power.platform_profile if slow["profile"] else None,
    )


def _slow_governor(cpu: Cpu) -> bool | None:
    if cpu.governor is None:
        return None
    if cpu.governor != "powersave":
        return False
    return None if cpu.scaling_driver is None else cpu.scaling_driver in _LOWEST_CLOCK_UNDER


def _is(value: str | None, slow: str) -> bool | None:
    return None if value is None else value == slow
