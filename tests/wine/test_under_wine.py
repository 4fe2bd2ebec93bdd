"""The Windows code in a real Windows Python, under Wine. Wine green is not Windows green: it shows that the calls are
made as Windows declares them and that nothing in them needs another system.

Skipped unless AMD_DOCTOR_WINE_PYTHON names a python.exe that has msgspec, and WINEPREFIX a prefix that was booted
(`prepare.sh` makes both).
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.machine.cpulist import parse_cpulist
from tests.wine.sysfs_topology import write_sysfs

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("AMD_DOCTOR_WINE_PYTHON", "")
MIB = 1 << 20
TIMEOUT_SECONDS = 50

pytestmark = [
    pytest.mark.skipif(not Path(PYTHON).is_file(), reason="AMD_DOCTOR_WINE_PYTHON names no Windows Python"),
    pytest.mark.skipif(not os.environ.get("WINEPREFIX"), reason="WINEPREFIX names no Wine prefix"),
    pytest.mark.skipif(shutil.which("wine") is None, reason="Wine is not installed"),
]

_MOUNT = 'mount --make-rprivate / && mount --bind "$1" /sys/devices/system/cpu && shift && exec "$@"'

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs the Windows Python. One idle Wine program is kept running: else every call starts the services of Wine
    anew, and those keep the pipes of the call open long after it has ended."""
    variables = {**os.environ, "WINEDEBUG": "-all", "PYTHONDONTWRITEBYTECODE": "1"}
    variables.pop("DISPLAY", None)
    quiet = subprocess.DEVNULL
    keeper = subprocess.Popen(["wine", "cmd"], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=variables)

    def call(*arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
        code = f"import sys; sys.path.insert(0, {windows_path(ROOT)!r}); import runpy; "
        start = code + "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
        command = [*prefix, "wine", PYTHON, "-c", start, *arguments]
        return subprocess.run(command, input=b"", capture_output=True, env=variables, timeout=TIMEOUT_SECONDS)

    # The first program of a prefix starts its services, which takes seconds; without the keeper they would stay.
    subprocess.run(["wine", "cmd", "/c", "exit"], stdin=quiet, stdout=quiet, stderr=quiet, env=variables, timeout=50)
    yield call
    keeper.communicate()
    subprocess.run(["wineserver", "-k"], env=variables, timeout=20)


def windows_path(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")


def answers(run: Run, prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    done = run(windows_path(ROOT / "tests" / "wine" / "answers.py"), prefix=prefix)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def told(run: Run) -> dict[str, Any]:
    return answers(run)


def test_every_call_answers_or_says_why_not(told: dict[str, Any]) -> None:
    api = told["api"]
    assert set(api["battery"]) == {"plugged", "percent"}
    assert base64.b64decode(api["logical-processors"])
    # Wine has no power plans: an error number, and no crash.
    assert api["power-scheme"] == {"missing": "probe-failed", "detail": "PowerGetActiveScheme answered 120"}
    assert told["folder"].lower() == r"c:\windows\system32"
    assert told["nothing"] == {"missing": "absent", "detail": None}


def test_the_version_is_what_python_says(told: dict[str, Any]) -> None:
    assert told["api"]["windows-version"]["build"] == told["python"]["build"]
    assert told["facts"]["windows"]["build"] == told["python"]["build"]
    assert told["facts"]["os"]["name"]


def test_the_cpu_is_who_the_environment_says(told: dict[str, Any]) -> None:
    cpu = told["facts"]["cpu"]
    expected = f"Family {cpu['family']} Model {cpu['model']} Stepping {cpu['stepping']}, {cpu['vendor']}"
    assert told["python"]["identifier"].endswith(expected)
    assert len(told["keys"]) == told["python"]["cpu_count"]


def test_the_topology_covers_every_cpu_and_the_affinity_lies_in_it(told: dict[str, Any]) -> None:
    cpu, limits = told["facts"]["cpu"], told["facts"]["limits"]
    online = parse_cpulist(cpu["online"])
    assert len(online) == told["python"]["cpu_count"]
    assert frozenset().union(*(parse_cpulist(core["cpus"]) for core in cpu["cores"])) == online
    affinity = parse_cpulist(limits["affinity"])
    assert affinity and affinity <= online and len(affinity) == limits["affinity_cpus"]


def test_a_firmware_table_carries_no_serial(told: dict[str, Any]) -> None:
    table = told["api"]["firmware-table"]
    if isinstance(table, dict):
        assert table["missing"] == "probe-failed"  # Wine shows none where the host has no SMBIOS
        return
    raw = base64.b64decode(table)
    assert int.from_bytes(raw[4:8], "little") == len(raw) - 8
    kind, size = raw[8], raw[9]
    assert kind in (0, 1) and size >= 4


def test_without_a_display_dxgi_says_so(told: dict[str, Any]) -> None:
    assert told["api"]["dxgi-adapters"] == {
        "missing": "probe-failed",
        "detail": "CreateDXGIFactory1 answered 0x887A0004",
    }


@pytest.fixture
def adapter_without_a_display() -> Iterator[int]:
    """Lets Wine emulate an adapter, and gives its memory in MiB."""
    key, mib = r"HKCU\Software\Wine\Direct3D", 24560
    for name, value in (("renderer", "no3d"), ("VideoMemorySize", str(mib))):
        _reg("add", key, "/v", name, "/d", value, "/f")
    yield mib
    _reg("delete", key, "/f")


def _reg(*arguments: str) -> None:
    quiet = {**os.environ, "WINEDEBUG": "-all"}
    subprocess.run(["wine", "reg", *arguments], input=b"", capture_output=True, env=quiet, timeout=50, check=True)


def test_an_adapter_is_read_through_the_com_tables_of_dxgi(run: Run, adapter_without_a_display: int) -> None:
    (adapter,) = answers(run)["api"]["dxgi-adapters"]
    assert (adapter["index"], adapter["software"]) == (0, False)
    assert adapter["name"].startswith("WineD3D")
    assert adapter["dedicated_bytes"] == adapter_without_a_display * MIB
    assert adapter["shared_bytes"] > 0


@pytest.fixture
def fake_7950x3d(tmp_path: Path) -> tuple[str, ...]:
    write_sysfs(tmp_path, [(8, 96 * 1024), (8, 32 * 1024)])
    prefix = ("unshare", "-m", "bash", "-c", _MOUNT, "bash", str(tmp_path))
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("a bind mount over /sys/devices/system/cpu is not allowed here: it takes root")
    return prefix


def test_a_7950x3d_that_wine_is_made_to_see(run: Run, fake_7950x3d: tuple[str, ...]) -> None:
    """The calls of Windows themselves, on a machine with two unlike L3 caches. Wine 8 writes a GroupCount of 0 into
    its cache records and keeps the affinity and the NUMA node of the real machine."""
    told = answers(run, fake_7950x3d)
    cpu = told["facts"]["cpu"]
    assert told["python"]["cpu_count"] == 32
    assert cpu["online"] == "0-31"
    assert [(group["cpus"], group["cores"], group["size_bytes"]) for group in cpu["l3_groups"]] == [
        ("0-15", 8, 96 * MIB),
        ("16-31", 8, 32 * MIB),
    ]
    assert [core["cpus"] for core in cpu["cores"]] == [f"{2 * core}-{2 * core + 1}" for core in range(16)]
    assert {core["package"] for core in cpu["cores"]} == {0}
    assert [core["l3"] for core in cpu["cores"]] == [0] * 8 + [1] * 8


def test_check_looks_at_this_machine_and_nothing_crashes(run: Run) -> None:
    done = run(windows_path(ROOT / "doctor" / "__main__.py"), "check", "--json")
    assert done.returncode in (0, 1), done.stderr.decode("utf-8", "replace")[-2000:]
    told = json.loads(done.stdout.decode("ascii"))
    assert told["crashed"] == []
    assert told["machine"]["os"]["kind"] == "windows"
    assert told["machine"]["cpu"]["isa"]["avx2"] in (True, False)  # py-cpuinfo in a child of this Python
    assert told["machine"]["python"]["implementation"] == "cpython"


def test_the_screen_fits_the_code_page_of_a_windows_pipe(run: Run) -> None:
    done = run(windows_path(ROOT / "doctor" / "__main__.py"), "check")
    assert done.returncode in (0, 1), done.stderr.decode("utf-8", "replace")[-2000:]
    assert b"UnicodeEncodeError" not in done.stderr
    assert done.stdout.decode("cp1252").splitlines()[-1].startswith("amd-doctor: ")
