"""`amd-doctor check --from DIR --summary` as a process."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import EVERY_MACHINE, MACHINES, Doctor
from tests.cli.wheel_recordings import before_and_after

LAST_LINE = re.compile(
    r"amd-doctor: \d+ machines?, \d+ with errors, \d+ with warnings, \d+ not read(, \d+ crashed)?; first: [a-z0-9-]+"
)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with documents, recordings, a tree, a broken file and a note."""
    folder = tmp_path / "lab"
    (folder / "rack1").mkdir(parents=True)
    for name in ("healthy-5950x", "container-quota", "windows-laptop"):
        shutil.copy(MACHINES / f"{name}.json", folder / "rack1")
    old, _ = before_and_after(folder)
    (folder / "cut.json.gz").write_bytes(old.read_bytes()[:200])
    (folder / "README").write_text("The machines of the lab.\n")
    cpu = folder / "host7" / "sys" / "devices" / "system" / "cpu"
    cpu.mkdir(parents=True)
    (cpu / "online").write_text("0-3\n")
    return folder


ROWS = (
    "README", "broken.json.gz", "cut.json.gz", "host7", "rack1/container-quota.json", "rack1/healthy-5950x.json",
    "rack1/windows-laptop.json", "works.json.gz",
)  # fmt: skip


def _json(doctor: Doctor, *arguments: str | Path) -> dict[str, Any]:
    ended = doctor("check", "--summary", "--json", *arguments)
    assert ended.stderr == ""
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    assert ended.returncode == (1 if document["summary"]["error"] else 0)
    return document


def test_one_table_of_a_folder(doctor: Doctor, lab: Path) -> None:
    ended = doctor("check", "--from", lab, "--summary")
    assert (ended.returncode, ended.stderr) == (1, "")
    lines = ended.stdout.splitlines()
    named = [line.split()[1] for line in lines if line[:1] in "✓✗!?☠" and line[1:2] == " "]
    assert tuple(named[: len(ROWS)]) == ROWS
    assert LAST_LINE.fullmatch(lines[-1])
    assert "8 machines" in lines[-1] and "2 not read" in lines[-1]
    at = next(at for at, line in enumerate(lines) if "container-quota.json" in line)
    assert lines[at + 1].strip() == "threads-exceed-cpu-budget: export OMP_NUM_THREADS=8"
    assert any(re.fullmatch(r" +1  ✗ error   wrong-torch-build", line) for line in lines)
    quiet = doctor("check", "--from", lab, "--summary", "-q")
    assert quiet.stdout == lines[-1] + "\n"


def test_a_bad_file_is_a_row_with_its_reason(doctor: Doctor, lab: Path) -> None:
    document = _json(doctor, "--from", lab)
    rows = {row["machine"]: row for row in document["machines"]}
    assert tuple(rows) == ROWS
    assert rows["cut.json.gz"]["status"] == rows["README"]["status"] == "unread"
    assert rows["cut.json.gz"]["reason"] == "its gzip data is damaged or cut short"
    assert rows["README"]["reason"].startswith("not recognised as")
    assert rows["rack1/healthy-5950x.json"]["status"] == "ok"
    assert rows["host7"]["status"] == "unknown"
    assert rows["broken.json.gz"]["summary"]["first"] == "wrong-torch-build"
    assert document["summary"]["unread"] == 2


def test_the_verdicts_are_those_of_check(doctor: Doctor) -> None:
    document = _json(doctor, "--from", MACHINES)
    rows = {row["machine"]: row for row in document["machines"]}
    for name in EVERY_MACHINE:
        alone = json.loads(doctor("check", "--from", MACHINES / name, "--json").stdout)
        wanted = {key: value for key, value in alone["summary"].items() if key != "not_applicable"}
        assert rows[name]["summary"] == wanted
        assert [row["rule"] for row in rows[name]["findings"]] == [row["rule"] for row in alone["findings"]]


def test_csv_has_a_line_for_each_machine_and_no_formula(doctor: Doctor, lab: Path) -> None:
    (lab / "=cmd.json").write_text("{}")
    (lab / "-x.json").write_text(
        json.dumps({"schema": "amd-doctor/machine/1", "cpu": {"name": "@SUM(A1)"}, "gpus": [{"name": "+1"}]})
    )
    ended = doctor("check", "--from", lab, "--summary", "--csv")
    rows = {row["machine"]: row for row in csv.DictReader(io.StringIO(ended.stdout))}
    assert len(rows) == len(ROWS) + 2
    assert (rows["'-x.json"]["cpu"], rows["'-x.json"]["gpus"]) == ("'@SUM(A1)", "'+1")
    assert rows["'=cmd.json"]["status"] == "unread"
    assert rows["works.json.gz"]["torch"] == "2.9.1+rocm6.4"
    assert ended.returncode == 1


def test_a_folder_with_nothing_but_bad_files_ends_with_2(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "README").write_text("nothing here\n")
    ended = doctor("check", "--from", tmp_path, "--summary")
    assert ended.returncode == 2
    assert "README" in ended.stdout


