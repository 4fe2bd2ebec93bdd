"""Before a run of `tune`: the machine and the Python that is measured, what can be measured there, and the plan."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from doctor.cli.inputs import Given, TargetSearch, Unusable, from_this_machine, shown_path, topology_of_this_machine
from doctor.cli.tune_options import Asked
from doctor.derive.facts import complete
from doctor.derive.versions import release_below
from doctor.machine.model import Machine
from doctor.measure.command import CannotRun, resolved
from doctor.measure.workloads import COMMAND, MODES, WORKLOADS, expand
from doctor.present.text import clean
from doctor.tune.axes import plan_for
from doctor.tune.budget import DEFAULT_SECONDS
from doctor.tune.devices.plan import seconds_for
from doctor.tune.plan import Plan
from doctor.tune.wanted import Wanted, axes_named

#: torch.autocast on the CPU came with it; `doctor/inside/worker.py` refuses older ones.
OLDEST_TORCH = (1, 10)
_USUAL_MODE = "train"


class Prepared(msgspec.Struct, frozen=True):
    """`python` is the interpreter that runs the workloads; None for a user's own command without one."""

    given: Given
    machine: Machine  # completed
    plan: Plan
    python: str | None


def wanted_of(asked: Asked) -> Wanted:
    """What the plan is made from. Raises UsageError for names that nothing has."""
    try:
        workloads = (COMMAND,) if asked.command else expand(asked.workloads or MODES[asked.mode or _USUAL_MODE])
        axes = axes_named(asked.axes)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error
    return Wanted(
        workloads=workloads,
        seed=secrets.randbits(32) if asked.seed is None else asked.seed,
        mode=None if asked.command or asked.workloads else asked.mode or _USUAL_MODE,
        axes=axes,
        budget_seconds=DEFAULT_SECONDS if asked.budget_seconds is None else asked.budget_seconds,
        command=command_digest(asked) if asked.command else None,
        batch=asked.batch,
        devices=asked.devices,
    )


def command_digest(asked: Asked) -> str:
    """What tells one command from another, without saying it: its words, where it runs, and what counts in it."""
    said = [list(asked.command), str(Path.cwd()), asked.metric, asked.higher_is_better]
    return hashlib.sha256(json.dumps(said).encode("utf-8", "surrogateescape")).hexdigest()


def prepared(asked: Asked, wanted: Wanted, *, timeout_seconds: float) -> Prepared:
    """The plan on this machine. Raises Unusable where what is asked for cannot be measured here."""
    given, python = _looked(asked, timeout_seconds=timeout_seconds)
    for crash in given.collected.crashed:
        click.echo(f"amd-doctor: {crash.part} failed: {clean(crash.detail)}", err=True)
    machine = complete(given.collected.machine)
    if not asked.command:
        refuse_target(machine, wanted.workloads, python or "this Python")
    try:
        plan = plan_for(machine, wanted, os.environ)
    except ValueError as error:
        raise click.UsageError(f"--device: {error}.") from error
    return Prepared(given, machine, _with_time(plan, asked), python)


def _with_time(plan: Plan, asked: Asked) -> Plan:
    """With more time where devices are compared and the user did not say how much."""
    devices = len(plan.devices.devices) if plan.devices is not None else 0
    if asked.budget_seconds is not None or not devices:
        return plan
    return msgspec.structs.replace(plan, budget_seconds=seconds_for(devices))


def _looked(asked: Asked, *, timeout_seconds: float) -> tuple[Given, str | None]:
    """This machine, and the Python whose PyTorch the axes are chosen for: that of the command, where it is one."""
    named = asked.python or (_python_of(asked.command) if asked.command else None)
    search = TargetSearch(named)
    try:
        given = from_this_machine(search, exercises=True, timeout_seconds=timeout_seconds)
    except Unusable:
        if not asked.command or asked.python is not None:
            raise
        return topology_of_this_machine(), None  # a command needs no Python that the doctor can read
    return given, search.target().path


def _python_of(command: tuple[str, ...]) -> str | None:
    """The command's own program where that is a Python. Raises Unusable where there is no such program."""
    try:
        program = resolved(command, os.environ, str(Path.cwd()))
    except CannotRun as error:
        raise Unusable(clean(str(error))) from error
    return program if Path(program).name.lower().startswith("python") else None


def refuse_target(machine: Machine, workloads: Iterable[str], python: str) -> None:
    """Raises Unusable, in one sentence with what to do, where the workloads cannot run in that Python."""
    needs = {WORKLOADS[name].needs for name in workloads}
    where = clean(shown_path(python))
    if "torch" in needs:
        _refuse_torch(machine, where)
    if "numpy" in needs and machine.packages is not None and "numpy" not in machine.packages:
        raise Unusable(f"there is no NumPy in {where}: install it there, or name another Python with --python PATH")


def _refuse_torch(machine: Machine, where: str) -> None:
    torch = machine.torch
    if torch is None or torch.installed is None:
        return
    if not torch.installed:
        raise Unusable(
            f"there is no PyTorch in {where}: `amd-doctor plan` says how to install it; --python PATH names another "
            "Python, and --workload numpy-gemm measures NumPy alone"
        )
    if release_below(torch.version, OLDEST_TORCH):
        oldest = ".".join(map(str, OLDEST_TORCH))
        raise Unusable(
            f"PyTorch {torch.version} in {where} is too old to be measured, {oldest} is the oldest that can be: "
            "`amd-doctor plan` says how to install a newer one; --python PATH names another Python"
        )
    if torch.importable is False:
        reason = f" ({clean(torch.import_error)[:200]})" if torch.import_error not in (None, "none") else ""
        raise Unusable(f"PyTorch in {where} cannot be imported{reason}: `amd-doctor check` says why and what mends it")
