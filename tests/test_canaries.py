"""No output of any command holds a canary that was planted in what it reads: see `tests.canaries`."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.cli.group import amd_doctor
from tests.canaries import CANARIES, LINE, LINES, UUID, leaks, planted, planted_recording
from tests.cli.running import MACHINES, ROOT, environment
from tests.cli.wheel_recordings import ROCM_WHEEL, recording

FORMS = ("markdown", "text", "json", "html")
Run = Callable[..., str]


def run(*arguments: str | Path) -> str:
    """Everything that a command prints, on stdout and stderr."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            amd_doctor.main([str(argument) for argument in arguments], prog_name="amd-doctor", standalone_mode=False)
        except Exception as error:  # a refusal is an output too
            err.write(f"{type(error).__name__}: {error}")
        out.flush()
    return out.buffer.getvalue().decode() + err.getvalue()  # type: ignore[attr-defined]


def commands_on(path: Path, other: Path, *, brief: bool = False) -> Iterator[tuple[str, ...]]:
    """Every command that reads a machine, in every form; with `brief` those that print the most."""
    source = ("--from", str(path))
    for more in (("-v",), ("--json",), *(() if brief else ((), ("--ask",), ("-q",)))):
        yield ("check", *source, *more)
    for more in (("--json",), *(() if brief else ((), ("--csv",), ("-v",)))):
        yield ("check", "--from", str(path.parent), "--summary", *more)
    yield ("plan", *source)
    yield ("compare", str(other), str(path), "--json")
    if not brief:
        yield ("plan", *source, "--json")
        yield ("topology", *source)
        yield ("topology", *source, "--json")
        yield ("compare", str(path), str(other), "-v")
    for form in FORMS[2:] if brief else FORMS:
        yield ("report", *source, "--format", form)


def assert_no_leaks(path: Path) -> None:
    other = MACHINES / "two-errors.json"
    told = ""
    for command in commands_on(path, other):
        printed = run(*command)
        assert leaks(printed) == [], command
        told += printed
    assert "findings" in told and len(told) > 5_000, "nothing was read"


def written(folder: Path, name: str, content: Any) -> Path:
    folder = folder / "inputs"
    folder.mkdir(exist_ok=True)
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_the_canaries_are_seen_however_they_are_written() -> None:
    assert set(leaks(LINES)) == set(CANARIES)
    in_base64 = "Y2FuYXJ5dXNlciBpcyBwbGFudGVkIGhlcmUsIHNlZSBpdA=="
    for text in ("%2Fhome%2FCANARYUSER", "\\u0063anaryuser", "&#99;anaryuser", in_base64):
        assert leaks(text) == ["user"], text
    assert leaks("user-1 on host-1, a canary") == []


LINUX = recording(ROCM_WHEEL, "2026-11-30T12:00:00Z", 1_000_000)


def windows() -> dict[str, Any]:
    from tests.probes import test_gpus_windows as gpus
    from tests.probes import test_windows as base

    class_key = f"{gpus.CLASS}\\0001"
    return {
        "schema": "amd-doctor/recording/1",
        "platform": "windows",
        "registry": {
            base.CPU_KEY: {"ProcessorNameString": "AMD Ryzen 9 7940HS", "VendorIdentifier": "AuthenticAMD"},
            base.VERSION_KEY: {"ProductName": "Windows 11 Pro", "CurrentBuildNumber": "26100"},
            base.BIOS_KEY: {"SystemManufacturer": "Framework", "SystemProductName": "Laptop 16"},
            class_key: dict(gpus.RADEON_DRIVER),
        },
        "registry_keys": {gpus.CLASS: ["0001"], base.CPU_KEY.rpartition("\\")[0]: ["0"]},
        "api": {
            "affinity": "0-15",
            "memory": {"total_bytes": 32 << 30, "available_bytes": 16 << 30},
            "dxgi-adapters": [gpus.IGPU, gpus.RADEON, gpus.SOFTWARE],
            "power-scheme": {"guid": "381b4222-f694-41f0-9685-ff5bb260df2e", "name": "Balanced"},
            "windows-version": {"major": 10, "minor": 0, "build": 26100, "product": "Windows 11 Pro"},
            "cpuinfo": {"brand_raw": "AMD Ryzen 9 7940HS", "vendor_id_raw": "AuthenticAMD", "flags": ["avx2"]},
        },
        "exercises": LINUX["exercises"],
        "commands": {"powershell-cim": {"status": 0, "stdout": "{}"}},
    }


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("platform", ["linux", "windows"])
def test_a_recording_that_nobody_cleaned(platform: str, whole: bool, tmp_path: Path) -> None:
    raw = planted_recording(LINUX if platform == "linux" else windows(), whole=whole)
    assert set(leaks(json.dumps(raw))) == set(CANARIES)
    assert_no_leaks(written(tmp_path, "recording.json", raw))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ["two-errors.json", "windows-laptop.json", "container-quota.json"])
def test_a_document_that_somebody_wrote(name: str, whole: bool, tmp_path: Path) -> None:
    machine = planted(json.loads((MACHINES / name).read_text()), whole=whole)
    newer = {"hostname": "canaryhost", "serial_number": "CANARYSERIAL9", "api_token": "canarytoken4711", "note": LINES}
    assert_no_leaks(written(tmp_path, "machine.json", {**machine, "lab": newer}))


PASTES = sorted(path.name for path in (ROOT / "tests" / "pastes").iterdir() if path.name != "requirements.txt")


