"""Screens in Chinese: lines break between characters, tables count cells, and little English is left."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from doctor.derive.plan import plan
from doctor.derive.plan_verify import verify
from doctor.diagnosis.examine import derived_from, examine
from doctor.diagnosis.rules import RuleSet, load_rules
from doctor.knowledge.translation import catalog_files, read_catalog
from doctor.machine.document import Document
from doctor.machine.model import Intent, Machine
from doctor.present.ask import message
from doctor.present.checked import Checked
from doctor.present.language import counted, joined, language, row, say, speaking, told
from doctor.present.plan_screen import plan_lines
from doctor.present.plan_verified import verification_lines
from doctor.present.screen import screen
from doctor.present.summary import last_line
from doctor.present.terminal import Look, line, plain
from doctor.present.text import columns, listed, padded, plural, wrap
from doctor.present.topology_picture import topology_lines
from doctor.present.tune_ending import Around
from doctor.present.tune_plan import plan_lines as tried_lines
from doctor.present.tune_screen import tune_lines
from tests.present.tune_results import cases

MACHINES = Path(__file__).resolve().parents[1] / "machines"
TODAY = date(2026, 11, 30)
_FACTS_AT = 24  # behind the name of an area and its status

_CHINESE = "".join(text for path in catalog_files("zh") for text in read_catalog(path).values())
_MAY_NOT_BEGIN = "，。、；：！？）】》”"
_MAY_NOT_END = "（【《“"


def test_nothing_is_spoken_but_what_was_set() -> None:
    assert language() == "en"
    with speaking("zh"):
        assert language() == "zh"
        assert say("Nothing to fix was found.") == "没有发现需要处理的问题。"
        assert say("this is in no catalog: {x}", x=1) == "this is in no catalog: 1"
        assert counted("{count} core", "{count} cores", 1) == "1 个核心"
        assert plural(3, "thread") == "3 个线程"
        assert joined(("16 个核心", "32 个线程")) == "16 个核心，32 个线程"
        assert row(("a", "b", "c")) == "a、b、c"
        assert listed(("a", "b", "c")) == "a、b 和 c"
        assert listed(("a", "b", "c", "d"), at_most=2) == "a、b 以及另外 2 项"
        assert told("the CPU alone") == "只用 CPU"
    assert language() == "en"
    assert (counted("{count} core", "{count} cores", 1), plural(3, "thread")) == ("1 core", "3 threads")


def test_columns_are_cells() -> None:
    """Of everything that a catalog holds."""
    for path in catalog_files("zh"):
        for text in read_catalog(path).values():
            assert columns(text) == cell_len(text), text
    assert padded("内存", 9) + "|" == "内存     |"
    assert padded("too long", 3) == "too long"


def test_wrap_breaks_between_wide_letters_and_not_before_a_mark() -> None:
    assert wrap("显存划分太小，需要加大。", 10) == ["显存划分太", "小，需要加", "大。"]
    assert wrap("运行 amd-doctor check，然后重启", 14) == ["运行", "amd-doctor", "check，然后重", "启"]
    assert wrap("内存（统一内存）", 6) == ["内存", "（统一", "内存）"]
    assert wrap("第一行文字很长", 8, hang=2) == ["第一行文", "  字很长"]


@given(st.text(st.sampled_from(sorted(set(_CHINESE))), max_size=60), st.integers(8, 40), st.integers(0, 3))
def test_wrap_loses_no_letter_and_keeps_the_width(text: str, width: int, hang: int) -> None:
    lines = wrap(text, width, hang)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for at, each in enumerate(lines):
        inside = each[hang:] if at else each
        whole_word = len(inside.split()) <= 1 and not re.search(r"[\u4e00-\u9fff].*[\u4e00-\u9fff]", inside)
        assert columns(each) <= width or whole_word or set(inside) & set(_MAY_NOT_BEGIN + _MAY_NOT_END), each


@given(st.text(st.sampled_from("线程数，。（内存）a"), min_size=1, max_size=40), st.integers(8, 30))
def test_no_line_begins_with_a_closing_mark_nor_ends_with_an_opening_one(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert not any(each[0] in _MAY_NOT_BEGIN for each in lines[1:])
    assert not any(each[-1] in _MAY_NOT_END for each in lines[:-1])


# Whole screens


@pytest.fixture(autouse=True)
def _fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("screen", "plan_screen", "tune_screen"):
        monkeypatch.setattr(f"doctor.present.{module}.__version__", "0.1.0")


@pytest.fixture(scope="module")
def rule_set() -> RuleSet:
    return load_rules()


def _machines() -> Iterator[tuple[str, Machine]]:
    for path in sorted((*MACHINES.glob("*.json"), *(MACHINES / "plans").glob("*.json"))):
        plain_value = json.loads(path.read_text(encoding="utf-8"))
        if str(plain_value.get("schema", "")).startswith("amd-doctor/machine/"):
            yield path.name, msgspec.convert(plain_value, Machine)


_EVERY = dict(_machines())


def _checked(machine: Machine, name: str, rule_set: RuleSet) -> Checked:
    completed, diagnosis = examine(machine, (), TODAY, rule_set, language())
    made = plan(completed, completed.intent, derived_from(completed, TODAY)[1])
    severities = {rule.id: rule.severities[0] for rule in rule_set.rules}
    document = Document(machine).to_builtins(completed)
    return Checked(completed, document, diagnosis, given=name, severities=severities, plan=made)


#: Three English words in a row, or one of those that no sentence does without. Words of commands, names and messages of
#: other programs stand between dashes, slashes or equals signs, or on lines that are left out below.
_ENGLISH = re.compile(
    r"(?<![\w/.=-])[A-Za-z][a-z']+(?:,? [a-z][a-z']+){2,}"
    r"|(?<![\w-])(?:is|are|the|and|not|of|with|which|this|has|no|for|unknown|none)(?![\w-])"
)
_OTHERS_SAY = re.compile(r"Error|pip (un)?install|pip (show|freeze)|conda activate|^amd-doctor: |^ {6}")


def _left_in_english(lines: str) -> list[str]:
    return [text for text in lines.splitlines() if _ENGLISH.search(text) and not _OTHERS_SAY.search(text)]


@pytest.mark.parametrize("name", list(_EVERY))
def test_no_english_is_left(name: str, rule_set: RuleSet) -> None:
    wide = Look(columns=10_000)
    with speaking("zh"):
        checked = _checked(_EVERY[name], name, rule_set)
        texts = [screen(checked, wide), topology_lines(checked.machine, wide), message(checked)]
        for backend in (None, "cpu", "rocm", "directml", "cuda"):
            asked = msgspec.structs.replace(_EVERY[name], intent=Intent(backend=backend))
            machine, derived, _ = derived_from(asked, TODAY)
            made = plan(machine, machine.intent, derived)
            texts.append(plan_lines(machine, made, wide, name))
            texts.append(verification_lines(machine, made, verify(machine, made, derived), wide))
        assert [left for lines in texts for left in _left_in_english(plain(lines, Look()))] == []


#: What workers and commands say of themselves.
_WORKERS_SAY = re.compile(r"timeout after|^ +amd-doctor |^amd-doctor: ")


@pytest.mark.parametrize("name", list(cases()))
def test_no_english_is_left_in_tune(name: str) -> None:
    result = cases()[name]
    with speaking("zh"):
        lines = [*tune_lines(result, Look(columns=10_000), Around(), verbose=True), *tried_lines(result.plan, Look())]
        text = plain(lines, Look())
        narrow = plain(tune_lines(result, Look(), Around(), verbose=True), Look())
    assert [left for left in text.splitlines() if _ENGLISH.search(left) and not _WORKERS_SAY.search(left)] == []
    assert [left for left in narrow.splitlines() if cell_len(left) > 80 and not _WORKERS_SAY.search(left)] == []


@pytest.mark.parametrize("name", ["faster-with-mask", "undecided", "some-failed"])
def test_tune_in_chinese(name: str, screen_file: SnapshotAssertion) -> None:
    with speaking("zh"):
        assert plain(tune_lines(cases()[name], Look(), Around(), verbose=True), Look()) == screen_file


@pytest.mark.parametrize("name", list(_EVERY))
@pytest.mark.parametrize("width", [80, 48])
def test_no_line_is_wider_than_the_terminal(name: str, width: int, rule_set: RuleSet) -> None:
    """But for words that stay whole: paths, addresses and commands."""
    with speaking("zh"):
        lines = plain(screen(_checked(_EVERY[name], name, rule_set), Look(columns=width)), Look()).splitlines()
    too_wide = [text for text in lines if cell_len(text) > width]
    assert [text for text in too_wide if re.search("[\u4e00-\u9fff]", text[_FACTS_AT:])] == []


@pytest.mark.parametrize("name", ["two-errors.json", "windows-laptop.json", "container-quota.json"])
def test_screen_in_chinese(name: str, rule_set: RuleSet, screen_file: SnapshotAssertion) -> None:
    with speaking("zh"):
        assert plain(screen(_checked(_EVERY[name], name, rule_set), Look()), Look()) == screen_file


@pytest.mark.parametrize("name", ["7950x-7900xtx.json", "windows-home.json"])
def test_plan_in_chinese(name: str, screen_file: SnapshotAssertion) -> None:
    machine, derived, _ = derived_from(_EVERY[name], TODAY)
    with speaking("zh"):
        assert plain(plan_lines(machine, plan(machine, machine.intent, derived), Look(), name), Look()) == screen_file


def test_the_last_line_is_the_same_in_every_language(rule_set: RuleSet) -> None:
    checked = _checked(_EVERY["two-errors.json"], "x", rule_set)
    with speaking("zh"):
        assert last_line(checked.diagnosis).startswith("amd-doctor: 1 error, 0 warnings, ")


def test_letters_of_an_encoding_without_our_symbols() -> None:
    """A pipe on a Chinese Windows takes GBK: Chinese, but no check marks."""
    look = Look(ascii=True, letters="gbk")
    assert plain([line("✓ 正常 – 2 × 3")], look) == "+ 正常 - 2 x 3\n"
    assert plain([line("✓ 正常")], Look(ascii=True)) == "+ ??\n"
