"""What a run sets out to do, fixed before anything is measured and stored with it."""

from __future__ import annotations

import msgspec

from doctor.measure.units import DEFAULT, Setting
from doctor.tune.arms import Addition, Arm, is_default
from doctor.tune.budget import DEFAULT_SECONDS
from doctor.tune.devices.plan import DevicesPlan
from doctor.tune.peaks import Peaks
from doctor.tune.skipped import Skipped
from doctor.tune.trials import Trial


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """`arms` and `additions` stand in their order of priority; the default is none of them. `workloads` is the
    objective: their geometric mean. `default_threads`: what the target starts without any setting, where known.

    `subject` says what was measured (hardware, torch, a digest of the user's command), so that a saved run is only
    resumed on the same. `skipped`: axes that this machine leaves nothing to try on, for the screen. `trials`: what ends
    as a recommendation; `memory_bytes` and `batch` belong to the batch size: how far a process may grow, and what the
    user wants. `peaks`: what the hardware could do, where the run is to compare with it. `all_cpus`: what a setting
    without a mask runs on, where known. `devices`: those to compare the CPU with, where any
    were asked for. Raises ValueError for a plan that cannot be run.
    """

    seed: int
    workloads: tuple[str, ...]
    arms: tuple[Arm, ...]
    additions: tuple[Addition, ...] = ()
    budget_seconds: float = DEFAULT_SECONDS
    default_threads: int | None = None
    subject: dict[str, str] = {}
    skipped: tuple[Skipped, ...] = ()
    trials: tuple[Trial, ...] = ()
    memory_bytes: int | None = None
    batch: int | None = None
    peaks: Peaks | None = None
    all_cpus: str | None = None
    devices: DevicesPlan | None = None

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        if not self.workloads or len(set(self.workloads)) != len(self.workloads):
            raise ValueError("a plan needs workloads, each once")
        if len(set(names)) != len(names) or DEFAULT in names:
            raise ValueError("the arms of a plan need names of their own")


def variables_alone(arm: Arm, default_threads: int | None) -> Arm | None:
    """The arm as a sourced file would give it, without its mask. None where that is the arm itself, or the default."""
    alone = Setting(variables=arm.setting.variables)
    if arm.setting.cpus is None or is_default(alone, default_threads) or not alone.variables:
        return None
    return Arm(arm.name + VARIABLES_ALONE, alone, arm.title)


#: Behind the name of the second candidate.
VARIABLES_ALONE = " without its mask"
