from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.diagnosis.commands import _WORDS, commands, pattern_for, quoted
from doctor.diagnosis.truth import Unknown

FACTS = [
    "env.OMP_NUM_THREADS",
    "it.gfx",
    "torch.version",
    "cpu.online",
    "derived.cpu.best_l3_cpus",
    "it.package",
    "it.variable",
    "power.plan",
    "it.group",
    "derived.pytorch.reinstall_index_url",
]


def one(template: str, shell: str = "linux", **facts: Any) -> tuple[str, ...]:
    known = {name.replace("__", "."): value for name, value in facts.items()}
    return commands([template], shell, lambda fact: known.get(fact, Unknown((fact,))))


def test_numbers_and_fitting_words_enter() -> None:
    assert one("export OMP_NUM_THREADS={limits.cpu_budget}", limits__cpu_budget=8) == ("export OMP_NUM_THREADS=8",)
    assert one("taskset -c {cpu.online} x", cpu__online="0-7,16-23") == ("taskset -c 0-7,16-23 x",)
    assert one("pip install {it.packages}", it__packages=("numpy", "mkl")) == ("pip install numpy mkl",)
    assert one("pip install torch=={torch.version}", torch__version="2.9.1+rocm6.4") == (
        "pip install torch==2.9.1+rocm6.4",
    )
    assert one("x {{y}}") == ("x {y}",)


def test_words_are_quoted_for_windows_where_a_comma_would_make_a_list() -> None:
    assert one("x {cpu.online}", "windows", cpu__online="0-7,16-23") == ('x "0-7,16-23"',)
    assert quoted("2.13.0+cpu", "windows") == "2.13.0+cpu"


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("torch.version", "2.9; rm -rf ~"),
        ("torch.version", "$(id)"),
        ("torch.version", "2.9\n"),
        ("torch.version", "-r evil"),
        ("torch.version", ""),
        ("torch.version", "２.9"),
        ("cpu.online", "0-7 & calc"),
        ("it.gfx", "gfx1100:xnack-"),
        ("it.group", "-G0"),
        ("cpu.name", "Ryzen"),  # a field without a pattern
        ("torch.installed", True),
        ("it.packages", ()),
        ("it.packages", ("numpy", "--index-url=x")),
        ("limits.x", float("inf")),
        ("derived.pytorch.reinstall_index_url", "https://evil.example/simple"),
        ("torch.version", Unknown(("torch.version",))),
        ("torch.version", None),
    ],
)
def test_anything_else_makes_every_command_disappear(fact: str, value: Any) -> None:
    assert commands(["echo good", f"echo {{{fact}}}"], "linux", lambda name: value) == ()


@pytest.mark.parametrize("fact", FACTS)
def test_each_of_the_fields_has_a_pattern(fact: str) -> None:
    assert pattern_for(fact) is not None


@given(st.sampled_from(FACTS), st.sampled_from(["linux", "windows", "macos"]), st.text(max_size=30))
def test_no_text_of_a_machine_says_more_than_one_plain_word(fact: str, shell: str, value: str) -> None:
    for command in commands([f"cmd {{{fact}}}"], shell, lambda name: value):
        assert re.fullmatch(r'cmd "?[A-Za-z0-9._+:/,-]+"?', command), command
        assert shlex.split(command) == ["cmd", value]


@given(st.data())
def test_what_fits_a_pattern_is_one_word_of_a_posix_shell(data: st.DataObject) -> None:
    _, pattern = data.draw(st.sampled_from(_WORDS))
    value = data.draw(st.from_regex(pattern, fullmatch=True).filter(str.isascii))
    assert shlex.split(quoted(value, "linux")) == [value]
    assert not value.startswith("-")
