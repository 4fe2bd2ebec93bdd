"""The plan of a run, from what is known of the machine: which settings are worth a process, and why others are not."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.derive.budget import budget_facts
from doctor.derive.openblas import numpy_uses_openblas, openblas_threads
from doctor.machine.model import Machine
from doctor.tune.arms import OPENBLAS_THREADS, THREADS, Addition, Arm, thread_arms
from doctor.tune.axes_advice import ADVICE_AXES, memory_limit, usable
from doctor.tune.axes_variables import VARIABLE_AXES, Asked
from doctor.tune.devices.plan import DevicesPlan, devices_plan
from doctor.tune.layout import layout_of
from doctor.tune.peaks import Peaks, peaks_of
from doctor.tune.plan import Plan
from doctor.tune.skipped import Skipped
from doctor.tune.subject import subject_of
from doctor.tune.trials import Trial
from doctor.tune.wanted import Wanted


def plan_for(machine: Machine, wanted: Wanted, environ: Mapping[str, str]) -> Plan:
    """What `wanted` means on this machine, a completed document. `environ` is what the target inherits.

    Raises ValueError for a plan that cannot be run: no workload, or one twice.
    """
    asked = Asked(machine, environ, wanted)
    arms, skipped = _arms(asked)
    additions: list[Addition] = []
    for axis, choose in VARIABLE_AXES.items():
        if wanted.asks_for(axis):
            for found in _usable(axis, asked) or choose(asked):
                (skipped if isinstance(found, Skipped) else additions).append(found)  # type: ignore[arg-type]
    trials: list[Trial] = []
    for axis, plan_trial in ADVICE_AXES.items():
        if wanted.asks_for(axis):
            why = usable(axis, asked)
            for planned in [Skipped(axis, why)] if why is not None else plan_trial(asked):
                (skipped if isinstance(planned, Skipped) else trials).append(planned)  # type: ignore[arg-type]
    layout, peaks = layout_of(machine), _peaks(asked, skipped)
    return Plan(
        seed=wanted.seed,
        workloads=wanted.workloads,
        arms=arms,
        additions=tuple(additions),
        budget_seconds=wanted.budget_seconds,
        default_threads=_default_threads(asked),
        subject=subject_of(machine, wanted.command),
        trials=tuple(trials),
        memory_bytes=memory_limit(machine),
        batch=wanted.batch,
        peaks=peaks,
        skipped=tuple(skipped),
        devices=_devices(asked),
        all_cpus=layout.all_cpus or None if layout is not None else None,
    )


def _devices(asked: Asked) -> DevicesPlan | None:
    """Those that the user asked for. Raises ValueError where one of them is none."""
    wanted = asked.wanted
    if not wanted.devices:
        return None
    return devices_plan(
        asked.machine,
        wanted.devices,
        wanted.workloads,
        wanted.mode,
        asked.env,
        wanted_batch=wanted.batch,
        free_bytes=memory_limit(asked.machine),
    )


def _peaks(asked: Asked, skipped: list[Skipped]) -> Peaks | None:
    torch = asked.machine.torch
    if not asked.wanted.asks_for("roofline"):
        return None
    if asked.wanted.own_command or asked.wanted.numpy_only or torch is None or torch.installed is not True:
        skipped.append(Skipped("roofline", "it is measured with torch, and this run uses none of it"))
        return None
    peaks = peaks_of(asked.machine)
    if peaks is None:
        skipped.append(Skipped("roofline", "how many cores there are is not known"))
    return peaks


def _usable(axis: str, asked: Asked) -> list[Skipped]:
    """One row where a variable that only torch reads meets a run without torch."""
    if axis == "openblas":
        return []
    if asked.wanted.numpy_only:
        return [Skipped(axis, "NumPy does not read these variables")]
    if asked.machine.torch is None or asked.machine.torch.installed is not True:
        return [Skipped(axis, "no torch is known to be installed for this Python")]
    return []


def _arms(asked: Asked) -> tuple[tuple[Arm, ...], list[Skipped]]:
    if not asked.wanted.asks_for("threads"):
        return (), []
    layout = layout_of(asked.machine)
    if layout is None:
        return (), [Skipped("threads", "how many CPUs this process may use is not known")]
    torch = asked.machine.torch
    with_mkl = torch is not None and torch.blas == "mkl" and not asked.wanted.numpy_only
    arms = thread_arms(
        layout,
        default_threads=_default_threads(asked),
        env=asked.env,
        count=_count(asked),
        mkl_cores=budget_facts(asked.machine).physical_cores if with_mkl else None,
    )
    if not arms:
        return (), [Skipped("threads", "with one CPU there is nothing to choose")]
    return arms, []


def _count(asked: Asked) -> str:
    """The variable that carries the number of threads."""
    openblas = asked.wanted.numpy_only and numpy_uses_openblas(asked.machine)
    return OPENBLAS_THREADS if openblas else THREADS


def _default_threads(asked: Asked) -> int | None:
    """What runs without any setting. A user's own command may set anything."""
    if asked.wanted.own_command:
        return None
    if asked.wanted.numpy_only:
        return openblas_threads(asked.machine) if numpy_uses_openblas(asked.machine) else None
    return asked.machine.torch.num_threads if asked.machine.torch else None
