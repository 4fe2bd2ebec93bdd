"""What the exercises of one device told, as rows of the machine document and as the facts of each step."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.machine.model import Exercise
from doctor.sources.base import Missing, Source

#: Steps that exercise something. The others only ask; they become a row when the process died of them.
EXERCISES = (
    "import-torch",
    "matmul",
    "conv",
    "conv1x1",
    "conv1x1-onednn-off",
    "dtype-bf16",
    "train-step",
    "numpy-bridge",
)
_DEATHS = ("signal", "timeout")


class Step(msgspec.Struct, frozen=True):
    """The end of one step. `again`: the import of a child that went on behind a death."""

    name: str
    outcome: str
    event: str = "end"
    detail: str | None = None
    seconds: float | None = None
    facts: dict[str, Any] = {}
    again: bool = False
    device: str | None = None  # where it is not that of the whole answer
    with_mask: bool | None = None  # of a GPU: the others were hidden meanwhile

    @property
    def died(self) -> bool:
        return self.outcome in _DEATHS


class Exercised(msgspec.Struct, frozen=True):
    """All steps of one device, in the order in which they ended."""

    device: str
    steps: tuple[Step, ...]

    def step(self, name: str) -> Step | None:
        """The step of that name, as far as it was one of the first child's, and all GPUs were visible to it."""
        steps = (step for step in self.steps if not step.again and not step.with_mask)
        return next((step for step in steps if step.name == name), None)

    def fact(self, name: str, fact: str) -> Any:
        """One fact of one step; None where the step did not end well or does not know."""
        step = self.step(name)
        return step.facts.get(fact) if step is not None and step.outcome == "ok" else None

    def rows(self, names: tuple[str, ...] | None = EXERCISES) -> tuple[Exercise, ...]:
        """A row for each step of these names, or for every step; a death is always one."""
        return tuple(
            Exercise(
                name=step.name,
                device=step.device or self.device,
                outcome=step.outcome,
                detail=_detail(step),
                seconds=None if step.seconds is None else round(step.seconds, 6),
                with_mask=step.with_mask,
            )
            for step in self.steps
            if names is None or step.name in names or step.died
        )


def exercised(source: Source, device: str) -> Exercised | Missing:
    """The exercises of a device. Raises msgspec.ValidationError for an answer of another shape."""
    told = source.exercise(device)
    if isinstance(told, Missing):
        return told
    events = told.get("events") if isinstance(told, dict) else None
    ends = [event for event in events or () if isinstance(event, dict) and event.get("event") == "end"]
    return Exercised(device, msgspec.convert(tuple(ends), tuple[Step, ...]))


def _detail(step: Step) -> str | None:
    """What came of a step in words: of one that went well, what it warned of."""
    fell_back = step.facts.get("fell_back")
    if step.detail is None and isinstance(fell_back, list) and fell_back:
        return f"the CPU did {', '.join(map(str, fell_back[:3]))}" + (" and more" if len(fell_back) > 3 else "")
    warnings = step.facts.get("warnings")
    if step.detail is None and isinstance(warnings, list) and warnings:
        return str(warnings[0])
    return step.detail
