"""`amd-doctor report`: what it holds, how long it is, and that a reader of it comes to the same findings."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.cli.check import judged
from doctor.cli.files import from_files
from doctor.cli.report import reported
from doctor.diagnosis.model import Diagnosis
from doctor.diagnosis.rules import load_rules
from doctor.machine.crash import Crash
from doctor.machine.model import Intent
from doctor.present.check_json import json_text
from doctor.present.language import speaking
from doctor.present.report_json import report_document
from doctor.present.report_length import MOST, USUAL
from doctor.present.report_markdown import markdown
from doctor.present.report_summary import LINES
from doctor.present.report_text import report_text
from doctor.present.reported import Reported
from doctor.present.summary import last_line
from tests.cli.running import EVERY_MACHINE, MACHINES, ROOT, Doctor

#: Without the folder there is one test all the same, which the fixture `shared` skips with a message.
FIELD = sorted(path.name for path in (ROOT.parent / "shared" / "field").glob("*.json")) or ["absent"]
FORMS = {"markdown": markdown, "text": report_text, "json": lambda made: json_text(report_document(made))}


def made_of(path: Path) -> Reported:
    return reported(from_files([str(path)]), load_rules())


def diagnosis_of(path: Path) -> Diagnosis:
    return judged(from_files([str(path)]), Intent(), load_rules()).diagnosis


def assert_same(one: Diagnosis, other: Diagnosis) -> None:
    assert one.findings == other.findings
    assert {row.rule for row in one.undecided} == {row.rule for row in other.undecided}
    assert one.silenced == other.silenced


def assert_read_back(path: Path, tmp_path: Path) -> None:
    """Every form, and quoted Markdown with words of the author around it, gives the findings of the machine."""
    made, wanted = made_of(path), diagnosis_of(path)
    texts = {name: render(made) for name, render in FORMS.items()}
    texts["quoted"] = "".join(f"> {line}\n" for line in f"Hello,\n\n{texts['markdown']}\nThanks!".splitlines())
    for name, text in texts.items():
        again = tmp_path / f"ticket.{name}"
        again.write_text(text, encoding="utf-8")
        assert_same(diagnosis_of(again), wanted)
        assert len(text) <= (USUAL if name in ("markdown", "text") else 10**6), name


@pytest.mark.parametrize("name", FIELD)
def test_a_field_case_is_read_back_to_the_same_findings(name: str, shared: Path, tmp_path: Path) -> None:
    case = shared / "field" / name
    expected = {row["rule"] for row in json.loads(case.read_text())["expected"]}
    assert expected <= {finding.rule for finding in diagnosis_of(case).findings}
    assert_read_back(case, tmp_path)


@pytest.mark.parametrize("name", EVERY_MACHINE)
def test_a_machine_is_read_back_to_the_same_findings(name: str, tmp_path: Path) -> None:
    assert_read_back(MACHINES / name, tmp_path)


def test_this_machine_is_read_back_to_the_same_findings(doctor: Doctor, tmp_path: Path) -> None:
    document = tmp_path / "here.json"
    document.write_text(doctor("check", "--no-exercise", "--json").stdout)
    assert_read_back(document, tmp_path)


def test_the_recorded_machines_are_read_back(shared: Path, tmp_path: Path) -> None:
    for name in ("epyc-9654-dual-zen4", "ryzen-9-7950x3d-zen4-asym", "amd-k10-48core-sparse"):
        assert_read_back(shared / "corpus" / "machines" / f"{name}.tar.gz", tmp_path)


def test_the_summary_is_eight_lines_that_are_read_without_a_click(doctor: Doctor) -> None:
    ended = doctor("report", "--from", MACHINES / "two-errors.json")
    assert ended.returncode == 0 and ended.stderr == ""
    lines = ended.stdout.splitlines()
    assert lines[0] == "```text" and lines[1 + LINES] == "```"
    summary = lines[1 : 1 + LINES]
    assert re.fullmatch(r"amd-doctor \S+ report: a machine document, \d{4}-\d\d-\d\d", summary[0])
    assert summary[-1] == doctor("check", "-q", "--from", MACHINES / "two-errors.json").stdout.strip()
    assert [line.split()[0] for line in summary[1:-1]] == ["machine", "system", "pytorch", "gpu", "first", "next"]


def test_markdown_is_what_trackers_render() -> None:
    text = markdown(made_of(MACHINES / "two-errors.json"))
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if "</summary>" in line:
            assert lines[at + 1] == "", "what follows would be shown as it is written"
        if line == "</details>":
            assert lines[at - 1] == lines[at + 1] == ""
    assert text.count("<details>") == text.count("</details>") == 3
    assert "\r" not in text and "\x1b" not in text and text.endswith("\n")


def test_no_machine_text_does_anything_in_markdown(tmp_path: Path) -> None:
    name = "<script>alert(1)</script> `` ``` ````` @torvalds #1 ![x](http://x.example) </details> **b**"
    gpu = {"vendor": "amd", "name": name, "pci_id": "1002:7480", "gfx": "gfx1102", "kernel_driver": "amdgpu"}
    machine = json.loads((MACHINES / "two-errors.json").read_text())
    failed = {"name": "matmul", "device": "cuda:0", "outcome": "wrong", "detail": name}
    machine |= {"gpus": [gpu], "exercises": [failed]}
    machine["torch"] |= {"hip": "6.4", "build": "rocm", "version": "2.9.1+rocm6.4", "devices": [{"name": name}]}
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(machine))
    text = markdown(made_of(path))
    assert "@torvalds" in text
    outside = without_code(text)
    for mark in ("<script", "@torvalds", "#1", "![", "**b**"):
        assert mark not in outside, mark
    assert outside.count("</details>") == outside.count("<details>")


def without_code(markdown: str) -> str:
    """A Markdown text without its fenced blocks and code spans, by the rules of CommonMark."""
    kept: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        marks = re.match(r" {0,3}(`{3,})", line)
        if fence:
            fence = "" if marks and len(marks[1]) >= len(fence) and line.strip() == marks[1] else fence
        elif marks:
            fence = marks[1]
        else:
            kept.append(line)
    return re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", "\n".join(kept))


def test_packages_are_counted_and_private_ones_have_no_name(tmp_path: Path) -> None:
    packages = {
        "torch": {"version": "2.2.2+cpu", "installer": "pip", "requires": ["sympy", "numpy; extra == 'x'"]},
        "numpy": {"version": "2.1.3", "installer": "pip", "requires": []},
        "acme-secret-project": {"version": "1", "requires": ["numpy>=1", "acme-core"]},
        "acme-core": {"version": "2", "requires": []},
    }
    machine = {
        "schema": "amd-doctor/machine/1",
        "os": {"kind": "linux"},
        "packages": packages,
        "torch": {"installed": True, "version": "2.2.2+cpu"},
    }
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(machine))
    made = made_of(path)
    text = markdown(made)
    assert "acme" not in text and "1 other package" in text
    kept = made.checked.machine.packages or {}
    assert list(kept) == ["torch", "numpy", "package-1"]
    assert kept["package-1"].requires == ("numpy>=1",)
    assert_read_back(path, tmp_path)
    twice = tmp_path / "twice.md"
    twice.write_text(text)
    assert made_of(twice).checked.machine.packages == kept and made_of(twice).packages_left_out == 1


def test_who_compares_with_a_report_is_not_told_that_packages_are_gone(doctor: Doctor, tmp_path: Path) -> None:
    machine = json.loads((MACHINES / "healthy-5950x.json").read_text())
    machine["packages"]["acme-secret-project"] = {"version": "1"}
    whole, report = tmp_path / "whole.json", tmp_path / "report.md"
    whole.write_text(json.dumps(machine))
    assert doctor("report", "--from", whole, "-o", report).returncode == 0
    told = json.loads(doctor("compare", whole, report, "--json").stdout)
    assert told["changes"] == []


def test_a_report_may_be_anywhere_in_a_ticket(tmp_path: Path) -> None:
    """The author's own words are read, before, in and behind the report; what the report quotes is not read again."""
    path = MACHINES / "two-errors.json"
    text = markdown(made_of(path)).replace("- \n", "- RuntimeError: HIP error: invalid device function\n", 1)
    ticket = tmp_path / "ticket.md"
    ticket.write_text(f"It fails.\n\n{text}\nSee above.\n")
    machine = from_files([str(ticket)]).collected.machine
    assert [row.kind for row in machine.log or ()] == ["invalid-device-function"]
    machine = from_files([str(_written(tmp_path, markdown(made_of(path))))]).collected.machine
    assert machine.log is None


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["two-errors.json", "container-quota.json"])
def test_what_was_copied_from_the_page_is_read_back(name: str, language: str, tmp_path: Path) -> None:
    """Fences, tags and comments are gone then, and what was folded is there."""
    with speaking(language):
        text = markdown(made_of(MACHINES / name))
    again = diagnosis_of(_written(tmp_path, text))
    assert_same(again, diagnosis_of(MACHINES / name))
    if language == "en":  # without its comment, a report is known by its English titles
        lines = [line for line in text.splitlines() if not line.startswith(("```", "<!--", "</details>"))]
        shown = "\n".join(re.sub(r"</?(?:details|summary)>|`", "", line) for line in lines)
        machine = from_files([str(_written(tmp_path, shown))]).collected.machine
        assert machine.log is None
        assert_same(diagnosis_of(tmp_path / "written.md"), again)


