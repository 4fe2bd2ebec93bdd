"""A probe looks at its source and at nothing else: on a recording it works with every other way blocked."""

from __future__ import annotations

import builtins
import ctypes
import io
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from doctor.probes.collect import PROBES, collect
from doctor.sources.base import Source
from doctor.sources.recording import RecordingSource
from doctor.sources.tree import TreeSource
from tests.probes.gpu_machines import RAPHAEL_AND_CARD
from tests.sources.archives import CPUINFO


class Looked(BaseException):
    """A probe looked at the running machine. No `Exception`, so that nothing catches it on the way."""


def forbidden(name: str) -> Any:
    def call(*_: object, **__: object) -> Any:
        raise Looked(name)

    return call


#: Modules that a probe must not even import, and functions that must not be called.
MODULES = ("psutil", "winreg", "cpuinfo", "pwd", "grp", "resource")
FUNCTIONS = [(platform, name) for name in ("uname", "node", "machine", "system", "release", "processor", "platform")]
FUNCTIONS += [(socket, "gethostname"), (ctypes, "CDLL"), (ctypes.cdll, "LoadLibrary"), (subprocess, "Popen")]
FUNCTIONS += [(os, name) for name in ("uname", "sched_getaffinity", "cpu_count", "getloadavg", "getgroups", "geteuid")]
FUNCTIONS += [(os, name) for name in ("access", "getxattr", "getenv", "popen", "system", "posix_spawn", "fork")]
MACHINE = ("/proc", "/sys", "/dev", "/etc", "/run", "/var", "/opt")


def is_of_the_machine(path: object) -> bool:
    return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(MACHINE)  # type: ignore[arg-type]


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for _, probe in PROBES:
        if isinstance(probe, str):
            import_module(probe)
    import archspec.cpu
    import rocm_bootstrap

    for module, name in FUNCTIONS:
        monkeypatch.setattr(module, name, forbidden(name), raising=False)
    for name in ("host", "detect"):
        monkeypatch.setattr(archspec.cpu, name, forbidden(f"archspec.cpu.{name}"), raising=False)
    for name in [name for name in dir(rocm_bootstrap) if name.startswith("detect")]:
        monkeypatch.setattr(rocm_bootstrap, name, forbidden(f"rocm_bootstrap.{name}"))
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, None)
    opens = [(builtins, "open"), (io, "open"), *((os, name) for name in ("open", "stat", "listdir", "scandir"))]
    for module, name in opens:
        monkeypatch.setattr(module, name, only_elsewhere(name, getattr(module, name)))
    yield


def only_elsewhere(name: str, real: Any) -> Any:
    def call(path: Any = ".", *more: Any, **named: Any) -> Any:
        if is_of_the_machine(path):
            raise Looked(f"{name} {path}")
        return real(path, *more, **named)

    return call


