"""`amd-doctor tune` on a terminal: the picture while it runs, and the question before it runs a command of the user."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import environment
from tests.cli.test_tune import BUDGET, Place

if sys.platform == "win32":
    pytest.skip("needs Windows to have no pseudo-terminals", allow_module_level=True)

import pty

_JOB = "import time; time.sleep(0.03)\n"


def on_a_terminal(place: Place, *arguments: str, typed: str = "", **env: str) -> tuple[int, str, str]:
    """Exit status, what stdout (a pipe) got, and what the terminal got."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "doctor", "tune", *arguments],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(**{**place.env, "TERM": "xterm", "COLUMNS": "80", **env}),
        cwd=place.folder,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([ours], [], [], 0.2)
        if ready:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            shown += piece
        elif process.poll() is not None:
            break
    stdout = process.communicate(timeout=30)[0]
    os.close(ours)
    return process.returncode, stdout.decode(), shown.decode("utf-8", "replace")


def test_the_picture_says_where_the_run_is_and_leaves_nothing_behind(tmp_path: Path) -> None:
    place = Place(tmp_path, _JOB)
    status, stdout, shown = on_a_terminal(place, "--yes", "--budget", BUDGET, "--", *place.command)
    assert status == 0, shown
    assert stdout.splitlines()[-1].startswith("amd-doctor: ")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"━*─*  (search, round 1|confirmation, pair \d+); at most (\d+ min)?\s?(\d+ s)? left", plain)
    assert "now:    " in plain and "on your command" in plain
    assert "\x1b[?25h" in shown, "the cursor is shown again"
    assert shown.endswith("\x1b[1A\x1b[2K"), "the picture is wiped"
    lines = [line for line in re.split(r"[\r\n]+", plain) if not line.startswith("amd-doctor: busy now")]
    assert max(map(len, lines)) <= 80


def test_without_colour_or_symbols_the_picture_is_plain(tmp_path: Path) -> None:
    place = Place(tmp_path, _JOB)
    arguments = ("--yes", "--budget", BUDGET, "--ascii", "--", *place.command)
    status, _, shown = on_a_terminal(place, *arguments, NO_COLOR="1")
    begun = re.search(r"search, round|confirmation, pair", shown)
    assert status == 0 and begun is not None
    picture = shown[begun.start() :]
    assert picture.isascii() and "now:    " in picture
    assert not re.search(r"\x1b\[[0-9;]*m", picture), "no colours"


def test_a_dumb_terminal_gets_lines(tmp_path: Path) -> None:
    place = Place(tmp_path, _JOB)
    status, _, shown = on_a_terminal(place, "--yes", "--budget", BUDGET, "--", *place.command, TERM="dumb")
    assert status == 0 and "\x1b" not in shown
    assert "amd-doctor: search: " in shown


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04"])
def test_without_a_yes_nothing_runs(tmp_path: Path, answer: str) -> None:
    place = Place(tmp_path, "open('it-ran', 'w').close()\n")
    status, stdout, shown = on_a_terminal(place, "--", *place.command, typed=answer)
    assert (status, stdout) == (2, "")
    assert "at least 20 times" in shown and "my_secret_job.py" in shown and "[y/N]" in shown
    assert "nothing was run" in shown and not (tmp_path / "it-ran").exists()


def test_a_yes_runs_it(tmp_path: Path) -> None:
    place = Place(tmp_path, "open('it-ran', 'w').close(); raise SystemExit(3)\n")
    status, _, _ = on_a_terminal(place, "--", *place.command, typed="y\n")
    assert status == 1 and (tmp_path / "it-ran").exists()
