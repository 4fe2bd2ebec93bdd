"""Power: mains or battery, the platform's profile, and how the CPU's clock is governed."""

from __future__ import annotations

from collections.abc import Callable

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Cpu, Power, UnknownFact
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source, value_or

_SUPPLIES = "/sys/class/power_supply"
_CPU = "/sys/devices/system/cpu"
_PROFILE = "/sys/firmware/acpi/platform_profile"

#: So many CPUs are asked: one of hundreds may differ, but kinds of cores and sockets lie apart.
_SAMPLED_CPUS = 4


def probe(source: Source) -> Found:
    """The area `power`, and what governs the clock in the area `cpu`."""
    if source.origin.platform == "windows":
        from doctor.probes import power_windows

        return power_windows.probe(source)
    return _linux(source) if source.origin.platform == "linux" else Found()


def _linux(source: Source) -> Found:
    unknowns: list[UnknownFact] = []
    origins: dict[str, str] = {}

    def setting(fact: str, file: str) -> str | None:
        """What the sampled CPUs agree on; `"none"` where none of them has such a setting."""
        values = {cpu: _line(source, f"{_CPU}/cpu{cpu}/cpufreq/{file}") for cpu in sample}
        known = {cpu: text for cpu, text in values.items() if text not in (None, "none")}
        if len(set(known.values())) == 1:
            origins[fact] = f"{_CPU}/cpu{next(iter(known))}/cpufreq/{file}"
            return next(iter(known.values()))
        if known:
            detail = "CPUs differ: " + ", ".join(f"{text} on {cpu}" for cpu, text in known.items())
            unknowns.append(unknown(fact, Missing("probe-failed", detail)))
            return None
        return "none" if values and set(values.values()) == {"none"} else None

    sample = _sample(source)
    cpu = Cpu(
        governor=setting("cpu.governor", "scaling_governor"),
        scaling_driver=setting("cpu.scaling_driver", "scaling_driver"),
        energy_preference=setting("cpu.energy_preference", "energy_performance_preference"),
        boost=_boost(source, lambda file: setting("cpu.boost", file)),
    )
    power = Power(source=_source(source), platform_profile=_line(source, _PROFILE))
    if power.source is not None:
        origins["power.source"] = _SUPPLIES
    return Found({"power": power, "cpu": cpu}, tuple(unknowns), origins)


def _line(source: Source, path: str) -> str | None:
    """A file's one line; `"none"` where the machine was asked and has no such file."""
    text = source.text(path)
    if isinstance(text, Missing):
        return "none" if text.reason == "absent" else None
    return text.strip() or None


def _sample(source: Source) -> tuple[int, ...]:
    """A few online CPUs: the first, the last and some between."""
    try:
        online = sorted(parse_cpulist(value_or(source.text(f"{_CPU}/online"), "0")))
    except ValueError:
        online = [0]
    if len(online) <= _SAMPLED_CPUS:
        return tuple(online)
    steps = _SAMPLED_CPUS - 1
    return tuple(online[(len(online) - 1) * step // steps] for step in range(_SAMPLED_CPUS))


def _boost(source: Source, setting: Callable[[str], str | None]) -> bool | None:
    """Whether the CPU may leave its base clock. One switch for all (acpi-cpufreq, amd-pstate), or one for each CPU."""
    for text in (_line(source, f"{_CPU}/cpufreq/boost"), setting("boost"), setting("cpb")):
        if text in ("0", "1"):
            return text == "1"
    return {"0": True, "1": False}.get(_line(source, f"{_CPU}/intel_pstate/no_turbo") or "")


def _source(source: Source) -> str | None:
    """`ac` or `battery`. Without any battery of the machine itself it is `ac`: a desktop may list no supply at all."""
    names = source.names(_SUPPLIES)
    if isinstance(names, Missing):
        return None
    batteries, mains = [], []
    for name in names:
        folder = f"{_SUPPLIES}/{name}"
        kind = _line(source, f"{folder}/type")
        if kind in (None, "none"):
            return None
        # Mice and headsets have batteries too: the kernel marks them as those of a device.
        if _line(source, f"{folder}/scope") == "Device":
            continue
        if kind == "Battery":
            batteries.append(_line(source, f"{folder}/status"))
        elif kind in ("Mains", "USB"):
            mains.append(_line(source, f"{folder}/online"))
    # USB-C supplies may say 2 ("online programmable").
    if not batteries or any(online in ("1", "2") for online in mains):
        return "ac"
    if "Discharging" in batteries:
        return "battery"
    return "ac" if any(status in ("Charging", "Full", "Not charging") for status in batteries) else None
