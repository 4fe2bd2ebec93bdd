"""`amd-doctor check` as a process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.diagnosis.model import AREAS, SEVERITIES
from tests.cli.running import EVERY_MACHINE, MACHINES, Doctor, environment

LAST_LINE = re.compile(r"amd-doctor: \d+ errors?, \d+ warnings?, \d+ undecided; first: [a-z0-9-]+")


def _json(doctor: Doctor, *arguments: str | Path, **options: Any) -> dict[str, Any]:
    ended = doctor("check", "--json", *arguments, **options)
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    assert ended.returncode == (1 if document["summary"]["errors"] else 0)
    return document


def _machine(folder: Path, **areas: Any) -> Path:
    path = folder / "machine.json"
    path.write_text(json.dumps({"schema": "amd-doctor/machine/1", **areas}))
    return path


@pytest.mark.parametrize("name", EVERY_MACHINE)
def test_the_screen_of_every_machine(name: str, doctor: Doctor) -> None:
    ended = doctor("check", "--from", MACHINES / name)
    assert ended.returncode in (0, 1), ended.stderr
    assert ended.stderr == ""
    lines = ended.stdout.splitlines()
    assert LAST_LINE.fullmatch(lines[-1])
    assert "\x1b" not in ended.stdout
    assert name in lines[0]
    quiet = doctor("check", "--from", MACHINES / name, "-q")
    assert quiet.stdout == lines[-1] + "\n"
    assert quiet.returncode == ended.returncode


@pytest.mark.parametrize("name", EVERY_MACHINE)
def test_json_has_the_shape_of_the_contract_and_is_stable(name: str, doctor: Doctor, tmp_path: Path) -> None:
    document = _json(doctor, "--from", MACHINES / name)
    assert list(document) == [
        "schema", "version", "machine", "findings", "silenced", "undecided", "crashed", "summary",
    ]  # fmt: skip
    assert document["schema"] == "amd-doctor/check/1"
    assert document["crashed"] == []
    for finding in document["findings"]:
        assert list(finding) == [
            "rule", "severity", "area", "subject", "title", "evidence", "why", "fix", "references", "caused_by",
        ]  # fmt: skip
        assert finding["severity"] in SEVERITIES and finding["area"] in AREAS
        assert list(finding["fix"]) == ["text", "commands"]
    counts = document["summary"]
    assert counts["undecided"] == len(document["undecided"])
    assert counts["first"] == (document["findings"][0]["rule"] if document["findings"] else None)
    again = tmp_path / "again.json"
    again.write_text(json.dumps(document))
    assert _json(doctor, "--from", again) == document


def test_json_keeps_what_a_newer_version_added(doctor: Doctor, tmp_path: Path) -> None:
    path = _machine(
        tmp_path,
        schema="amd-doctor/machine/1.7",
        cpu={"name": "AMD Ryzen 5 3600 6-Core Processor", "chiplets": 3, "l3_groups": [{"cpus": "0-5", "ways": 16}]},
        npu={"name": "XDNA"},
    )
    machine = _json(doctor, "--from", path)["machine"]
    assert machine["schema"] == "amd-doctor/machine/1.7"
    assert machine["npu"] == {"name": "XDNA"}
    assert machine["cpu"]["chiplets"] == 3 and machine["cpu"]["l3_groups"][0]["ways"] == 16


def test_json_can_be_piped_into_a_parser(healthy: Path) -> None:
    doctor = subprocess.Popen(
        [sys.executable, "-m", "doctor", "check", "--from", str(healthy), "--json"],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    parser = subprocess.run(
        [sys.executable, "-m", "json.tool"], stdin=doctor.stdout, capture_output=True, check=False
    )
    assert doctor.wait() == 0 and parser.returncode == 0, parser.stderr


def test_standard_input_is_read(doctor: Doctor, healthy: Path) -> None:
    ended = doctor("check", "--from", "-", stdin=healthy.read_bytes())
    assert ended.returncode == 0
    assert "looked at standard input" in ended.stdout
    assert doctor("check", "--from", "-", stdin="").returncode == 2


def test_intent_goes_into_the_machine_and_beats_the_document(doctor: Doctor, tmp_path: Path) -> None:
    path = _machine(tmp_path, intent={"backend": "rocm", "dtype": "float16"})
    intent = _json(doctor, "--from", path, "--backend", "cpu", "--workers", "4")["machine"]["intent"]
    assert intent == {"backend": "cpu", "dtype": "float16", "workers": 4}
    assert "intent" not in _json(doctor, "--from", MACHINES / "nothing-known.json")["machine"]


def test_only_judges_and_shows_what_was_asked_for(doctor: Doctor, healthy: Path) -> None:
    document = _json(doctor, "--from", healthy, "--only", "memory")
    assert {row["rule"].partition("-")[0] for row in document["undecided"]} <= {"memory"}
    text = doctor("check", "--from", healthy, "--only", "memory").stdout
    assert "Memory" in text and "Topology" not in text


def test_a_saved_machine_starts_nothing_and_looks_at_nothing_here(healthy: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "doctor", "check", "--from", str(healthy), "--json"],
        capture_output=True,
        text=True,
        env=environment(VIRTUAL_ENV=str(tmp_path), OMP_NUM_THREADS="3"),
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert not imported & {"doctor.sources.live", "doctor.sources.target", "doctor.sources.exercises", "psutil"}
    machine = json.loads(ended.stdout)["machine"]
    assert machine["env"] == {}
    assert machine["python"] == json.loads(healthy.read_text())["python"]


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "ascii"}],
    ids=["LC_ALL=C", "cp1252", "ascii"],
)
@pytest.mark.parametrize("arguments", [(), ("-v",), ("--json",)])
def test_a_stdout_without_utf8_gets_ascii(
    env: dict[str, str], arguments: tuple[str, ...], doctor: Doctor, tmp_path: Path
) -> None:
    path = _machine(tmp_path, cpu={"name": "AMD 锐龙 Zoë \u202e\ud800".encode("utf-8", "replace").decode()})
    ended = doctor("check", "--from", path, *arguments, env=env)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.isascii()


def test_ascii_can_be_asked_for(doctor: Doctor, healthy: Path) -> None:
    assert not doctor("check", "--from", healthy).stdout.isascii()
    assert doctor("check", "--from", healthy, "--ascii").stdout.isascii()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminal")
@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_on_a_terminal_unless_refused(env: dict[str, str], coloured: bool, healthy: Path) -> None:
    text = _on_terminal(["check", "--from", str(healthy)], environment(**{"TERM": "xterm-256color", **env}))
    assert ("\x1b[" in text) is coloured
    assert LAST_LINE.search(text)


def _on_terminal(arguments: list[str], env: dict[str, str]) -> str:
    import pty

    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "doctor", *arguments], stdin=subprocess.DEVNULL, stdout=side, stderr=side, env=env
    )
    os.close(side)
    read = bytearray()
    while True:
        try:
            more = os.read(main, 65536)
        except OSError:  # Linux says EIO where the other side has gone
            break
        if not more:
            break
        read += more
    process.wait(30)
    os.close(main)
    return read.decode()


def test_strict_ends_with_3_on_warnings_alone() -> None:
    from doctor.diagnosis.model import Diagnosis, Finding, Fix
    from doctor.present.summary import exit_status

    def found(*severities: str) -> Diagnosis:
        return Diagnosis(
            findings=tuple(Finding("some-rule", s, "cpu", None, "t", "e", "w", Fix("f")) for s in severities)
        )

    expected = {(): 0, ("info", "hint"): 0, ("warning",): 3, ("error", "warning"): 1}
    assert {severities: exit_status(found(*severities), strict=True) for severities in expected} == expected
    assert exit_status(found("warning")) == 0
    assert exit_status(found("error")) == 1
