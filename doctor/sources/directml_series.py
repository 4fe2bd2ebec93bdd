"""The exercises on the adapters of torch-directml: the default one with every step, then each of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from doctor.sources.base import Json, Missing
from doctor.sources.exercise_events import ADAPTER_STEPS, DIRECTML_STEPS, Event, Series, answer_of, end_of

#: More adapters than this are not exercised: whoever waits has waited long enough.
MOST_ADAPTERS = 4

_FURTHER_CHILDREN = 3
_FURTHER_TIMEOUT_SECONDS = 20.0


class Perform(Protocol):
    """The steps of one adapter in one child, and in at most so many further ones behind deaths (below 0: in none)."""

    def __call__(
        self, device: str, steps: Sequence[str], timeout_seconds: float, further_children: int
    ) -> Series | Missing: ...


def on_adapters(perform: Perform, timeout_seconds: float) -> Json | Missing:
    """The answer of the exercise `directml`. A death on one adapter counts for all: three times a child goes on behind
    one, and no more."""
    first = perform("default", DIRECTML_STEPS, timeout_seconds, _FURTHER_CHILDREN)
    if isinstance(first, Missing):
        return first
    # How fast this machine is, only a child that came to its end can tell.
    taken = max((child["seconds"] for child in first.children if child["outcome"] == "exited"), default=0.0)
    timeout = min(timeout_seconds, max(_FURTHER_TIMEOUT_SECONDS, 3 * taken))
    done = [first]
    for adapter in other_adapters(first.events):
        further = _FURTHER_CHILDREN - sum(series.deaths for series in done)
        series = perform(adapter, ADAPTER_STEPS, timeout, further)
        if isinstance(series, Missing):
            series = Series([end_of(ADAPTER_STEPS[0], "exception", series.detail or series.reason, adapter)], [])
        done.append(series)
    return answer_of("directml", done)


def other_adapters(events: Sequence[Event]) -> tuple[str, ...]:
    """The adapters but the default one, as devices, from what `list-adapters` told."""
    listed = (event["facts"] for event in events if event["name"] == "list-adapters" and event.get("facts"))
    facts: Event = next(listed, {})
    count, default = facts.get("count"), facts.get("default")
    if not isinstance(count, int) or not isinstance(default, int):
        return ()
    return tuple(f"privateuseone:{index}" for index in range(min(count, MOST_ADAPTERS)) if index != default)
