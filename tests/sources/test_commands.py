from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.processes.run import Ended
from doctor.sources import commands
from doctor.sources.base import Missing, Reply
from doctor.sources.commands import COMMANDS, Command, answer

EXITED = Ended("exited", 0, "exit 0", b"answer\n", b"warning\n", False, 0.1)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_found_by_absolute_path_and_ends(command: Command) -> None:
    for candidate in command.candidates:
        start = r"\{system\}\\" if command.platform == "windows" else "/"
        assert re.match(start, candidate), candidate
    assert 0 < command.timeout_seconds <= 30
    assert command.platform in ("linux", "windows", "macos")


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tool"
    path.write_text("#!/bin/sh\necho $0 $* $PATH $HOME $LC_ALL\n")
    path.chmod(0o755)
    allowed = Command("tool", "linux", ("/nowhere/tool", str(path)), ("-a", "b c"))
    rooted = msgspec.structs.replace(allowed, name="rooted", needs_root=True)
    absent = msgspec.structs.replace(allowed, name="absent", candidates=("/nowhere/tool",))
    monkeypatch.setattr(commands, "_BY_NAME", {"tool": allowed, "rooted": rooted, "absent": absent})
    return path


def ask(name: str, ended: Ended = EXITED, **more: Any) -> Reply | Missing:
    return answer(name, "linux", **({"is_root": False, "runner": lambda *_, **__: ended} | more))


def test_what_a_command_answers(tool: Path) -> None:
    assert ask("tool") == Reply(0, "answer\n", "warning\n")
    assert ask("tool", msgspec.structs.replace(EXITED, status=3, stdout=b"")) == Reply(3, "", "warning\n")


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"stdout": b" \n"}, Missing("probe-failed", "tool answered nothing")),
        ({"outcome": "timeout", "name": "timeout after 5 s"}, Missing("timed-out", "tool: timeout after 5 s")),
        ({"outcome": "signal", "status": None, "name": "SIGSEGV"}, Missing("probe-failed", "tool: SIGSEGV")),
        ({"outcome": "not-started", "status": None, "name": "x"}, Missing("probe-failed", "tool: x")),
    ],
)
def test_no_answer(tool: Path, changes: dict[str, Any], missing: Missing) -> None:
    assert ask("tool", msgspec.structs.replace(EXITED, **changes)) == missing


def test_commands_that_are_not_run(tool: Path) -> None:
    def never(*_: object, **__: object) -> Ended:
        raise AssertionError("started")

    assert ask("nonsense", runner=never) == Missing("not-on-this-platform", "no command is named nonsense")
    assert answer("tool", "windows", is_root=True, runner=never) == Missing("not-on-this-platform")
    assert ask("absent", runner=never) == Missing("not-installed", "absent is not installed")
    needs_root = ask("rooted", runner=never)
    assert isinstance(needs_root, Missing) and needs_root.reason == "needs-root"
    assert ask("rooted", is_root=True) == Reply(0, "answer\n", "warning\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell script")
def test_a_child_sees_neither_path_nor_home(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/evil")
    told = answer("tool", "linux", is_root=False)
    assert told == Reply(0, f"{tool} -a b c /usr/sbin:/usr/bin:/sbin:/bin C\n", "")


def test_the_system_folder_of_windows_is_put_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool.exe").write_text("")
    seen: list[list[str]] = []

    def runner(argv: list[str], **_: object) -> Ended:
        seen.append(argv)
        return EXITED

    command = Command("tool", "windows", ("{system}/tool.exe",), ("/q",))
    monkeypatch.setattr(commands, "_BY_NAME", {"tool": command})
    assert answer("tool", "windows", is_root=False, system_folder=str(tmp_path), runner=runner) == Reply(
        0, "answer\n", "warning\n"
    )
    assert seen == [[f"{tmp_path}/tool.exe", "/q"]]


@pytest.mark.skipif(sys.platform == "win32", reason="needs paths of POSIX")
def test_of_several_releases_the_highest_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for release in ("6.4.0", "6.10.1", "6.2"):
        folder = tmp_path / f"rocm-{release}"
        folder.mkdir()
        (folder / "tool").write_text("")
    seen: list[str] = []

    def runner(argv: list[str], **_: object) -> Ended:
        seen.append(argv[0])
        return EXITED

    command = Command("tool", "linux", ("/nowhere/tool", f"{tmp_path}/rocm-*/tool"))
    monkeypatch.setattr(commands, "_BY_NAME", {"tool": command})
    assert ask("tool", runner=runner) == Reply(0, "answer\n", "warning\n")
    assert seen == [str(tmp_path / "rocm-6.10.1/tool")]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell script")
def test_a_command_may_have_variables_of_its_own(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool.write_text("#!/bin/sh\necho $HSA_ENABLE_DXG_DETECTION $HSA_OVERRIDE_GFX_VERSION $LC_ALL\n")
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "10.3.0")
    command = Command("tool", "linux", (str(tool),), variables=(("HSA_ENABLE_DXG_DETECTION", "1"),))
    monkeypatch.setattr(commands, "_BY_NAME", {"tool": command})
    assert answer("tool", "linux", is_root=False) == Reply(0, "1 C\n", "")
