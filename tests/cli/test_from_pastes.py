"""`amd-doctor check --from` on what people paste, as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import MACHINES, ROOT, Doctor, environment

PASTES = ROOT / "tests" / "pastes"
#: Without the folder there is one test all the same, which the fixture `shared` skips with a message.
FIELD_TEXTS = sorted(path.name for path in (ROOT.parent / "shared" / "field").glob("*.collect_env.txt")) or ["absent"]


def _json(doctor: Doctor, *arguments: str | Path, **options: Any) -> dict[str, Any]:
    ended = doctor("check", "--json", *arguments, **options)
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    assert ended.returncode == (1 if document["summary"]["errors"] else 0)
    return document


@pytest.mark.parametrize("name", FIELD_TEXTS)
def test_field_texts_prove_what_they_prove(name: str, doctor: Doctor, shared: Path) -> None:
    case = json.loads((shared / "field" / name.replace(".collect_env.txt", ".json")).read_text())
    document = _json(doctor, "--from", shared / "field" / name)
    found = {(row["rule"], row["severity"]) for row in document["findings"] if not row["caused_by"]}
    wanted = {(row["rule"], row["severity"]) for row in case["expected_from_text"]}
    assert {row for row in found if row[1] in ("error", "warning")} == wanted
    assert not {rule for rule, _ in found} & set(case["must_not_fire"])
    assert document["crashed"] == [] and document["undecided"]


@pytest.mark.parametrize("name", sorted(path.name for path in PASTES.iterdir() if path.name != "requirements.txt"))
def test_the_screen_of_every_paste(name: str, doctor: Doctor) -> None:
    ended = doctor("check", "--from", PASTES / name)
    assert ended.returncode in (0, 1), ended.stderr
    assert name in ended.stdout and "What would help most:" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("amd-doctor: ")


def test_a_paste_on_standard_input(doctor: Doctor) -> None:
    text = (PASTES / "ticket.md").read_bytes()
    assert _json(doctor, "--from", "-", stdin=text)["machine"]["sources"][0]["name"] == "standard input"


def test_several_files_are_one_machine(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_text("RuntimeError: HIP error: invalid device function\n")
    document = _json(doctor, "--from", PASTES / "torch-config.txt", "--from", log, "--from", PASTES / "pip-list.txt")
    machine = document["machine"]
    assert {row["name"] for row in machine["sources"]} == {"torch-config.txt", "error.log", "pip-list.txt"}
    assert machine["log"][0]["kind"] == "invalid-device-function"
    assert [row["fact"] for row in machine["contradictions"]] == ["torch.version"]
    screen = doctor("check", "--from", PASTES / "torch-config.txt", "--from", PASTES / "pip-list.txt").stdout
    assert "torch-config.txt and pip-list.txt" in " ".join(screen.split())
    assert "! torch.version is 2.4.1 (pip-list, line 2 of pip-list.txt), not 2.3.1" in " ".join(screen.split())


def test_a_document_and_a_text_are_one_machine(doctor: Doctor, tmp_path: Path) -> None:
    document = tmp_path / "machine.json"
    document.write_text(json.dumps({"schema": "amd-doctor/machine/1.4", "env": {}, "npu": {"name": "XDNA"}}))
    machine = _json(doctor, "--from", document, "--from", PASTES / "pip-list.txt")["machine"]
    assert machine["npu"] == {"name": "XDNA"} and machine["env"] == {} and machine["torch"]["version"] == "2.4.1"


def test_what_a_check_of_pastes_printed_is_read_back(doctor: Doctor, tmp_path: Path) -> None:
    first = _json(doctor, "--from", PASTES / "ticket.md", "--from", PASTES / "torch-config.txt")
    again = tmp_path / "again.json"
    again.write_text(json.dumps(first))
    assert _json(doctor, "--from", again) == first
    ticket = tmp_path / "ticket.md"
    ticket.write_text(f"Hello,\n\n```json\n{json.dumps(first, indent=2)}\n```\n")
    assert _json(doctor, "--from", ticket)["machine"]["contradictions"] == first["machine"]["contradictions"]


def test_our_own_screen_is_no_report(doctor: Doctor, tmp_path: Path) -> None:
    screen = tmp_path / "screen.txt"
    screen.write_text(doctor("check", "--from", MACHINES / "healthy-5950x.json").stdout)
    ended = doctor("check", "--from", screen)
    assert ended.returncode == 2 and "check --json" in ended.stderr and len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("README.md", None, ""),
        ("photo.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + bytes(range(256)) * 40, "not recognised"),
        ("empty.txt", b"", "empty"),
        ("big.log", b"2026-11-30 12:00:00 INFO layer 3 of 40 loaded in 3.2 s\n" * 1_000_000, "more than 8 MiB"),
        ("requirements.txt", (PASTES / "requirements.txt").read_bytes(), "not recognised"),
        ("prose.txt", b"My PyTorch version: 2.6.0 does not work, please help.\n", "not recognised"),
        ("cut.json", b'{"schema": "amd-doctor/check/1", "machine": {"schema": "amd-doctor/mach', "JSON"),
        ("new.md", b'```json\n{"schema": "amd-doctor/machine/9"}\n```\n', "newer"),
    ],
)
def test_bad_input_is_one_sentence(
    name: str, content: bytes | None, says: str, doctor: Doctor, tmp_path: Path
) -> None:
    path = ROOT / name
    if content is not None:
        path = tmp_path / name
        path.write_bytes(content)
    ended = doctor("check", "--from", path)
    assert ended.returncode == 2 and ended.stdout == ""
    (sentence,) = ended.stderr.splitlines()
    assert name in sentence and says in sentence


def test_standard_input_is_read_once(doctor: Doctor) -> None:
    assert "once" in doctor("check", "--from", "-", "--from", "-", stdin="x").stderr


def test_ask_prints_a_message_for_the_ticket(doctor: Doctor) -> None:
    ended = doctor("check", "--from", PASTES / "torch-2.0-old-name.txt", "--ask")
    assert ended.returncode == 0 and ended.stderr == ""
    assert ended.stdout.startswith("Thank you for the report.")
    assert ended.stdout.count("\n- ") == 3 and "\namd-doctor check --json > check.json\n" in ended.stdout
    assert doctor("check", "--from", PASTES / "torch-2.0-old-name.txt", "--ask", env={"LC_ALL": "C"}).stdout.isascii()


def test_ask_is_about_a_text(doctor: Doctor) -> None:
    ended = doctor("check", "--ask")
    assert ended.returncode == 2 and "--from" in ended.stderr


def test_a_paste_starts_nothing_and_looks_at_nothing_here(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "doctor", "check", "--json", "--from", str(PASTES / "ticket.md")],
        capture_output=True,
        text=True,
        env=environment(VIRTUAL_ENV=str(tmp_path), OMP_NUM_THREADS="3"),
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert not imported & {"doctor.sources.live", "doctor.sources.target", "doctor.sources.exercises", "psutil"}
    assert "env" not in json.loads(ended.stdout)["machine"]


def test_notes_go_to_stderr(doctor: Doctor, tmp_path: Path) -> None:
    text = tmp_path / "lscpu.txt"
    text.write_text(
        "Architecture: x86_64\nCPU(s): 16\nOn-line CPU(s) list: 0-7\nOff-line CPU(s) list: 8-15\n"
        "Thread(s) per core: 1\nCore(s) per socket: 8\nSocket(s): 1\n" + os.linesep
    )
    ended = doctor("check", "--from", text, "--json")
    assert "switched off" in ended.stderr and json.loads(ended.stdout)["schema"] == "amd-doctor/check/1"
