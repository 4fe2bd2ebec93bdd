"""`amd-doctor env show|check|remove` as a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.derive.facts import complete
from doctor.envfile.content import CPUS, EnvContent, EnvLine, Gain
from doctor.envfile.files import write_env
from doctor.envfile.formats import FORMATS
from doctor.machine.document import parse_json, read_document
from doctor.tune.subject import subject_of
from tests.cli.running import Doctor
from tests.envfile.contents import evidence


@pytest.fixture
def measured(tmp_path: Path, healthy: Path) -> Path:
    """A file of the healthy machine, with a line by hand before its block."""
    subject = subject_of(complete(read_document(parse_json(healthy.read_bytes())).machine))
    lines = (
        EnvLine("OMP_NUM_THREADS", "16", confirmed=True, replaces="1"),
        EnvLine(CPUS, "0-15", note="read by amd-doctor run only"),
    )
    known = {
        "subject": subject,
        "variables": {"OMP_NUM_THREADS": "16", CPUS: "0-15"},
        "confirmed": ("OMP_NUM_THREADS",),
        "replaces": {"OMP_NUM_THREADS": "1"},
        "run": Gain(0.31, 0.25, 0.37, 12),
    }
    path = tmp_path / "amd-doctor.env"
    path.write_text("WANDB_MODE=offline\n")
    write_env(path, EnvContent(("Measured.",), lines, (), evidence(**known)), FORMATS["dotenv"])
    return path


def test_show(doctor: Doctor, measured: Path, snapshot: object) -> None:
    # By its name alone: how long the folder's name is decides where the line breaks.
    ended = doctor("env", "show", measured.name, cwd=measured.parent)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.replace(measured.name, "FILE") == snapshot


def test_show_as_a_document(doctor: Doctor, measured: Path) -> None:
    document = json.loads(doctor("env", "show", measured, "--json").stdout)
    assert (document["schema"], document["format"]) == ("amd-doctor/env-show/1", "dotenv")
    assert document["variables"] == {"WANDB_MODE": "offline", "OMP_NUM_THREADS": "16", CPUS: "0-15"}
    assert [row["managed"] for row in document["lines"]] == [False, True, True]
    assert document["evidence"]["run"]["gain"] == 0.31


def test_a_file_that_fits(doctor: Doctor, measured: Path, healthy: Path) -> None:
    measured.write_text(measured.read_text().partition("\n")[2])
    ended = doctor("env", "check", measured, "--from", healthy)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("amd-doctor.env: 0 errors, 0 warnings\n")


def test_a_file_of_another_machine(doctor: Doctor, measured: Path) -> None:
    ended = doctor("env", "check", measured)
    assert ended.returncode == 0
    assert "CPU changed since it was measured: AMD Ryzen 9 5950X" in " ".join(ended.stdout.split())
    assert "Measure again: amd-doctor tune --write-env" in ended.stdout
    assert doctor("env", "check", measured, "--strict").returncode == 3


def test_an_error_ends_with_one(doctor: Doctor, tmp_path: Path, healthy: Path) -> None:
    path = tmp_path / "bad.env"
    path.write_text("OMP_PROC_BIND=close\nOMP_NUM_THREADS=-3\nPATH=/evil\nhello\n")
    ended = doctor("env", "check", path, "--from", healthy, "--json")
    document = json.loads(ended.stdout)
    assert ended.returncode == 1 and document["summary"] == {"errors": 3, "warnings": 1}
    kinds = [row["kind"] for row in document["findings"]]
    assert kinds == ["not-read", "wrong-value", "import-trap", "not-allowed"]
    screen = doctor("env", "check", path, "--from", healthy, "--ascii")
    assert screen.stdout.isascii() and screen.stdout.endswith("bad.env: 3 errors, 1 warning\n")


def test_a_variable_of_this_session(doctor: Doctor, tmp_path: Path) -> None:
    path = tmp_path / "x.env"
    path.write_text("OMP_NUM_THREADS=2\n")
    ended = doctor("env", "check", path, env={"OMP_NUM_THREADS": "1"})
    assert ended.returncode == 0 and "OMP_NUM_THREADS=1 is set in this session" in ended.stdout


def test_remove_leaves_the_rest(doctor: Doctor, measured: Path) -> None:
    ended = doctor("env", "remove", measured)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "took out the managed block." in " ".join(ended.stdout.split())
    assert measured.read_text() == "WANDB_MODE=offline\n"
    again = doctor("env", "remove", measured)
    assert again.returncode == 0 and "nothing was changed" in " ".join(again.stdout.split())


def test_remove_leaves_an_empty_file(doctor: Doctor, measured: Path) -> None:
    measured.write_bytes(measured.read_bytes().partition(b"\n")[2])
    document = json.loads(doctor("env", "remove", measured, "--json").stdout)
    assert document["files"] == [{"file": str(measured), "blocks": 1, "variables_left": 0, "empty": True}]
    assert measured.read_bytes() == b""


def test_remove_cleans_both_scripts_of_conda(doctor: Doctor, tmp_path: Path) -> None:
    content = EnvContent((), (EnvLine("OMP_NUM_THREADS", "8"),), (), evidence())
    written = write_env(tmp_path, content, FORMATS["conda"])
    assert doctor("env", "remove", written.paths[0]).returncode == 0
    assert [path.read_bytes() for path in written.paths] == [b"", b""]


@pytest.mark.parametrize("command", ["show", "check", "remove"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "no such file"), (b"A=\0", "it is binary"), (b"\xff\xfeA\0", "UTF-16"), (b"x" * 2**20 + b"x", "1 MiB")],
    ids=["missing", "binary", "wide", "huge"],
)
def test_files_that_are_none(
    doctor: Doctor, tmp_path: Path, healthy: Path, command: str, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "x.env"
    if content is not None:
        path.write_bytes(content)
    ended = doctor("env", command, path, *(["--from", healthy] if command == "check" else []))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert sentence in ended.stderr and ended.stderr.count("\n") == 1
    assert content is None or path.read_bytes() == content


def test_wrong_usage(doctor: Doctor, measured: Path, healthy: Path) -> None:
    assert doctor("env", "show", measured, "--format", "ini").returncode == 2
    ended = doctor("env", "check", measured, "--from", healthy, "--python", "python3")
    assert ended.returncode == 2 and "--python speaks of this machine" in ended.stderr


@pytest.mark.parametrize("name", ["show", "check", "remove"])
def test_help(doctor: Doctor, name: str) -> None:
    ended = doctor("env", name, "--help")
    assert ended.returncode == 0 and "FILE" in ended.stdout
