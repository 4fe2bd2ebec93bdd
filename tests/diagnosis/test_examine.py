from __future__ import annotations

import json
import types
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.diagnosis import examine as module
from doctor.diagnosis.examine import derived_from, examine
from doctor.diagnosis.rules import RuleSet, load_rules
from doctor.machine.crash import Crash
from doctor.machine.document import read_document
from doctor.machine.model import SCHEMA, Cpu, Fact, Machine, Torch

TODAY = date(2026, 12, 1)


def test_an_empty_machine_has_no_findings_and_no_crashes() -> None:
    machine, diagnosis = examine(Machine(), today=TODAY)
    assert machine == Machine()
    assert diagnosis.findings == diagnosis.crashed == ()
    assert diagnosis.undecided


def test_the_document_comes_back_completed() -> None:
    machine, _ = examine(Machine(cpu=Cpu(vendor="AuthenticAMD", family=25, model=97)), today=TODAY)
    assert machine.cpu is not None and machine.cpu.generation == "Zen 4"


def test_what_fails_costs_its_own_part_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(machine: Machine, *_: object) -> Machine:
        raise KeyError("/home/max/secret")

    steps: tuple[tuple[str, Callable[..., Machine]], ...] = (("memory", fail), *module.COMPLETE)
    monkeypatch.setattr(module, "COMPLETE", steps)
    monkeypatch.setattr(module, "DERIVE", (("openmp", fail), *(one for one in module.DERIVE if one[0] != "openmp")))
    machine, derived, crashed = derived_from(Machine(cpu=Cpu(vendor="AuthenticAMD", family=25, model=97)), TODAY)
    assert machine.cpu is not None and machine.cpu.generation == "Zen 4"
    assert derived.openmp is None and derived.tables is not None
    assert [crash.part for crash in crashed] == ["derive:memory", "derive:openmp"]
    assert all("max" not in crash.detail for crash in crashed)
    _, diagnosis = examine(Machine(torch=Torch(installed=True)), today=TODAY)
    assert [crash.part for crash in diagnosis.crashed] == ["derive:memory", "derive:openmp"]
    assert "duplicate-openmp" in {row.rule for row in diagnosis.undecided}


def test_broken_rule_files_are_told() -> None:
    broken = RuleSet(rules=(), broken=(Crash("rule:bad-rule", "cpu/bad-rule.yaml: no"),))
    assert examine(Machine(), rule_set=broken)[1].crashed == broken.broken
    assert examine(Machine(), only=("cpu",), rule_set=broken)[1].crashed == ()
    assert examine(Machine(), only=("bad-rule",), rule_set=broken)[1].crashed == broken.broken


WORDS = ["none", "linux", "windows", "AuthenticAMD", "2.2.2+cpu", "3.13.1", "libiomp5", "cpu", "ok", "SIGFPE", ""]
CPU_LISTS = ["", "0", "0-3", "0-1,4"]


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that the document's types allow, and that a file could hold."""
    if get_origin(hint) in (Union, types.UnionType):
        return st.one_of([values(part) for part in get_args(hint)])
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=2).map(tuple)
    if get_origin(hint) is dict:
        return st.dictionaries(st.sampled_from(["OMP_NUM_THREADS", "numpy", "torch", "x"]), values(get_args(hint)[1]))
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Fact):
        hints = get_type_hints(hint)
        cpu_lists = dict.fromkeys(("cpus", "online", "affinity", "cpuset_cpus"), st.none() | st.sampled_from(CPU_LISTS))
        fields = {name: cpu_lists.get(name, values(hints[name])) for name in hint.__struct_fields__}
        return st.builds(hint, **(fields | {"schema": st.just(SCHEMA)} if hint is Machine else fields))
    numbers = st.sampled_from([-1, 0, 1, 2, 8, 64, 4800, 2**34])
    floats = st.floats(allow_nan=False, allow_infinity=False)
    plain = {bool: st.booleans(), int: numbers, float: numbers | floats}
    return st.none() if hint is type(None) else plain.get(hint, st.sampled_from(WORDS) | st.text(max_size=4))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(values(Machine))
def test_no_document_of_the_right_types_makes_a_part_fail(machine: Machine) -> None:
    assert read_document(msgspec.to_builtins(machine) | {"schema": SCHEMA}).machine == machine
    assert examine(machine, today=TODAY)[1].crashed == ()


def field_cases() -> list[str]:
    folder = Path(__file__).resolve().parents[2].parent / "shared" / "field"
    return sorted(path.stem for path in folder.glob("*.json"))


@pytest.mark.parametrize("name", field_cases() or ["none"])
def test_no_false_alarm_on_a_field_case(name: str, shared: Path) -> None:
    """What the rules that exist say of a machine from a public report. Rules that are still to come may be missing."""
    case = json.loads((shared / "field" / f"{name}.json").read_text(encoding="utf-8"))
    _, diagnosis = examine(read_document(case["machine"]).machine, today=TODAY)
    assert diagnosis.crashed == ()
    shown = {one.rule: one.severity for one in diagnosis.findings if one.caused_by is None}
    expected = {row["rule"]: row["severity"] for row in case["expected"]}
    assert set(shown) & set(case["must_not_fire"]) == set()
    loud = {rule for rule, severity in shown.items() if severity in ("error", "warning")}
    assert loud <= set(expected) | set(case.get("may_fire", ()))
    written = {rule.id for rule in load_rules().rules}
    for rule, severity in expected.items():
        if rule in written:
            assert shown.get(rule) == severity
    for row in case["expected"]:
        for finding in diagnosis.findings:
            if finding.rule == row["rule"]:
                said = " ".join([finding.evidence, finding.fix.text, *finding.fix.commands])
                assert all(word in said for word in row.get("remedy_contains", ()))
