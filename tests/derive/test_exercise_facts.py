from __future__ import annotations

import pytest

from doctor.derive.exercises import ExerciseFacts, exercise_facts
from doctor.machine.model import Cpu, Exercise, Machine, Torch


def ran(name: str, outcome: str, detail: str | None = None, device: str = "cpu") -> Exercise:
    return Exercise(name=name, device=device, outcome=outcome, detail=detail)


def facts(*rows: Exercise, torch: Torch | None = None, cpu: Cpu | None = None) -> ExerciseFacts:
    return exercise_facts(Machine(exercises=rows, torch=torch, cpu=cpu))


def test_nothing_was_exercised() -> None:
    unknown = exercise_facts(Machine())
    assert unknown.cpu_trap is unknown.trapped is unknown.import_outcome is None
    assert not unknown.cpu_works
    assert facts(ran("conv", "skipped")).cpu_trap is None


@pytest.mark.parametrize(
    ("detail", "trap"),
    [
        ("SIGFPE", "SIGFPE"),
        ("SIGILL (core dumped)", "SIGILL"),
        ("ILLEGAL_INSTRUCTION", "ILLEGAL_INSTRUCTION"),
        ("exit 0xc0000094", "0xC0000094"),
        ("SIGSEGV", "none"),
        ("SIGKILL", "none"),
        (None, "none"),
    ],
)
def test_only_an_instruction_is_a_trap(detail: str | None, trap: str) -> None:
    found = facts(ran("matmul", "ok"), ran("conv1x1", "signal", detail))
    assert (found.cpu_trap, found.trapped) == (trap, None if trap == "none" else "conv1x1")


def test_what_another_device_died_of_is_no_trap_of_the_cpu() -> None:
    assert facts(ran("matmul", "ok"), ran("conv", "signal", "SIGFPE", "cuda:0")).cpu_trap == "none"
    assert facts(ran("matmul", "ok", device="cuda:0")).cpu_works is False


def test_what_failed_on_the_cpu() -> None:
    found = facts(
        ran("import-torch", "exception", "x"),
        ran("matmul", "timeout", "timeout after 60 s"),
        ran("conv", "wrong", "off by 0.5"),
        ran("train-step", "skipped"),
        ran("numpy-bridge", "exception", "RuntimeError: y"),
        ran("conv", "signal", "SIGSEGV", "cuda:0"),
    )
    assert (found.cpu_failed, found.cpu_failed_outcome) == ("conv", "the numbers are wrong (off by 0.5)")
    assert found.cpu_failed_also == "numpy-bridge (exception), matmul (timeout)"
    assert not found.cpu_only_hung
    assert facts(ran("matmul", "timeout")).cpu_only_hung
    assert facts(ran("matmul", "ok"), ran("dtype-bf16", "exception")).cpu_failed == "none"
    assert facts(ran("matmul", "skipped")).cpu_failed is None


@pytest.mark.parametrize(
    ("vendor", "detail", "failed"),
    [
        ("AuthenticAMD", "SIGFPE", "none"),
        ("AuthenticAMD", None, "none"),
        ("AuthenticAMD", "SIGSEGV", "conv"),
        ("GenuineIntel", "SIGFPE", "conv"),
        (None, "SIGFPE", "none"),
        (None, "SIGKILL", "conv"),
    ],
)
def test_what_an_amd_cpu_traps_on_has_a_rule_of_its_own(vendor: str | None, detail: str | None, failed: str) -> None:
    found = facts(ran("conv", "signal", detail), cpu=Cpu(vendor=vendor))
    assert found.cpu_failed == failed


def test_onednn_off() -> None:
    found = facts(ran("conv1x1", "signal", "SIGFPE"), ran("conv1x1-onednn-off", "ok"))
    assert found.onednn_off_works is True
    assert facts(ran("conv1x1-onednn-off", "signal", "SIGFPE")).onednn_off_works is False
    assert facts(ran("conv1x1", "ok"), ran("conv1x1-onednn-off", "skipped")).onednn_off_works is None


@pytest.mark.parametrize(
    ("torch", "rows", "outcome", "detail"),
    [
        (Torch(importable=True), [ran("import-torch", "timeout")], "ok", None),
        (Torch(), [ran("import-torch", "signal", "SIGILL")], "signal", "SIGILL"),
        (Torch(import_error="OSError: x"), [ran("import-torch", "exception", "y")], "exception", "OSError: x"),
        (Torch(importable=False, import_error="none"), [], "exception", None),
        (Torch(import_error="ImportError: x"), [], "exception", "ImportError: x"),
        (Torch(import_error="none"), [], None, None),
        (None, [ran("import-torch", "skipped")], None, None),
    ],
)
def test_how_the_import_ended(
    torch: Torch | None, rows: list[Exercise], outcome: str | None, detail: str | None
) -> None:
    found = facts(*rows, torch=torch)
    assert (found.import_outcome, found.import_detail) == (outcome, detail)


@pytest.mark.parametrize(
    ("detail", "number"),
    [
        (r'OSError: [WinError 126] Das angegebene Modul … Error loading "~\torch\lib\fbgemm.dll"', 126),
        (r'OSError: [WinError 1114] … Error loading "C:\x\torch\lib\c10.DLL" or one of its dependencies.', 1114),
        ("PermissionError: [WinError 5] Access is denied", 0),
        ("ImportError: DLL load failed while importing _C", 0),
        (None, 0),
    ],
)
def test_the_number_of_a_dll_that_windows_refused(detail: str | None, number: int) -> None:
    assert facts(ran("import-torch", "exception", detail)).windows_error == number
    assert exercise_facts(Machine(torch=Torch(importable=True, import_error=detail))).windows_error == 0
    assert exercise_facts(Machine()).windows_error is None


@pytest.mark.parametrize(
    ("torch", "generation", "rows", "known"),
    [
        (Torch(version="2.11.0.dev20260215+cpu"), "Zen 2", [], True),
        (Torch(version="2.11.0.dev20260215+cpu"), "Zen 3", [], False),
        (Torch(version="2.11.0.dev20260215+cpu"), None, [], None),
        (Torch(version="2.11.0.dev20260215+cpu"), "Zen 2", [ran("conv1x1", "ok")], False),
        (Torch(version="2.11.0"), "Zen 2", [], False),
        (Torch(version="1.13.0", blas_version="2022.0"), "Zen 3", [], True),
        (Torch(version="1.13.0", blas_version="2020.0"), "Zen 3", [], False),
        (Torch(version="1.13.0"), "Zen 3", [], None),
        (Torch(version="1.13.1"), None, [], False),
        (Torch(), "Zen 2", [], None),
        (None, "Zen 2", [], None),
    ],
)
def test_releases_known_to_divide_by_zero(
    torch: Torch | None, generation: str | None, rows: list[Exercise], known: bool | None
) -> None:
    assert facts(*rows, torch=torch, cpu=Cpu(generation=generation)).release_traps_on_zen2 is known
