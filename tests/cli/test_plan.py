"""`amd-doctor plan` as a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import MACHINES, Doctor
from tests.machines.plans import CASES

PLANS = MACHINES / "plans"
KEEPS = MACHINES / "two-errors.json"


@pytest.mark.parametrize("name", sorted({case["machine"] for case in CASES.values()}))
def test_every_machine_has_a_plan(doctor: Doctor, name: str) -> None:
    ended = doctor("plan", "--from", PLANS / f"{name}.json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[0].endswith(f"the install plan for {name}.json.")
    assert ended.stdout.splitlines()[-1].startswith("amd-doctor: plan ")


def test_json_is_one_document_and_nothing_else(doctor: Doctor) -> None:
    ended = doctor("plan", "--from", PLANS / "7950x-7900xtx.json", "--json")
    document = json.loads(ended.stdout)
    assert (ended.returncode, ended.stderr, document["schema"]) == (0, "", "amd-doctor/plan/1")
    assert (document["backend"], document["action"], document["verification"]) == ("rocm-pytorch", "replace", None)
    assert [step["kind"] for step in document["steps"]] == ["save", "remove", "install", "verify", "constraints"]
    assert document["steps"][0]["commands"]["sh"] == ["~/comfy/venv/bin/python -m pip freeze > packages-before.txt"]
    assert all(row["date"] and row["source"] for row in document["sources"])


def test_what_cannot_work_ends_with_one(doctor: Doctor) -> None:
    ended = doctor("plan", "--from", PLANS / "epyc-cpu-only.json", "--backend", "rocm")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "There is no AMD GPU." in ended.stdout and "pip install" not in ended.stdout


def test_a_forced_backend_is_planned_and_named_in_its_commands(doctor: Doctor) -> None:
    ended = doctor("plan", "--from", PLANS / "7950x-7900xtx.json", "--backend", "cpu")
    assert ended.returncode == 0
    assert "amd-doctor plan --backend cpu --verify" in ended.stdout


def test_ascii(doctor: Doctor) -> None:
    assert doctor("plan", "--from", PLANS / "wsl2-7900xt.json", "--ascii").stdout.isascii()


def test_a_pasted_text_is_planned_for(doctor: Doctor, tmp_path: Path) -> None:
    pasted = tmp_path / "ticket.txt"
    pasted.write_text(
        "PyTorch version: 2.9.1+cpu\nIs debug build: False\nCUDA used to build PyTorch: None\n"
        "ROCM used to build PyTorch: N/A\n\nOS: Ubuntu 24.04.3 LTS (x86_64)\n\n"
        "Python version: 3.12.3 (main, Jan  1 2026, 00:00:00) [GCC 13.3.0] (64-bit runtime)\n"
    )
    ended = doctor("plan", "--from", pasted)
    assert ended.returncode == 0
    assert "gpus: with an AMD GPU the plan may be another one" in ended.stdout


# Bad input: every sentence on stderr, nothing on stdout, exit status 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--from", "{tmp}/nothing.json"], "cannot read"),
        (["--from", "{tmp}/empty.txt"], "cannot read"),
        (["--from", "{machine}", "--verify"], "--verify speaks of this machine"),
        (["--from", "{machine}", "--python", "/usr/bin/python3"], "--python speaks of this machine"),
        (["--from", "{machine}", "--no-exercise"], "--no-exercise speaks of this machine"),
        (["--verify", "--no-exercise"], "--no-exercise forbids"),
        (["--force"], "--constraints"),
        (["--backend", "vulkan"], "vulkan"),
        (["--python", "{tmp}"], "it is a folder"),
        (["--from", "{machine}", "--constraints", "{tmp}/no/folder/c.txt"], "there is no folder"),
        (["--from", "{machine}", "--constraints", "{tmp}"], "it is a folder"),
        (["--from", "{machine}", "--constraints", "{tmp}/theirs.txt"], "--force replaces it"),
    ],
)
def test_bad_input(doctor: Doctor, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "theirs.txt").write_text("numpy<2\n")
    filled = [part.replace("{tmp}", str(tmp_path)).replace("{machine}", str(KEEPS)) for part in arguments]
    ended = doctor("plan", *filled)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert sentence in ended.stderr and "Traceback" not in ended.stderr
    assert (tmp_path / "theirs.txt").read_text() == "numpy<2\n"


# The constraints file


def _kept(tmp_path: Path) -> Path:
    plain = json.loads((PLANS / "7950x-7900xtx.json").read_text())
    plain["torch"] |= {"version": "2.9.1+rocm6.4", "build": "rocm", "hip": "6.4.43484", "cuda": "none"}
    plain["packages"] = {
        "torch": {"version": "2.9.1+rocm6.4", "installer": "pip"},
        "torchvision": {"version": "0.24.1+rocm6.4", "installer": "pip"},
        "triton": {"version": "3.5.1; evil", "installer": "pip"},
        "numpy": {"version": "2.3.5", "installer": "pip"},
    }
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(plain))
    return path


def test_constraints_keep_what_works(doctor: Doctor, tmp_path: Path) -> None:
    target = tmp_path / "constraints.txt"
    ended = doctor("plan", "--from", _kept(tmp_path), "--constraints", target)
    assert ended.returncode == 0 and f"Wrote {target}" in ended.stderr
    lines = target.read_text().splitlines()
    assert lines[0].startswith("# Constraints of amd-doctor, ")
    assert [line for line in lines if not line.startswith("#")] == [
        "torch==2.9.1+rocm6.4",
        "torchvision==0.24.1+rocm6.4",
    ]


def test_its_own_file_and_an_empty_one_are_replaced_another_only_by_force(doctor: Doctor, tmp_path: Path) -> None:
    target, machine = tmp_path / "constraints.txt", _kept(tmp_path)
    target.write_text("")
    assert doctor("plan", "--from", machine, "--constraints", target).returncode == 0
    target.write_text(target.read_text() + "torch==1.0\n")
    assert doctor("plan", "--from", machine, "--constraints", target).returncode == 0
    assert "torch==1.0" not in target.read_text()
    target.write_text("numpy<2\n")
    assert doctor("plan", "--from", machine, "--constraints", target).returncode == 2
    assert doctor("plan", "--from", machine, "--constraints", target, "--force").returncode == 0
    assert target.read_text().startswith("# Constraints of amd-doctor")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["constraints.txt", "machine.json"]


def test_where_nothing_works_yet_nothing_is_written(doctor: Doctor, tmp_path: Path) -> None:
    target = tmp_path / "constraints.txt"
    ended = doctor("plan", "--from", PLANS / "7950x-7900xtx.json", "--constraints", target)
    assert ended.returncode == 2 and not target.exists()
    assert "there is no torch yet that works" in ended.stderr


def test_what_directml_asks_for_is_known_before_it_is_there(doctor: Doctor, tmp_path: Path) -> None:
    target = tmp_path / "constraints.txt"
    assert doctor("plan", "--from", PLANS / "rx580-windows.json", "--constraints", target).returncode == 0
    pins = [line for line in target.read_text().splitlines() if not line.startswith("#")]
    assert pins == ["torch==2.4.1", "torchvision==0.19.1", "torch-directml==0.2.5.dev240914"]


def test_a_constraints_file_of_ours_is_one_for_pip(doctor: Doctor, tmp_path: Path) -> None:
    from packaging.requirements import Requirement

    target = tmp_path / "constraints.txt"
    doctor("plan", "--from", _kept(tmp_path), "--constraints", target)
    pins = [Requirement(line) for line in target.read_text().splitlines() if not line.startswith("#")]
    assert [str(pin.specifier) for pin in pins] == ["==2.9.1+rocm6.4", "==0.24.1+rocm6.4"]


# This machine


def test_this_machine_has_a_plan(doctor: Doctor) -> None:
    ended = doctor("plan", "--no-exercise", "--json")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["action"] in ("keep", "install", "replace", "environment", "look-up")


def test_verifying_a_python_without_torch_ends_with_one_and_the_first_step(doctor: Doctor, tmp_path: Path) -> None:
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    ended = doctor("plan", "--verify", "--python", python)
    assert ended.returncode == 1
    assert "PyTorch is not installed in this Python" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("amd-doctor: not verified: ")
    document = json.loads(doctor("plan", "--verify", "--python", python, "--json").stdout)
    assert document["verification"]["right"] is False
