"""`amd-doctor record` as a process: what it writes, what it refuses, and that `check` reads it back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.sources.recording import decode_recording

PROGRAM = [sys.executable, "-m", "doctor"]
RECORD = [*PROGRAM, "record", "--no-exercise", "--python", sys.executable]


def run(*words: str | Path, **more: Any) -> subprocess.CompletedProcess[bytes]:
    argv = [*RECORD, *map(str, words)]
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False, **more)


def test_it_writes_a_recording_and_says_what_is_in_it(tmp_path: Path) -> None:
    ended = run("-o", tmp_path / "m.json.gz")
    told = ended.stderr.decode()
    assert (ended.returncode, ended.stdout) == (0, b""), told
    recording = decode_recording((tmp_path / "m.json.gz").read_bytes())
    assert recording["schema"] == "amd-doctor/recording/1"
    assert f"Wrote {tmp_path}/m.json.gz: {(tmp_path / 'm.json.gz').stat().st_size / 1000:.1f} kB" in told
    assert f"{len(recording.get('files', {}))} files" in told
    assert "Not in it: user and host names" in told
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.json.gz"]


def test_json_tells_of_the_file(tmp_path: Path) -> None:
    ended = run("-o", tmp_path / "m.json.gz", "--json")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["schema"], told["output"]) == (0, "amd-doctor/recorded/1", f"{tmp_path}/m.json.gz")
    assert told["size_bytes"] == (tmp_path / "m.json.gz").stat().st_size
    assert told["holds"]["files"] == len(decode_recording((tmp_path / "m.json.gz").read_bytes())["files"])
    assert run("-o", "-", "--json").returncode == 2


def test_check_says_of_the_recording_what_it_says_here(tmp_path: Path) -> None:
    assert run("-o", tmp_path / "m.json.gz").returncode == 0
    here = [*PROGRAM, "check", "--json", "--no-exercise", "--python", sys.executable]
    there = [*PROGRAM, "check", "--json", "--from", str(tmp_path / "m.json.gz")]
    documents = []
    for argv in (here, there):
        ended = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        assert ended.returncode in (0, 1), ended.stderr.decode()
        document = json.loads(ended.stdout)
        document["machine"].pop("sources")
        document["machine"].get("memory", {}).pop("available_bytes", None)  # changes from second to second
        documents.append(document)
    assert documents[0] == documents[1]


def test_standard_output(tmp_path: Path) -> None:
    ended = run("-o", "-")
    assert ended.returncode == 0
    assert decode_recording(ended.stdout)["schema"] == "amd-doctor/recording/1"
    assert b"Wrote stdout" in ended.stderr


def test_an_older_recording_is_replaced_and_another_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "m.json.gz"
    assert run("-o", path).returncode == 0
    assert run("-o", path).returncode == 0
    (tmp_path / "notes.txt").write_text("mine")
    ended = run("-o", tmp_path / "notes.txt")
    assert ended.returncode == 2 and b"--force replaces it" in ended.stderr
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert run("-o", tmp_path / "notes.txt", "--force").returncode == 0
    assert decode_recording((tmp_path / "notes.txt").read_bytes())


@pytest.mark.parametrize(
    ("output", "reason"), [(".", b"it is a folder"), ("none/m.gz", b"there is no folder"), ("/dev/null", b"no regular")]
)
def test_places_that_cannot_be_written(tmp_path: Path, output: str, reason: bytes) -> None:
    ended = run("-o", output, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert ended.returncode == 2
    assert reason in ended.stderr and b"Traceback" not in ended.stderr


def test_an_output_is_needed() -> None:
    ended = run()
    assert ended.returncode == 2 and b"-o" in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_ctrl_c_leaves_no_file(tmp_path: Path) -> None:
    argv = [*PROGRAM, "record", "-o", str(tmp_path / "m.json.gz"), "--python", sys.executable]
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.7)  # somewhere in its work; wherever that is, the end is the same
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert b"Traceback" not in told
    assert child.returncode in (130, 0)
    assert [entry.name for entry in tmp_path.iterdir()] == (["m.json.gz"] if child.returncode == 0 else [])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output() -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*RECORD, "-o", "-"], stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert ended.returncode == 2 and b"No space left" in ended.stderr and b"Traceback" not in ended.stderr
