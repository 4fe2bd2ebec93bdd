"""A report carries the last result of `tune` where it is one of this machine, and nothing personal of it."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.cli.report_tune import is_of, kept_tune_result
from doctor.derive.facts import complete
from doctor.machine.document import read_document
from doctor.tune.result import TuneResult
from doctor.tune.subject import subject_of
from tests.browser.machines import checked
from tests.canaries import LINE, leaks
from tests.cli.running import Doctor
from tests.present.tune_results import cases


def kept(folder: Path, result: TuneResult, subject: dict[str, str], **changes: Any) -> dict[str, str]:
    """The environment of a user whose last run was this one."""
    plan = msgspec.structs.replace(result.plan, subject=subject)
    path = folder / "amd-doctor" / "tune" / "last.json"
    path.parent.mkdir(parents=True)
    plain = msgspec.to_builtins(msgspec.structs.replace(result, plan=plan, **changes))
    path.write_text(json.dumps({"schema": "amd-doctor/tune/1", **plain}))
    return {"XDG_STATE_HOME": str(folder)}


def subject_here(doctor: Doctor) -> dict[str, str]:
    told = json.loads(doctor("check", "--no-exercise", "--json").stdout)
    return subject_of(complete(read_document(told).machine))


def test_the_last_result_is_in_the_report(doctor: Doctor, tmp_path: Path) -> None:
    env = kept(tmp_path, cases()["faster"], subject_here(doctor))
    text = doctor("report", "--no-exercise", env=env).stdout
    (section,) = [part for part in text.split("<details>") if "What amd-doctor tune measured here" in part]
    assert "95 % interval" in section and "faster" in section and "Tried in the search" in section
    assert len(text) < 12_000
    told = json.loads(doctor("report", "--no-exercise", "--format", "json", env=env).stdout)
    assert told["tune"]["schema"] == "amd-doctor/tune/1" and told["tune"]["candidates"]


def test_that_of_another_machine_or_torch_is_not(doctor: Doctor, tmp_path: Path) -> None:
    subject = subject_here(doctor)
    for key in ("hardware", "cpu", "torch"):
        env = kept(tmp_path / key, cases()["same"], {**subject, key: "another"})
        assert "tune measured" not in doctor("report", "--no-exercise", env=env).stdout


def test_one_that_another_python_measured_is_where_this_one_has_no_pytorch(doctor: Doctor, tmp_path: Path) -> None:
    """As after `start.py tune`, which installs PyTorch for itself alone."""
    venv.EnvBuilder(with_pip=False, symlinks=sys.platform != "win32").create(tmp_path / "bare")
    bare = tmp_path / "bare" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    subject = {**subject_here(doctor), "torch": "2.13.0+cpu"}
    env = kept(tmp_path, cases()["faster"], subject)
    text = doctor("report", "--no-exercise", "--python", bare, env=env).stdout
    assert "What amd-doctor tune measured here" in text
    assert "Measured with torch 2.13.0+cpu of another Python: this one has none." in text
    page = doctor("report", "--no-exercise", "--python", bare, "--format", "html", env=env).stdout
    assert "Measured with torch 2.13.0+cpu of another Python: this one has none." in page


def test_a_result_of_here_says_nothing_of_a_saved_machine(doctor: Doctor, tmp_path: Path) -> None:
    env = kept(tmp_path, cases()["faster"], subject_here(doctor))
    saved = tmp_path / "machine.json"
    saved.write_text(doctor("check", "--no-exercise", "--json").stdout)
    assert "tune measured" not in doctor("report", "--from", saved, env=env).stdout


@pytest.mark.parametrize("name", sorted(cases()))
def test_every_ending_can_be_reported(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.present.report_parts import Cuts, tune_lines_of
    from doctor.present.reported import Reported

    env = kept(tmp_path, cases()[name], {})
    monkeypatch.setenv("XDG_STATE_HOME", env["XDG_STATE_HOME"])
    reported = Reported(checked=checked("laptop"), today="2026-11-30", tune=kept_tune_result())
    lines, short = (tune_lines_of(reported, cuts) for cuts in (Cuts(), Cuts(tune_table=True)))
    assert lines[-1].startswith("amd-doctor: ") and len(short) <= len(lines)


def test_nothing_personal_of_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.sources import personal_names
    from doctor.sources.redaction import Redactor

    known = Redactor(["canaryuser", "Canary Birdname"], ["canaryhost", "canarycorp.test"], ["/home/canaryuser"])
    monkeypatch.setattr(personal_names, "redactor_of_this_machine", lambda: known)
    busy = "other processes used 40% of the CPUs: canaryuser-agent, firefox"
    env = kept(tmp_path, cases()["busy"], {}, disturbances=(busy, LINE), detail=LINE)
    monkeypatch.setenv("XDG_STATE_HOME", env["XDG_STATE_HOME"])
    saved = kept_tune_result()
    assert saved is not None and saved.result.disturbances[0] == "other processes used 40% of the CPUs"
    told = msgspec.json.encode(saved).decode()
    assert leaks(told) == [] and "firefox" not in told and "steam" not in told
    assert saved.result.candidates == cases()["busy"].candidates


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b'{"schema": "amd-doctor/tune/9"}', b"\xff"])
def test_a_result_that_cannot_be_read_is_none(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = kept(tmp_path, cases()["same"], {})
    (tmp_path / "amd-doctor" / "tune" / "last.json").write_bytes(content)
    monkeypatch.setenv("XDG_STATE_HOME", env["XDG_STATE_HOME"])
    assert kept_tune_result() is None


def test_a_result_without_a_subject_is_of_no_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = kept(tmp_path, cases()["same"], {})
    monkeypatch.setenv("XDG_STATE_HOME", env["XDG_STATE_HOME"])
    saved = kept_tune_result()
    assert saved is not None and not is_of(saved, read_document({"schema": "amd-doctor/machine/1"}).machine)
