"""What the page says in words: the verdict, the machine in one line, findings with what they explain beneath them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from doctor.diagnosis.model import Diagnosis, Finding
from doctor.machine.model import Machine
from doctor.present.checked import Checked
from doctor.present.findings import below_of
from doctor.present.gpu import gpu_name, memory_text
from doctor.present.hardware import short_cpu_name
from doctor.present.language import joined, say
from doctor.present.next_step import Step, next_step
from doctor.present.says import REASON_WORDS
from doctor.present.status import CRASHED, OF_SEVERITY, OK, UNKNOWN, Status
from doctor.present.text import bytes_text, listed, plural
from doctor.present.unknowns import fact_words

_LINKS = ("https://", "http://")


class Told(msgspec.Struct, frozen=True):
    """A finding, and what it explains. `links` are the references that a browser may open."""

    finding: Finding
    status: Status
    number: str
    commands: tuple[str, ...]
    links: tuple[str, ...]
    explains: tuple[Told, ...]


class Headline(msgspec.Struct, frozen=True):
    """`status` and `title` are the verdict; `counts` what was found in numbers; `step` the one next command."""

    status: Status
    title: str
    evidence: str
    counts: tuple[str, ...]
    step: Step
    step_is_command: bool


class Unknown(msgspec.Struct, frozen=True):
    """Facts that are unknown for one reason, in words."""

    reason: str
    facts: tuple[str, ...]


def told(findings: Sequence[Finding]) -> tuple[Told, ...]:
    below = below_of(findings)
    return tuple(_told(at, findings, below, str(number)) for number, at in enumerate(below.get(None, ()), start=1))


def _told(at: int, findings: Sequence[Finding], below: Mapping[int | None, list[int]], number: str) -> Told:
    finding = findings[at]
    return Told(
        finding=finding,
        status=OF_SEVERITY.get(finding.severity, OF_SEVERITY["info"]),
        number=number,
        commands=tuple(command.strip("\n") for command in finding.fix.commands if command.strip()),
        links=tuple(link for link in finding.references if link.startswith(_LINKS)),
        explains=tuple(
            _told(under, findings, below, f"{number}.{count}") for count, under in enumerate(below.get(at, ()), start=1)
        ),
    )


def headline(checked: Checked) -> Headline:
    diagnosis = checked.diagnosis
    step = next_step(checked)
    worst = next((finding for finding in diagnosis.findings if finding.severity in ("error", "warning")), None)
    if worst is not None:
        status, title, evidence = OF_SEVERITY[worst.severity], worst.title, worst.evidence
    elif diagnosis.crashed:
        status, title, evidence = CRASHED, say("The doctor failed on a part of this machine"), ""
    elif diagnosis.undecided:
        status, title, evidence = OK, say("Nothing to fix was found in what is known"), ""
    else:
        status, title, evidence = OK, say("Nothing to fix was found"), ""
    if worst is None and not _knows_torch(checked.machine) and not diagnosis.crashed:
        status, title = UNKNOWN, say("Nothing to fix was found, but of PyTorch itself nothing is known")
    is_command = bool(step.intro)
    return Headline(status, title, evidence, _counts(diagnosis), step, is_command)


def _knows_torch(machine: Machine) -> bool:
    return machine.torch is not None and machine.torch.installed is not None


def _counts(diagnosis: Diagnosis) -> tuple[str, ...]:
    counts = [plural(diagnosis.count("error"), "error"), plural(diagnosis.count("warning"), "warning")]
    counts += [plural(diagnosis.count("info"), "note")] if diagnosis.count("info") else []
    counts += [plural(diagnosis.count("hint"), "hint")] if diagnosis.count("hint") else []
    counts += [say("{count} undecided", count=len(diagnosis.undecided))] if diagnosis.undecided else []
    return tuple(counts)


def machine_line(machine: Machine) -> tuple[str, ...]:
    """Processor, memory, GPUs, PyTorch and system, each in a few words; what is not known is left out."""
    cpu, memory, torch, system = machine.cpu, machine.memory, machine.torch, machine.os
    parts = []
    if cpu is not None and cpu.name:
        sockets = f"{cpu.sockets} x " if cpu.sockets and cpu.sockets > 1 else ""
        parts.append(sockets + short_cpu_name(cpu.name))
    if memory is not None and memory.total_bytes:
        size = bytes_text(memory.total_bytes)
        speed = say("{size} RAM at {mts} MT/s", size=size, mts=memory.effective_mts) if memory.effective_mts else ""
        parts.append(speed or say("{size} RAM", size=size))
    for gpu in machine.gpus or ():
        parts.append(joined([text for text in (gpu_name(gpu), memory_text(gpu)) if text]))
    if torch is not None and torch.installed:
        parts.append(f"PyTorch {torch.version}" if torch.version else "PyTorch")
    elif torch is not None and torch.installed is False:
        parts.append(say("no PyTorch"))
    if system is not None and (system.name or system.kind):
        kind = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}.get(system.kind or "", system.kind)
        parts.append(f"{system.name or kind}{f', WSL {system.wsl}' if system.wsl else ''}")
    return tuple(parts)


def looked_at(checked: Checked) -> str:
    """What the page is about, and when it was looked at, where that is known."""
    if checked.given is None:
        return say("looked at this machine.")
    rows = checked.machine.sources or ()
    taken = next((row.taken_at[:10] for row in rows if row.taken_at), "")
    what = f"{checked.given} ({taken})" if taken else checked.given
    return say("looked at {what}; nothing of the reading machine went in.", what=what)


def unknowns(machine: Machine) -> tuple[Unknown, ...]:
    """Every unknown fact that the document names, by reason."""
    found: dict[str, list[str]] = {}
    for row in machine.unknowns or ():
        words = fact_words(row.fact, row.detail)
        reason = say(REASON_WORDS.get(row.reason, row.reason))
        if words not in found.setdefault(reason, []):
            found[reason].append(words)
    return tuple(Unknown(reason, tuple(facts)) for reason, facts in found.items())


def undecided_rows(diagnosis: Diagnosis) -> tuple[tuple[str, str], ...]:
    """Each undecided rule, and the facts that it misses."""
    return tuple(
        (row.rule, listed([need.fact for need in row.needs]) or say("a fact that is not known"))
        for row in diagnosis.undecided
    )
