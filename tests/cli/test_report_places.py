"""Where a report goes, and that it is printed where it cannot go there."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.cli.clipboard import tools
from doctor.cli.report_places import has_browser, write_file
from doctor.present.terminal import to_ascii
from tests.cli.running import MACHINES, Doctor, environment

MACHINE = MACHINES / "two-errors.json"
FROM = ("report", "--from", MACHINE)


def test_a_file_is_written_and_nothing_is_printed(doctor: Doctor, tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    for _ in range(2):  # an older report is replaced
        ended = doctor(*FROM, "-o", target)
        assert (ended.returncode, ended.stdout) == (0, "")
        assert re.fullmatch(rf"amd-doctor: Wrote {re.escape(str(target))}: [\d.]+ kB.\n", ended.stderr)
    assert target.read_text() == doctor(*FROM).stdout


@pytest.mark.parametrize("form", ["markdown", "text", "json", "html"])
def test_an_older_report_of_each_form_is_replaced(form: str, doctor: Doctor, tmp_path: Path) -> None:
    target = tmp_path / "report"
    for _ in range(2):
        assert doctor(*FROM, "--format", form, "-o", target).returncode == 0


@pytest.mark.parametrize(
    ("name", "begins"), [("a.html", "<!DOCTYPE html>"), ("a.json", "{"), ("a.txt", "amd-doctor"), ("a.md", "```text")]
)
def test_the_form_follows_the_name_of_the_file(name: str, begins: str, doctor: Doctor, tmp_path: Path) -> None:
    assert doctor(*FROM, "-o", tmp_path / name).returncode == 0
    assert (tmp_path / name).read_text().startswith(begins)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("/dev/full", "No space left on device"),
        ("{folder}", "it is a folder"),
        ("{folder}/none/report.md", "there is no folder"),
        ("{folder}/notes.md", "it is no report; --force replaces it"),
        ("/proc/report.md", "not written"),
    ],
)
def test_what_cannot_be_written_is_printed(target: str, says: str, doctor: Doctor, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# amd-doctor\n\nmy notes about amd-doctor 0.1.0 report\n")
    ended = doctor(*FROM, "-o", target.format(folder=tmp_path))
    assert ended.returncode == 2 and len(ended.stderr.splitlines()) == 1 and says in ended.stderr
    assert ended.stdout == doctor(*FROM).stdout
    assert notes.read_text().startswith("# amd-doctor\n") and stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_force_replaces_anything(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    assert doctor(*FROM, "--force", "-o", tmp_path / "notes.md").returncode == 0
    assert (tmp_path / "notes.md").read_text() != "mine"


def test_no_permission_is_one_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from doctor.sources import whole_file

    def refuse(path: Path, content: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(whole_file, "write_whole", refuse)
    assert write_file(tmp_path / "a.md", "x") == "Permission denied"


def test_a_full_disk_behind_stdout_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "doctor", *map(str, FROM)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr == "amd-doctor: The report cannot be printed: No space left on device.\n"


def test_a_broken_input_is_one_sentence(doctor: Doctor, tmp_path: Path) -> None:
    ended = doctor("report", "--from", tmp_path / "none.json", "-o", tmp_path / "report.md")
    assert ended.returncode == 2 and ended.stdout == "" and len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "report.md").exists()


@pytest.mark.parametrize(
    "arguments", [("--open", "--format", "text"), ("--no-exercise", "--from", MACHINE), ("--format", "pdf")]
)
def test_what_does_not_go_together_is_refused(arguments: tuple[str, ...], doctor: Doctor) -> None:
    assert doctor("report", *arguments).returncode == 2


# The clipboard


def test_no_clipboard_is_one_sentence_and_the_report_is_printed(doctor: Doctor) -> None:
    ended = doctor(*FROM, "--copy", env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "WSL_DISTRO_NAME": ""})
    assert ended.returncode == 0 and ended.stdout == doctor(*FROM).stdout
    assert ended.stderr == "amd-doctor: Not copied: there is no clipboard here.\n"


XCLIP = """#!/bin/sh
echo "$@" > {folder}/arguments
cat > {folder}/clipboard
# Like the real one, a child goes on and keeps what it inherited.
sleep 300 &
echo $! > {folder}/pid
"""


def test_a_tool_that_stays_in_the_background_is_not_waited_for(doctor: Doctor, tmp_path: Path) -> None:
    xclip = tmp_path / "xclip"
    xclip.write_text(XCLIP.format(folder=tmp_path))
    xclip.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ended = doctor(*FROM, "--copy", env={"DISPLAY": ":9", "WAYLAND_DISPLAY": "", "PATH": path})
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, 15)  # it lives on, or this would raise
    assert ended.stderr == "amd-doctor: Copied to the clipboard with xclip.\n"
    assert (tmp_path / "clipboard").read_text() == ended.stdout
    assert (tmp_path / "arguments").read_text() == "-selection clipboard\n"


def test_a_tool_that_fails_leads_to_the_next(doctor: Doctor, tmp_path: Path) -> None:
    for name, script in (("xclip", "cat > /dev/null; exit 1"), ("xsel", f"cat > {tmp_path}/clipboard")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ended = doctor(*FROM, "--copy", env={"DISPLAY": ":9", "WAYLAND_DISPLAY": "", "PATH": path})
    assert "with xsel" in ended.stderr and (tmp_path / "clipboard").read_text() == ended.stdout
    (tmp_path / "xsel").write_text("#!/bin/sh\nexit 3\n")
    ended = doctor(*FROM, "--copy", env={"DISPLAY": ":9", "WAYLAND_DISPLAY": "", "PATH": path})
    assert ended.stderr == "amd-doctor: Not copied: no clipboard took it (xclip: exit 1; xsel: exit 3).\n"


def test_windows_programs_stand_by_absolute_path_and_read_ascii() -> None:
    (tool,) = tools({"SystemRoot": "D:\\Win", "PATH": "C:\\evil"}, "win32")
    assert tool.path.replace("/", "\\") == "D:\\Win\\System32\\clip.exe" and tool.ascii_only
    assert to_ascii("✓ ok – 1 µs").isascii()


def test_a_tool_in_the_current_folder_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xclip").write_text("#!/bin/sh\n")
    (tmp_path / "xclip").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert list(tools({"DISPLAY": ":0", "PATH": "."}, "linux")) == []


# On a terminal


def on_terminal(*arguments: str | Path, **env: str) -> tuple[str, str]:
    """What the command printed on stdout, a pipe, and on stderr, a terminal."""
    own, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "doctor", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
        env=environment(TERM="xterm", DISPLAY="", WAYLAND_DISPLAY="", **env),
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            piece = os.read(own, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    printed = process.communicate()[0]
    os.close(own)
    return printed.decode(), shown.decode()


def test_the_terminal_is_asked_where_no_tool_is() -> None:
    printed, shown = on_terminal(*FROM, "--copy")
    sequence = re.search(r"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07", shown)
    assert sequence is not None and base64.b64decode(sequence[1]).decode() == printed
    assert "OSC 52" in shown


def test_what_was_removed_is_listed_on_a_terminal_only(doctor: Doctor, tmp_path: Path) -> None:
    document = tmp_path / "machine.json"
    machine = json.loads(MACHINE.read_text())
    machine["python"]["executable"] = "/home/canaryuser/bin/python"
    document.write_text(json.dumps(machine))
    printed, shown = on_terminal("report", "--from", document, "--show-removed")
    assert "user-1: canaryuser" in shown and "canaryuser" not in printed
    ended = doctor("report", "--from", document, "--show-removed")
    assert "canaryuser" not in ended.stdout + ended.stderr and "on a terminal only" in ended.stderr
    assert "1 user name" in printed


# The browser


def test_no_browser_is_one_sentence_and_the_page_is_kept(tmp_path: Path) -> None:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
    env = {name: value for name, value in environment().items() if name not in hidden}
    command = [sys.executable, "-m", "doctor", "report", "--from", str(MACHINE), "--open"]
    for name in ("amd-doctor-report.html", "amd-doctor-report-2.html"):
        ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert ended.returncode == 0 and "There is no browser here" in ended.stderr and ended.stdout == ""
        assert (tmp_path / name).read_text().startswith("<!DOCTYPE html>")


def test_the_browser_gets_the_page(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/asked\n')
    browser.chmod(0o755)
    target = tmp_path / "page.html"
    command = [sys.executable, "-m", "doctor", "report", "--from", str(MACHINE), "--open", "-o", str(target)]
    env = environment(BROWSER=f"{browser} %s")
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and "no browser" not in ended.stderr
    assert (tmp_path / "asked").read_text().strip() == target.as_uri()


def test_a_browser_in_text_is_none() -> None:
    assert not has_browser({}, "linux") and has_browser({"DISPLAY": ":0"}, "linux") and has_browser({}, "darwin")