@pytest.mark.parametrize("name", ["empty", "gone"])
def test_nothing_to_read_ends_with_2(name: str, doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = doctor("check", "--from", tmp_path / name, "--summary")
    assert ended.returncode == 2
    assert name in ended.stdout + ended.stderr


def test_strict_ends_with_3_on_warnings_alone(doctor: Doctor, tmp_path: Path) -> None:
    shutil.copy(MACHINES / "healthy-5950x.json", tmp_path)
    laptop = json.loads((MACHINES / "healthy-5950x.json").read_text())
    laptop["power"] = {"source": "battery"}
    (tmp_path / "battery.json").write_text(json.dumps(laptop))
    assert doctor("check", "--from", tmp_path, "--summary").returncode == 0
    assert doctor("check", "--from", tmp_path, "--summary", "--strict").returncode == 3


def test_only_and_intent_are_those_of_check(doctor: Doctor, lab: Path) -> None:
    document = _json(doctor, "--from", lab, "--only", "limits")
    assert {row["rule"] for machine in document["machines"] for row in machine["findings"]} <= {
        "threads-exceed-cpu-budget", "cpu-quota-throttles", "affinity-mask-narrow", "openblas-thread-limit",
    }  # fmt: skip
    cpu = {row["machine"]: row for row in _json(doctor, "--from", lab, "--backend", "cpu")["machines"]}
    assert cpu["broken.json.gz"]["summary"]["errors"] == 0


def test_several_folders_and_files_are_one_table(doctor: Doctor, lab: Path) -> None:
    names = [
        row["machine"]
        for row in _json(doctor, "--from", lab / "rack1", "--from", lab / "host7", "--from", lab / "works.json.gz")[
            "machines"
        ]
    ]
    assert names == [
        "rack1/container-quota.json", "rack1/healthy-5950x.json", "rack1/windows-laptop.json", "host7",
        "works.json.gz",
    ]  # fmt: skip


def test_a_folder_without_summary_gets_the_word(doctor: Doctor, lab: Path) -> None:
    for folder in (lab / "rack1", lab):
        shutil.rmtree(lab / "host7", ignore_errors=True)
        ended = doctor("check", "--from", folder)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "--summary" in ended.stderr and len(ended.stderr.splitlines()) == 1


def test_a_folder_of_several_trees_without_summary_gets_the_word_too(doctor: Doctor, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "proc").mkdir(parents=True)
        (tmp_path / name / "proc" / "cpuinfo").write_text("processor\t: 0\n")
    ended = doctor("check", "--from", tmp_path)
    assert ended.returncode == 2
    assert "it holds 2 machines" in ended.stderr and "--summary" in ended.stderr
    assert [row["machine"] for row in _json(doctor, "--from", tmp_path)["machines"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--summary",), "--from DIR --summary"),
        (("--csv", "--from", "{lab}"), "--csv is a form of --summary"),
        (("--summary", "--csv", "--json", "--from", "{lab}"), "give one of them"),
        (("--summary", "--ask", "--from", "{lab}"), "--ask is about one machine"),
        (("--summary", "--from", "{lab}", "--no-exercise"), "--no-exercise speaks of this machine"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...], says: str, doctor: Doctor, lab: Path) -> None:
    ended = doctor("check", *(argument.format(lab=lab) for argument in arguments))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr


def test_a_failure_of_the_doctor_costs_one_machine(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.cli import check, summary
    from doctor.diagnosis.rules import load_rules
    from doctor.machine.model import Intent

    judged = check.judged

    def fails(given: Any, *arguments: Any) -> Any:
        if given.name == "works.json.gz":
            raise KeyError("no such thing")
        return judged(given, *arguments)

    monkeypatch.setattr(check, "judged", fails)
    rows = {row.machine: row for row in summary.machine_rows([str(lab)], Intent(), load_rules())}
    assert (rows["works.json.gz"].status, rows["works.json.gz"].reason) == ("crashed", "KeyError: 'no such thing'")
    assert tuple(rows) == ROWS
    assert rows["broken.json.gz"].status == "error"


def test_the_recorded_machines(doctor: Doctor, shared: Path) -> None:
    machines = sorted(path.name for path in (shared / "corpus" / "machines").glob("*.tar.gz"))
    document = _json(doctor, "--from", shared / "corpus" / "machines")
    assert [row["machine"] for row in document["machines"]] == machines
    assert {row["status"] for row in document["machines"]} <= {"error", "warning", "unknown", "ok"}
    without_avx = [row["machine"] for row in document["machines"] if row["summary"]["first"] == "cpu-no-avx"]
    assert any(name.startswith("opteron-6134") for name in without_avx)
    (counted,) = (row for row in document["rules"] if row["rule"] == "cpu-no-avx")
    assert counted["machines"] == len(without_avx)
    lines = doctor("check", "--from", shared / "corpus" / "machines", "--summary").stdout.splitlines()
    assert f"looked at {len(machines)} machines" in lines[0]
    assert LAST_LINE.fullmatch(lines[-1])
