from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.diagnosis.template import cleaned, facts_of, filled, shown, strays_of
from doctor.diagnosis.truth import Unknown


def written(text: str, **facts: Any) -> str:
    known = {name.replace("__", "."): value for name, value in facts.items()}
    return filled(text, lambda fact: known.get(fact, Unknown((fact,))))


def test_facts_of_a_text_each_once() -> None:
    text = "{torch.num_threads} of {limits.cpu_budget}, {torch.num_threads} and {{not.this}}"
    assert facts_of(text) == ("torch.num_threads", "limits.cpu_budget")


@pytest.mark.parametrize("text", ["{}", "{torch", "a } b", "{Torch.x}", "{torch.x!r}", "{torch.x:>10}", "{torch[0]}"])
def test_stray_braces(text: str) -> None:
    assert strays_of(text)
    assert not strays_of("{{ {torch.x} }}")


def test_facts_are_filled_in_and_white_space_is_folded() -> None:
    text = "torch starts {torch.num_threads} threads;\n  the budget is {limits.cpu_budget} CPUs\n"
    assert written(text, torch__num_threads=192, limits__cpu_budget=8.5) == (
        "torch starts 192 threads; the budget is 8.5 CPUs"
    )
    assert written("a {{b}} {it}", it="c") == "a {b} c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A is {a}; B is {b}", "A is 1"),
        ("B is {b}; A is {a}", "A is 1"),
        ("Set A to {a}. Or B to {b}.", "Set A to 1."),
        ("Set A to {a}; B to {b}.", "Set A to 1."),
        ("No fact here; B is {b}", "No fact here"),
        ("B is {b}", "B is unknown"),
        ("B is {b}, A is {a}", "B is unknown, A is 1"),
    ],
)
def test_a_clause_without_its_fact_is_left_out(text: str, expected: str) -> None:
    assert written(text, a=1) == expected


@pytest.mark.parametrize(
    ("fact", "value", "expected"),
    [
        ("memory.total_bytes", 16636528640, "15.5 GiB"),
        ("gpu.vram_total_bytes", 536870912, "512 MiB"),
        ("cpu.l3_size_bytes", 0, "0 bytes"),
        ("limits.cgroup.memory_bytes", "none", "none"),
        ("limits.cgroup.quota_cpus", 8.0, "8"),
        ("limits.cgroup.quota_cpus", 8.5, "8.5"),
        ("exercise.seconds", 0.012345, "0.0123"),
        ("measurements.gemm.sgemm_gflops", 1460.26, "1460.3"),
        ("torch.installed", True, "yes"),
        ("torch.installed", False, "no"),
        ("gpus", (), "none"),
        ("torch.arch_list", ("gfx900", "gfx906"), "gfx900, gfx906"),
        ("torch.arch_list", tuple(f"gfx{n}" for n in range(10)), ", ".join(f"gfx{n}" for n in range(8)) + ", 2 more"),
        ("x", float("inf"), "inf"),
        ("x", float("nan"), "nan"),
        ("x", 10**400, str(10**400)),
    ],
)
def test_values_as_a_person_reads_them(fact: str, value: Any, expected: str) -> None:
    assert shown(fact, value) == expected


def test_text_of_a_machine_is_cleaned() -> None:
    assert cleaned("AMD\u202e 5600G\x1b[31m\r\n red\u200b") == "AMD 5600G[31m red"
    assert len(cleaned("x" * 5000)) == 200
    assert written("{cpu.name}; {{x}}", cpu__name="{torch.version}\x07") == "{torch.version}; {x}"


@given(st.text())
def test_cleaned_text_is_one_line_without_invisible_characters(text: str) -> None:
    clean = cleaned(text)
    assert all(unicodedata.category(letter) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} for letter in clean)
    assert clean == clean.strip() and len(clean) <= 200
