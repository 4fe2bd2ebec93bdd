"""A rule says the same in every language: the words change, verdicts and commands do not."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from doctor.derive.facts import Derived
from doctor.diagnosis.engine import diagnose
from doctor.diagnosis.examine import derived_from
from doctor.diagnosis.model import Diagnosis
from doctor.diagnosis.rules import Rule, in_language, read_rule
from doctor.diagnosis.template import filled, shown
from doctor.diagnosis.truth import Unknown
from doctor.knowledge.catalog import ENGLISH, LANGUAGES, catalog
from doctor.machine.model import Machine
from tests.diagnosis.test_rule_files import FILES, one_file

OTHERS = [language for language in LANGUAGES if language != ENGLISH]
CHINESE = re.compile("[\u4e00-\u9fff]")


def diagnosed(rule: Rule, case: dict[str, Any], language: str) -> Diagnosis:
    completed, derived, _ = derived_from(msgspec.convert(case, Machine))
    return diagnose(completed, derived, (rule,), (), language)


@one_file
@pytest.mark.parametrize("language", OTHERS)
def test_only_the_words_change(path: Any, language: str) -> None:
    rule = read_rule(path, with_cases=True)
    cases = rule.file.cases
    assert cases is not None
    for case in (*cases.fires, *cases.silent, *cases.undecided):
        english, other = diagnosed(rule, case, ENGLISH), diagnosed(rule, case, language)
        assert other.undecided == english.undecided and other.passed == english.passed
        for one, two in zip(english.findings, other.findings, strict=True):
            same = ("rule", "severity", "area", "references", "caused_by")
            assert [getattr(one, name) for name in same] == [getattr(two, name) for name in same]
            assert one.fix.commands == two.fix.commands
            # Evidence may be names and figures alone: `WSL 1。`
            spoken = (two.title, two.why, two.fix.text)
            assert all(text == "" or CHINESE.search(text) for text in spoken), spoken


def test_every_rule_has_its_title_in_every_language() -> None:
    for path in FILES:
        title = read_rule(path).file.title
        assert all(in_language(title, language) != in_language(title) for language in OTHERS), path


def test_a_language_map_in_the_rule_beats_the_catalog() -> None:
    assert in_language({"en": "yes", "zh": "对"}, "zh") == "对"
    assert in_language({"en": "yes"}, "zh") == "是"
    assert in_language({"en": "not in any catalog"}, "zh") == "not in any catalog"


KNOWN: dict[str, Any] = {"a": 8, "b": "none", "c": True, "d": ("x", "y"), "size_bytes": 2**30}


def look_up(fact: str) -> Any:
    return KNOWN.get(fact, Unknown((fact,)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("共 {a} 个。", "共 8 个。"),
        ("共 {a} 个；另有 {unknown}。", "共 8 个。"),
        ("有 {unknown}；共 {a} 个。", "共 8 个。"),
        ("有 {unknown}。共 {a} 个。再说。", "共 8 个。再说。"),
        ("有 {unknown}。", "有未知。"),
        ("值：{b}；开启：{c}；列表：{d}；大小：{size_bytes}。", "值：无；开启：是；列表：x、y；大小：1 GiB。"),
        ("A {a}. 然后 {unknown}. 最后", "A 8. 最后"),
    ],
)
def test_clauses_fall_in_chinese_as_in_english(text: str, says: str) -> None:
    assert filled(text, look_up, catalog("zh")) == says


def test_facts_in_words() -> None:
    spoken = catalog("zh")
    assert shown("x", tuple("abcdefghij"), spoken) == "a、b、c、d、e、f、g、h、另外 2 项"
    assert shown("x", (), spoken) == "无"
    assert shown("x", "/dev/kfd and /dev/dri", spoken) == "/dev/kfd、/dev/dri"
    assert shown("x", "it raised an error (OSError)", spoken) == "报错（OSError）"


def test_an_empty_machine_is_diagnosed_in_every_language() -> None:
    rules = [read_rule(path) for path in FILES]
    english = diagnose(Machine(), Derived(), rules)
    assert all(diagnose(Machine(), Derived(), rules, (), language) == english for language in OTHERS)
