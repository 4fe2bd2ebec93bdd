"""Mains and battery, governors, boost, on machines written by hand and on recorded ones."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.machine.model import Cpu, Power
from doctor.probes.found import Found
from doctor.probes.power import probe
from doctor.sources.recording import RecordingSource

SUPPLY = "/sys/class/power_supply"
CPU = "/sys/devices/system/cpu"


def run(files: dict[str, str] | None = None, **parts: Any) -> Found:
    return probe(RecordingSource({"platform": "linux", "files": files or {}, **parts}, "test"))


def power_of(found: Found) -> Power:
    power = found.facts["power"]
    assert isinstance(power, Power)
    return power


def cpu_of(found: Found) -> Cpu:
    cpu = found.facts["cpu"]
    assert isinstance(cpu, Cpu)
    return cpu


def supply(name: str, **files: str) -> dict[str, str]:
    return {f"{SUPPLY}/{name}/{key}": value + "\n" for key, value in files.items()}


def clocks(online: str, **by_cpu: dict[str, str]) -> dict[str, str]:
    found = {f"{CPU}/online": online + "\n"}
    for cpu, files in by_cpu.items():
        found.update({f"{CPU}/{cpu}/cpufreq/{name}": value + "\n" for name, value in files.items()})
    return found


BATTERY_FULL = supply("BAT0", type="Battery", status="Full", scope="System")
DISCHARGING = supply("BAT0", type="Battery", status="Discharging")


@pytest.mark.parametrize(
    ("files", "source"),
    [
        ({**BATTERY_FULL, **supply("AC", type="Mains", online="1")}, "ac"),
        ({**DISCHARGING, **supply("AC", type="Mains", online="0")}, "battery"),
        ({**DISCHARGING, **supply("ADP1", type="Mains", online="1")}, "ac"),
        ({**DISCHARGING, **supply("ucsi-source-psy-1", type="USB", online="1")}, "ac"),
        ({**DISCHARGING, **supply("ucsi-source-psy-1", type="USB", online="0")}, "battery"),
        (DISCHARGING, "battery"),
        (BATTERY_FULL, "ac"),
        (supply("BAT0", type="Battery", status="Unknown"), None),
        (supply("hidpp_battery_0", type="Battery", status="Discharging", scope="Device"), "ac"),
        (supply("AC", type="Mains", online="0"), "ac"),
    ],
)
def test_mains_or_battery(files: dict[str, str], source: str | None) -> None:
    assert power_of(run(files)).source == source


def test_a_desktop_lists_no_supply_at_all() -> None:
    assert power_of(run(folders={SUPPLY: []})).source == "ac"


def test_a_machine_that_was_not_asked_stays_unknown() -> None:
    assert power_of(run()) == Power()
    assert power_of(run(folders={SUPPLY: ["BAT0"]})).source is None


def test_a_zen_laptop() -> None:
    one = {
        "scaling_governor": "powersave",
        "scaling_driver": "amd-pstate-epp",
        "energy_performance_preference": "balance_performance",
        "boost": "1",
    }
    found = run(
        {
            **clocks("0-3", cpu0=one, cpu1=one, cpu2=one, cpu3=one),
            "/sys/firmware/acpi/platform_profile": "balanced\n",
        }
    )
    assert cpu_of(found) == Cpu(
        governor="powersave", scaling_driver="amd-pstate-epp", energy_preference="balance_performance", boost=True
    )
    assert power_of(found).platform_profile == "balanced"
    assert found.unknowns == ()
    assert found.origins["cpu.governor"] == f"{CPU}/cpu0/cpufreq/scaling_governor"


def test_cpus_that_differ_are_told_and_not_averaged() -> None:
    fast, slow = {"scaling_governor": "performance"}, {"scaling_governor": "powersave"}
    found = run(clocks("0-1,8-9", cpu0=fast, cpu1=fast, cpu8=fast, cpu9=slow))
    assert cpu_of(found).governor is None
    (row,) = found.unknowns
    assert row.fact == "cpu.governor"
    assert row.detail == "CPUs differ: performance on 0, performance on 1, performance on 8, powersave on 9"


def test_a_guest_without_clock_settings_has_none_and_is_not_unknown() -> None:
    files = ("scaling_governor", "scaling_driver", "energy_performance_preference", "boost", "cpb")
    absent = [f"text:{CPU}/cpu0/cpufreq/{name}" for name in files] + ["text:/sys/firmware/acpi/platform_profile"]
    found = run({f"{CPU}/online": "0\n"}, missing={"absent": absent}, folders={SUPPLY: []})
    assert cpu_of(found) == Cpu(governor="none", scaling_driver="none", energy_preference="none")
    assert power_of(found) == Power(source="ac", platform_profile="none")


def test_hundreds_of_cpus_are_sampled() -> None:
    files = {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "schedutil\n" for cpu in range(384)}
    asked: list[str] = []

    class Watching(RecordingSource):
        def text(self, path: str) -> Any:
            asked.append(path)
            return super().text(path)

    found = probe(Watching({"platform": "linux", "files": {**files, f"{CPU}/online": "0-383\n"}}, "test"))
    assert cpu_of(found).governor == "schedutil"
    read = [path for path in asked if path.endswith("scaling_governor")]
    assert read == [f"{CPU}/cpu{cpu}/cpufreq/scaling_governor" for cpu in (0, 127, 255, 383)]


@pytest.mark.parametrize(
    ("files", "boost"),
    [
        ({f"{CPU}/cpufreq/boost": "1\n"}, True),
        ({f"{CPU}/cpufreq/boost": "0\n"}, False),
        ({f"{CPU}/cpu0/cpufreq/boost": "0\n"}, False),
        ({f"{CPU}/cpu0/cpufreq/cpb": "1\n"}, True),
        ({f"{CPU}/intel_pstate/no_turbo": "1\n"}, False),
        ({f"{CPU}/intel_pstate/no_turbo": "0\n"}, True),
        ({f"{CPU}/cpufreq/boost": "yes\n"}, None),
        ({}, None),
    ],
)
def test_boost(files: dict[str, str], boost: bool | None) -> None:
    assert cpu_of(run(files)).boost is boost


def test_every_system_has_its_own_probe() -> None:
    windows = probe(RecordingSource({"platform": "windows", "api": {"battery": {"plugged": False}}}, "test"))
    assert power_of(windows).source == "battery"
    assert probe(RecordingSource({"platform": "macos"}, "test")) == Found()
