"""What `check --summary` shows of many machines. A golden is committed only after somebody looked at it."""

from __future__ import annotations

import csv
import io
import json

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from doctor.diagnosis.model import Diagnosis, Needed, Undecided
from doctor.machine.crash import Crash
from doctor.machine.document import read_document
from doctor.present.checked import Checked
from doctor.present.summary_csv import COLUMNS, cell, summary_csv
from doctor.present.summary_json import summary_document
from doctor.present.summary_rows import (
    STATUSES,
    FirstFix,
    MachineRow,
    Verdict,
    counts_by_rule,
    exit_status,
    machine_row,
)
from doctor.present.summary_table import last_line, summary_screen
from doctor.present.terminal import Look, plain
from tests.present import diagnoses

THREADS = Verdict("threads-exceed-cpu-budget", "error")
THROTTLED = Verdict("cpu-quota-throttles", "info", caused_by="threads-exceed-cpu-budget")
PLAN = Verdict("power-plan-slow", "warning")
LONG = (
    "python -m pip uninstall torch torchvision torchaudio && python -m pip install torch torchvision torchaudio "
    "--index-url https://download.pytorch.org/whl/rocm6.4"
)
ROWS = (
    MachineRow(
        "rack1/node1.json.gz",
        "error",
        verdicts=(THREADS, THROTTLED),
        undecided=("memory-below-rated",),
        fix=FirstFix("threads-exceed-cpu-budget", "Start fewer threads.", ("export OMP_NUM_THREADS=8",)),
        cpu="AMD EPYC 9354",
        gpus=(),
        torch="2.13.0+cpu",
    ),
    MachineRow(
        "rack1/node2.json.gz",
        "error",
        verdicts=(Verdict("wrong-torch-build", "error"), PLAN),
        undecided=("memory-below-rated", "mkl-amd-slow-path"),
        fix=FirstFix("wrong-torch-build", "Install the ROCm build.", (LONG,)),
        cpu="AMD Ryzen 9 7950X",
        gpus=("AMD Radeon RX 7900 XTX", "AMD Radeon Graphics"),
        torch="2.10.0+cu128",
    ),
    MachineRow("node3.json", "ok", undecided=("memory-below-rated",), cpu="AMD Ryzen 9 5950X", torch="2.13.0+cpu"),
    MachineRow(
        "a-workstation-with-a-long-name-in-the-corner-of-the-lab.json",
        "warning",
        verdicts=(PLAN, Verdict("gfx-not-in-arch-list", "hint", subject="gfx1036")),
        fix=FirstFix(
            "power-plan-slow",
            "Choose the balanced plan in the settings of the desktop, since the power saver keeps the clock low.",
        ),
    ),
    MachineRow(
        "laptop.json",
        "warning",
        verdicts=(PLAN,),
        fix=FirstFix(None, "PyTorch, step 1 of 2", ("python3 -m venv torch-env",)),
        torch="none",
        crashed=("probe:memory: KeyError: 'MemTotal'",),
    ),
    MachineRow("ticket.txt", "unknown", undecided=("memory-below-rated", "cpu-fpe-amd")),
    MachineRow("README", "unread", reason="not recognised as a machine document, a recording or a text that is known"),
    MachineRow("odd.json", "crashed", reason="ValueError: no such thing"),
)


@pytest.fixture(autouse=True)
def _fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("summary_table", "summary_json"):
        monkeypatch.setattr(f"doctor.present.{module}.__version__", "1.2.3")


def text(look: Look | None = None, *, verbose: bool = False) -> str:
    look = look or Look()
    return plain(summary_screen(ROWS, "lab", look, verbose=verbose), look)


def test_table(screen_file: SnapshotAssertion) -> None:
    assert text() == screen_file


def test_verbose_table(screen_file: SnapshotAssertion) -> None:
    assert text(verbose=True) == screen_file


def test_ascii_table(screen_file: SnapshotAssertion) -> None:
    shown = text(Look(ascii=True, columns=100))
    assert shown.isascii()
    assert shown == screen_file


