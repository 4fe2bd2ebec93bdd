"""Every rule file in `rules/` is held to the same demands. A new rule needs no test of its own: its cases are its test.

A case is a part of a machine document; it goes the same way as a machine (complete, derive, diagnose). For rules that
look at the age of the tables, the day of the examination is the `taken_at` of the case's first source.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from doctor.diagnosis.commands import pattern_for
from doctor.diagnosis.engine import diagnose
from doctor.diagnosis.examine import derived_from
from doctor.diagnosis.model import Diagnosis
from doctor.diagnosis.paths import UnknownPath, holds, item_of, machine_facts, problems_of
from doctor.diagnosis.rules import Rule, Text, load_rules, read_rule
from doctor.diagnosis.template import facts_of, strays_of
from doctor.knowledge.location import rules_folder
from doctor.machine.model import Machine

FILES = sorted(path for path in rules_folder().glob("*/*.yaml") if path.parent.name != "knowledge")
LONGEST_FILE = 45
LONGEST_TITLE = 72

#: Rules that others may already name in `explains` and `silences`. Take a name out when its file comes.
WRITTEN_LATER = {
    "hsa-override-not-exported",
}

one_file = pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])


def texts_of(rule: Rule) -> list[str]:
    """Every text that may name facts, in every language."""
    file = rule.file
    texts: list[Text] = [file.title, file.evidence, file.fix.text]
    return [text for one in texts for text in ([one] if isinstance(one, str) else one.values())]


def commands_of(rule: Rule) -> list[str]:
    return [text for system in ("linux", "windows", "macos") for text in rule.file.fix.commands_for(system)]


def item_type(rule: Rule) -> Any:
    return None if rule.file.for_each is None else item_of(rule.file.for_each)


def diagnosed(rule: Rule, case: dict[str, Any]) -> Diagnosis:
    machine = msgspec.convert(case, Machine)
    taken_at = machine.sources[0].taken_at if machine.sources else None
    today = date.fromisoformat(taken_at[:10]) if taken_at else None
    completed, derived, crashed = derived_from(machine, today)
    assert not crashed, crashed
    return diagnose(completed, derived, (rule,))


def outcome(rule: Rule, case: dict[str, Any]) -> str:
    diagnosis = diagnosed(rule, case)
    assert not diagnosis.crashed, diagnosis.crashed
    if diagnosis.findings:
        return "fires"
    return "undecided" if diagnosis.undecided else "silent"


def holds_all(whole: Any, part: Any) -> bool:
    """Is everything that `part` says also in `whole`?"""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and holds_all(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(holds_all, whole, part))
    return part is not None and bool(whole == part)


def test_there_are_rules_and_none_is_broken() -> None:
    loaded = load_rules()
    assert loaded.broken == ()
    assert [rule.id for rule in loaded.rules] == sorted(path.stem for path in FILES)
    assert loaded.rules


@one_file
def test_file_is_short_and_its_cases_stand_last(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LONGEST_FILE
    assert max(map(len, lines)) <= 120
    tops = [line.partition(":")[0] for line in lines if line and not line.startswith((" ", "#", "-"))]
    assert tops[0] == "id" and tops[-1] == "cases"


@one_file
def test_file_has_no_anchors(path: Path) -> None:
    tokens = yaml.scan(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    assert not [token for token in tokens if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken)]


@one_file
def test_facts_exist_and_are_used_for_what_they_are(path: Path) -> None:
    rule = read_rule(path)
    item = item_type(rule)
    assert [problem for condition in rule.conditions for problem in problems_of(condition, item)] == []


@one_file
def test_derived_facts_in_conditions_say_what_stands_behind_them(path: Path) -> None:
    """A rule that misses a derived fact names those to the user, who could do nothing about `derived.…`."""
    facts = {fact for condition in read_rule(path).conditions for fact in condition.facts}
    assert [fact for fact in facts if fact.startswith("derived.") and machine_facts(fact) == (fact,)] == []


@one_file
def test_texts_name_only_facts_of_the_conditions_and_needs(path: Path) -> None:
    rule = read_rule(path)
    item = item_type(rule)
    declared = {fact for condition in rule.conditions for fact in condition.facts} | set(rule.file.needs)
    named = {fact for text in [*texts_of(rule), *commands_of(rule)] for fact in facts_of(text)}
    assert named - declared == set(), "facts that are neither in the conditions nor in needs"
    assert set(rule.file.needs) - named == set(), "needs that no text uses"
    for fact in named | set(facts_of(str(rule.file.subject or ""))):
        assert not holds(fact, item) & {dict} and all(isinstance(kind, type) for kind in holds(fact, item)), fact
        assert not any(issubclass(kind, msgspec.Struct) for kind in holds(fact, item)), f"{fact} is no single value"
    assert not any(strays_of(text) for text in [*texts_of(rule), *commands_of(rule)])
    assert all(len(title) <= LONGEST_TITLE for title in texts_of(rule)[:1])


@one_file
def test_facts_in_commands_are_fit_for_one(path: Path) -> None:
    rule = read_rule(path)
    for command in commands_of(rule):
        for fact in facts_of(command):
            numbers = holds(fact, item_type(rule)) <= {int, float}
            assert numbers or pattern_for(fact) is not None, f"{fact} may not enter a command: {command}"


@one_file
def test_references_and_date(path: Path) -> None:
    rule = read_rule(path)
    assert rule.file.references
    assert all(reference.startswith("https://") for reference in rule.file.references)
    assert date(2026, 1, 1) <= date.fromisoformat(rule.file.verified) <= date.today()


@one_file
def test_other_rules_that_it_names_exist(path: Path) -> None:
    rule = read_rule(path)
    named = {*rule.file.explains, *rule.file.silences}
    assert named <= {path.stem for path in FILES} | WRITTEN_LATER
    assert rule.id not in named


def test_no_rule_that_exists_is_listed_as_written_later() -> None:
    assert WRITTEN_LATER & {path.stem for path in FILES} == set()


@pytest.mark.parametrize("link", ["explains", "silences"])
def test_rules_do_not_explain_or_silence_each_other_in_a_circle(link: str) -> None:
    named = {path.stem: set(getattr(read_rule(path).file, link)) for path in FILES}

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        open_names = list(named[start])
        while open_names:
            name = open_names.pop()
            if name not in found:
                found.add(name)
                open_names += named.get(name, ())
        return found

    assert [name for name in named if name in reached(name)] == []


@one_file
def test_cases_are_documents(path: Path) -> None:
    cases = read_rule(path, with_cases=True).file.cases
    assert cases is not None, "a rule has cases"
    assert cases.fires and cases.silent and cases.undecided, "a rule has cases of all three kinds"
    for case in (*cases.fires, *cases.silent, *cases.undecided):
        machine = msgspec.to_builtins(msgspec.convert(case, Machine))
        assert holds_all(machine, case), f"a field that the model does not have, or a null: {case}"


@one_file
def test_cases_come_out(path: Path) -> None:
    rule = read_rule(path, with_cases=True)
    cases = rule.file.cases
    assert cases is not None
    for wanted in ("fires", "silent", "undecided"):
        for case in getattr(cases, wanted):
            assert outcome(rule, case) == wanted, case


@one_file
def test_every_severity_is_reached_by_a_case(path: Path) -> None:
    rule = read_rule(path, with_cases=True)
    assert rule.file.cases is not None
    found = {finding.severity for case in rule.file.cases.fires for finding in diagnosed(rule, case).findings}
    assert found == set(rule.severities)


@one_file
def test_for_each_names_a_list(path: Path) -> None:
    rule = read_rule(path)
    if rule.file.for_each is not None:
        try:
            item_of(rule.file.for_each)
        except UnknownPath as error:
            pytest.fail(str(error))
