"""What is to be said of an env file on a machine: whether its evidence still fits, and what in it cannot work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from doctor.derive.budget import allowed_cpus
from doctor.derive.runtimes import read_here
from doctor.envfile.allowed import import_traps, is_allowed, wrong_value
from doctor.envfile.content import BATCH_SIZE, CPUS, Evidence
from doctor.envfile.reading import Assigned, EnvRead
from doctor.knowledge.env_vars import env_variable
from doctor.machine.cpulist import format_cpulist, parse_cpulist
from doctor.machine.model import Machine
from doctor.tune.subject import subject_of

Severity = Literal["error", "warning", "info"]

_UNKNOWN = ("", "unknown")

#: The keys of a plan's subject that make its result stale, and what a person calls them.
_SUBJECT = {"cpu": "CPU", "hardware": "hardware", "driver": "GPU driver", "torch": "torch", "python": "Python"}


class EnvFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """`line` 0 speaks of the whole file. `kind` is for scripts."""

    severity: Severity
    kind: str
    text: str
    line: int = 0
    name: str = ""


def findings_of(read: EnvRead, machine: Machine, environ: Mapping[str, str] | None) -> tuple[EnvFinding, ...]:
    """Everything that is to be said, the worst first. `environ`: the session's, None for a saved machine."""
    found = [
        *_problems(read),
        *_lines(read),
        *_traps(read),
        *_unread(read, machine),
        *_mask(read, machine),
        *(_stale(read.evidence, _subject(machine)) if read.evidence is not None else ()),
        *_edited(read),
        *(_overridden(read, environ) if environ is not None else ()),
    ]
    order = ("error", "warning", "info")
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def _problems(read: EnvRead) -> Iterator[EnvFinding]:
    for problem in read.problems:
        yield EnvFinding("error" if problem.stops else "warning", "not-read", problem.text, problem.line)
    if read.blocks > 1:
        yield EnvFinding("warning", "many-blocks", f"{read.blocks} managed blocks stand in it; the last one counts")


def _lines(read: EnvRead) -> Iterator[EnvFinding]:
    last = {each.name: each for each in read.assigned}
    for each in read.assigned:
        if not is_allowed(each.name):
            text = f"{each.name} is no tuning variable: amd-doctor run refuses it without --allow {each.name}"
            yield EnvFinding("warning", "not-allowed", text, each.line, each.name)
        takes = wrong_value(each.name, each.value) if each.value is not None else None
        if takes is not None:
            text = f"{each.name}={(each.value or '')[:60]} cannot be: it takes {takes}"
            yield EnvFinding("error", "wrong-value", text, each.line, each.name)
        if last[each.name] is not each:
            text = f"{each.name} is set again in line {last[each.name].line}: that counts"
            yield EnvFinding("warning", "set-twice", text, each.line, each.name)


def _traps(read: EnvRead) -> Iterator[EnvFinding]:
    set_here = {name: value for name, value in read.variables.items() if value is not None}
    lines = {each.name: each.line for each in read.assigned}
    for name in import_traps(set_here):
        text = (
            f"{name}={set_here[name][:60]}: import torch then leaves the process and every process that it starts on "
            "one place, often one CPU"
        )
        yield EnvFinding("error", "import-trap", text, lines[name], name)


def _unread(read: EnvRead, machine: Machine) -> Iterator[EnvFinding]:
    for each in _last(read):
        row = env_variable(each.name)
        if each.name in (CPUS, BATCH_SIZE) or row is None or each.value is None:
            continue
        if read_here(row, machine) is False:
            yield EnvFinding("warning", "not-read-here", f"nothing here reads {each.name}", each.line, each.name)


def _mask(read: EnvRead, machine: Machine) -> Iterator[EnvFinding]:
    value = read.variables.get(CPUS)
    allowed = allowed_cpus(machine)
    if value is None or allowed is None or wrong_value(CPUS, value):
        return
    outside = parse_cpulist(value) - allowed
    if outside:
        lines = {each.name: each.line for each in read.assigned}
        text = f"of the CPUs {value}, {format_cpulist(outside)} may not be used here"
        yield EnvFinding("warning", "mask-does-not-fit", text, lines[CPUS], CPUS)


def _subject(machine: Machine) -> dict[str, str]:
    """The subject of a machine as far as it is known: a pasted text says nothing of memory or GPUs."""
    whole = machine.gpus is not None and machine.memory is not None and machine.memory.total_bytes is not None
    return {key: value for key, value in subject_of(machine).items() if whole or key not in ("hardware", "driver")}


def _stale(evidence: Evidence, now: Mapping[str, str]) -> Iterator[EnvFinding]:
    """What changed since the file was measured. What is not known on one side is no change."""
    for key, words in _SUBJECT.items():
        before, after = evidence.subject.get(key, ""), now.get(key, "")
        if before in _UNKNOWN or after in _UNKNOWN or before == after:
            continue
        if key == "hardware" and evidence.subject.get("cpu") != now.get("cpu"):
            continue  # the CPU says it already
        text = f"{words} changed since it was measured: {before} then, {after} now"
        if key == "hardware":
            text = "cores, caches, memory or GPUs changed since it was measured"
        yield EnvFinding("info" if key == "python" else "warning", f"changed-{key}", text)
    if evidence.disturbed:
        yield EnvFinding("warning", "disturbed", "the run that it was measured in was disturbed")


def _edited(read: EnvRead) -> Iterator[EnvFinding]:
    """Lines of the block that say something else than what was measured."""
    if read.evidence is None:
        return
    for each in read.assigned:
        if each.ours and read.evidence.variables.get(each.name, each.value) != each.value:
            was = read.evidence.variables[each.name]
            text = f"{each.name} was changed by hand: {was if was is not None else 'taken out'} was measured"
            yield EnvFinding("warning", "edited", text, each.line, each.name)
    missing = [
        name
        for name, value in read.evidence.variables.items()
        if value is not None and name not in {each.name for each in read.assigned}
    ]
    if missing:
        text = f"{', '.join(missing)} stood in it when it was written: the confirmed gain is that of the whole file"
        yield EnvFinding("warning", "incomplete", text)


def _overridden(read: EnvRead, environ: Mapping[str, str]) -> Iterator[EnvFinding]:
    """What the session has otherwise: either it was set before the file, or the file was never loaded."""
    for each in _last(read):
        there = environ.get(each.name)
        if there is None or there == each.value or not is_allowed(each.name):
            continue
        said = "is taken out by the file" if each.value is None else f"is {each.value[:60]} in the file"
        text = f"{each.name}={there[:60]} is set in this session and {said}: the later of the two counts"
        yield EnvFinding("info", "session-differs", text, each.line, each.name)


def _last(read: EnvRead) -> tuple[Assigned, ...]:
    return tuple({each.name: each for each in read.assigned}.values())
