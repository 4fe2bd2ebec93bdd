"""The last things before a run of `tune`: the saved run it goes on with, the user's word, the experiment, who else is
at work on this machine."""

from __future__ import annotations

import os
import shlex
import sys

import click

from doctor.cli import tune_kept
from doctor.cli.inputs import Unusable
from doctor.cli.tune_options import Asked
from doctor.cli.tune_prepare import Prepared
from doctor.derive.budget import allowed_cpus
from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Machine
from doctor.measure.command import CannotRun, CommandExperiment
from doctor.measure.gpu_users import gpu_users
from doctor.measure.load import busy_processes
from doctor.measure.units import Unit, UnitResult
from doctor.measure.verdict import MIN_PAIRS
from doctor.measure.worker import WorkerExperiment
from doctor.measure.workloads import expand
from doctor.present.language import counted, phrase, say, told
from doctor.present.text import clean, listed
from doctor.present.tune_devices_words import gpu_user_words
from doctor.present.tune_words import percent, seconds_words
from doctor.sources.live import ThisMachine
from doctor.tune.log import BadLog, SavedRun
from doctor.tune.plan import Plan, variables_alone
from doctor.tune.result import TuneResult
from doctor.tune.run import Experiment, OtherRun, events

#: The CPU usage of others that is worth a word before the run, as a share of the CPUs that may be used.
_BUSY_SHARE = 0.10


def experiment_for(asked: Asked, ready: Prepared) -> Experiment:
    """What runs the units. Raises Unusable for a command that cannot be run."""
    cpus = _all_cpus(ready.machine)
    if not asked.command:
        assert ready.python is not None
        return WorkerExperiment(ready.python, os.environ, all_cpus=cpus)
    try:
        return CommandExperiment(
            asked.command, os.environ, asked.metric, bool(asked.higher_is_better), all_cpus=cpus
        )
    except CannotRun as error:
        raise Unusable(clean(str(error))) from error


def _all_cpus(machine: Machine) -> str:
    """Every CPU that this process may use. The document's where it knows them, else the system's own word."""
    known = allowed_cpus(machine)
    if known:
        return format_cpulist(known)
    count = os.cpu_count() or 1
    return format_cpulist(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(count))


def saved_for(asked: Asked, plan: Plan) -> SavedRun:
    """The saved run on this hardware, PyTorch and command. Raises Unusable where there is none, or where it is not
    the one that is asked for."""
    try:
        saved = tune_kept.saved_run(plan.subject)
    except (OSError, BadLog) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unusable(f"--resume: the saved run cannot be read: {clean(reason)}; start without --resume") from error
    if saved is None:
        what = "this command, typed alike in this folder, on this machine" if asked.command else "this machine"
        also = "" if asked.command else " and its PyTorch; one of your own command needs the command again, behind --"
        raise Unusable(f"--resume: there is no saved run of {what}{also}")
    other = _other(asked, plan, saved.plan)
    if other is not None:
        raise Unusable(f"--resume: {other}; leave it out, or start without --resume")
    return saved


def _other(asked: Asked, wanted: Plan, saved: Plan) -> str | None:
    """What was asked for and the saved run is not; None where it fits."""
    if asked.budget_seconds is not None and asked.budget_seconds != saved.budget_seconds:
        return f"the saved run has a budget of {saved.budget_seconds:g} s"
    if asked.seed is not None and asked.seed != saved.seed:
        return f"the saved run has the seed {saved.seed}"
    asks_for_workloads = bool(asked.workloads and expand(asked.workloads)) or asked.mode is not None
    if asks_for_workloads and wanted.workloads != saved.workloads:
        return f"the saved run measures {listed(list(saved.workloads), at_most=6)}"
    if asked.axes and _names(wanted) != _names(saved):
        return "the saved run tries other settings than this --axis"
    if asked.devices and _compared(wanted) != _compared(saved):
        return "the saved run compares other devices"
    if wanted.default_threads != saved.default_threads:
        return f"what you have now has changed since: it was {saved.default_threads} threads"
    return None


def _compared(plan: Plan) -> list[str]:
    return [row.device.name for row in plan.devices.devices] if plan.devices is not None else []


def _names(plan: Plan) -> list[str]:
    tried = [*(arm.name for arm in plan.arms), *(addition.name for addition in plan.additions)]
    return [*tried, *(trial.axis for trial in plan.trials)]


def is_complete(saved: SavedRun) -> bool:
    """Whether a saved run came to its end, so that there is nothing left to measure. Raises Unusable where the saved
    units do not belong to its plan."""
    try:
        return isinstance(next(events(saved.plan, _Nobody(), saved.events)), TuneResult)
    except OtherRun as error:
        raise Unusable(f"--resume: {error}; start without --resume") from error


class _Nobody:
    """Stands for the experiment of a run that is only looked at."""

    def measure(self, unit: Unit) -> UnitResult:
        raise AssertionError("nothing is measured here")


def least_units(plan: Plan) -> int:
    """How many processes a run takes at least: two to learn the cost, one round of search, and 8 groups of pairs."""
    group = 3 if any(variables_alone(arm, plan.default_threads) for arm in plan.arms) else 2
    return 4 + MIN_PAIRS * group


def agree(asked: Asked, plan: Plan, *, yes: bool) -> None:
    """Say how often the user's command runs, and ask. Raises Unusable for a no, and where there is nobody to ask."""
    command = clean(shlex.join(asked.command))
    often = {"time": seconds_words(plan.budget_seconds), "times": least_units(plan)}
    if yes:
        return
    if not sys.stdin.isatty():
        raise Unusable(
            say(
                "your command would run again and again for {time}, at least {times} times: add --yes to agree, since "
                "there is nobody to ask",
                **often,
            )
        )
    words = phrase(
        "This runs your command again and again for {time}, at least {times} times, with its output thrown away:"
    )
    click.echo(f"{say(words, **often)}\n    {command}", err=True)
    click.echo(say("Whatever it does, it does each time. Go on? [y/N] "), err=True, nl=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Unusable("nothing was run")


def announce_saved(saved: SavedRun, *, complete: bool) -> None:
    """On stderr: what is gone on with."""
    one = "the saved run goes on: {count} process are measured already"
    many = phrase("the saved run goes on: {count} processes are measured already")
    text = say("the saved run is complete and shown again: nothing is measured")
    click.echo(f"amd-doctor: {text if complete else counted(one, many, len(saved.events))}", err=True)


def announce_devices(plan: Plan) -> None:
    """On stderr: that there is no device to compare with, or who else uses a GPU now."""
    if plan.devices is None:
        return
    if plan.devices.note:
        click.echo(f"amd-doctor: {clean(told(plan.devices.note))}", err=True)
        return
    for user in gpu_users(ThisMachine()):
        text = say("on a GPU now: {user}; close it if you can", user=clean(gpu_user_words(user)))
        click.echo(f"amd-doctor: {text}", err=True)


def announce_busy(machine: Machine) -> None:
    """On stderr: who else uses the CPUs now."""
    cpus = machine.limits.cpu_budget if machine.limits else None
    busy = busy_processes(cpus or os.cpu_count() or 1)
    if sum(each.share for each in busy) > _BUSY_SHARE:
        words = phrase("{name} ({share} of the CPUs)")
        names = listed([say(words, name=clean(each.name), share=percent(min(each.share, 1.0))) for each in busy])
        text = say("busy now: {names}; close what you can, it disturbs the measurement", names=names)
        click.echo(f"amd-doctor: {text}", err=True)
