"""What the exercises on DirectML came to. Everything is unknown where nothing was tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import ClassVar

import msgspec

from doctor.machine.model import Exercise, Fact, Machine

#: Exercises that are expected to fail on some machines, each with a rule of its own, and how what they try is called.
_TYPES = {
    "dtype-fp64": "float64",
    "dtype-fp16": "float16",
    "dtype-bf16": "bfloat16",
    "dtype-complex64": "complex64",
    "autocast": "autocast",
}
_INFERENCE_MODE = "inference-mode"
_BEFORE_TO = "optimizer-before-to"
_OF_GRADIENTS = ("gradients", "optimizer", "optimizer-foreach-off", "optimizer-inside-loop", _BEFORE_TO)

_FAILURES = ("exception", "signal", "timeout")
_OUT_OF_MEMORY = re.compile(r"not enough GPU video memory|could not allocate tensor|out of memory", re.IGNORECASE)
_NUMBERS_ARE_OFF = re.compile(r"off by|not a number|differ", re.IGNORECASE)

#: The warning of DirectML itself, and how the doctor's own rows put it.
_FELL_BACK = re.compile(r"operator '([\w:.]{1,100})'[^']{1,80}fall back")
_CPU_DID = re.compile(r"the CPU did ([\w:., ]{1,400})")

_NOT_TRIED = ("exercises",)


class DirectmlExerciseFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "works": _NOT_TRIED,
        "failed": _NOT_TRIED,
        "out_of_memory": _NOT_TRIED,
        "wrong": _NOT_TRIED,
        "inference_mode": _NOT_TRIED,
        "types_failed": _NOT_TRIED,
        "fallbacks": ("torch_directml.cpu_fallbacks", "exercises"),
        "gradients_missing": _NOT_TRIED,
        "before_to_moves_nothing": _NOT_TRIED,
    }
    works: bool = False  # a matrix product on an adapter was seen to come out right
    failed: str | None = None  # the first exercise that raised, died or hung, in words; "none": none did
    failed_detail: str | None = None
    failed_also: tuple[str, ...] | None = None  # the others; unknown where there is none
    out_of_memory: str | None = None  # the exercise that found no memory; "none"
    wrong: str | None = None  # the first exercise whose numbers were wrong, in words; "none"
    wrong_detail: str | None = None
    inference_mode: str | None = None  # how that exercise ended: ok wrong exception signal timeout
    inference_detail: str | None = None
    types_failed: tuple[str, ...] | None = None  # float64, autocast …: those that were tried and do not work
    fallbacks: tuple[str, ...] | None = None  # operators that the CPU did
    gradients_missing: bool | None = None  # parameters got none, or did not move, with the optimizer made after .to()
    gradients_detail: str | None = None
    before_to_moves_nothing: bool | None = None  # an optimizer made before .to() was seen to move nothing


def directml_exercise_facts(machine: Machine, today: date | None = None) -> DirectmlExerciseFacts:
    rows = [_spelled(row) for row in machine.exercises or () if _is_on_directml(row)]
    tried = [row for row in rows if row.outcome not in (None, "skipped")]
    if not tried:
        return DirectmlExerciseFacts(fallbacks=_fallbacks(machine, rows))
    short = _first(tried, lambda row: bool(_OUT_OF_MEMORY.search(row.detail or "")))
    failed = [row for row in tried if _failed(row) and not _OUT_OF_MEMORY.search(row.detail or "")]
    wrong = _first(tried, lambda row: row.outcome == "wrong" and _speaks_of_numbers(row))
    inference = _first(tried, lambda row: row.name == _INFERENCE_MODE)
    lost = _first(tried, _lost_gradients)
    return DirectmlExerciseFacts(
        works=any(row.name == "matmul" and row.outcome == "ok" for row in tried),
        failed=_place(failed[0]) if failed else "none",
        failed_detail=_outcome(failed[0]) if failed else None,
        failed_also=tuple(f"{_place(row)} ({row.outcome})" for row in failed[1:]) or None,
        out_of_memory=_place(short) if short else "none",
        wrong=_place(wrong) if wrong else "none",
        wrong_detail=wrong.detail if wrong else None,
        inference_mode=inference.outcome if inference else None,
        inference_detail=inference.detail if inference else None,
        types_failed=_types_failed(tried),
        fallbacks=_fallbacks(machine, rows),
        gradients_missing=_gradients_missing(tried, lost),
        gradients_detail=lost.detail if lost else None,
        before_to_moves_nothing=_before_to(tried),
    )


def _is_on_directml(row: Exercise) -> bool:
    device = row.device or ""
    return device.startswith(("privateuseone", "directml", "dml")) or row.name == "import-torch-directml"


def _spelled(row: Exercise) -> Exercise:
    """The names of exercises are words joined by dashes; what somebody wrote by hand may join them otherwise."""
    return msgspec.structs.replace(row, name=(row.name or "unnamed").replace("_", "-"))


def _first(rows: Sequence[Exercise], fits: Callable[[Exercise], bool]) -> Exercise | None:
    return next((row for row in rows if fits(row)), None)


def _failed(row: Exercise) -> bool:
    """Not what has a rule of its own, unless it took the process with it."""
    if row.name in _TYPES or row.name == _INFERENCE_MODE:
        return False
    return row.outcome in _FAILURES


def _place(row: Exercise) -> str:
    """`matmul on privateuseone:1`."""
    where = row.device or ""
    return f"{row.name} on {where}" if where.startswith("privateuseone") else str(row.name)


def _outcome(row: Exercise) -> str:
    words = {"signal": "the process died", "timeout": "it did not end"}.get(row.outcome or "", "it raised an error")
    return f"{words} ({row.detail})" if row.detail else words


def _speaks_of_numbers(row: Exercise) -> bool:
    """A wrong number. Of the optimizers only where they say so: else it is their parameters that did not move."""
    if row.name in _TYPES or row.name == _INFERENCE_MODE:
        return False
    return row.name not in _OF_GRADIENTS or bool(_NUMBERS_ARE_OFF.search(row.detail or ""))


def _lost_gradients(row: Exercise) -> bool:
    if row.outcome != "wrong" or row.name == _BEFORE_TO:
        return False
    if row.name in _OF_GRADIENTS:
        return not _speaks_of_numbers(row)
    return "no gradient" in (row.detail or "")


def _gradients_missing(tried: Sequence[Exercise], lost: Exercise | None) -> bool | None:
    """False only where the exercises that would show it came to an end."""
    if lost is not None:
        return True
    telling = (row for row in tried if row.name in ("gradients", "optimizer", "train-step"))
    ended = any(row.outcome in ("ok", "wrong") for row in telling)
    return False if ended else None


def _before_to(tried: Sequence[Exercise]) -> bool | None:
    row = _first(tried, lambda row: row.name == _BEFORE_TO and row.outcome in ("ok", "wrong"))
    return None if row is None else row.outcome == "wrong"


def _types_failed(tried: Sequence[Exercise]) -> tuple[str, ...] | None:
    rows = [row for row in tried if row.name in _TYPES]
    failed = (_TYPES[row.name or ""] for row in rows if row.outcome != "ok")
    return tuple(dict.fromkeys(failed)) if rows else None


def _fallbacks(machine: Machine, rows: Sequence[Exercise]) -> tuple[str, ...] | None:
    """What the document lists, and what the rows say of it. An operator that no row names was perhaps not reported:
    DirectML warns once per process."""
    listed = machine.torch_directml.cpu_fallbacks if machine.torch_directml else None
    said: list[str] = []
    for detail in (row.detail or "" for row in rows):
        said += _FELL_BACK.findall(detail)
        told = _CPU_DID.search(detail)
        said += told[1].removesuffix(" and more").split(", ") if told else []
    if listed is None and not said:
        return None
    return tuple(sorted({*(listed or ()), *said}))
