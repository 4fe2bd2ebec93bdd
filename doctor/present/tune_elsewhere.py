"""A result of `tune` beside a Python that has no PyTorch: with which one it was measured."""

from __future__ import annotations

from doctor.machine.model import Machine
from doctor.present.language import say
from doctor.tune.result import TuneResult
from doctor.tune.subject import NO_TORCH, subject_of


def measured_elsewhere(machine: Machine, result: TuneResult) -> str:
    """One sentence, `""` where the PyTorch that was measured is that of the machine."""
    measured = result.plan.subject.get("torch", NO_TORCH)
    if measured == NO_TORCH or subject_of(machine)["torch"] != NO_TORCH:
        return ""
    return say("Measured with torch {version} of another Python: this one has none.", version=measured)
