from __future__ import annotations

from pathlib import Path

import pytest

from doctor.diagnosis.rules import in_language, load_rules, read_rule
from doctor.knowledge.yamlfile import BadFile

RULE = """\
id: torch-is-there
area: pytorch
title: PyTorch is installed
severity:
  - info: torch.installed
evidence: "torch {torch.version}"
why: Because.
fix: {text: Nothing.}
needs: [torch.version]
references: [https://example.org/]
verified: "2026-11-30"
cases: {fires: [], silent: [], undecided: []}
"""


def written(folder: Path, text: str, area: str = "pytorch", name: str = "torch-is-there") -> Path:
    path = folder / area / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_rule_is_read_and_compiled(tmp_path: Path) -> None:
    rule = read_rule(written(tmp_path, RULE))
    assert (rule.id, rule.area, rule.severities) == ("torch-is-there", "pytorch", ("info",))
    assert [condition.facts for condition in rule.conditions] == [(), ("torch.installed",)]
    assert rule.file.cases is None
    assert read_rule(written(tmp_path, RULE), with_cases=True).file.cases is not None


def test_one_word_is_a_severity(tmp_path: Path) -> None:
    text = RULE.replace("severity:\n  - info: torch.installed", "applies: torch.installed\nseverity: error")
    rule = read_rule(written(tmp_path, text))
    assert [severity for severity, _ in rule.ladder] == ["error"]
    assert rule.applies.facts == ("torch.installed",)


def test_commands_are_one_or_many(tmp_path: Path) -> None:
    fix = "fix: {text: Nothing., linux: one, windows: [one, two]}"
    rule = read_rule(written(tmp_path, RULE.replace("fix: {text: Nothing.}", fix)))
    assert rule.file.fix.commands_for("linux") == ("one",)
    assert rule.file.fix.commands_for("windows") == ("one", "two")
    assert rule.file.fix.commands_for("macos") == rule.file.fix.commands_for("text") == ()


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("why: Because.\n", "", "missing required field `why`"),
        ("why: Because.", "why: Because.\nweight: 3", "unknown field `weight`"),
        ("- info: torch.installed", "- info: len(gpus) > 1", "info: a Call expression is not allowed in a rule"),
        ("- info: torch.installed", "- fatal: torch.installed", "severity wants one of error, warning, info, hint"),
        ("- info: torch.installed", "- {info: torch.installed, error: torch.installed}", "severity wants one of"),
        ("severity:\n  - info: torch.installed", "severity: bad", "severity wants one of"),
        ("severity:\n  - info: torch.installed", "severity: []", "severity is empty"),
        ("area: pytorch", "area: torch", "no such area: 'torch'"),
        ("area: pytorch", "area: cpu", "its area and id say cpu/torch-is-there"),
        ("id: torch-is-there", "id: torch-is-here", "its area and id say pytorch/torch-is-here"),
        ("id: torch-is-there", "id: Torch", "'Torch' is not an id"),
        ('verified: "2026-11-30"', 'verified: "soon"', "verified is no date"),
        ('verified: "2026-11-30"', "verified: 2026-11-30", "verified"),
        ("title: PyTorch is installed", "title: {de: PyTorch ist da}", "title has no English text"),
        ("title: PyTorch is installed", "title: a\ntitle: b", "the key 'title' stands twice"),
        ("title: PyTorch is installed", "title: 'a", "pytorch/torch-is-there.yaml"),
        ("why: Because.", "why: Because.\nfor_each: gpus", "for_each and subject come together"),
    ],
)
def test_a_broken_file_is_one_sentence_and_costs_its_own_rule_only(
    tmp_path: Path, before: str, after: str, reason: str
) -> None:
    assert before in RULE
    written(tmp_path, RULE.replace(before, after))
    written(tmp_path, RULE.replace("torch-is-there", "torch-is-here"), name="torch-is-here")
    loaded = load_rules(tmp_path)
    assert [rule.id for rule in loaded.rules] == ["torch-is-here"]
    (crash,) = loaded.broken
    assert crash.part == "rule:torch-is-there"
    assert "\n" not in crash.detail
    assert crash.detail.startswith("pytorch/torch-is-there.yaml: ")
    assert reason in crash.detail


def test_two_rules_of_one_id(tmp_path: Path) -> None:
    written(tmp_path, RULE)
    written(tmp_path, RULE.replace("area: pytorch", "area: cpu"), area="cpu")
    loaded = load_rules(tmp_path)
    assert len(loaded.rules) == len(loaded.broken) == 1
    assert "another area has a rule torch-is-there" in loaded.broken[0].detail


def test_the_tables_are_no_rules(tmp_path: Path) -> None:
    written(tmp_path, "source: nobody\n", area="knowledge", name="zen")
    assert load_rules(tmp_path) == load_rules(tmp_path / "nowhere")


def test_not_text_and_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    path.write_bytes(b"\xff\xfe")
    assert [crash.part for crash in load_rules(tmp_path).broken] == ["rule:torch-is-there"]
    with pytest.raises(BadFile):
        read_rule(tmp_path / "pytorch" / "nothing.yaml")


def test_languages(tmp_path: Path) -> None:
    assert in_language("one\n two ") == "one two"
    assert in_language({"en": "one", "de": "eins"}, "de") == "eins"
    assert in_language({"en": "one", "de": "eins"}, "fr") == "one"
    title = "title: {en: PyTorch is there, de: PyTorch ist da}"
    rule = read_rule(written(tmp_path, RULE.replace("title: PyTorch is installed", title)))
    assert in_language(rule.file.title, "de") == "PyTorch ist da"
