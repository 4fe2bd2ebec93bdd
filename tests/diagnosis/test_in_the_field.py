"""Every field case, judged as `score.py` judges it: what must be said, what must not, and no alarm beyond that."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.diagnosis.examine import examine
from doctor.diagnosis.model import Diagnosis
from doctor.diagnosis.rules import RuleSet, load_rules
from doctor.machine.document import read_document
from doctor.machine.model import Machine

FIELD = Path(__file__).resolve().parents[2].parent / "shared" / "field"
NAMES = sorted(path.stem for path in FIELD.glob("*.json")) or [""]


def problems(diagnosis: Diagnosis, case: dict[str, Any]) -> list[str]:
    """What is wrong with a diagnosis. A finding that another one explains neither helps nor harms."""
    found = {}
    for finding in diagnosis.findings:
        if finding.caused_by is None:
            found.setdefault(finding.rule, finding)
    wrong = []
    for want in case["expected"]:
        said = found.get(want["rule"])
        if said is None:
            wrong.append(f"missing {want['rule']}")
            continue
        remedy = " ".join([said.fix.text, *said.fix.commands, said.evidence])
        wrong += [f"{said.rule}: {said.severity}"] if said.severity != want["severity"] else []
        wrong += [f"{said.rule}: no {word!r}" for word in want.get("remedy_contains", ()) if word not in remedy]
    forbidden = set(case["must_not_fire"])
    wrong += [f"false alarm {rule}" for rule in found if rule in forbidden]
    expected = {want["rule"] for want in case["expected"]} | forbidden
    allowed = {"error": expected, "warning": expected | set(case.get("may_fire", ()))}
    wrong += [
        f"unexpected {said.severity} {said.rule}"
        for said in found.values()
        if said.severity in allowed and said.rule not in allowed[said.severity]
    ]
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_field_case(shared: Path, name: str) -> None:
    case = json.loads((shared / "field" / f"{name}.json").read_text(encoding="utf-8"))
    _, diagnosis = examine(read_document(case["machine"]).machine)
    assert diagnosis.crashed == ()
    assert problems(diagnosis, case) == []


def test_a_wrong_diagnosis_is_noticed(shared: Path) -> None:
    case = json.loads((shared / "field" / "06-cuda-wheel-on-radeon.json").read_text(encoding="utf-8"))
    _, diagnosis = examine(read_document(case["machine"]).machine, only=["memory"])
    assert problems(diagnosis, case) == ["missing wrong-torch-build"]
    other = {"expected": [], "must_not_fire": ["wrong-torch-build"]}
    _, diagnosis = examine(read_document(case["machine"]).machine)
    assert problems(diagnosis, other) == ["false alarm wrong-torch-build"]
    assert problems(diagnosis, {"expected": [], "must_not_fire": []}) == ["unexpected error wrong-torch-build"]


#: A fact whose absence says something else: what was asked for, what is set, which GPUs there are, what was tried.
SAYS_SOMETHING = {
    ("wrong-torch-build", "intent"),  # nobody asked for another backend any more
    ("gfx-not-in-arch-list", "env"),  # a variable that is missing in `env` is not set
    ("gfx-not-in-arch-list", "gpus"),  # the card is no AMD GPU any more, and the other one is in use
    ("hsa-override-wrong", "nodes"),  # that no GPU can be opened is not known any more
    ("igpu-dgpu-collision", "exercises"),  # no failure was seen: a warning
}


@pytest.mark.parametrize("name", NAMES)
def test_a_fact_less_is_no_alarm_more(shared: Path, name: str) -> None:
    """Unknown is neither good nor bad: whatever a document leaves out, no rule takes it for a fault."""
    case = json.loads((shared / "field" / f"{name}.json").read_text(encoding="utf-8"))
    known = alarms(case["machine"])
    for path in paths_of(case["machine"]):
        more = alarms(without(case["machine"], path)) - known
        assert {(rule, path[0]) for rule, _ in more} <= SAYS_SOMETHING, (path, more)


@cache
def rule_set() -> RuleSet:
    return load_rules()


def alarms(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Rules that warn, with their severity, and those that another one silences."""
    _, diagnosis = examine(msgspec.convert(document, Machine), rule_set=rule_set())
    assert diagnosis.crashed == ()
    said = {(one.rule, one.severity) for one in diagnosis.findings if one.severity in ("error", "warning")}
    return said | {(row.rule, word) for row in diagnosis.silenced for word in ("error", "warning")}


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every field of a document, however deep."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        if isinstance(value, dict):
            yield (*path, key)
        yield from paths_of(part, (*path, key))


def without(document: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    left = copy.deepcopy(document)
    owner: Any = left
    for key in path[:-1]:
        owner = owner[key]
    del owner[path[-1]]
    return left