def test_the_last_line_has_always_the_same_form() -> None:
    assert last_line(ROWS) == (
        "amd-doctor: 8 machines, 2 with errors, 2 with warnings, 1 not read, 1 crashed; first: "
        "threads-exceed-cpu-budget"
    )
    assert last_line(ROWS[2:3]) == (
        "amd-doctor: 1 machine, 0 with errors, 0 with warnings, 0 not read; first: none"
    )


def test_a_command_stays_whole() -> None:
    assert any(line.strip() == LONG for line in text(Look(columns=40)).splitlines())


def test_names_cannot_forge_a_line() -> None:
    evil = MachineRow("a\namd-doctor: 0 machines\x1b[2J", "unread", reason="b\x1b[31m\nc")
    shown = plain(summary_screen([evil], "x\ny", Look()), Look())
    assert sum(line.startswith("amd-doctor:") for line in shown.splitlines()) == 1
    assert "\x1b" not in shown


def test_counts_are_of_machines_by_their_worst_severity_there() -> None:
    twice = MachineRow("x", "error", verdicts=(Verdict("r-a", "hint", "1"), Verdict("r-a", "error", "2")))
    other = MachineRow("y", "ok", verdicts=(Verdict("r-a", "hint"),), undecided=("r-b",))
    counts = counts_by_rule([twice, other])
    assert [(count.rule, count.severities, count.machines, count.undecided) for count in counts] == [
        ("r-a", (1, 0, 0, 1), 2, 0),
        ("r-b", (0, 0, 0, 0), 0, 1),
    ]


@pytest.mark.parametrize(
    ("statuses", "strict", "status"),
    [
        (("ok", "unknown"), False, 0),
        (("ok", "warning"), False, 0),
        (("ok", "warning"), True, 3),
        (("ok", "unread", "crashed"), True, 0),
        (("warning", "error", "unread"), True, 1),
        (("unread",), False, 2),
    ],
)
def test_exit_status(statuses: tuple[str, ...], strict: bool, status: int) -> None:
    rows = [
        MachineRow("x", word, verdicts=(Verdict("r", word),) if word in ("error", "warning") else ())
        for word in statuses
    ]
    assert exit_status(rows, strict=strict) == status


def checked(diagnosis: Diagnosis, **areas: object) -> Checked:
    document = read_document({"schema": "amd-doctor/machine/1", **areas})
    return Checked(machine=document.machine, document={}, diagnosis=diagnosis, given="x.json")


def test_a_judged_machine_becomes_a_row() -> None:
    row = machine_row(
        "node1",
        checked(
            diagnoses.QUOTA,
            cpu={"name": "AMD EPYC 9354 32-Core Processor"},
            torch={"installed": True, "version": "2.13.0+cpu"},
            gpus=[{"gfx": "gfx1100"}],
        ),
    )
    assert (row.status, row.count("error"), row.count("warning")) == ("error", 1, 1)
    assert (row.cpu, row.gpus, row.torch) == ("AMD EPYC 9354", ("gfx1100",), "2.13.0+cpu")
    assert row.fix is not None
    assert (row.fix.rule, row.fix.line) == ("threads-exceed-cpu-budget", "export OMP_NUM_THREADS=8")
    assert row.verdicts[1] == Verdict("container-throttled", "warning", None, "threads-exceed-cpu-budget")


NEEDS = (Needed("torch.installed", "not-in-source"),)


@pytest.mark.parametrize(
    ("diagnosis", "status"),
    [
        (Diagnosis(passed=("a", "b")), "ok"),
        (Diagnosis(passed=("a",), undecided=(Undecided("b", NEEDS), Undecided("c", NEEDS))), "unknown"),
        (Diagnosis(not_applicable=("a", "b"), undecided=(Undecided("c", NEEDS),)), "unknown"),
        (Diagnosis(findings=(diagnoses.OVERRIDE,), undecided=(Undecided("b", NEEDS),)), "ok"),
        (Diagnosis(findings=(diagnoses.THROTTLED,), undecided=(Undecided("b", NEEDS),) * 9), "warning"),
        (Diagnosis(findings=(diagnoses.RUNTIME,)), "error"),
    ],
)
def test_a_machine_of_which_little_is_known_is_not_called_ok(diagnosis: Diagnosis, status: str) -> None:
    assert machine_row("x", checked(diagnosis)).status == status


