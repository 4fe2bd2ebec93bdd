"""How the rule on failing exercises on the CPU stands to those that know the cause."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.diagnosis.examine import examine
from doctor.diagnosis.model import Finding
from doctor.machine.model import Machine

WHEEL = {"torch": {"version": "2.2.1+cpu", "installer": "pip"}}
RULES = ("cpu-exercise-fails", "cpu-fpe-amd", "cpu-no-avx", "numpy-abi-mismatch")


def findings(*rows: dict[str, Any], **document: Any) -> dict[str, Finding]:
    torch = {"installed": True, "version": "2.2.1+cpu", "importable": True, "import_error": "none", "hip": "none"}
    whole = {"os": {"kind": "linux", "wsl": 0}, "torch": torch, "exercises": list(rows), **document}
    _, diagnosis = examine(msgspec.convert(whole, Machine))
    assert diagnosis.crashed == ()
    return {finding.rule: finding for finding in diagnosis.findings if finding.rule in RULES}


def row(name: str, outcome: str, detail: str | None = None) -> dict[str, Any]:
    return {"name": name, "device": "cpu", "outcome": outcome, "detail": detail}


def test_wrong_numbers_are_an_error_whose_cause_is_not_established() -> None:
    rows = (row("matmul", "wrong", "off by 0.5 times the largest value"), row("conv", "signal", "SIGSEGV"))
    found = findings(*rows, packages=WHEEL, cpu={"vendor": "AuthenticAMD", "name": "AMD Ryzen 9 5950X"})
    assert list(found) == ["cpu-exercise-fails"]
    told = found["cpu-exercise-fails"]
    assert (told.severity, told.caused_by) == ("error", None)
    assert told.evidence == (
        "matmul: the numbers are wrong (off by 0.5 times the largest value); failed as well: conv (signal); "
        "torch 2.2.1+cpu; AMD Ryzen 9 5950X."
    )
    assert told.fix.commands == (
        "python -m pip install --force-reinstall torch==2.2.1+cpu --index-url https://download.pytorch.org/whl/cpu",
    )


def test_what_did_not_end_is_a_warning() -> None:
    assert findings(row("conv", "timeout", "timeout after 60 s"))["cpu-exercise-fails"].severity == "warning"


def test_a_trap_of_an_amd_cpu_is_said_once() -> None:
    found = findings(row("conv1x1", "signal", "SIGFPE"), cpu={"vendor": "AuthenticAMD"})
    assert list(found) == ["cpu-fpe-amd"]


def test_numpy_and_a_cpu_without_avx_are_causes() -> None:
    found = findings(row("numpy-bridge", "exception", "RuntimeError: Numpy is not available"))
    assert found["cpu-exercise-fails"].caused_by == "numpy-abi-mismatch"
    intel = {"vendor": "GenuineIntel", "name": "QEMU Virtual CPU", "isa": {"avx": False, "avx2": False}}
    found = findings(row("matmul", "signal", "SIGILL"), cpu=intel)
    assert found["cpu-exercise-fails"].caused_by == "cpu-no-avx"
