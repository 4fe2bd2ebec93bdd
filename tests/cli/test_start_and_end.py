"""How the command starts and ends: help, exit statuses, signals, pipes, broken installations."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from doctor import __version__
from tests.cli.running import MACHINES, Doctor, environment

COMMANDS = ("check", "topology", "tune", "report", "record", "rules", "env", "run")


def test_alone_it_prints_its_help(doctor: Doctor) -> None:
    ended = doctor()
    assert ended.returncode == 0
    assert all(f"\n  {name} " in ended.stdout for name in COMMANDS)
    assert ended.stdout == doctor("--help").stdout == doctor("-h").stdout


def test_version(doctor: Doctor) -> None:
    ended = doctor("--version")
    assert (ended.returncode, ended.stdout) == (0, f"amd-doctor {__version__}\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, doctor: Doctor) -> None:
    ended = doctor(name, "--help")
    assert ended.returncode == 0, ended.stderr
    assert "Examples:" in ended.stdout
    options = [line.strip() for line in ended.stdout.splitlines() if line.startswith("  -")]
    for at, option in enumerate(options):
        words = option.split("  ", 1)
        following = ended.stdout.split(option, 1)[1].splitlines()[1] if len(words) == 1 else words[1]
        assert following.strip(), f"option {at} of {name} is not explained: {option}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    from doctor.cli.group import amd_doctor

    command = amd_doctor.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None and command.name == name


def test_help_imports_no_heavy_library() -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "doctor", "--help"],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    tops = {name.partition(".")[0] for name in imported}
    assert "click" in tops
    assert not tops & {"rich", "yaml", "archspec", "msgspec", "psutil", "cpuinfo", "torch", "numpy", "asyncio"}
    ours = {name for name in imported if name.startswith("doctor.")}
    assert ours <= {"doctor.cli", "doctor.cli.main", "doctor.cli.group"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nonsense",),
        ("nonsense",),
        ("check", "--nonsense"),
        ("check", "--backend", "metal"),
        ("check", "--workers", "-1"),
        ("check", "--timeout", "0"),
        ("check", "--from", "/nonexistent/file"),
        ("check", "--from", os.devnull),
        ("check", "--from", os.devnull, "--python", sys.executable),
        ("check", "--only", "no-such-rule"),
        ("check", "--python", "/nonexistent/python"),
        ("topology", "--from", os.devnull),
    ],
)
def test_wrong_usage_and_unreadable_input_end_with_2(arguments: tuple[str, ...], doctor: Doctor) -> None:
    ended = doctor(*arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert re.search(r"^(Error|amd-doctor): \S", ended.stderr, re.MULTILINE), ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_misspelt_rule_gets_a_suggestion(doctor: Doctor) -> None:
    assert "Did you mean memory" in doctor("check", "--only", "memroy").stderr


def _shadowing(folder: Path, module: str, body: str) -> dict[str, str]:
    """An environment in which `module` is a file with this body."""
    (folder / f"{module}.py").write_text(body)
    return {"PYTHONPATH": os.pathsep.join([str(folder), environment()["PYTHONPATH"]])}


def test_ctrl_c_during_an_import_is_quiet(tmp_path: Path, doctor: Doctor) -> None:
    env = _shadowing(tmp_path, "click", "import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    ended = doctor("check", env=env)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_what_fails_in_the_doctor_itself_is_one_sentence_and_70(tmp_path: Path, doctor: Doctor, healthy: Path) -> None:
    env = _shadowing(tmp_path, "yaml", "raise RuntimeError('no yaml\\n\\x1b[2J today')")
    ended = doctor("check", "--from", healthy, env=env)
    assert (ended.returncode, ended.stdout) == (70, "")
    assert len(ended.stderr.splitlines()) == 1
    assert "RuntimeError" in ended.stderr and "report it" in ended.stderr and "AMD_DOCTOR_DEBUG" in ended.stderr
    assert "\x1b" not in ended.stderr


def test_the_traceback_is_there_for_who_asks(tmp_path: Path, doctor: Doctor, healthy: Path) -> None:
    env = _shadowing(tmp_path, "yaml", "raise RuntimeError('no yaml')")
    ended = doctor("check", "--from", healthy, env={**env, "AMD_DOCTOR_DEBUG": "1"})
    assert ended.returncode == 70
    assert "Traceback" in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_ends_with_70(healthy: Path) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "doctor", "check", "--from", str(healthy)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    assert ended.returncode == 70
    assert b"Traceback" not in ended.stderr and b"No space left" in ended.stderr


@pytest.mark.parametrize("arguments", [(), ("-v",), ("--json",), ("-q",)])
def test_a_reader_that_went_away_is_no_error(arguments: tuple[str, ...], healthy: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "doctor", "check", "--from", str(healthy), *arguments],
            stdout=write_end,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    finally:
        os.close(write_end)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.fixture
def slow_torch(tmp_path: Path) -> dict[str, str]:
    """An environment whose torch takes a minute to import, and starts a child of its own meanwhile."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.9.0'\nhip = None\ncuda = None\n")
    (tmp_path / "torch" / "__init__.py").write_text(
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "time.sleep(60)\n"
    )
    info = tmp_path / "torch-2.9.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n")
    return environment(PYTHONPATH=os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]]))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_takes_the_children_along(number: int, status: int, slow_torch: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "doctor", "check", "--python", sys.executable],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=slow_torch,
    )
    try:
        below = _wait_for_sleepers(process.pid)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    # Click ends the line that the terminal has begun with ^C.
    assert (process.returncode, stdout, stderr.strip()) == (status, b"", b"")
    _, alive = psutil.wait_procs(below, timeout=10)
    assert not alive


def _wait_for_sleepers(pid: int) -> list[psutil.Process]:
    """The processes below `pid`, as soon as the import of torch has started its own child."""
    for _ in range(600):
        below = psutil.Process(pid).children(recursive=True)
        if any("time.sleep(60)" in _command(process) for process in below):
            return below
        time.sleep(0.05)
    raise AssertionError("the import of torch was never begun")


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return ""


@pytest.mark.parametrize("pythonpath", ["", ".", "sub/..", os.pathsep + "."])
def test_nothing_is_imported_from_where_the_user_stands(tmp_path: Path, pythonpath: str) -> None:
    for module in ("json", "click", "msgspec", "torch", "yaml"):
        (tmp_path / f"{module}.py").write_text("raise RuntimeError('this file is hostile')\n")
    healthy = str(MACHINES / "healthy-5950x.json")
    env = {**environment(), "PYTHONPATH": pythonpath}
    for command in ([sys.executable, "-m", "doctor"], [str(Path(sys.executable).with_name("amd-doctor"))]):
        whole = [*command, "check", "--from", healthy, "-q"]
        ended = subprocess.run(whole, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, ""), command
        assert ended.stdout.startswith("amd-doctor: 0 errors")
