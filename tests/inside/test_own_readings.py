"""What a process reads about itself, here and from files as other machines have them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "doctor" / "inside" / "own_readings.py"

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def readings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("own_readings_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def files(readings: ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the files of some machine say; no others are there."""
    found: dict[str, str] = {}
    monkeypatch.setattr(readings, "text_of", found.get)
    monkeypatch.setattr(
        readings.os, "listdir", lambda path: [name.split("/")[4] for name in found if name.startswith(path)]
    )
    return found


def stat(cpu: int, user: int, system: int = 0) -> str:
    """A line of /proc/<pid>/task/<tid>/stat; a program may have any name."""
    fields = ["S", *["0"] * 10, str(user), str(system), *["0"] * 23, str(cpu), "0", "0"]
    return "77 (a ) 1 b) " + " ".join(fields)


@linux_only
def test_this_process(readings: ModuleType) -> None:
    assert readings.affinity() == sorted(os.sched_getaffinity(0))
    assert set(readings.busiest_cpus(4)) <= set(range(4096))
    assert readings.busiest_cpus(1)
    assert readings.peak_resident_bytes() > 5e6
    assert readings.free_bytes() > 0
    voluntary, involuntary = readings.switches()
    threading.Event().wait(0.01)
    assert readings.switches()[0] > voluntary >= 0 <= involuntary
    assert readings.clock_mhz(1) is None or 100 < readings.clock_mhz(1) < 10000


#: In a process of its own: where the tests ran before, the peak may lie far above what is held now.
_PEAK = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("own_readings_script", sys.argv[1])
readings = importlib.util.module_from_spec(spec)
spec.loader.exec_module(readings)
before = readings.peak_resident_bytes()
block = bytearray(64 << 20)
block[::4096] = b"x" * len(block[::4096])
del block
print(before, readings.peak_resident_bytes())
"""


@linux_only
def test_the_peak_is_what_it_was_and_not_what_the_parent_had() -> None:
    own = bytearray(256 << 20)
    own[::4096] = b"x" * len(own[::4096])
    ended = subprocess.run([sys.executable, "-c", _PEAK, SCRIPT], capture_output=True, check=True, text=True)
    before, after = map(int, ended.stdout.split())
    assert before + (32 << 20) <= after < 256 << 20


def test_the_cpus_are_those_of_the_busiest_threads(readings: ModuleType, files: dict[str, str]) -> None:
    for task, cpu, user, system in ((1, 0, 50, 5), (2, 9, 40, 20), (3, 4, 1, 0), (4, 9, 30, 0)):
        files[f"/proc/self/task/{task}/stat"] = stat(cpu, user, system)
    assert readings.busiest_cpus(1) == [9]
    assert readings.busiest_cpus(2) == [0, 9]
    assert readings.busiest_cpus(8) == [0, 4, 9]


def test_the_clock_is_the_median_of_those_cpus(readings: ModuleType, files: dict[str, str]) -> None:
    for cpu, khz in ((0, "4200000"), (1, "5050123"), (2, "3300000"), (3, "800000")):
        files[f"/proc/self/task/{cpu}/stat"] = stat(cpu, 9 - cpu)
        files[f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"] = f"{khz}\n"
    assert readings.clock_mhz(3) == 4200.0
    assert readings.clock_mhz(1) == 4200.0


def test_without_cpufreq_the_clock_comes_from_cpuinfo(
    readings: ModuleType, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files["/proc/self/task/1/stat"] = stat(0, 1)
    files["/proc/cpuinfo"] = "processor : 0\ncpu MHz\t\t: 2596.146\nprocessor : 1\ncpu MHz\t\t: 2600.146\n"
    monkeypatch.setattr(readings.os, "cpu_count", lambda: 2)
    assert readings.clock_mhz(1) == pytest.approx(2598.146)
    monkeypatch.setattr(readings.os, "cpu_count", lambda: 256)  # it would ask each of them
    assert readings.clock_mhz(1) is None
    monkeypatch.setattr(readings.os, "cpu_count", lambda: 2)
    files["/proc/cpuinfo"] = "cpu MHz : unknown\n"
    assert readings.clock_mhz(1) is None


def test_a_system_that_tells_nothing(readings: ModuleType, files: dict[str, str]) -> None:
    assert readings.busiest_cpus(4) == []
    assert readings.clock_mhz(4) is None
    assert readings.free_bytes() is None
