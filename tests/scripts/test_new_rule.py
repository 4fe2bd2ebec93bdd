"""The script that starts a rule: what it writes can be read, and does not pass as a rule yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from doctor.derive.facts import Derived
from doctor.diagnosis.engine import diagnose
from doctor.diagnosis.rules import read_rule
from doctor.machine.model import Machine

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "new_rule.py"


def new_rule(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments, "--folder", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_a_rule_is_started_and_its_cases_fail_until_they_are_filled_in(tmp_path: Path) -> None:
    ended = new_rule(tmp_path, "gpu", "gfx-is-odd", 'The card has an "odd" gfx')
    assert (ended.returncode, ended.stderr) == (0, "")
    path = tmp_path / "gpu" / "gfx-is-odd.yaml"
    assert str(path) in ended.stdout and "-k gfx-is-odd" in ended.stdout
    assert "scripts/translations.py" in ended.stdout
    rule = read_rule(path, with_cases=True)
    assert rule.file.title == 'The card has an "odd" gfx'
    assert rule.file.cases is not None and rule.file.cases.fires == ({},)
    assert not diagnose(Machine(), Derived(), (rule,)).findings, "its one case must not come out"
    assert not rule.file.cases.silent and not rule.file.cases.undecided and not rule.file.references


def test_names_that_are_no_rule_are_refused(tmp_path: Path) -> None:
    for arguments, reason in (
        (("gpus", "gfx-is-odd", "x"), "invalid choice"),
        (("gpu", "Odd", "x"), "'Odd' is no id"),
        (("gpu", "odd", "x"), "'odd' is no id"),
        (("gpu", "../../odd-one", "x"), "is no id"),
    ):
        ended = new_rule(tmp_path, *arguments)
        assert ended.returncode == 2 and reason in ended.stderr
    assert not list(tmp_path.rglob("*.yaml"))


def test_no_rule_is_overwritten_in_whatever_area_it_lies(tmp_path: Path) -> None:
    new_rule(tmp_path, "gpu", "gfx-is-odd", "x")
    before = (tmp_path / "gpu" / "gfx-is-odd.yaml").read_text()
    ended = new_rule(tmp_path, "rocm", "gfx-is-odd", "y")
    assert ended.returncode == 2 and "is there already" in ended.stderr
    assert (tmp_path / "gpu" / "gfx-is-odd.yaml").read_text() == before
    assert len(list(tmp_path.rglob("*.yaml"))) == 1
