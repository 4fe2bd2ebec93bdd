"""The screens of plans. A golden is committed only after somebody read it, and looked up what makes it right."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from doctor.present.plan_screen import plan_lines, summary_line
from doctor.present.terminal import Look, plain
from tests.machines.plans import CASES, every_command, machine_of, planned


@pytest.fixture(autouse=True)
def _fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.present.plan_screen.__version__", "1.2.3")


def _text(name: str, look: Look | None = None, shell: str | None = None) -> str:
    look = look or Look()
    machine, made, _ = planned(machine_of(name))
    return plain(plan_lines(machine, made, look, shell=shell), look)


@pytest.mark.parametrize("name", CASES)
def test_screen(name: str, screen_file: SnapshotAssertion) -> None:
    assert _text(name) == screen_file


@pytest.mark.parametrize("name", CASES)
def test_what_makes_the_plan_right_stands_in_it(name: str) -> None:
    case = CASES[name]
    _, made, _ = planned(machine_of(name))
    assert (made.backend, made.action) == (case["backend"], case["action"])
    rows = {f"{row.table}: {row.row}" for row in made.sources}
    assert set(case["tables"]) <= rows
    commands = "\n".join(line for _, line in every_command(made))
    assert [part for part in case["commands"] if part not in commands] == []
    assert [part for part in case["never"] if part in commands] == []


@pytest.mark.parametrize("name", CASES)
def test_the_facts_are_those_of_the_knowledge_pages(name: str, shared: Path) -> None:
    for key, file in (("facts", "FACTS.md"), ("rules", "RULES.md")):
        page = (shared / "knowledge" / file).read_text(encoding="utf-8")
        assert [fact for fact in CASES[name][key] if fact not in page] == []


@pytest.mark.parametrize("name", CASES)
def test_every_plan_names_date_and_source_of_its_rows(name: str) -> None:
    text = _text(name)
    _, made, _ = planned(machine_of(name))
    assert made.sources or made.action in ("keep", "refused")
    for row in made.sources:
        assert f"{row.table} of {row.date}:" in text
        assert row.source and row.source.split()[0] in text


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("columns", [60, 80, 100])
def test_only_commands_and_addresses_are_wider_than_the_terminal(name: str, columns: int) -> None:
    _, made, _ = planned(machine_of(name))
    whole = {line for _, line in every_command(made)}
    for line in _text(name, Look(columns=columns)).splitlines():
        assert len(line) <= columns or line.strip() in whole or line.strip().startswith("https://"), line
    lines = [line.strip() for line in _text(name).splitlines()]
    assert whole <= set(lines)


@pytest.mark.parametrize("name", CASES)
def test_before_anything_is_removed_the_way_back_is_made(name: str) -> None:
    lines = [line.strip() for line in _text(name).splitlines()]
    removing = [at for at, line in enumerate(lines) if "pip uninstall" in line and "back" not in line]
    _, made, _ = planned(machine_of(name))
    if made.action == "replace":
        saved = next(at for at, line in enumerate(lines) if "packages-before.txt" in line and "pip freeze" in line)
        assert saved < min(removing)
    if made.action != "replace":
        heading = lines.index("The way back") if "The way back" in lines else len(lines)
        assert all(at > heading for at in removing), "an uninstall outside the way back"


def test_ascii() -> None:
    assert all(_text(name, Look(ascii=True)).isascii() for name in CASES)


def test_the_summary_is_the_last_line() -> None:
    _, made, _ = planned(machine_of("7950x-7900xtx"))
    assert _text("7950x-7900xtx").splitlines()[-1] == summary_line(made)
    assert summary_line(made) == "amd-doctor: plan rocm-pytorch: replace, 5 steps"


def test_where_the_shell_is_known_its_commands_alone_are_shown() -> None:
    both, one = _text("strix-halo-windows"), _text("strix-halo-windows", shell="powershell")
    assert one == both, "relative paths are the same in both"
    machine = machine_of("windows-home")
    made = planned(machine)[1]
    for shell, sign, other in (("cmd", "%USERPROFILE%", "$env:"), ("powershell", "$env:USERPROFILE", "%")):
        text = plain(plan_lines(machine, made, Look(), shell=shell), Look())
        assert sign in text and other not in text and "in cmd:" not in text
