"""The one question put to PowerShell: how it is started, and what counts as no answer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from doctor.processes.run import Ended
from doctor.sources.base import Missing, Reply
from doctor.sources.commands import CIM_SCRIPT, answer


def ended(stdout: bytes, status: int = 0) -> Ended:
    return Ended("exited", status, f"exit {status}", stdout, b"", False, 1.0)


@pytest.fixture
def system_folder(tmp_path: Path) -> str:
    """A system folder with PowerShell in it. Elsewhere than on Windows a backslash is a letter of a file's name."""
    program = f"{tmp_path}{os.sep if os.name == 'nt' else '/C:'}" + r"\WindowsPowerShell\v1.0\powershell.exe"
    Path(program).parent.mkdir(parents=True, exist_ok=True)
    Path(program).touch()
    return program.removesuffix(r"\WindowsPowerShell\v1.0\powershell.exe")


def asked(system_folder: str, reply: Ended) -> tuple[Reply | Missing, list[Any]]:
    calls: list[Any] = []

    def runner(argv: list[str], **options: Any) -> Ended:
        calls.append((argv, options))
        return reply

    found = answer("powershell-cim", "windows", is_root=False, system_folder=system_folder, runner=runner)
    return found, calls


def test_it_is_started_by_its_path_without_a_profile(system_folder: str) -> None:
    found, calls = asked(system_folder, ended(b'{"Win32_PhysicalMemory": []}'))
    [(argv, options)] = calls
    assert found == Reply(0, '{"Win32_PhysicalMemory": []}')
    assert argv[0].startswith(system_folder) and argv[0].endswith("powershell.exe")
    assert argv[1:] == ["-NoLogo", "-NoProfile", "-NonInteractive", "-Command", CIM_SCRIPT]
    assert 5 <= options["timeout_seconds"] <= 15


@pytest.mark.parametrize("stdout", [b"", b"\r\n"])
def test_status_0_with_nothing_said_is_no_answer(system_folder: str, stdout: bytes) -> None:
    """Wine's powershell.exe ends so, and so does one that a policy keeps from starting anything."""
    found, _ = asked(system_folder, ended(stdout))
    assert isinstance(found, Missing) and found.reason == "probe-failed"


def test_without_the_system_folder_nothing_is_started() -> None:
    found, calls = asked("", ended(b"{}"))
    assert isinstance(found, Missing) and not calls


def test_the_script_asks_for_no_serial_and_survives_any_command_line() -> None:
    assert '"' not in CIM_SCRIPT and CIM_SCRIPT.isascii() and "\n" not in CIM_SCRIPT
    for personal in ("Serial", "AssetTag", "Tag,", "wmic", "Win32_ComputerSystem"):
        assert personal not in CIM_SCRIPT
