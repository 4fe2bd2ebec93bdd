"""What the screen says of the exercises on the GPUs of a ROCm build: how many calculate right, and what failed."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.derive.gpu_failures import calculated_right
from doctor.machine.model import Exercise
from doctor.present.language import phrase, say, told
from doctor.present.text import listed, plural

_OUTCOMES = {"wrong": phrase("a wrong result"), "timeout": phrase("no end in time")}


def is_on_gpu(row: Exercise) -> bool:
    return (row.device or "").startswith("cuda")


def devices_text(exercises: Sequence[Exercise]) -> tuple[str, str]:
    """`1 of 2 GPUs calculates right`, and what was not right on the others: `matmul on cuda:1 (SIGSEGV)`. Either may be
    empty. What was tried with the other GPUs hidden says nothing of how a program finds them."""
    tried = [row for row in exercises if is_on_gpu(row) and not row.with_mask and row.outcome not in (None, "skipped")]
    places = [place for place in dict.fromkeys(row.device or "" for row in tried) if ":" in place]
    good = sum(_all_right([row for row in tried if row.device == place]) for place in places)
    bad = [failed_text(row) for row in tried if row.outcome != "ok"]
    right = ""
    if places:
        of_what = {"count": good, "gpus": plural(len(places), "GPU")}
        right = say("{count} of {gpus} calculate right", **of_what)
        right = say("{count} of {gpus} calculates right", **of_what) if good == 1 else right
    return right, say("not right: {names}", names=listed(bad, at_most=3)) if bad else ""


def _all_right(rows: Sequence[Exercise]) -> bool:
    return all(row.outcome == "ok" for row in rows) and any(calculated_right(row) for row in rows)


def failed_text(row: Exercise) -> str:
    """`conv on cuda:1 (no end in time)`."""
    name = row.name or ""
    if row.device and row.device != "cpu":
        name = say("{exercise} on {device}", exercise=name, device=row.device)
    words = _OUTCOMES.get(row.outcome or "")
    why = say(words) if words else told(str(row.detail or row.outcome))
    return say("{exercise} ({reason})", exercise=name, reason=why)
