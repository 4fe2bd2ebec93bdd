"""The exercises on the GPUs of a ROCm build: which comes when, and which once more with the others hidden from HIP.

Each GPU has a child of its own, in HIP's order, all of them being visible: that is how a program meets them. Where one
of several does not get through, or where HIP dies of counting them, each that did not get through is tried again as
the only one that HIP sees. What works alone and not together is in the way of nobody but the other GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from doctor.sources.base import Json, Missing
from doctor.sources.exercise_events import (
    ALONE_STEPS,
    GPU_STEPS,
    NO_FURTHER,
    ROCM_STEPS,
    Event,
    Series,
    answer_of,
    end_of,
    listed_devices,
)

#: More GPUs than this are counted and described, but not exercised.
MOST_GPUS = 8
#: Where HIP does not live to count the GPUs: so many are tried alone, until one is not there.
MOST_UNCOUNTED = 4
#: A driver that hung this often hangs again.
MOST_HANGS = 2

#: Errors in later steps are those of one GPU; errors here may come from the company that it is in.
_BEGINNING = ("open-device", "matmul")

_FURTHER_CHILDREN = 3
_FURTHER_TIMEOUT_SECONDS = 20.0

#: Two names of one mask; HIP takes the first that is set.
_MASKS = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")

_HIP = re.compile(r"""^hip\b[^=\n]*=\s*(['"])([^'"\n]+)\1""", re.MULTILINE)
_NO_HIP = "0.0.0"  # configured for ROCm, which was not found


class Perform(Protocol):
    """The steps of one GPU in one child, and in further ones behind each death."""

    def __call__(
        self,
        device: str,
        steps: Sequence[str],
        timeout_seconds: float,
        further_children: int,
        environ: Mapping[str, str] | None = None,
    ) -> Series | Missing: ...


def is_for_rocm(version_file: str | None) -> bool:
    """Does `torch/version.py` say that this PyTorch was built for ROCm?"""
    found = _HIP.search(version_file or "")
    return found is not None and found[2] != _NO_HIP


def on_gpus(
    perform: Perform, environ: Mapping[str, str], timeout_seconds: float, taken_seconds: float
) -> Json | Missing:
    """Every GPU that HIP sees, and those that failed once more, alone. Hangs are not looked for a third time.

    `taken_seconds` is what the exercises on the CPU took: no GPU gets less than three times that, or the timeout.
    """
    first = perform("cuda:0", ROCM_STEPS, timeout_seconds, _FURTHER_CHILDREN)
    if isinstance(first, Missing):
        return first
    timeout = _further_timeout([taken_seconds, *_taken(first)], timeout_seconds)
    count = listed_devices(first.events)
    done = [first]
    for index in range(1, min(count or 0, MOST_GPUS)):
        done.append(_further(perform, f"cuda:{index}", timeout, done))
    together = tuple(done)
    for index in _to_try_alone(together, count):
        if _hangs(done) >= MOST_HANGS:
            break
        alone = perform("cuda:0", ALONE_STEPS, timeout, 0, with_one_visible(environ, index))
        if isinstance(alone, Missing):
            break
        done.append(_as_device(alone, index))
        if listed_devices(alone.events) == 0:  # there is no further one
            break
    return answer_of("rocm", done)


def _taken(series: Series) -> list[float]:
    return [child["seconds"] for child in series.children if child["outcome"] == "exited"]


def _further_timeout(taken_seconds: Sequence[float], timeout_seconds: float) -> float:
    """How fast this machine is, only children that came to their end can tell."""
    return min(timeout_seconds, max(_FURTHER_TIMEOUT_SECONDS, 3 * max(taken_seconds)))


def _further(perform: Perform, device: str, timeout_seconds: float, done: Sequence[Series]) -> Series:
    """Another GPU. A death on one counts for all, but each has a first child, until the driver only hangs."""
    if _hangs(done) >= MOST_HANGS:
        return Series([end_of(name, "skipped", NO_FURTHER, device) for name in GPU_STEPS], [])
    left = max(_FURTHER_CHILDREN - sum(series.deaths for series in done), 0)
    series = perform(device, GPU_STEPS, timeout_seconds, left)
    if isinstance(series, Missing):
        return Series([end_of(GPU_STEPS[0], "exception", series.detail or series.reason, device)], [])
    return series


def _hangs(done: Sequence[Series]) -> int:
    return sum(child["outcome"] == "timeout" for series in done for child in series.children)


def _to_try_alone(together: Sequence[Series], count: int | None) -> Sequence[int]:
    """The GPUs that did not get through, where there are several or nobody knows how many."""
    if count is None:
        return range(MOST_UNCOUNTED)
    if count < 2:
        return ()
    events = [event for series in together for event in series.events]
    return [index for index in range(min(count, MOST_GPUS)) if _got_stuck(events, f"cuda:{index}")]


def _got_stuck(events: Sequence[Event], device: str) -> bool:
    """It died or hung; or it raised an error already where every calculation begins."""
    of_it = [event for event in events if event["device"] == device]
    died = any(event.get("outcome") in ("signal", "timeout") for event in of_it)
    return died or any(event.get("outcome") == "exception" and event["name"] in _BEGINNING for event in of_it)


def with_one_visible(environ: Mapping[str, str], index: int) -> dict[str, str]:
    """The environment in which HIP sees only that one of the GPUs which it sees now. What a mask shows already is
    counted by its place there."""
    mask = next((environ[name] for name in _MASKS if environ.get(name)), "")
    shown = [part.strip() for part in mask.split(",") if part.strip()]
    one = shown[index] if index < len(shown) else str(index)
    return {**{name: value for name, value in environ.items() if name not in _MASKS}, _MASKS[0]: one}


def _as_device(alone: Series, index: int) -> Series:
    """What a GPU did while it was the only one, told of the number that it has among all."""
    events = [
        {**event, "with_mask": True, "device": f"cuda:{index}" if event["device"] == "cuda:0" else event["device"]}
        for event in alone.events
    ]
    return msgspec.structs.replace(alone, events=events)
