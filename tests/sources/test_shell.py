"""The shell that a Windows user types into is the nearest one among the parents of this process."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from doctor.sources import shell


class _Named:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        if self._name == "gone":
            raise psutil.NoSuchProcess(1)
        return self._name


def _called_from(monkeypatch: pytest.MonkeyPatch, platform: str, *names: str) -> str | None:
    class Process:
        def parents(self) -> list[Any]:
            return [_Named(name) for name in names]

    monkeypatch.setattr(shell.sys, "platform", platform)
    monkeypatch.setattr(shell.psutil, "Process", Process)
    return shell.calling_shell()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("amd-doctor.exe", "cmd.exe", "explorer.exe"), "cmd"),
        (("python.exe", "py.exe", "PowerShell.EXE", "WindowsTerminal.exe"), "powershell"),
        (("amd-doctor.exe", "pwsh.exe", "cmd.exe"), "powershell"),
        (("Code.exe", "explorer.exe"), None),
        ((*("python.exe",) * 6, "cmd.exe"), None),
        (("gone", "cmd.exe"), None),
        ((), None),
    ],
)
def test_the_nearest_shell(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], expected: str | None) -> None:
    assert _called_from(monkeypatch, "win32", *names) == expected


def test_elsewhere_all_shells_take_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _called_from(monkeypatch, "linux", "cmd.exe") is None
