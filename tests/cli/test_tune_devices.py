"""`amd-doctor tune --device` as a process: over no device, and over those that the stand-in for torch-directml makes,
whose time is that of a simulated clock.

A run ends by itself when it has all the pairs that it may take; the budgets are more than a slow machine needs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.tune.result import TuneResult
from tests.cli.running import ROOT, environment, run_doctor
from tests.inside.directml_environment import (
    clocked,
    environment_with_directml,
    skip_where_torch_cannot_host_a_device,
    told,
)

#: No setting of the CPU is tried: what is left of a run is the devices.
DEVICES_ONLY = ("--axis", "openblas")
VEGA = "AMD Radeon(TM) Graphics"

#: A machine so slow that one step is a block: what runs is quick all the same.
CPU = {"overhead": 1e-4, "bytes_per_second": 1e9, "flop_per_second": 3e9}
#: As fast as to fit a function 1.19 times as fast, and slow to start.
VEGA_7 = {"overhead": 5e-4, "bytes_per_second": 1.2e9, "flop_per_second": 5e9, "read_back": 0.005}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skip_where_torch_cannot_host_a_device()
    return environment_with_directml(tmp_path_factory.mktemp("directml"))


def tune(
    folder: Path, python: Path, *options: str, clock: dict[str, Any] | None = None, **what: Any
) -> subprocess.CompletedProcess[str]:
    env = {
        **told(adapters=[VEGA], **what),
        **clocked(**(clock or {"cpu": CPU, "adapters": [VEGA_7], "noise": 0.005})),
        "XDG_STATE_HOME": str(folder / "state"),
    }
    command = [sys.executable, "-m", "doctor", "tune", "--python", str(python), *DEVICES_ONLY, *options]
    ended = subprocess.run(
        command, capture_output=True, env=environment(**env), timeout=900, cwd=folder, check=False, encoding="utf-8"
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def result_in(ended: subprocess.CompletedProcess[str]) -> TuneResult:
    return msgspec.json.decode(ended.stdout.encode(), type=TuneResult)


def said(text: str) -> str:
    return " ".join(text.split())


def test_without_a_device_one_line_says_so_and_the_run_goes_on(tmp_path: Path) -> None:
    skip_where_torch_cannot_host_a_device()
    options = ("--device", "all", *DEVICES_ONLY, "--workload", "fit")
    ended = run_doctor("tune", *options, env={"XDG_STATE_HOME": str(tmp_path)}, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    notes = [line for line in ended.stderr.splitlines() if "The CPU alone is measured" in line]
    assert len(notes) == 1
    assert ended.stdout.splitlines()[-1] == "amd-doctor: nothing to try; keep the default"


def test_the_right_device_is_found_confirmed_written_and_shared(tmp_path: Path, python: Path) -> None:
    ended = tune(
        tmp_path,
        python,
        "--device",
        "auto",
        "--workload",
        "fit",
        "--budget",
        "40m",
        "--seed",
        "1",
        "--write-env",
        "--share",
        "--json",
    )
    result = result_in(ended)
    assert result.devices is not None and result.devices.compared is not None, ended.stderr
    assert result.devices.compared.verdict.word == "faster"
    assert result.devices.compared.verdict.gain == pytest.approx(0.19, abs=0.03)
    report = result.devices.report("privateuseone:0")
    assert report is not None and report.crossovers["fit"].word == "from"
    assert report.checks["fit"].gradients_off is not None and report.checks["fit"].gradients_off < 1e-3
    assert result.devices.recommended == "privateuseone:0"
    written = (tmp_path / "amd-doctor.env").read_text(encoding="utf-8")
    assert "AMD_DOCTOR_DEVICE=privateuseone:0" in written
    shared = json.loads((tmp_path / "amd-doctor-tune.json").read_text(encoding="utf-8"))
    assert shared["devices"]["compared"]["verdict"]["word"] == "faster" and shared["samples"]
    checked = run_doctor("check", "--from", tmp_path / "amd-doctor-tune.json", "--json")
    findings = json.loads(checked.stdout)["findings"]
    assert not [finding for finding in findings if finding["rule"].startswith("measured-device-")]


@pytest.mark.parametrize(
    ("operator", "does", "outcome", "rule", "budget"),
    [
        ("mm", "wrong", "wrong", "measured-device-wrong", "20m"),
        ("threshold_backward", "segfault", "killed", "measured-device-fails", "20m"),
        ("threshold_backward", "hang", "hung", "measured-device-fails", "250s"),
    ],
)
def test_a_broken_device_is_named_and_left(
    tmp_path: Path, python: Path, operator: str, does: str, outcome: str, rule: str, budget: str
) -> None:
    """What goes wrong is too large for the exercises before the run, so that the run itself has to find it."""
    options = ("--device", "all", "--workload", "fit", "--budget", budget, "-o", "result.json")
    ended = tune(tmp_path, python, *options, at={operator: {"does": does, "elements": 9000}})
    text = said(ended.stdout)
    assert "Stay with the CPU: no other device here does the work." in text
    assert f"✗ {VEGA} (privateuseone:0): it" in text
    assert ended.stdout.splitlines()[-1].endswith(f"no device beside the CPU works ({outcome})")
    document = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    (device,) = document["machine"]["measurements"]["devices"]
    assert device["outcome"] == outcome and device["workload"] == "fit"
    checked = run_doctor("check", "--from", tmp_path / "result.json", "--json")
    assert json.loads(checked.stdout)["findings"][0]["rule"] == rule, "the root cause first"
    assert checked.returncode == 1


def test_wrong_usage_is_told_before_anything_runs(tmp_path: Path, python: Path) -> None:
    ended = run_doctor("tune", "--python", python, "--device", "rtx 4090", "--dry-run", env=told(adapters=[VEGA]))
    assert ended.returncode == 2 and f"there are cpu, privateuseone:0 ({VEGA})" in said(ended.stderr)
    ended = run_doctor("tune", "--device", "all", "--", "true")
    assert ended.returncode == 2 and "--device is about the doctor's own workloads" in ended.stderr
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    ended = run_doctor("tune", "--share", tmp_path / "mine.json")
    assert ended.returncode == 2 and "no result of tune" in said(ended.stderr)


def test_a_dry_run_names_the_devices_and_their_work(python: Path) -> None:
    ended = run_doctor("tune", "--python", python, "--device", "all", "--dry-run", env=told(adapters=[VEGA]))
    text = said(ended.stdout)
    assert f"{VEGA} (privateuseone:0): mlp train at 4, 16, 64, 256, 1,024 and 4,096" in text
    assert "for 7 min at most" in text, "more than the usual time"
    assert (ROOT / "docs" / "devices.md").is_file()
