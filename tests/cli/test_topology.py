"""`amd-doctor topology` as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import EVERY_MACHINE, MACHINES, Doctor, environment


def test_a_saved_machine_is_drawn(doctor: Doctor, healthy: Path) -> None:
    ended = doctor("topology", "--from", healthy)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "CCX 1: 32 MiB L3" in ended.stdout
    assert "│  8  9 10 11 12 13 14 15 │" in ended.stdout


def test_ascii(doctor: Doctor, healthy: Path) -> None:
    ended = doctor("topology", "--from", healthy, "--ascii")
    assert ended.stdout.isascii()
    assert "|  8  9 10 11 12 13 14 15 |" in ended.stdout


def test_json(doctor: Doctor, healthy: Path) -> None:
    document = json.loads(doctor("topology", "--from", healthy, "--json").stdout)
    assert [cluster["cpus"] for cluster in document["clusters"]] == ["0-7,16-23", "8-15,24-31"]
    assert document["usable_cpus"] == "0-31"


@pytest.mark.parametrize("name", EVERY_MACHINE)
def test_every_machine_is_drawn(name: str, doctor: Doctor) -> None:
    ended = doctor("topology", "--from", MACHINES / name)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.strip()


def test_this_machine_is_drawn_without_looking_for_a_python() -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "doctor", "topology"],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "doctor.sources.live" in imported
    assert not imported & {"doctor.sources.target", "doctor.sources.exercises"}
    assert ended.stdout.strip()