def machines() -> dict[str, RecordingSource]:
    cpu = "/sys/devices/system/cpu"
    linux = {
        "platform": "linux",
        "files": {
            "/proc/cpuinfo": CPUINFO.decode() + "cpu family\t: 23\nmodel\t: 1\nstepping\t: 1\nflags\t\t: avx2 fma\n",
            "/proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\n",
            "/proc/cmdline": "quiet",
            "/proc/self/cgroup": "0::/\n",
            "/proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "/sys/fs/cgroup/cpu.max": "max 100000\n",
            "/etc/os-release": 'NAME="Debian"\nVERSION_ID="12"\n',
            "/run/udev/data/+dmi:id": "E:MEMORY_ARRAY_NUM_DEVICES=1\nE:MEMORY_DEVICE_0_SIZE=17179869184\n",
            f"{cpu}/online": "0\n",
            f"{cpu}/cpu0/topology/core_id": "0\n",
            f"{cpu}/cpu0/topology/physical_package_id": "0\n",
            f"{cpu}/cpu0/topology/thread_siblings_list": "0\n",
            f"{cpu}/cpu0/cache/index3/level": "3\n",
            f"{cpu}/cpu0/cache/index3/type": "Unified\n",
            f"{cpu}/cpu0/cache/index3/id": "0\n",
            f"{cpu}/cpu0/cache/index3/size": "8192K\n",
            f"{cpu}/cpu0/cache/index3/shared_cpu_list": "0\n",
            "/sys/class/power_supply/AC/type": "Mains\n",
            "/sys/class/power_supply/AC/online": "1\n",
            **RAPHAEL_AND_CARD["files"],
        },
        "api": {
            "affinity": "0",
            "rlimits": {"nproc": 100, "as": "none", "stack": 8388608},
            "uname": {"system": "Linux", "release": "6.1.0", "version": "#1", "machine": "x86_64"},
            "identity": {"euid": 0, "gids": [0], "group_names": ["root"], "groups_in_file": ["root"]},
        },
        "env": {"OMP_NUM_THREADS": "4"},
    }
    windows = {
        "platform": "windows",
        "api": {
            "affinity": "0-7",
            "uname": {"system": "Windows", "release": "11", "version": "10.0.26100", "machine": "AMD64"},
            "memory": {"total_bytes": 2**34, "available_bytes": 2**33},
            "battery": {"plugged": True, "percent": 80},
            "power-scheme": {"guid": "381b4222-f694-41f0-9685-ff5bb260df2e", "name": "Balanced"},
            "windows-version": {"major": 10, "minor": 0, "build": 26100, "product": "Windows 11 Pro"},
            "cpuinfo": {"brand_raw": "AMD Ryzen 9 7950X", "family": 25, "model": 97, "stepping": 2, "flags": ["avx2"]},
            "logical-processors": "AAAA",
            "firmware-table": "AAAA",
            "dxgi-adapters": [],
        },
        "env": {},
    }
    macos = {"platform": "macos", "api": {"cpuinfo": {"brand_raw": "x"}, "memory": {"total_bytes": 1}}, "env": {}}
    return {plain["platform"]: RecordingSource(plain, "test") for plain in (linux, windows, macos)}  # type: ignore[misc]


def without_crash(source: Source) -> None:
    found = collect(source)
    assert found.crashed == ()


@pytest.mark.parametrize("name", ["linux", "windows", "macos"])
def test_every_probe_works_with_this_machine_out_of_reach(name: str, blocked: None) -> None:
    without_crash(machines()[name])


def test_a_recorded_machine_is_read_with_this_one_out_of_reach(
    shared: Path, request: pytest.FixtureRequest
) -> None:
    source = TreeSource.from_tar(shared / "corpus/machines/ryzen-5-1600-zen1.tar.gz", "m")
    request.getfixturevalue("blocked")
    found = collect(source)
    assert found.crashed == ()
    assert found.machine.cpu is not None and found.machine.cpu.name == "AMD Ryzen 5 1600 Six-Core Processor"


LOOKS: dict[str, Any] = {
    "open": lambda: open("/proc/cpuinfo"),  # noqa: SIM115
    "Path.read_text": lambda: Path("/proc/cpuinfo").read_text(),
    "Path.exists": lambda: Path("/sys/devices").exists(),
    "listdir": lambda: os.listdir("/sys"),  # noqa: PTH208
    "platform": lambda: platform.uname(),
    "Popen": lambda: subprocess.run(["true"]),
    "ctypes": lambda: ctypes.CDLL("libc.so.6"),
    "getenv": lambda: os.getenv("HOME"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs paths of POSIX")
@pytest.mark.parametrize("name", LOOKS)
def test_the_block_holds(name: str, blocked: None) -> None:
    with pytest.raises(Looked):
        LOOKS[name]()


@pytest.mark.parametrize("name", MODULES)
def test_the_block_of_modules_holds(name: str, blocked: None) -> None:
    with pytest.raises(ImportError):
        import_module(name)