def test_a_note_has_no_first_fix_and_a_crash_is_kept() -> None:
    row = machine_row("x", checked(Diagnosis(findings=(diagnoses.OVERRIDE,), crashed=(Crash("probe:cpu", "E: x"),))))
    assert (row.fix, row.crashed, row.gpus, row.torch) == (None, ("probe:cpu: E: x",), None, None)


def test_json() -> None:
    document = json.loads(json.dumps(summary_document(ROWS)))
    assert list(document) == ["schema", "version", "machines", "rules", "summary"]
    assert document["schema"] == "amd-doctor/summary/1"
    assert document["summary"] == {
        "machines": 8, "error": 2, "crashed": 1, "unread": 1, "warning": 2, "unknown": 1, "ok": 1,
        "first": "threads-exceed-cpu-budget",
    }  # fmt: skip
    first = document["machines"][0]
    assert first["summary"] == {
        "errors": 1, "warnings": 0, "infos": 1, "hints": 0, "undecided": 1, "first": "threads-exceed-cpu-budget",
    }  # fmt: skip
    assert first["first_fix"]["commands"] == ["export OMP_NUM_THREADS=8"]
    assert first["findings"][1] == {
        "rule": "cpu-quota-throttles", "severity": "info", "subject": None, "caused_by": "threads-exceed-cpu-budget",
    }  # fmt: skip
    assert (first["gpus"], document["machines"][2]["gpus"]) == ([], None)
    assert document["machines"][6]["reason"].startswith("not recognised")
    assert {row["rule"]: (row["machines"], row["undecided"]) for row in document["rules"]} == {
        "threads-exceed-cpu-budget": (1, 0), "wrong-torch-build": (1, 0), "power-plan-slow": (3, 0),
        "cpu-quota-throttles": (1, 0), "gfx-not-in-arch-list": (1, 0), "memory-below-rated": (0, 4),
        "cpu-fpe-amd": (0, 1), "mkl-amd-slow-path": (0, 1),
    }  # fmt: skip
    assert {row["status"] for row in document["machines"]} == set(STATUSES)


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(summary_csv(ROWS))))
    assert [row["machine"] for row in rows] == [row.machine for row in ROWS]
    assert tuple(rows[0]) == COLUMNS
    assert rows[0]["first_fix"] == "export OMP_NUM_THREADS=8"
    assert rows[1]["rules"] == "error:wrong-torch-build warning:power-plan-slow"
    assert rows[1]["gpus"] == "AMD Radeon RX 7900 XTX / AMD Radeon Graphics"
    assert (rows[0]["gpus"], rows[2]["gpus"]) == ("none", "")
    assert (rows[2]["errors"], rows[6]["errors"], rows[6]["undecided"]) == ("0", "", "")
    assert rows[6]["reason"].startswith("not recognised")
    assert rows[4]["reason"] == "crashed: probe:memory: KeyError: 'MemTotal'"


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    " =1",
    "\t=1",
    "\r\n=1",
    "＝1",
    "－1",
    "\u200b=1",
    "\u3000@x",
    '=HYPERLINK("https://example.org")',
]


@pytest.mark.parametrize("text_of_a_machine", FORMULAS)
def test_no_cell_starts_a_formula(text_of_a_machine: str) -> None:
    row = msgspec.structs.replace(
        ROWS[1],
        machine=text_of_a_machine,
        cpu=text_of_a_machine,
        gpus=(text_of_a_machine,),
        torch=text_of_a_machine,
        reason=text_of_a_machine,
        fix=FirstFix("r", text_of_a_machine),
        verdicts=(Verdict("r", "error", text_of_a_machine),),
    )
    (parsed,) = csv.DictReader(io.StringIO(summary_csv([row])))
    for name in ("machine", "cpu", "gpus", "torch", "reason", "first_fix"):
        assert parsed[name].startswith("'"), name
    assert not any(value.strip().startswith(tuple("=+-@＝－")) for value in parsed.values())
    assert summary_csv([row]).count("\n") == 2


def test_an_ordinary_cell_is_left_alone() -> None:
    assert cell("AMD Ryzen 9 7950X (16-Core)") == "AMD Ryzen 9 7950X (16-Core)"
    assert cell("node-1=x") == "node-1=x"
