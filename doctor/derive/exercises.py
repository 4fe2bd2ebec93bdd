"""What the exercises on the CPU showed: observed success beats suspicion, and an observed death beats both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.derive.versions import parsed
from doctor.machine.model import Exercise, Fact, Machine

#: How an illegal instruction and a division trap are called on Linux and on Windows.
ILLEGAL_INSTRUCTION = ("SIGILL", "ILLEGAL_INSTRUCTION", "0xC000001D")
DIVISION_TRAP = ("SIGFPE", "INTEGER_DIVIDE_BY_ZERO", "FLOAT_DIVIDE_BY_ZERO", "0xC0000094", "0xC000008E")

_WINDOWS_ERROR = re.compile(r"WinError (\d{1,5})\b")


class ExerciseFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cpu_works": ("exercises",),
        "cpu_trap": ("exercises",),
        "trapped": ("exercises",),
        "cpu_failed": ("exercises",),
        "cpu_only_hung": ("exercises",),
        "onednn_off_works": ("exercises",),
        "import_outcome": ("exercises", "torch.importable"),
        "import_detail": ("torch.import_error", "exercises"),
        "windows_error": ("exercises", "torch.importable"),
        "release_traps_on_zen2": ("torch.version", "cpu.generation"),
    }
    cpu_works: bool = False  # a matrix product on the CPU was seen to come out right
    cpu_trap: str | None = None  # "none", or the signal that ended an exercise on the CPU: SIGFPE, SIGILL …
    trapped: str | None = None  # the name of that exercise, where there is one
    cpu_failed: str | None = None  # the first exercise on the CPU that failed otherwise; "none": none did
    cpu_failed_outcome: str | None = None  # what became of it, in words
    cpu_failed_also: str | None = None  # the others, in words; "none"
    cpu_only_hung: bool = False  # what failed did not end, and that was all
    onednn_off_works: bool | None = None  # what trapped with oneDNN came out right without it, where that was tried
    import_outcome: str | None = None  # of `import torch`: ok exception signal timeout
    import_detail: str | None = None
    windows_error: int | None = None  # the number that Windows gave for a DLL of the import; 0 where it gave none
    release_traps_on_zen2: bool | None = None  # this torch release is known to divide by zero on this CPU


def exercise_facts(machine: Machine, today: date | None = None) -> ExerciseFacts:
    rows = machine.exercises or ()
    on_cpu = [row for row in rows if row.device in (None, "cpu")]
    trap = next((row for row in on_cpu if _trap(row)), None)
    outcome, detail = _import(machine, rows)
    ran = [row for row in on_cpu if row.outcome not in (None, "skipped")]
    failed = [row for row in ran if _failed_on_cpu(row, machine)]
    failed.sort(key=lambda row: row.outcome == "timeout")
    return ExerciseFacts(
        cpu_works=any(row.name == "matmul" and row.outcome == "ok" for row in on_cpu),
        cpu_trap=_trap(trap) if trap else "none" if ran else None,
        trapped=trap.name if trap else None,
        cpu_failed=(failed[0].name if failed else "none") if ran else None,
        cpu_failed_outcome=outcome_words(failed[0]) if failed else None,
        cpu_failed_also=", ".join(f"{row.name} ({row.outcome})" for row in failed[1:]) or "none",
        cpu_only_hung=bool(failed) and failed[0].outcome == "timeout",
        onednn_off_works=next((row.outcome == "ok" for row in ran if "onednn-off" in (row.name or "")), None),
        import_outcome=outcome,
        import_detail=detail,
        windows_error=None if outcome is None else _windows_error(detail),
        release_traps_on_zen2=_known_to_trap(machine, on_cpu),
    )


def outcome_words(row: Exercise) -> str:
    """What became of an exercise that failed: `the process died (SIGSEGV)`."""
    words = {
        "signal": "the process died",
        "timeout": "it did not end",
        "wrong": "the numbers are wrong",
        "exception": "it raised an error",
    }.get(row.outcome or "", "it failed")
    return f"{words} ({row.detail})" if row.detail else words


def _failed_on_cpu(row: Exercise, machine: Machine) -> bool:
    """Not the import, and not an instruction that an AMD CPU (or what may be one) traps on: those have rules of their
    own. That an old release has no bfloat16 is no failure."""
    if row.outcome == "ok" or row.name == "import-torch" or (row.name, row.outcome) == ("dtype-bf16", "exception"):
        return False
    vendor = machine.cpu.vendor if machine.cpu else None
    may_be_trap = row.outcome == "signal" and (row.detail is None or _trap(row) is not None)
    return row.device == "cpu" and not (may_be_trap and vendor in (None, "AuthenticAMD"))


def _trap(row: Exercise) -> str | None:
    """The signal, where an exercise died of an instruction."""
    if row.outcome != "signal":
        return None
    detail = (row.detail or "").upper()
    return next((name for name in (*ILLEGAL_INSTRUCTION, *DIVISION_TRAP) if name.upper() in detail), None)


def _import(machine: Machine, rows: tuple[Exercise, ...]) -> tuple[str | None, str | None]:
    torch = machine.torch
    said = None if torch is None or torch.import_error in (None, "none") else torch.import_error
    if torch is not None and torch.importable:
        return "ok", None
    row = next((row for row in rows if row.name == "import-torch" and row.outcome not in (None, "skipped")), None)
    if row is not None:
        return row.outcome, said or row.detail
    failed = torch is not None and (torch.importable is False or said is not None)
    return ("exception", said) if failed else (None, None)


def _windows_error(detail: str | None) -> int:
    """126 of `OSError: [WinError 126] … Error loading "…\\torch\\lib\\fbgemm.dll" …`.

    The words are localised, the number and the file are not. An error that names no DLL is another matter.
    """
    found = _WINDOWS_ERROR.search(detail or "")
    return int(found[1]) if found and ".dll" in (detail or "").lower() else 0


def _known_to_trap(machine: Machine, on_cpu: list[Exercise]) -> bool | None:
    """torch 2.11 nightlies on Zen 2 (pytorch#177227), torch 1.13.0 with MKL 2022.0 (pytorch#89817); not where the
    convolution was seen to work."""
    torch, cpu = machine.torch, machine.cpu
    if any(row.name in ("conv", "conv1x1") and row.outcome == "ok" for row in on_cpu):
        return False
    version = parsed(torch.version if torch else None)
    if torch is None or version is None:
        return None
    if version.release == (1, 13, 0):
        return None if torch.blas_version is None else torch.blas_version.startswith("2022.0")
    if version.release[:2] == (2, 11) and version.is_devrelease:
        return None if cpu is None or cpu.generation is None else cpu.generation == "Zen 2"
    return False
