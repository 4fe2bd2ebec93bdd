"""The rules on limits, environment, power and placement, on field cases and from a recording to the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.diagnosis.examine import examine
from doctor.diagnosis.model import Diagnosis, Finding
from doctor.diagnosis.rules import load_rules
from doctor.machine.document import read_document
from doctor.machine.model import Machine, Torch
from doctor.probes.collect import collect
from doctor.sources.recording import RecordingSource
from doctor.sources.tree import TreeSource

RULES = {
    "affinity-mask-narrow",
    "cpu-quota-throttles",
    "cross-ccd-placement",
    "env-variable-without-effect",
    "mkl-debug-cpu-type-stale",
    "omp-threads-one",
    "openblas-thread-limit",
    "power-plan-slow",
    "threads-exceed-cpu-budget",
    "threads-use-smt",
}
PROBES = tuple((name, f"doctor.probes.{name}") for name in ("system", "limits", "power", "environment"))
CASES = (
    "20-k8s-quota-8-of-384",
    "23-r9900x-two-ccd",
    "24-conda-mkl-stale-variable",
    "26-zen3-bf16-model",
    "28-epyc7h12-sigfpe",
    "29-win-conda-duplicate-openmp",
    "30-healthy-7900xtx",
)


def diagnosed(machine: Machine) -> Diagnosis:
    _, diagnosis = examine(machine, only=sorted(RULES))
    assert diagnosis.crashed == ()
    return diagnosis


def finding(diagnosis: Diagnosis, rule: str) -> Finding:
    return next(one for one in diagnosis.findings if one.rule == rule)


def test_all_of_them_are_there() -> None:
    assert {rule.id for rule in load_rules().rules} >= RULES


@pytest.mark.parametrize("name", CASES)
def test_field_case(shared: Path, name: str) -> None:
    case = json.loads((shared / "field" / f"{name}.json").read_text(encoding="utf-8"))
    diagnosis = diagnosed(read_document(case["machine"]).machine)
    expected = [row for row in case["expected"] if row["rule"] in RULES]
    for row in expected:
        found = finding(diagnosis, row["rule"])
        assert found.severity == row["severity"]
        remedy = " ".join([found.fix.text, *found.fix.commands, found.evidence])
        assert all(word in remedy for word in row.get("remedy_contains", ()))
    wanted = {row["rule"] for row in expected} | set(case.get("may_fire", ()))
    said = {one.rule: one.severity for one in diagnosis.findings if one.caused_by is None}
    assert set(said) & set(case["must_not_fire"]) == set()
    assert [rule for rule, severity in said.items() if severity in ("error", "warning") and rule not in wanted] == []


POD = {
    "/proc/self/cgroup": "0::/\n",
    "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
    "/sys/fs/cgroup/cgroup.procs": "1\n",
    "/sys/fs/cgroup/cgroup.type": "domain\n",
    "/sys/fs/cgroup/cpu.max": "850000 100000\n",
    "/sys/fs/cgroup/cpu.stat": "nr_periods 400\nnr_throttled 381\nthrottled_usec 9\n",
    "/sys/fs/cgroup/memory.max": "max\n",
    "/sys/fs/cgroup/pids.max": "max\n",
}


def pod(env: dict[str, str], torch: Torch, **parts: Any) -> Machine:
    plain = {"platform": "linux", "files": POD, "env": env, "api": {"affinity": "0-383"}, **parts}
    collected = collect(RecordingSource(plain, "pod"), PROBES)
    assert collected.crashed == ()
    return msgspec.structs.replace(collected.machine, torch=torch)


def test_a_pod_with_a_quota_from_its_files_to_the_command() -> None:
    diagnosis = diagnosed(pod({}, Torch(installed=True, num_threads=192)))
    found = finding(diagnosis, "threads-exceed-cpu-budget")
    assert found.severity == "error"
    assert found.fix.commands == ("export OMP_NUM_THREADS=8",)
    throttled = finding(diagnosis, "cpu-quota-throttles")
    assert throttled.caused_by == "threads-exceed-cpu-budget"
    assert "95.25 %" in throttled.evidence


def test_a_pod_whose_quota_cannot_be_read_is_undecided() -> None:
    files = {path: text for path, text in POD.items() if not path.endswith("cpu.max")}
    diagnosis = diagnosed(pod({}, Torch(installed=True, num_threads=192), files=files))
    (undecided,) = [row for row in diagnosis.undecided if row.rule == "threads-exceed-cpu-budget"]
    assert [need.fact for need in undecided.needs] == ["limits.cpu_budget"]


def test_every_variable_without_effect_is_named_on_its_own() -> None:
    env = {"TORCH_LOOP_CORE_PINNING": "1", "KMP_AFFINITY": "compact", "OMP_NUM_THREADS": "8"}
    machine = pod(env, Torch(installed=True, num_threads=8, openmp="libgomp"))
    found = [one for one in diagnosed(machine).findings if one.rule == "env-variable-without-effect"]
    assert [(one.subject, one.fix.commands) for one in found] == [
        ("TORCH_LOOP_CORE_PINNING", ("unset TORCH_LOOP_CORE_PINNING",))
    ]
    machine = msgspec.structs.replace(machine, packages={})
    found = [one for one in diagnosed(machine).findings if one.rule == "env-variable-without-effect"]
    assert [one.subject for one in found] == ["KMP_AFFINITY", "TORCH_LOOP_CORE_PINNING"]
    assert "Intel and LLVM" in found[0].evidence and "no release" in found[1].evidence
    assert "no release" not in found[0].evidence


def test_power_names_only_what_holds() -> None:
    plain = {"os": {"kind": "windows"}, "power": {"source": "ac", "plan": "power-saver"}}
    found = finding(diagnosed(msgspec.convert(plain, Machine)), "power-plan-slow")
    assert found.evidence == "the power plan is power-saver."
    assert found.fix.text == "Instead of the plan power-saver choose Balanced: powercfg /setactive SCHEME_BALANCED."


def test_no_rule_advises_to_bind_with_openmp() -> None:
    for rule in load_rules().rules:
        if rule.id not in RULES:
            continue
        commands = [*rule.file.fix.commands_for("linux"), *rule.file.fix.commands_for("windows")]
        assert not any(word in line for line in commands for word in ("OMP_PROC_BIND=", "GOMP_CPU_AFFINITY=", "KMP_"))


def test_recorded_trees_cause_no_false_alarm(shared: Path) -> None:
    """They hold topology and clocks only: whatever needs more is undecided, and nothing is claimed."""
    tars = sorted((shared / "corpus" / "machines").glob("*.tar.gz"))
    assert len(tars) > 40
    drivers = {}
    for tar in tars:
        collected = collect(TreeSource.from_tar(tar, tar.name), PROBES)
        assert collected.crashed == (), tar.name
        machine, diagnosis = examine(collected.machine, only=sorted(RULES))
        assert diagnosis.crashed == () and diagnosis.findings == (), tar.name
        assert machine.limits is not None and machine.limits.cpu_budget is None, tar.name
        assert machine.os is not None and machine.os.container is None, tar.name
        assert machine.os.hypervisor in (None, "other"), tar.name
        drivers[tar.name.removesuffix(".tar.gz")] = (machine.cpu and machine.cpu.scaling_driver) or ""
    assert drivers["epyc-7451-dual-zen1"] == "acpi-cpufreq"
    assert drivers["intel-i7-1370p-raptorlake-hybrid"] == "intel_pstate"
