"""What the screen shows. A golden is committed only after somebody looked at it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from doctor.derive.facts import complete, derive
from doctor.derive.plan import plan
from doctor.diagnosis.model import AREAS, Diagnosis
from doctor.machine.document import read_document
from doctor.machine.model import Machine, SourceRow
from doctor.present.checked import Checked
from doctor.present.screen import screen
from doctor.present.summary import last_line
from doctor.present.terminal import Look, plain
from tests.present import diagnoses

WITH_ROOT = "sudo ~/.local/bin/amd-doctor check --python ~/venv/bin/python"
ORIGINS = {"cpu": "/proc/cpuinfo", "cpu.l3_groups": "/sys/devices/system/cpu/*/cache", "os.kernel": "uname"}

SCREENS = {
    "healthy-5950x": diagnoses.HEALTHY,
    "container-quota": diagnoses.QUOTA,
    "no-torch": diagnoses.NO_TORCH,
    "windows-laptop": diagnoses.CLEAN,
    "nothing-known": diagnoses.UNKNOWN,
    "two-errors": diagnoses.TWO_ERRORS,
}

MACHINES = Path(__file__).resolve().parents[1] / "machines"


LIVE = ("healthy-5950x", "container-quota", "no-torch")


def _checked(name: str, diagnosis: Diagnosis) -> Checked:
    document = read_document(json.loads((MACHINES / f"{name}.json").read_text(encoding="utf-8")))
    asks_for_root = any(row.reason == "needs-root" for row in document.machine.unknowns or ())
    machine = complete(document.machine)
    return Checked(
        machine=document.machine,
        document=document.to_builtins(),
        diagnosis=diagnosis,
        given=None if name in LIVE else f"{name}.json",
        origins=ORIGINS,
        seconds={"cpu": 0.012, "torch": 2.41},
        with_root=WITH_ROOT if asks_for_root else None,
        plan=plan(machine, machine.intent, derive(machine)),
    )


def _text(checked: Checked, look: Look | None = None, *, verbose: bool = False) -> str:
    look = look or Look()
    return plain(screen(checked, look, verbose=verbose), look)


@pytest.fixture(autouse=True)
def _fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.present.screen.__version__", "1.2.3")


@pytest.mark.parametrize("name", SCREENS)
def test_screen(name: str, screen_file: SnapshotAssertion) -> None:
    assert _text(_checked(name, SCREENS[name])) == screen_file


def test_verbose_screen(screen_file: SnapshotAssertion) -> None:
    assert _text(_checked("two-errors", diagnoses.TWO_ERRORS), verbose=True) == screen_file


def test_ascii_screen(screen_file: SnapshotAssertion) -> None:
    text = _text(_checked("two-errors", diagnoses.TWO_ERRORS), Look(ascii=True))
    assert text.isascii()
    assert text == screen_file


@pytest.mark.parametrize("name", SCREENS)
def test_the_last_two_lines(name: str) -> None:
    lines = _text(_checked(name, SCREENS[name])).splitlines()
    assert re.fullmatch(r"amd-doctor: \d+ errors?, \d+ warnings?, \d+ undecided; first: [a-z0-9-]+", lines[-1])
    assert lines[-2].strip()


def test_the_summary_line_counts_in_words() -> None:
    assert last_line(diagnoses.QUOTA) == (
        "amd-doctor: 1 error, 1 warning, 1 undecided; first: threads-exceed-cpu-budget"
    )
    assert last_line(Diagnosis()) == "amd-doctor: 0 errors, 0 warnings, 0 undecided; first: none"


@pytest.mark.parametrize("name", SCREENS)
@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_only_commands_addresses_and_the_summary_are_wider_than_the_terminal(
    name: str, columns: int
) -> None:
    checked = _checked(name, SCREENS[name])
    whole = {command for finding in checked.diagnosis.findings for command in finding.fix.commands}
    lines = _text(checked, Look(columns=columns)).splitlines()
    for line in lines[:-2]:
        alone = line.strip() in whole | {WITH_ROOT} or " " not in line[23:].strip()
        assert len(line) <= columns or alone, line
    assert all(any(line.strip() == command for line in lines) for command in whole)


def test_without_torch_the_screen_ends_with_what_to_install() -> None:
    text = _text(_checked("no-torch", diagnoses.NO_TORCH))
    assert text.splitlines()[-2].strip() == "/usr/bin/python3 -m venv torch-env", "the first step of the plan"
    assert "could not be decided" not in text


def test_the_next_command_is_the_first_of_the_first_finding() -> None:
    text = _text(_checked("container-quota", diagnoses.QUOTA))
    assert text.splitlines()[-2].strip() == "export OMP_NUM_THREADS=8"


def test_an_explained_finding_stands_beneath_its_cause() -> None:
    lines = _text(_checked("two-errors", diagnoses.TWO_ERRORS)).splitlines()
    cause = next(at for at, line in enumerate(lines) if "cannot find the ROCm runtime" in line)
    effect = next(at for at, line in enumerate(lines) if "[torch-import-fails]" in line)
    assert cause < lines.index("    This explains:") < effect
    assert lines[effect].startswith("    ")


def test_findings_that_explain_each_other_are_still_shown() -> None:
    one = msgspec.structs.replace(diagnoses.RUNTIME, caused_by="torch-import-fails")
    diagnosis = Diagnosis(findings=(one, diagnoses.IMPORT))
    text = _text(_checked("two-errors", diagnosis))
    assert text.count("[rocm-runtime-missing]") == text.count("[torch-import-fails]") == 1


def test_an_empty_machine_has_every_area_and_claims_nothing() -> None:
    machine = Machine(sources=(SourceRow(kind="live", name="this machine"),))
    checked = Checked(machine=machine, document={}, diagnosis=Diagnosis())
    lines = _text(checked).splitlines()
    assert sum(line.startswith("? ") for line in lines) == len(AREAS)
    assert not any(line.startswith("✓") for line in lines)


def test_text_from_a_machine_cannot_forge_a_line() -> None:
    machine = _checked("healthy-5950x", Diagnosis()).machine
    assert machine.cpu is not None
    name = "AMD Fake\namd-doctor: 0 errors, 0 warnings, 0 undecided; first: none\x1b[2J"
    machine = msgspec.structs.replace(machine, cpu=msgspec.structs.replace(machine.cpu, name=name))
    text = _text(Checked(machine=machine, document={}, diagnosis=diagnoses.QUOTA))
    assert sum(line.startswith("amd-doctor:") for line in text.splitlines()) == 1
    assert "\x1b" not in text


def test_only_the_areas_asked_for_are_shown() -> None:
    checked = _checked("healthy-5950x", Diagnosis())
    text = _text(msgspec.structs.replace(checked, only=frozenset({"limits"})))
    assert "Limits" in text and "Memory" not in text and "CPU  " not in text
