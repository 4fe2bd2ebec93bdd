"""The steps that a target is exercised with, and what is made of the lines that its children print.

One line stands before and after each step (see `doctor/inside/exercises.py`). A child that dies leaves a step open: the
death is charged to it, and the steps behind it are left for the next child.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.processes.run import Ended
from doctor.sources.base import Json, Missing
from doctor.sources.inside import signal_of_status, telling_line

CPU_STEPS = (
    "affinity-before-import",
    "import-torch",
    "affinity-after-import",
    "threads",
    "cpu-capability",
    "build",
    "import-numpy",
    "libraries",
    "matmul",
    "conv",
    "conv1x1",
    "dtype-bf16",
    "train-step",
    "numpy-bridge",
    "affinity-of-threads",
    "is-available",
)

#: What every adapter of DirectML is exercised with.
ADAPTER_STEPS = ("open-adapter", "matmul", "conv", "eval-forward", "train-step")

#: What its default adapter is exercised with. What is likely to end the process comes late.
DIRECTML_STEPS = (
    "import-torch-directml",
    "list-adapters",
    *ADAPTER_STEPS,
    "gradients",
    "gradient-parity",
    "operators",
    "optimizer-foreach-off",
    "optimizer",
    "optimizer-inside-loop",
    "optimizer-before-to",
    "copy-between-adapters",
    "dtype-fp64",
    "inference-mode",
    "autocast",
    "lstm",
)
#: What every GPU of a ROCm build is exercised with.
GPU_STEPS = ("open-device", "matmul", "dtype-fp16", "conv", "train-step")

#: What its first GPU is exercised with. The step on the CPU stands here because it wakes HIP as well.
ROCM_STEPS = ("list-devices", "train-step-on-cpu", *GPU_STEPS, "config", "libraries")

#: What a GPU is exercised with once more while the others are hidden.
ALONE_STEPS = ("list-devices", *GPU_STEPS)

#: Where steps of a ROCm build happen that do not happen on the GPU of their child.
_NOT_ON_THE_GPU = {
    **dict.fromkeys(("import-torch", "list-devices", "config", "libraries"), "cuda"),
    "train-step-on-cpu": "cpu",
}

#: What to try next when a step ended its child: it tells two causes apart.
_SECOND_TRIES = {"conv1x1": "conv1x1-onednn-off"}

#: Steps without which there is no other, and what is said of the others then.
_NEEDED_BY_ALL = {
    "import-torch": "PyTorch was not imported",
    "import-torch-directml": "torch-directml was not imported",
    "list-adapters": "the adapters could not be listed",
    "open-adapter": "the adapter could not be opened",
    "list-devices": "the GPUs could not be counted",
    "open-device": "the GPU could not be opened",
}

Event = dict[str, Json]


class Series(msgspec.Struct, frozen=True):
    """What came of a list of steps: the events of all children, and the children themselves."""

    events: list[Event]
    children: list[Json]

    @property
    def deaths(self) -> int:
        return sum(child["outcome"] != "exited" or child["name"] != "exit 0" for child in self.children)


NO_FURTHER = "PyTorch could not be exercised any further"


def answer_of(device: str, done: Sequence[Series]) -> Json:
    """Several series as the one answer of an exercise."""
    events = [event for series in done for event in series.events]
    return {"device": device, "events": events, "children": [child for series in done for child in series.children]}


def listed_devices(events: Sequence[Event]) -> int | None:
    """How many GPUs HIP counted; None where it was not asked or did not answer."""
    listed = (event["facts"] for event in events if event["name"] == "list-devices" and event.get("outcome") == "ok")
    facts: Event = next(listed, {})
    count = facts.get("count")
    return count if isinstance(count, int) else None


def went_well(answer: Json | Missing | None, step: str) -> bool:
    """Did a step of an answer end well?"""
    events = answer.get("events", ()) if isinstance(answer, dict) else ()
    return any(event["name"] == step and event.get("outcome") == "ok" for event in events)


def adapter_in(events: Sequence[Event]) -> str | None:
    """The adapter that a child took when it was told to take the default one."""
    devices = (str(event.get("device")) for event in events)
    return next((device for device in devices if device.startswith("privateuseone:")), None)


def on_device(device: str, event: Event) -> Event:
    """An event that tells where it happened; what its child could not tell any more is on `device`."""
    where = "directml" if device == "default" else device
    if device.startswith("cuda"):
        where = _NOT_ON_THE_GPU.get(event["name"], device)
    return {**event, "device": event.get("device") or where}


def read_events(stdout: bytes) -> list[Event]:
    """The begin and end lines in what a child printed; anything else that got there is passed over."""
    events = []
    for line in stdout.splitlines():
        try:
            told = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            continue
        if isinstance(told, dict) and told.get("event") in ("begin", "end") and isinstance(told.get("name"), str):
            events.append(told)
    return events


def continued(told: list[Event], left: Sequence[str], ended: Ended) -> tuple[list[Event], list[str]]:
    """The events of one child, completed by its death, and the steps for the next child (none: no use in going on).

    The import that a further child repeats is left out while it goes well: nobody asked for it again.
    """
    over = {event["name"] for event in told if event["event"] == "end"}
    begun = [event for event in told if event["event"] == "begin" and event["name"] not in over]
    kept = [event for event in told if not event.get("again")]
    waiting = [name for name in left if name not in over]
    if ended.ok and not begun:
        return kept, waiting
    # A death between two steps is charged to the one that came next.
    guilty = begun[-1]["name"] if begun else (waiting[0] if waiting else None)
    if guilty is None:
        return kept, []
    again = {"again": True} if begun and begun[-1].get("again") else {}
    kept.append({**again, **end_of(guilty, *_death(ended))})
    waiting = [name for name in waiting if name != guilty]
    if guilty in _NEEDED_BY_ALL:
        return kept + [end_of(name, "skipped", _NEEDED_BY_ALL[guilty]) for name in waiting], []
    further = [_SECOND_TRIES[guilty]] if guilty in _SECOND_TRIES else []
    return kept, further + waiting


def _death(ended: Ended) -> tuple[str, str]:
    """Outcome and detail of a step whose process ended before it did."""
    if ended.outcome in ("signal", "timeout"):
        return ended.outcome, ended.name
    name = signal_of_status(ended.status)
    if name is not None:
        return "signal", name
    last = telling_line(ended.stderr)
    return "exception", f"the process ended with {ended.name}" + (f": {last}" if last else "")


def end_of(name: str, outcome: str, detail: str, device: str | None = None) -> Event:
    told: Event = {"event": "end", "name": name, "outcome": outcome, "detail": detail, "seconds": None, "facts": {}}
    return told if device is None else {**told, "device": device}


def last_words(ended: Ended) -> str:
    last = telling_line(ended.stderr)
    return f"the exercises did not begin ({ended.name})" + (f": {last}" if last else "")


def child_row(ended: Ended) -> Json:
    stderr = ended.stderr[-4000:].decode("utf-8", "replace")
    return {"outcome": ended.outcome, "name": ended.name, "seconds": ended.seconds, "stderr": stderr}
