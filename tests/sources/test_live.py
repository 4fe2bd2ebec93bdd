from __future__ import annotations

import errno
import os
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.machine.cpulist import parse_cpulist
from doctor.processes.run import Ended
from doctor.sources import live
from doctor.sources.base import Access, Missing
from doctor.sources.live import LiveSource, ThisMachine
from doctor.sources.redaction import Redactor

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs FIFOs and modes of POSIX")


@pytest.fixture
def here() -> ThisMachine:
    return ThisMachine()


def test_the_origin(here: ThisMachine) -> None:
    origin = here.origin
    assert (origin.kind, origin.name) == ("live", "this machine")
    assert origin.platform == {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    assert origin.taken_at is not None and origin.taken_at.endswith("Z") and len(origin.taken_at) == 20


def test_files_and_folders(here: ThisMachine, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\xffx\n")
    (tmp_path / "a").write_bytes(bytes(2 * 1024 * 1024))
    assert here.text(f"{tmp_path}/b") == "\ufffdx\n"
    assert here.data(f"{tmp_path}/b") == b"\xffx\n"
    assert len(here.data(f"{tmp_path}/a") or b"") == 1024 * 1024
    assert here.names(str(tmp_path)) == ("a", "b")


def test_what_is_not_there_is_absent(here: ThisMachine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (f"{tmp_path}/none", f"{tmp_path}/file/below"):
        assert here.text(path) == here.names(path) == Missing("absent")
        assert here.access(path) == Access(exists=False)
    assert isinstance(here.text(str(tmp_path)), Missing)
    assert here.names(f"{tmp_path}/file") == Missing("absent")
    assert isinstance(here.text("/a\0b"), Missing)


@posix
def test_a_fifo_and_a_device_are_not_opened(here: ThisMachine, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert here.text(f"{tmp_path}/fifo") == Missing("absent", "not a regular file")
    assert here.text("/dev/zero") == Missing("absent", "not a regular file")


@posix
def test_access_is_what_the_system_says(here: ThisMachine, tmp_path: Path) -> None:
    path = tmp_path / "node"
    path.write_text("")
    path.chmod(0o640)
    told = here.access(str(path))
    assert isinstance(told, Access)
    assert (told.exists, told.readable, told.writable, told.mode, told.gid) == (True, True, True, "0640", os.getegid())
    if sys.platform == "linux":
        assert told.acl is False


@linux
def test_an_acl_is_seen(here: ThisMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def getxattr(path: str, name: str) -> bytes:
        asked.append(name)
        return b"\2\0\0\0"

    monkeypatch.setattr(os, "getxattr", getxattr)
    told = here.access(str(tmp_path))
    assert isinstance(told, Access) and told.acl is True
    assert asked == ["system.posix_acl_access"]


@pytest.mark.parametrize(
    ("number", "is_root", "reason"),
    [
        (errno.EACCES, False, "needs-root"),
        (errno.EACCES, True, "probe-failed"),
        (errno.EPERM, False, "needs-root"),
        (errno.ENODEV, False, "absent"),
        (errno.EINVAL, False, "absent"),
        (errno.EIO, False, "probe-failed"),
    ],
)
def test_why_a_file_does_not_answer(
    here: ThisMachine, monkeypatch: pytest.MonkeyPatch, number: int, is_root: bool, reason: str
) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(live, "_is_root", lambda: is_root)
    monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    for answer in (here.data("/x"), here.text("/x"), here.names("/x")):
        assert isinstance(answer, Missing) and answer.reason == reason
    access = here.access("/x")
    assert access == Access(exists=False) if reason == "absent" else isinstance(access, Missing)


def test_only_tuning_variables_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("MY_PASSWORD", "secret")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/home/canary/lib")
    told = LiveSource(redactor=Redactor(homes=["/home/canary"])).environment()
    assert not isinstance(told, Missing)
    assert told["OMP_NUM_THREADS"] == "3"
    assert "MY_PASSWORD" not in told and "PATH" not in told
    assert told.get("LD_LIBRARY_PATH", "~/lib") == "~/lib"


@linux
def test_the_calls_of_linux(here: ThisMachine) -> None:
    affinity = here.api("affinity")
    assert isinstance(affinity, str) and parse_cpulist(affinity) == os.sched_getaffinity(0)
    rlimits = here.api("rlimits")
    assert isinstance(rlimits, dict) and set(rlimits) == {"nproc", "as", "stack"}
    assert all(value == "none" or (isinstance(value, int) and value >= 0) for value in rlimits.values())
    uname = here.api("uname")
    assert uname == {
        "system": "Linux",
        "release": platform.release(),
        "version": platform.version(),
        "machine": platform.machine(),
    }
    identity = here.api("identity")
    assert isinstance(identity, dict) and set(identity) == {"euid", "gids", "group_names", "groups_in_file"}
    assert identity["euid"] == os.geteuid() and os.getegid() in identity["gids"]
    for name in ("memory", "battery", "logical-processors", "windows-version", "nonsense"):
        assert here.api(name) == Missing("not-on-this-platform")
    assert here.registry("HKLM\\A", "B") == here.registry_keys("HKLM\\A") == Missing("not-on-this-platform")


@linux
def test_an_unlimited_limit_is_the_word_none(here: ThisMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    limits = {resource.RLIMIT_NPROC: 4096, resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_STACK: 8 << 20}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], resource.RLIM_INFINITY))
    assert here.api("rlimits") == {"nproc": 4096, "as": "none", "stack": 8 << 20}


@linux
def test_the_groups_of_a_user_whom_nobody_knows(here: ThisMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd

    def unknown(*_: object) -> Any:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(grp, "getgrgid", unknown)
    monkeypatch.setattr(os, "getgroups", lambda: [44, 992])
    assert here.api("identity") == {
        "euid": os.geteuid(),
        "gids": sorted({44, 992, os.getegid()}),
        "group_names": [],
        "groups_in_file": [],
    }


def test_memory_and_battery_where_there_is_no_proc(here: ThisMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    monkeypatch.setattr(here, "_origin", here.origin.__class__("live", "x", "macos"))
    monkeypatch.setattr(sys, "platform", "darwin")
    told = here.api("memory")
    assert isinstance(told, dict) and 0 < told["available_bytes"] <= told["total_bytes"]
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)
    assert here.api("battery") == Missing("absent")


def cpuinfo(monkeypatch: pytest.MonkeyPatch, stdout: bytes, outcome: str = "exited") -> Any:
    monkeypatch.setattr(live.Path, "exists", lambda self: False)
    status = 0 if outcome == "exited" else None
    ended = Ended(outcome, status, outcome, stdout, b"", False, 0.1)
    monkeypatch.setattr(live, "run", lambda argv, timeout_seconds: ended)
    return live._cpuinfo()


def test_py_cpuinfo_is_asked_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = b'{"brand_raw": "AMD Ryzen 9", "family": 25, "flags": ["avx2"], "python_version": "3.12", "hz": [1, 0]}'
    assert cpuinfo(monkeypatch, stdout) == {"brand_raw": "AMD Ryzen 9", "family": 25, "flags": ["avx2"]}


@pytest.mark.parametrize("stdout", [b"", b"[]", b"Traceback", b"\xff"])
def test_py_cpuinfo_that_says_nothing_is_unknown(monkeypatch: pytest.MonkeyPatch, stdout: bytes) -> None:
    assert cpuinfo(monkeypatch, stdout).reason == "probe-failed"


def test_py_cpuinfo_that_hangs_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpuinfo(monkeypatch, b"", "timeout").reason == "timed-out"


@linux
def test_py_cpuinfo_is_not_asked_beside_proc(here: ThisMachine) -> None:
    assert here.api("cpuinfo") == Missing("not-on-this-platform", "/proc/cpuinfo says it")


def test_the_child_of_py_cpuinfo_for_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live.Path, "exists", lambda self: False)
    told = live._cpuinfo()
    assert isinstance(told, dict)
    assert set(told) <= {"brand_raw", "vendor_id_raw", "family", "model", "stepping", "flags"} and told["flags"]


def test_exercises_are_passed_on() -> None:
    class Exercises:
        def exercise(self, name: str) -> Any:
            return {"name": name, "path": "/home/canary/x"}

    source = LiveSource(Exercises(), redactor=Redactor(homes=["/home/canary"]))
    assert source.exercise("cpu") == {"name": "cpu", "path": "~/x"}
    assert LiveSource().exercise("cpu") == Missing("not-in-source", "exercises are switched off")


def test_windows_is_asked_by_its_own_module(here: ThisMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.sources import live_windows, windows_registry

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(here, "_origin", here.origin.__class__("live", "x", "windows"))
    monkeypatch.setattr(live_windows, "api", lambda name: f"answer to {name}")
    monkeypatch.setattr(windows_registry, "registry", lambda key, value: f"{key} {value}")
    monkeypatch.setattr(windows_registry, "registry_keys", lambda key: (key,))
    assert here.api("firmware-table") == "answer to firmware-table"
    assert here.api("affinity") == "answer to affinity"
    assert set(here.api("uname")) == {"system", "release", "version", "machine"}  # type: ignore[arg-type]
    assert here.registry("HKLM\\A", "B") == "HKLM\\A B"
    assert here.registry_keys("HKLM\\A") == ("HKLM\\A",)


@linux
def test_nothing_of_this_machine_s_names_is_told() -> None:
    import getpass
    import socket

    from doctor.sources.product_words import PRODUCT_WORDS

    source = LiveSource()
    names = {getpass.getuser(), socket.gethostname()} - PRODUCT_WORDS
    texts = [source.text(path) for path in ("/proc/self/mountinfo", "/proc/cmdline", "/etc/hostname", "/etc/hosts")]
    for name in names:
        if len(name) >= 3:
            assert not any(name in text.split() for text in texts if isinstance(text, str))


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_only_folders_of_rocm_are_told_of_the_library_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/rocm-6.2/lib:/srv/secret/lib::/opt/ROCm/lib64")
    assert ThisMachine().api("library-path") == ["/opt/rocm-6.2/lib", "/opt/ROCm/lib64"]
    monkeypatch.delenv("LD_LIBRARY_PATH")
    assert ThisMachine().api("library-path") == []
