"""`amd-doctor compare` as a process."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import EVERY_MACHINE, MACHINES, Doctor
from tests.cli.wheel_recordings import before_and_after

LAST_LINE = re.compile(r"amd-doctor: \d+ changes?, \d+ rules? began, \d+ stopped; first: \S+")


@pytest.fixture
def wheels(tmp_path: Path) -> tuple[Path, Path]:
    return before_and_after(tmp_path)


def _json(doctor: Doctor, *arguments: str | Path, **options: Any) -> dict[str, Any]:
    ended = doctor("compare", "--json", *arguments, **options)
    assert (ended.returncode, ended.stderr) == (0, "")
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    return document


def test_two_recordings_that_differ_in_one_torch_wheel(doctor: Doctor, wheels: tuple[Path, Path]) -> None:
    ended = doctor("compare", *wheels)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert "works.json.gz (2026-11-23)" in lines[0]
    began, changed = lines.index("Began to fire:"), lines.index("Changed, likeliest cause first:")
    assert any("[wrong-torch-build]" in line for line in lines[began:changed])
    assert any("Of what it reads, changed: torch.build rocm → cuda." in line for line in lines[began:changed])
    assert [line.split()[0] for line in lines[changed + 2 : changed + 7]] == [
        "torch.version", "torch.build", "torch.hip", "torch.cuda", "torch.bundles",
    ]  # fmt: skip
    assert lines[changed + 2].endswith("2.9.1+rocm6.4 → 2.10.0 (newer)")
    assert LAST_LINE.fullmatch(lines[-1])
    assert lines[-1].endswith("1 rule began, 0 stopped; first: torch.version")


def test_the_way_back_stops_the_rule(doctor: Doctor, wheels: tuple[Path, Path]) -> None:
    document = _json(doctor, *reversed(wheels))
    assert document["began"] == []
    (stopped,) = document["stopped"]
    assert (stopped["rule"], stopped["now"]["state"]) == ("wrong-torch-build", "not-applicable")
    version, build = document["changes"][:2]
    assert (version["fact"], version["before"], version["after"]) == ("torch.version", "2.10.0", "2.9.1+rocm6.4")
    assert version["direction"] == "down"
    assert (build["fact"], build["rules"]) == ("torch.build", ["wrong-torch-build"])
    assert document["summary"]["first"] == "torch.version"
    assert {change["fact"].partition(".")[0] for change in document["changes"]} == {"torch"}


@pytest.mark.parametrize("name", EVERY_MACHINE)
def test_a_machine_does_not_differ_from_itself(name: str, doctor: Doctor) -> None:
    ended = doctor("compare", MACHINES / name, MACHINES / name, "--exit-code")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Nothing that both machines tell has changed." in ended.stdout


def test_exit_code_tells_a_difference_only_where_it_is_asked_for(
    doctor: Doctor, wheels: tuple[Path, Path], tmp_path: Path
) -> None:
    assert doctor("compare", *wheels, "--exit-code", "-q").returncode == 1
    assert doctor("compare", *wheels, "-q").returncode == 0
    assert doctor("compare", *wheels, "--exit-code", "--json").returncode == 1
    less = tmp_path / "less.json"
    less.write_text(json.dumps({"schema": "amd-doctor/machine/1", "torch": {"version": "2.9.1+rocm6.4"}}))
    ended = doctor("compare", wheels[0], less, "--exit-code")
    assert "Known before, not now:" in ended.stdout
    assert ended.returncode == 0, ended.stdout


def test_quiet_is_the_last_line(doctor: Doctor, wheels: tuple[Path, Path]) -> None:
    whole, quiet = doctor("compare", *wheels).stdout, doctor("compare", *wheels, "-q").stdout
    assert quiet == whole.splitlines()[-1] + "\n"


def test_ascii(doctor: Doctor, wheels: tuple[Path, Path]) -> None:
    assert "torch.build    rocm -> cuda" in doctor("compare", *wheels, "--ascii").stdout
    assert doctor("compare", *wheels, env={"LC_ALL": "C"}).stdout.isascii()


def test_one_input_may_come_from_a_pipe(doctor: Doctor, wheels: tuple[Path, Path]) -> None:
    document = _json(doctor, "-", wheels[1], stdin=wheels[0].read_bytes())
    assert document["old"]["name"] == "standard input"
    assert document["summary"]["began"] == 1


def test_any_two_inputs_may_be_compared(doctor: Doctor, wheels: tuple[Path, Path], tmp_path: Path) -> None:
    text = tmp_path / "lscpu.txt"
    counts = "CPU(s): 32\nOn-line CPU(s) list: 0-31\nThread(s) per core: 2\nCore(s) per socket: 16\nSocket(s): 1\n"
    text.write_text(f"Architecture: x86_64\n{counts}Vendor ID: AuthenticAMD\nCPU family: 25\nModel: 33\n")
    document = _json(doctor, text, MACHINES / "healthy-5950x.json")
    assert document["changes"] == []
    assert "torch" in [row["fact"] for row in document["known_now"]]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing argument 'OLD'"),
        (("nowhere.json",), "no such file or folder"),
        (("-", "-"), "standard input can be read once only"),
        (("{old}", "{new}", "--python", sys.executable), "--python and --no-exercise speak of this machine"),
        (("{old}", "{new}", "--no-exercise"), "--python and --no-exercise speak of this machine"),
    ],
)
def test_wrong_usage_ends_with_2(
    arguments: tuple[str, ...], says: str, doctor: Doctor, wheels: tuple[Path, Path]
) -> None:
    given = [argument.format(old=wheels[0], new=wheels[1]) for argument in arguments]
    ended = doctor("compare", *given)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr


def test_without_new_it_is_this_machine(doctor: Doctor, tmp_path: Path) -> None:
    saved = tmp_path / "now.json"
    python = ("--python", sys.executable, "--no-exercise")
    saved.write_text(doctor("check", "--json", *python).stdout)
    document = _json(doctor, saved, *python)
    assert (document["old"]["name"], document["new"]["name"]) == ("now.json", None)
    assert document["changes"] == document["began"] == document["stopped"] == []
    changed = _json(doctor, saved, *python, env={"OMP_NUM_THREADS": "3"})
    assert [change["fact"] for change in changed["changes"]][:1] == ["env.OMP_NUM_THREADS"]


def test_this_machine_is_judged_for_what_the_old_one_was(doctor: Doctor, tmp_path: Path) -> None:
    saved = tmp_path / "now.json"
    python = ("--python", sys.executable, "--no-exercise")
    saved.write_text(doctor("check", "--json", "--backend", "cpu", "--workers", "2", *python).stdout)
    document = _json(doctor, saved, *python)
    assert document["changes"] == document["known_now"] == document["unknown_now"] == []


def test_recorded_machines_differ_in_their_hardware(doctor: Doctor, shared: Path) -> None:
    machines = shared / "corpus" / "machines"
    old, new = (machines / f"ryzen-9-{name}.tar.gz" for name in ("7950x-zen4", "7950x3d-zen4-asym"))
    changes = _json(doctor, old, new)["changes"]
    assert {"cpu.name", "cpu.l3_groups"} <= {change["fact"] for change in changes}
    assert {change["weight"] for change in changes} == {"hardware"}
