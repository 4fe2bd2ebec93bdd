"""The machine document in and out: nothing that a newer version added is lost, and nothing broken is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.machine.document import BadDocument, Document, parse_json, read_document
from doctor.machine.model import Cgroup, Cpu, Limits, Machine, Os, merged

NEWER: dict[str, Any] = {
    "schema": "amd-doctor/machine/1.4",
    "os": {"kind": "linux", "init": "systemd"},
    "cpu": {"cores": [{"cpus": "0,8", "boost_rank": 3}], "online": "0-15", "die_map": {"a": [1, 2]}},
    "limits": {"cgroup": {"quota_cpus": "none"}},
    "fans": [{"rpm": 900}],
}


def test_a_newer_document_is_given_back_whole() -> None:
    document = read_document(NEWER)
    assert document.machine.cpu is not None and document.machine.cpu.online == "0-15"
    assert json.loads(json.dumps(document.to_builtins())) == NEWER


def test_what_was_completed_stands_over_what_was_read() -> None:
    document = read_document(NEWER)
    machine = merged(document.machine, Machine(cpu=Cpu(sockets=1)))
    plain = document.to_builtins(machine)
    assert plain["cpu"]["sockets"] == 1
    assert plain["cpu"]["die_map"] == {"a": [1, 2]} and plain["cpu"]["cores"][0]["boost_rank"] == 3


def test_null_is_unknown_and_not_written() -> None:
    document = read_document({"schema": "amd-doctor/machine/1", "os": {"kind": None}, "cpu": None})
    assert document.machine.os == Os() and document.machine.cpu is None
    assert document.to_builtins() == {"schema": "amd-doctor/machine/1", "os": {}}


def test_the_machine_inside_a_check_document_is_read() -> None:
    document = read_document({"schema": "amd-doctor/check/1", "machine": NEWER, "findings": []})
    assert document.machine.os == Os(kind="linux")


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        ([], "no JSON object"),
        ({}, "its schema is ''"),
        ({"schema": "amd-doctor/machine/2"}, "newer"),
        ({"schema": "amd-doctor/machine/1", "cpu": {"family": "25"}}, "cpu.family"),
        ({"schema": "amd-doctor/machine/1", "cpu": {"online": "0-99999999999"}}, "above 65535"),
        ({"schema": "amd-doctor/machine/1", "limits": {"affinity": "x"}}, "limits.affinity"),
    ],
)
def test_what_is_no_machine_document_is_refused_in_one_sentence(plain: Any, reason: str) -> None:
    with pytest.raises(BadDocument, match=reason) as refused:
        read_document(plain)
    assert "\n" not in str(refused.value)


def test_deep_nesting_is_an_error_of_ours() -> None:
    with pytest.raises(BadDocument, match="nested too deeply"):
        parse_json("[" * 100_000 + "]" * 100_000)
    with pytest.raises(BadDocument, match="not valid JSON"):
        parse_json(b'{"a": ')


def test_merging_is_deep_and_the_newer_wins() -> None:
    older = Limits(affinity_cpus=8, cgroup=Cgroup(version=2, quota_cpus=4.0))
    newer = Limits(cpu_budget=4, cgroup=Cgroup(quota_cpus="none"))
    assert merged(older, newer) == Limits(
        affinity_cpus=8, cpu_budget=4, cgroup=Cgroup(version=2, quota_cpus="none")
    )


def test_every_field_case_is_given_back_as_it_was(shared: Path) -> None:
    cases = sorted((shared / "field").glob("*.json"))
    assert len(cases) >= 20
    for case in cases:
        plain = json.loads(case.read_text(encoding="utf-8"))["machine"]
        assert json.loads(json.dumps(read_document(plain).to_builtins())) == _without_null(plain), case.name


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return [_without_null(item) for item in value] if isinstance(value, list) else value


def test_a_machine_that_was_not_read_names_its_schema_first() -> None:
    plain = Document(Machine(os=Os(kind="linux"))).to_builtins()
    assert list(plain.items()) == [("schema", "amd-doctor/machine/1"), ("os", {"kind": "linux"})]


def test_the_machine_inside_a_report_is_read() -> None:
    document = read_document({"schema": "amd-doctor/report/1.3", "version": "0.4", "machine": NEWER})
    assert document.machine.os == Os(kind="linux")
    for newer in ("amd-doctor/report/2", "amd-doctor/report/10", "amd-doctor/check/2"):
        with pytest.raises(BadDocument, match="update amd-doctor"):
            read_document({"schema": newer, "machine": NEWER})
