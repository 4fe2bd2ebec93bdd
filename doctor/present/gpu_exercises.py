"""What the screen says of the exercises on the GPUs of a ROCm build: how many calculate right, and what failed."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.derive.gpu_failures import calculated_right
from doctor.machine.model import Exercise
from doctor.present.text import listed, plural


def is_on_gpu(row: Exercise) -> bool:
    return (row.device or "").startswith("cuda")


def devices_text(exercises: Sequence[Exercise]) -> tuple[str, str]:
    """`1 of 2 GPUs calculates right`, and what was not right on the others: `matmul on cuda:1 (SIGSEGV)`. Either may be
    empty. What was tried with the other GPUs hidden says nothing of how a program finds them."""
    tried = [row for row in exercises if is_on_gpu(row) and not row.with_mask and row.outcome not in (None, "skipped")]
    places = [place for place in dict.fromkeys(row.device or "" for row in tried) if ":" in place]
    good = sum(_all_right([row for row in tried if row.device == place]) for place in places)
    bad = [failed_text(row) for row in tried if row.outcome != "ok"]
    verb = "calculates" if good == 1 else "calculate"
    right = f"{good} of {plural(len(places), 'GPU')} {verb} right" if places else ""
    return right, f"not right: {listed(bad, at_most=3)}" if bad else ""


def _all_right(rows: Sequence[Exercise]) -> bool:
    return all(row.outcome == "ok" for row in rows) and any(calculated_right(row) for row in rows)


def failed_text(row: Exercise) -> str:
    """`conv on cuda:1 (no end in time)`."""
    where = f" on {row.device}" if row.device and row.device != "cpu" else ""
    why = {"wrong": "a wrong result", "timeout": "no end in time"}.get(row.outcome or "", row.detail or row.outcome)
    return f"{row.name}{where} ({why})"
