"""The numbers of a diagnosis, the last line of the screen, and the exit status."""

from __future__ import annotations

from doctor.diagnosis.model import Diagnosis
from doctor.present.text import english_plural


def summary(diagnosis: Diagnosis) -> dict[str, int | str | None]:
    """The `summary` of a `check --json` document."""
    return {
        "errors": diagnosis.count("error"),
        "warnings": diagnosis.count("warning"),
        "infos": diagnosis.count("info"),
        "hints": diagnosis.count("hint"),
        "undecided": len(diagnosis.undecided),
        "not_applicable": len(diagnosis.not_applicable),
        "first": diagnosis.first,
    }


def last_line(diagnosis: Diagnosis) -> str:
    """`amd-doctor: 1 error, 0 warnings, 3 undecided; first: threads-exceed-cpu-budget`, always in this form,
    whatever language is spoken."""
    errors = english_plural(diagnosis.count("error"), "error")
    warnings = english_plural(diagnosis.count("warning"), "warning")
    return f"amd-doctor: {errors}, {warnings}, {len(diagnosis.undecided)} undecided; first: {diagnosis.first or 'none'}"


def exit_status(diagnosis: Diagnosis, *, strict: bool = False) -> int:
    """0 nothing worse than a warning, 1 at least one error, 3 warnings in a strict check."""
    if diagnosis.count("error"):
        return 1
    return 3 if strict and diagnosis.count("warning") else 0
