"""`amd-doctor check --python` on an environment with the stand-in for torch-directml: whatever breaks there becomes a
finding, and never a traceback of the doctor's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run_doctor
from tests.inside.directml_environment import environment_with_directml, skip_where_torch_cannot_host_a_device, told


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skip_where_torch_cannot_host_a_device()
    return environment_with_directml(tmp_path_factory.mktemp("environment") / "venv")


def check(python: Path, *arguments: str, **what: Any) -> dict[str, Any]:
    ended = run_doctor("check", "--python", python, "--json", *arguments, env=told(**what))
    assert "Traceback" not in ended.stderr
    document = json.loads(ended.stdout)
    assert document["crashed"] == []
    assert ended.returncode == 1
    return document


def findings(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["rule"]: finding for finding in document["findings"]}


def rows(document: dict[str, Any], device: str) -> dict[str, tuple[str, str | None]]:
    told = [row for row in document["machine"]["exercises"] if row["device"] == device]
    return {row["name"]: (row["outcome"], row.get("detail")) for row in told}


def test_two_adapters_that_break_in_every_way(python: Path) -> None:
    """The default one dies of an operator, gives wrong products, has no LSTM and no inference mode, and leaves lerp to
    the CPU; the other one cannot be opened."""
    document = check(
        python,
        adapters=["AMD Radeon(TM) 780M", "AMD Radeon RX 7700S"],
        default=1,
        at={"_softmax@1": "segfault", "mm@1": "wrong", "lerp_": "fall-back", "device@0": "raise"},
        inference_mode=False,
    )
    machine = document["machine"]
    assert machine["torch_directml"]["device_names"] == ["AMD Radeon(TM) 780M", "AMD Radeon RX 7700S"]
    assert machine["torch_directml"]["default_device"] == 1
    assert machine["torch_directml"]["cpu_fallbacks"] == ["aten::lerp_.Scalar"]
    default, other = rows(document, "privateuseone:1"), rows(document, "privateuseone:0")
    assert default["operators"][0] == "signal"
    assert default["matmul"] == ("wrong", "off by 0.5 times the largest value")
    assert default["lstm"][0] == default["inference-mode"][0] == "exception"
    assert default["conv"] == default["gradients"] == ("ok", None)
    assert other == {"open-adapter": ("exception", "RuntimeError: device: The parameter is incorrect.")}
    assert rows(document, "cpu")["matmul"] == ("ok", None), "the CPU is another device"

    found = findings(document)
    for words in ("operators on privateuseone:1: the process died", "open-adapter on privateuseone:0 (exception)"):
        assert words in found["dml-op-crash"]["evidence"]
    assert found["dml-wrong-numbers"]["evidence"].startswith("matmul on privateuseone:1: off by 0.5 times")
    assert "Cannot set version_counter" in found["dml-inference-mode"]["evidence"]
    assert "aten::lerp_.Scalar" in found["dml-cpu-fallback-ops"]["evidence"]
    severities = {rule: found[rule]["severity"] for rule in found if rule.startswith("dml-")}
    assert severities == {
        "dml-op-crash": "error",
        "dml-wrong-numbers": "warning",
        "dml-inference-mode": "warning",
        "dml-cpu-fallback-ops": "warning",
        "dml-dtype-unsupported": "info",
        "dml-unmaintained": "info",
        "dml-no-gradients": "hint",
    }
    # Not dml-native-linux: the adapters were seen to be there, whatever this system calls itself.


def test_a_plugin_that_hangs_at_its_import_beside_another_torch(tmp_path: Path) -> None:
    skip_where_torch_cannot_host_a_device()
    python = environment_with_directml(tmp_path / "venv", requires_torch="2.4.1")
    document = check(python, "--timeout", "15", at={"import": "hang"})
    assert rows(document, "directml") == {"import-torch-directml": ("timeout", "timeout after 15 s")}
    assert rows(document, "cpu")["matmul"] == ("ok", None)
    found = findings(document)
    # On Linux the system is the cause, on Windows the torch that does not fit.
    cause = {"linux": "dml-native-linux", "windows": "dml-torch-pin-mismatch"}[document["machine"]["os"]["kind"]]
    assert found[cause]["severity"] == "error"
    assert document["summary"]["first"] == cause
    hidden = {row["rule"] for row in document["silenced"] if row["by"] == cause}
    assert "dml-op-crash" in hidden or found["dml-op-crash"]["caused_by"] == cause
