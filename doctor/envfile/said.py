"""The comments of an env file: which gain belongs to what, and what was tried and not kept. Plain ASCII sentences."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.envfile.content import Evidence, Gain
from doctor.measure.verdict import MAX_NEEDED_PAIRS, gain_of
from doctor.tune.confirm import Confirmation
from doctor.tune.result import TuneResult

_MOST_ARMS = 24

#: The subject of a plan in the words of a person, in this order.
_SUBJECT = {
    "cpu": "{}",
    "cpus": "CPUs {}",
    "hardware": "hardware {}",
    "torch": "torch {}",
    "python": "Python {}",
    "driver": "driver {}",
}


def head_of(result: TuneResult, evidence: Evidence) -> tuple[str, ...]:
    """What was measured, where, and what it gives."""
    measured = f"Measured by amd-doctor {evidence.version} on {evidence.date}{_where(evidence)}."
    workloads = f"Workloads: {', '.join(evidence.workloads)}." if evidence.workloads else ""
    lines = [measured, workloads, *_gains(evidence), *(_nothing(result) if _empty(evidence) else ())]
    if evidence.disturbed:
        lines.append("The run was disturbed: measure again on a quiet machine before you rely on it.")
    return tuple(line for line in lines if line)


def _where(evidence: Evidence) -> str:
    told = {key: value for key, value in evidence.subject.items() if value not in ("", "none", "unknown")}
    if told.get("cpus", "").endswith("CPUs"):  # their number, where no list is known
        del told["cpus"]
    known = [words.format(told[key]) for key, words in _SUBJECT.items() if key in told]
    return f": {', '.join(known)}" if known else ""


def _empty(evidence: Evidence) -> bool:
    return evidence.file is None and evidence.run is None and evidence.device is None


def _gains(evidence: Evidence) -> Iterator[str]:
    against = "fresh processes against the settings of that session"
    if evidence.file is not None:
        yield f"These variables alone, as a sourced file gives them: {gain_text(evidence.file)}, {against}."
    if evidence.run is not None:
        begin = "With" if evidence.file is not None else "Only with"
        yield f"{begin} the CPU mask, as amd-doctor run --env FILE -- COMMAND sets it: {gain_text(evidence.run)}."
    if evidence.run is not None and evidence.file is None:
        yield "Without the mask nothing was shown to be faster, so a sourced file sets no tuning variable."
    if evidence.device is not None:
        device = evidence.variables.get("AMD_DOCTOR_DEVICE")
        yield f"On {device} against the CPU, tuned: {gain_text(evidence.device)}, the same work on both."


def gain_text(gain: Gain) -> str:
    """`+24.1 % throughput (95 %: +19.0 to +29.3 %), 12 pairs`."""
    return f"{percent(gain.gain)} % throughput{_interval(gain.low, gain.high)}, {gain.pairs} pairs"


def _interval(low: float | None, high: float | None) -> str:
    return f" (95 %: {percent(low)} to {percent(high)} %)" if low is not None and high is not None else ""


def percent(share: float) -> str:
    """`+24.1`, without its sign `%`."""
    return f"{share * 100:+.1f}"


def _nothing(result: TuneResult) -> Iterator[str]:
    yield "Nothing was shown to be faster than the settings of that session: keep them."
    if result.ending == "budget-too-small":
        needed = result.needed_seconds
        yield f"The time was too short to tell{f'; about {needed:.0f} s would do' if needed is not None else ''}."
    elif result.ending != "confirmed" and result.detail:
        yield f"The run ended early: {result.detail}."


def tail_of(result: TuneResult, left_out: tuple[str, ...]) -> tuple[str, ...]:
    """What was tried and not kept."""
    rows = [*left_out, *_candidates(result), *_arms(result)]
    return ("Tried and not kept:", *(f"  {row}" for row in rows)) if rows else ()


def _candidates(result: TuneResult) -> Iterator[str]:
    for candidate in result.candidates:
        if not candidate.exportable:
            yield f"{candidate.name}: {_verdict(candidate)}"


def _verdict(candidate: Confirmation) -> str:
    verdict = candidate.verdict
    if candidate.failed:
        return f"failed ({candidate.failed})"
    gain = "" if verdict.gain is None else f"{percent(verdict.gain)} %{_interval(verdict.gain_low, verdict.gain_high)}"
    words = ", ".join(part for part in (verdict.word, gain, f"{verdict.pairs} pairs") if part)
    if candidate.slower_on:
        return f"{words}; slower on {', '.join(candidate.slower_on)}"
    if verdict.word == "undecided" and verdict.needed_pairs is not None:
        most = verdict.needed_pairs >= MAX_NEEDED_PAIRS
        return f"{words}; {'more than ' if most else 'about '}{verdict.needed_pairs} pairs would have decided it"
    return words


def _arms(result: TuneResult) -> Iterator[str]:
    rows = [arm for arm in result.arms if arm.fate != "chosen"]
    for arm in rows[:_MOST_ARMS]:
        if arm.fate == "not-tried":
            yield f"{arm.name}: not tried, the time was too short"
        elif arm.fate == "failed":
            yield f"{arm.name}: failed ({arm.detail})"
        elif arm.log_ratio is not None:
            yield f"{arm.name}: {percent(gain_of(arm.log_ratio))} % in the search, an estimate"
    if len(rows) > _MOST_ARMS:
        yield f"and {len(rows) - _MOST_ARMS} more"