ENCODED = [(name, "utf-8") for name in PASTES] + [("ticket.md", "utf-16"), ("windows-wmic.txt", "utf-8-sig")]


@pytest.mark.parametrize(("name", "encoding"), ENCODED)
def test_a_text_that_somebody_pasted(name: str, encoding: str, tmp_path: Path) -> None:
    lines = (ROOT / "tests" / "pastes" / name).read_text(encoding="utf-8", errors="replace").splitlines()
    third = max(len(lines) // 3, 1)
    around = [*LINES.splitlines(), *lines[:third], *LINES.splitlines(), *lines[third:], *LINES.splitlines()]
    marked = [f"{line} {LINE}" if at % 7 == 3 else line for at, line in enumerate(around)]
    path = written(tmp_path, "ticket.txt", "\n".join(marked).encode(encoding))
    for command in commands_on(path, MACHINES / "two-errors.json", brief=encoding == "utf-8"):
        assert leaks(run(*command)) == [], command


def test_a_ticket_around_a_document_and_a_report(tmp_path: Path) -> None:
    machine = planted(json.loads((MACHINES / "two-errors.json").read_text()), whole=False)
    assert_no_leaks(written(tmp_path, "ticket.md", f"{LINES}\n\n```json\n{json.dumps(machine)}\n```\n{LINES}"))


def test_a_tree_with_the_name_of_its_host(tmp_path: Path) -> None:
    tree = tmp_path / "inputs" / "machine"
    for path, content in planted_recording(LINUX, whole=False)["files"].items():
        if isinstance(content, str) and path.startswith(("/proc/", "/sys/", "/etc/")):
            target = tree / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content.replace(LINES, LINE).replace(LINES.replace("\n", " "), LINE))
    assert_no_leaks(tree)


# This machine


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of the invented person: a home, a Python in it with a private package, tuning variables."""
    home = tmp_path_factory.mktemp("real") / "home" / "canaryuser"
    site = home / "my models" / "venv" / "lib" / "site"
    package = site / "canarycorp_ml-1.0.dist-info"
    package.mkdir(parents=True)
    index = "https://canaryuser:canarytoken4711@nexus.canaryindex.test/simple"
    (package / "METADATA").write_text(f"Name: canarycorp-ml\nVersion: 1.0\nRequires-Dist: torch @ {index}/torch.whl\n")
    (package / "INSTALLER").write_text("pip\n")
    torch = site / "torch-2.9.1.dist-info"
    torch.mkdir()
    (torch / "METADATA").write_text(f"Name: torch\nVersion: 2.9.1\nRequires-Dist: numpy @ {index}/numpy.whl\n")
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text(f"raise ImportError({LINE!r})\n")
    values = {"OMP_PLACES": LINE, "HSA_OVERRIDE_GFX_VERSION": LINE, "MIOPEN_USER_DB_PATH": f"{home}/x"}
    names = {"USER": "canaryuser", "LOGNAME": "canaryuser", "HOSTNAME": "canaryhost.canarycorp.test", "HOME": str(home)}
    state = {"XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache")}
    return environment(**values, **names, **state, PYTHONPATH=f"{site}:{ROOT}", PYTHONDONTWRITEBYTECODE="1")


LIVE = [
    ("check", "--no-exercise"),
    ("check", "--no-exercise", "-v"),
    ("check", "--json"),
    ("check",),
    ("plan", "--no-exercise"),
    ("plan", "--no-exercise", "--json"),
    ("plan", "--verify"),
    ("topology", "--json"),
    ("compare", str(MACHINES / "two-errors.json"), "--no-exercise", "--json"),
    ("compare", str(MACHINES / "two-errors.json"), "--no-exercise"),
    *(("report", "--format", form) for form in FORMS),
    ("report", "--copy", "--show-removed"),
    ("record", "-o", "-"),
]


@pytest.mark.parametrize("command", LIVE, ids=" ".join)
def test_this_machine(command: tuple[str, ...], here: dict[str, str]) -> None:
    arguments = [*command, *([] if "topology" in command else ["--python", sys.executable])]
    ended = subprocess.run(
        [sys.executable, "-m", "doctor", *arguments], env=here, capture_output=True, timeout=120, check=False
    )
    printed = gzip.decompress(ended.stdout) if command[0] == "record" else ended.stdout
    text = printed.decode() + ended.stderr.decode()
    assert ended.returncode in (0, 1), text
    assert leaks(text) == []
    assert here["HOME"] not in text
    if command[0] == "report":
        assert "canarycorp" not in text and "canary" not in text.lower()


def test_the_person_is_there(here: dict[str, str]) -> None:
    assert os.path.isdir(here["HOME"]) and UUID in here["OMP_PLACES"]  # noqa: PTH112


def test_the_command_for_root_names_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from doctor.cli import inputs
    from doctor.sources import personal_names
    from doctor.sources.redaction import Redactor

    venv = tmp_path / "canaryuser" / "venv"
    known = Redactor(["canaryuser"], ["canaryhost"], ["/home/canaryuser"])
    monkeypatch.setattr(personal_names, "redactor_of_this_machine", lambda: known)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["-c"])
    monkeypatch.setenv("VIRTUAL_ENV", str(venv))
    assert (inputs._with_root(f"{venv}/bin/python") or "").endswith('check --python "$VIRTUAL_ENV/bin/python"')
    program = tmp_path / "canaryuser" / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert (inputs._with_root(str(program)) or "").endswith('check --python "$(command -v python3)"')
    assert leaks(inputs._with_root("/srv/canaryuser/python") or "") == []