def test_a_report_without_its_data_is_told_so(doctor: Doctor, tmp_path: Path) -> None:
    text = markdown(made_of(MACHINES / "two-errors.json"))
    for cut in (text[: text.index('"cpu":') + 40], text.split("<details><summary>Machine data")[0]):
        ended = doctor("check", "--from", _written(tmp_path, cut))
        assert ended.returncode == 2 and "machine data" in ended.stderr and len(ended.stderr.splitlines()) == 1


def _written(folder: Path, text: str) -> Path:
    path = folder / "written.md"
    path.write_text(text, encoding="utf-8")
    return path


def huge(**more: Any) -> dict[str, Any]:
    machine = json.loads((MACHINES / "two-errors.json").read_text())
    rows = [{"cpus": str(at * at % 4093)} for at in range(4096)]
    machine["cpu"]["cores"] = rows
    return {**machine, **more}


def test_no_report_is_longer_than_a_tracker_takes(tmp_path: Path) -> None:
    gpus = [{"vendor": "amd", "gfx": f"gfx{at:x}", "name": "x" * 300} for at in range(3000)]
    newer = {"fans": [{"rpm": at} for at in range(20_000)]}
    variables = {f"OMP_{'A' * 70}{at}": "9" * 4000 for at in range(50)}
    for machine in (huge(), huge(gpus=gpus), huge(**newer), huge(gpus=gpus, env=variables)):
        path = tmp_path / "huge.json"
        path.write_text(json.dumps(machine))
        made = made_of(path)
        for render in (markdown, report_text):
            text = render(made)
            assert len(text) <= MOST
            assert "Left out to keep this short" in text and "report --format json" in text
            assert last_line(made.checked.diagnosis) in text


def test_the_json_is_the_check_with_what_a_report_adds(doctor: Doctor) -> None:
    told = json.loads(doctor("report", "--format", "json", "--from", MACHINES / "two-errors.json").stdout)
    check = json.loads(doctor("check", "--json", "--from", MACHINES / "two-errors.json").stdout)
    assert told["schema"] == "amd-doctor/report/1" and told["made_on"] == date.today().isoformat()
    assert told["findings"] == check["findings"] and told["tune"] is None
    assert set(told) == set(check) | {"made_on", "tune", "removed", "left_out"}


def test_what_failed_in_the_doctor_is_in_the_report() -> None:
    given = from_files([str(MACHINES / "two-errors.json")])
    crash = Crash("probe:memory", "ValueError: <b> `x`")
    collected = msgspec.structs.replace(given.collected, crashed=(crash,))
    made = reported(msgspec.structs.replace(given, collected=collected), load_rules())
    for text in (markdown(made), report_text(made)):
        assert "The doctor failed in probe:memory: ValueError: <b> `x`" in text
    assert "<b>" not in without_code(markdown(made))
    assert list(report_document(made)["crashed"]) == [{"part": "probe:memory", "detail": "ValueError: <b> `x`"}]
