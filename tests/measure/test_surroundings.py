"""What is read around a unit: of this machine, and of sensors and files as other machines have them."""

from __future__ import annotations

import os
import sys
from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from doctor.measure.surroundings import Power, Watch, power_of, temperature_celsius, throttle_events
from doctor.processes.run import run
from doctor.sources.base import Source
from doctor.sources.live import ThisMachine
from doctor.sources.recording import RecordingSource

Sensor = namedtuple("Sensor", "label current high critical")
CPUS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset(range(os.cpu_count() or 1))
BURN = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"


def test_every_reading_of_this_machine_is_one_or_none() -> None:
    watch = Watch(CPUS)
    assert run([sys.executable, "-c", BURN], timeout_seconds=60).ok
    watch.look()
    readings = watch.end(0.5)
    assert readings.other_load_share is not None and 0 <= readings.other_load_share <= 1
    assert readings.steal_share is None or 0 <= readings.steal_share <= 1
    assert readings.power_source in (None, "ac", "battery")
    assert readings.throttle_events is None or readings.throttle_events >= 0


def test_what_the_child_uses_is_not_the_load_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two CPUs, ten seconds: twelve seconds busy, of which the child used seven and this process one."""
    from doctor.measure.load import CpuTimes

    times = iter([CpuTimes(100.0, 1.0, 200.0), CpuTimes(112.0, 1.5, 220.0)])
    now, own, children = [50.0], iter([3.0, 4.0]), iter([20.0, 27.0])
    monkeypatch.setattr("doctor.measure.surroundings.cpu_times", lambda _: next(times))
    monkeypatch.setattr("doctor.measure.surroundings.time.monotonic", lambda: now[0])
    monkeypatch.setattr("doctor.measure.surroundings.time.process_time", lambda: next(own))
    monkeypatch.setattr("doctor.measure.surroundings._children_seconds", lambda: next(children))
    watch = Watch({0, 1})
    now[0] = 60.0
    readings = watch.end(None)
    assert readings.other_load_share == pytest.approx(4 / 20)
    assert readings.steal_share == pytest.approx(0.5 / 20)


def test_a_system_that_tells_nothing_of_children_goes_by_what_the_child_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.measure.surroundings._children_seconds", lambda: None)
    assert Watch(CPUS).end(None).other_load_share is None
    assert Watch(CPUS).end(0.0).other_load_share is not None


@pytest.mark.parametrize(
    ("sensors", "celsius"),
    [
        ({"k10temp": [Sensor("Tctl", 71.5, None, None), Sensor("Tccd1", 60.0, None, None)]}, 71.5),
        # A Threadripper 1950X: Tctl is 27 degrees above the truth.
        ({"k10temp": [Sensor("Tctl", 95.0, None, None), Sensor("Tdie", 68.0, None, None)]}, 68.0),
        ({"zenpower": [Sensor("Tdie", 50.0, 95.0, 95.0), Sensor("Tdie", 55.0, 95.0, 95.0)]}, 55.0),
        ({"nvme": [Sensor("Composite", 99.0, None, None)], "amdgpu": [Sensor("edge", 80.0, None, None)]}, None),
        ({}, None),
    ],
)
def test_the_temperature_is_that_of_an_amd_cpu(
    sensors: dict, celsius: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: sensors, raising=False)
    assert temperature_celsius() == celsius


def test_the_highest_of_all_looks_is_kept_and_looks_are_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    now, celsius, asked = [10.0], [60.0], []

    def sensors() -> dict:
        asked.append(now[0])
        return {"k10temp": [Sensor("Tctl", celsius[0], None, None)]}

    monkeypatch.setattr(psutil, "sensors_temperatures", sensors, raising=False)
    monkeypatch.setattr("doctor.measure.surroundings.time.monotonic", lambda: now[0])
    watch = Watch(CPUS)
    celsius[0] = 99.0
    watch.look()  # too soon
    now[0], celsius[0] = 11.0, 83.0
    watch.look()
    now[0], celsius[0] = 12.0, 70.0
    assert watch.end(0.0).temperature_celsius == 83.0
    assert asked == [10.0, 11.0, 12.0]


def test_a_sensor_that_fails_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def sensors() -> dict:
        raise OSError("hwmon went away")

    monkeypatch.setattr(psutil, "sensors_temperatures", sensors, raising=False)
    assert temperature_celsius() is None


def test_throttling_is_counted_over_the_cpus(tmp_path: Path) -> None:
    for cpu, count in ((0, "3\n"), (1, "4\n")):
        folder = tmp_path / f"cpu{cpu}" / "thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text(count)
    assert throttle_events({0, 1}, str(tmp_path)) == 7
    assert throttle_events({0, 2}, str(tmp_path)) is None
    assert throttle_events((), str(tmp_path)) is None


def linux(**files: str) -> Source:
    named = {path.replace("__", "/"): text for path, text in files.items()}
    return RecordingSource({"platform": "linux", "files": named}, "test")


SUPPLY = "/sys/class/power_supply"
CPUFREQ = "/sys/devices/system/cpu/cpu0/cpufreq"


def test_battery_and_savers_on_linux() -> None:
    battery = {f"{SUPPLY}/BAT0/type": "Battery", f"{SUPPLY}/BAT0/status": "Discharging"}
    assert power_of(linux(**battery)).source == "battery"
    assert power_of(linux(**{"/sys/firmware/acpi/platform_profile": "low-power"})).saver is True
    lowest = {f"{CPUFREQ}/scaling_governor": "powersave", f"{CPUFREQ}/scaling_driver": "acpi-cpufreq"}
    assert power_of(linux(**lowest)).saver is True
    assert power_of(linux(**{**lowest, f"{CPUFREQ}/scaling_driver": "amd-pstate-epp"})).saver is False


def test_battery_and_savers_on_windows() -> None:
    saving = {"guid": "a1841308-3541-4fab-bc81-f71556f20b4a", "name": "Power saver"}
    api = {"battery": {"plugged": False, "percent": 55}, "power-scheme": saving}
    assert power_of(RecordingSource({"platform": "windows", "api": api}, "test")) == Power("battery", True)


def test_power_of_this_machine_ends_in_an_answer() -> None:
    assert isinstance(power_of(ThisMachine()), Power)
