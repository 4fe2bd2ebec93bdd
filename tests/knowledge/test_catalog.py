"""Catalogs of other languages: what they lack stays English, and texts made in English are known again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from doctor.knowledge.catalog import BadCatalog, catalog
from doctor.knowledge.translation import Translation, placed, read_catalog

SPOKEN = Translation(
    "zh",
    {
        "yes": "是",
        "{count} cores": "{count} 个核心",
        "{first}, {last}": "{first}、{last}",
        "{a} ({b:.1f})": "{a}（{b:.1f}）",
    },
    {
        "the CPU": "CPU",
        "the graphics card": "显卡",
        "It runs on {device}.": "它在 {device} 上运行。",
        "Take {gpu}, with Python {version:w}.": "用 {gpu} 和 Python {version}。",
        "{program:w} is not installed": "没有安装 {program}",
        "no end": "没有结束",
    },
)


def test_what_a_catalog_lacks_is_english() -> None:
    assert SPOKEN.sentence("yes") == "是"
    assert SPOKEN.sentence("no") == "no"
    assert SPOKEN.filled("{count} cores", {"count": 8}) == "8 个核心"
    assert SPOKEN.filled("{count} threads", {"count": 8}) == "8 threads"
    assert SPOKEN.filled("{a} ({b:.1f})", {"a": "x", "b": 2.25}) == "x（2.2）"
    assert SPOKEN.told("Nobody knows this.") == "Nobody knows this."


def test_a_text_is_known_again_by_its_template() -> None:
    assert SPOKEN.told("It runs on cuda:0.") == "它在 cuda:0 上运行。"
    assert SPOKEN.told("It runs on the graphics card.") == "它在显卡上运行。"
    assert SPOKEN.told("It runs on the CPU. It runs on x.") == "它在 CPU 上运行。它在 x 上运行。"
    assert SPOKEN.told("It runs on the CPU. And more.") == "它在 CPU 上运行。And more."
    assert SPOKEN.told("It runs on Radeon 7. generation.") == "它在 Radeon 7. generation 上运行。"
    assert SPOKEN.told("Take A and B, with Python 3.12.") == "用 A、B 和 Python 3.12。"


def test_a_hole_for_one_word_takes_no_other_text() -> None:
    assert SPOKEN.told("lspci is not installed") == "没有安装 lspci"
    assert SPOKEN.told("the program that tells it is not installed") == "the program that tells it is not installed"


def test_lists_are_told_where_a_member_is_known_or_every_member_is_one_word() -> None:
    assert SPOKEN.told("/dev/kfd and /dev/dri") == "/dev/kfd、/dev/dri"
    assert SPOKEN.told("the CPU, no end and RX 7600") == "CPU、没有结束、RX 7600"
    assert SPOKEN.told("RX 7600 and RX 7900") == "RX 7600 and RX 7900"


def test_what_a_machine_says_is_no_template() -> None:
    """Braces of a text are letters; a text that looks like a template is none."""
    assert SPOKEN.told("It runs on {device}.") == "它在 {device} 上运行。"
    assert SPOKEN.filled("{count} cores", {"count": "{count}"}) == "{count} 个核心"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["在 ", "显卡", " 上"], "在显卡上"),
        (["在 ", "cuda:0", " 上"], "在 cuda:0 上"),
        (["放弃", "GPU", "。"], "放弃 GPU。"),
        (["内存 ", "（UMA）"], "内存（UMA）"),
        (["one ", "two"], "one two"),
        (["", "  ", "显卡"], "  显卡"),
    ],
)
def test_blanks_at_the_seams(pieces: list[str], text: str) -> None:
    assert placed(pieces) == text


def test_english_is_put_together_as_it_is() -> None:
    assert catalog("en").put(["显 ", "卡"]) == "显 卡"
    assert catalog("en").row(["a", "b"]) == "a, b"
    assert catalog("en").told("no end") == "no end"


def test_a_broken_catalog_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "screens.po"
    path.write_text("no catalog\n")
    with pytest.raises(BadCatalog, match=r"screens\.po"):
        read_catalog(path)
    path.write_bytes(b'msgid "a"\nmsgstr "\xff\xfe"\n')
    with pytest.raises(BadCatalog, match=r"screens\.po"):
        read_catalog(path)


def test_an_unfinished_entry_counts_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "screens.po"
    entries = ('msgid "a"\nmsgstr ""', '#, fuzzy\nmsgid "b"\nmsgstr "乙"', 'msgid "c"\nmsgstr "丙"')
    path.write_text("".join(f"{entry}\n\n" for entry in entries), encoding="utf-8")
    assert read_catalog(path) == {"c": "丙"}


def test_english_reads_no_catalog() -> None:
    code = (
        "import sys; from doctor.present.language import say, speaking; from doctor.diagnosis.rules import load_rules\n"
        "with speaking('en'): say('Nothing to fix was found.'); load_rules()\n"
        "sys.exit('polib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
