"""What `compare` shows. A golden is committed only after somebody looked at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from doctor.derive.difference import Change, OneSided, difference
from doctor.diagnosis.model import Diagnosis, Needed, Silenced, Undecided
from doctor.diagnosis.rules import RuleSet
from doctor.diagnosis.shift import Moved, Shift, shift
from doctor.machine.document import read_document
from doctor.present.change_words import change_words, one_sided_words
from doctor.present.checked import Checked
from doctor.present.compare_json import compare_document
from doctor.present.compare_screen import HEADS, compare_screen, last_line
from doctor.present.compared import Compared
from doctor.present.terminal import Look, plain
from tests.present import diagnoses

MACHINES = Path(__file__).resolve().parents[1] / "machines"


@pytest.fixture(autouse=True)
def _fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("compare_screen", "compare_json"):
        monkeypatch.setattr(f"doctor.present.{module}.__version__", "1.2.3")


def checked(diagnosis: Diagnosis, given: str | None, **areas: Any) -> Checked:
    document = read_document({"schema": "amd-doctor/machine/1", **areas})
    return Checked(machine=document.machine, document=areas, diagnosis=diagnosis, given=given)


def compared(old: Checked, new: Checked, reads: dict[str, tuple[str, ...]] | None = None) -> Compared:
    """Two machines; `reads` are the facts that rules read."""
    moved = shift(old.diagnosis, new.diagnosis, RuleSet(()))

    def known(rows: tuple[Moved, ...]) -> tuple[Moved, ...]:
        return tuple(
            msgspec.structs.replace(row, reads=(reads or {}).get(row.finding.rule, ())) for row in rows
        )

    whole = Shift(known(moved.began), known(moved.stopped), moved.severity)
    return Compared(old, new, difference(old.machine, new.machine), whole)


def taken(day: int) -> list[dict[str, str]]:
    return [{"kind": "recording", "name": "x", "taken_at": f"2026-11-{day}T08:00:00Z"}]


OLD = checked(
    Diagnosis(
        findings=(diagnoses.OVERRIDE, diagnoses.THROTTLED),
        undecided=(Undecided("rocm-runtime-missing", (Needed("torch.importable", "timed-out"),)),),
        passed=("threads-exceed-cpu-budget",),
    ),
    "works.json.gz",
    sources=taken(23),
    os={"kind": "linux", "kernel": "6.12.74", "kernel_cmdline": "BOOT_IMAGE=/a ro quiet"},
    cpu={"name": "AMD Ryzen 9 7950X 16-Core Processor", "flags": ["fpu", "avx2", "avx512f", "x2apic"]},
    limits={"cpu_budget": 32},
    memory={"modules": [{"locator": "DIMM_A2", "configured_mts": 6000, "size_bytes": 1 << 34}]},
    python={"version": "3.12.3"},
    torch={"installed": True, "version": "2.9.1+rocm6.4", "hip": "6.4.43484", "cuda": "none", "build": "rocm",
           "num_threads": 16},
    packages={"torch": {"version": "2.9.1+rocm6.4"}, "numpy": {"version": "2.3.4"},
              **{f"package-{at:02}": {"version": f"1.{at}"} for at in range(14)}},
    env={"OMP_NUM_THREADS": "16", "HSA_OVERRIDE_GFX_VERSION": "10.3.0"},
    gpus=[{"pci_id": "1002:744c", "name": "AMD Radeon RX 7900 XTX", "vram_total_bytes": 25753026560}],
    exercises=[{"name": "matmul", "device": "cpu", "outcome": "ok"}],
)  # fmt: skip
NEW = checked(
    Diagnosis(
        findings=(diagnoses.RUNTIME, diagnoses.THREADS),
        silenced=(Silenced("container-throttled", "threads-exceed-cpu-budget"),),
        passed=("override-without-gpu",),
    ),
    None,
    sources=taken(30),
    os={"kind": "linux", "kernel": "6.11.2", "kernel_cmdline": "BOOT_IMAGE=/b ro quiet amd_iommu=off"},
    cpu={"name": "AMD Ryzen 9 7950X 16-Core Processor", "flags": ["fpu", "avx2"]},
    limits={"cpu_budget": 8},
    memory={},
    python={"version": "3.12.3"},
    torch={"installed": True, "version": "2.9.1+rocm7.0", "hip": "7.0.51831", "cuda": "none", "build": "rocm",
           "num_threads": 64, "importable": False,
           "import_error": "ImportError: libamdhip64.so.7: cannot open shared object file: No such file or directory"},
    packages={"torch": {"version": "2.9.1+rocm7.0"}, "numpy": {"version": "1.26.4"},
              **{f"package-{at:02}": {"version": f"2.{at}"} for at in range(14)}},
    env={},
    gpus=[{"pci_id": "1002:744c", "name": "AMD Radeon RX 7900 XTX", "vram_total_bytes": 25753026560},
          {"pci_id": "1002:164e", "name": "AMD Radeon Graphics", "gfx": "gfx1036"}],
    exercises=[{"name": "matmul", "device": "cpu", "outcome": "signal", "detail": "SIGFPE"}],
)  # fmt: skip
READS = {
    "threads-exceed-cpu-budget": ("torch.num_threads", "limits.cpu_budget", "torch.installed"),
    "rocm-runtime-missing": ("torch.importable", "torch.import_error", "torch.hip"),
    "override-without-gpu": ("env.HSA_OVERRIDE_GFX_VERSION", "gpus"),
}
BROKE = compared(OLD, NEW, READS)
SAME = compared(OLD, msgspec.structs.replace(OLD, given="again.json.gz"))


def text(value: Compared, look: Look | None = None, *, verbose: bool = False) -> str:
    look = look or Look()
    return plain(compare_screen(value, look, verbose=verbose), look)


def test_what_changed_since_it_worked(screen_file: SnapshotAssertion) -> None:
    assert text(BROKE) == screen_file


def test_verbose(screen_file: SnapshotAssertion) -> None:
    assert text(BROKE, verbose=True) == screen_file


def test_ascii(screen_file: SnapshotAssertion) -> None:
    shown = text(compared(NEW, OLD, READS), Look(ascii=True, columns=60))
    assert shown.isascii()
    assert shown == screen_file


def test_nothing_changed() -> None:
    lines = text(SAME).splitlines()
    assert lines == [
        "amd-doctor 1.2.3 compared works.json.gz (2026-11-23) with again.json.gz",
        "(2026-11-23).",
        "",
        "Nothing that both machines tell has changed.",
        "",
        "amd-doctor: 0 changes, 0 rules began, 0 stopped; first: none",
    ]
    assert not SAME.differs


def test_the_last_line_has_always_the_same_form() -> None:
    assert last_line(BROKE) == "amd-doctor: 27 changes, 2 rules began, 2 stopped; first: torch.version"
    assert text(BROKE).splitlines()[-1] == last_line(BROKE)


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
@pytest.mark.parametrize("verbose", [False, True])
def test_only_commands_and_long_words_are_wider_than_the_terminal(columns: int, verbose: bool) -> None:
    commands = {part for finding in NEW.diagnosis.findings for part in finding.fix.commands}
    for line in text(BROKE, Look(columns=columns), verbose=verbose).splitlines()[:-1]:
        assert len(line) <= columns or line.strip() in commands or " " not in line.strip()[2:], line


def test_text_from_a_machine_cannot_forge_a_line() -> None:
    evil = checked(
        Diagnosis(),
        "a\nb\x1b[2J",
        os={"kernel": "6.1\namd-doctor: 0 changes\x1b[2J"},
        env={"A\nB": "x\ny"},
        packages={"p\nq": {"version": "1\n2"}},
    )
    shown = text(compared(OLD, evil), verbose=True)
    assert sum(line.startswith("amd-doctor:") for line in shown.splitlines()) == 1
    assert "\x1b" not in shown
    assert "env.A B" in shown


def test_every_class_has_a_head() -> None:
    from doctor.derive.difference_weight import WEIGHTS

    assert tuple(HEADS) == WEIGHTS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change("torch.version", "2.9.1", "2.10.0", "pytorch", "up"), "2.9.1 → 2.10.0 (newer)"),
        (Change("torch.version", "2.9.1", "2.9.1+cpu", "pytorch", "build"), "2.9.1 → 2.9.1+cpu (another build of it)"),
        (Change("packages.mkl", "2024.0", "none", "libraries"), "2024.0 → not installed"),
        (Change("env.OMP_NUM_THREADS", "none", "8", "environment"), "not set → 8"),
        (Change("limits.cgroup.quota_cpus", "none", 8.5, "limits"), "none → 8.5"),
        (Change("limits.cgroup.memory_bytes", "none", 16 << 30, "limits"), "none → 16 GiB"),
        (Change("cpu.boost", True, False, "power"), "yes → no"),
        (Change("os.group_names", (), (), "gpu", added=("render",), removed=("wheel",)), "+render; -wheel"),
        (Change("cpu.flags", (), (), "hardware", removed=tuple("abcdefghi")), "-a, -b, -c, -d, -e, -f and 3 more"),
        (Change("rocm.library_path", ("/a", "/b"), (), "gpu"), "/a and /b → none"),
        (Change("gpus[x]", "none", {"pci_id": "1002:1", "gfx": "gfx1036"}, "gpu"), "none → gfx1036"),
        (Change("gpus[x]", {"pci_id": "1002:1"}, "none", "gpu"), "there → none"),
        (
            Change("cpu.cores", [{"cpus": "0"}, {"cpus": "1"}], [{"cpus": "0-1"}], "hardware"),
            "2 cores → 1 core",
        ),
        (Change("cpu.cores", [{"cpus": "0"}], [{"cpus": "1"}], "hardware"), "1 core, another layout"),
        (Change("limits.max_processes", 256961, 1234567, "limits"), "256961 → 1234567"),
    ],
)
def test_changes_in_words(change: Change, words: str) -> None:
    assert change_words(change) == words


def test_one_sided_facts_in_words() -> None:
    assert one_sided_words(OneSided("memory", {"total_bytes": 1}, "hardware")) == "memory"
    assert one_sided_words(OneSided("torch.is_available", False, "effects")) == "torch.is_available (no)"
    assert one_sided_words(OneSided("memory.modules", [{"locator": "A"}, {}], "power")) == "memory.modules (2 rows)"
    assert one_sided_words(OneSided("memory.total_bytes", 1 << 35, "hardware")) == "memory.total_bytes (32 GiB)"


def test_the_json_document() -> None:
    document = json.loads(json.dumps(compare_document(BROKE)))
    assert list(document) == [
        "schema", "version", "old", "new", "began", "stopped", "severity", "changes", "unknown_now", "known_now",
        "summary",
    ]  # fmt: skip
    assert (document["schema"], document["old"]["name"], document["new"]["name"]) == (
        "amd-doctor/compare/1",
        "works.json.gz",
        None,
    )
    assert document["summary"] == {
        "differs": True, "changes": 27, "began": 2, "stopped": 2, "severity": 0, "unknown_now": 1, "known_now": 2,
        "first": "torch.version",
    }  # fmt: skip
    assert document["changes"][0] == {
        "fact": "torch.version", "before": "2.9.1+rocm6.4", "after": "2.9.1+rocm7.0", "added": [], "removed": [],
        "direction": "build", "weight": "pytorch", "rules": [],
    }  # fmt: skip
    by_fact = {change["fact"]: change for change in document["changes"]}
    assert by_fact["torch.hip"]["rules"] == ["rocm-runtime-missing"]
    assert by_fact["gpus[1002:164e]"]["rules"] == ["override-without-gpu"]
    assert document["began"][0]["before"] == {
        "state": "undecided",
        "by": None,
        "needs": [{"fact": "torch.importable", "reason": "timed-out"}],
    }
    assert document["stopped"][1]["now"] == {"state": "silenced", "by": "threads-exceed-cpu-budget", "needs": []}
    assert document["unknown_now"][0]["fact"] == "memory.modules"
    assert document["unknown_now"][0]["before"][0]["configured_mts"] == 6000


def test_a_fact_that_is_not_known_now_has_its_reason() -> None:
    unknowns = [{"fact": "memory.modules", "reason": "needs-root"}]
    new = checked(Diagnosis(), "b.json", memory={"total_bytes": 1}, unknowns=unknowns)
    old = checked(Diagnosis(), "a.json", memory={"total_bytes": 1, "modules": [{"locator": "A"}]})
    (row,) = compare_document(compared(old, new))["unknown_now"]
    assert (row["fact"], row["reason"]) == ("memory.modules", "needs-root")
