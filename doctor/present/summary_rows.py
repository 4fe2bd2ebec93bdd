"""One machine of many as one row: small enough that a fleet of any size fits into memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from doctor.diagnosis.model import SEVERITIES, Diagnosis
from doctor.machine.model import Machine
from doctor.present.checked import Checked
from doctor.present.hardware import short_cpu_name
from doctor.present.next_step import PLANNED_RULES, first_of_plan, needs_plan
from doctor.present.text import clean

#: What a machine can come to, worst first. `crashed`: the doctor failed on it. `unread`: no input, or a broken one.
#: `unknown`: nothing was found, but most of the rules that may apply lack a fact: no clean bill of health.
STATUSES = ("error", "crashed", "unread", "warning", "unknown", "ok")

_WORTH_A_FIX = ("error", "warning")


class Verdict(msgspec.Struct, frozen=True):
    """A finding, without its texts."""

    rule: str
    severity: str
    subject: str | None = None
    caused_by: str | None = None


class FirstFix(msgspec.Struct, frozen=True):
    """What to do first. `rule` is the one whose finding it mends; None where PyTorch is only to be installed."""

    rule: str | None
    text: str
    commands: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The command, or the sentence where there is none, on one line."""
        return clean(self.commands[0].splitlines()[0] if self.commands and self.commands[0].strip() else self.text)


class MachineRow(msgspec.Struct, frozen=True):
    """A machine of a fleet. `reason` says why it could not be read, or how the doctor failed on it; `crashed` are parts
    of the doctor that failed while the rest went on."""

    machine: str
    status: str
    reason: str | None = None
    crashed: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    undecided: tuple[str, ...] = ()
    fix: FirstFix | None = None
    cpu: str | None = None
    gpus: tuple[str, ...] | None = None
    torch: str | None = None

    def count(self, severity: str) -> int:
        return sum(verdict.severity == severity for verdict in self.verdicts)

    @property
    def first(self) -> str | None:
        """The rule of the first finding."""
        return self.verdicts[0].rule if self.verdicts else None


class RuleCount(msgspec.Struct, frozen=True):
    """On how many machines a rule fired, by its worst severity there, and on how many it could not be decided."""

    rule: str
    severities: tuple[int, ...]  # in the order of SEVERITIES
    undecided: int

    @property
    def machines(self) -> int:
        return sum(self.severities)


def machine_row(name: str, checked: Checked) -> MachineRow:
    """What is kept of a judged machine. Nothing in it holds on to the machine itself."""
    machine, diagnosis = checked.machine, checked.diagnosis
    return MachineRow(
        machine=name,
        status=_status(diagnosis),
        crashed=tuple(f"{crash.part}: {crash.detail}" for crash in diagnosis.crashed),
        verdicts=tuple(Verdict(row.rule, row.severity, row.subject, row.caused_by) for row in diagnosis.findings),
        undecided=tuple(row.rule for row in diagnosis.undecided),
        fix=_first_fix(checked),
        cpu=_cpu(machine),
        gpus=None if machine.gpus is None else tuple(gpu.name or gpu.gfx or gpu.pci_id or "?" for gpu in machine.gpus),
        torch=_torch(machine),
    )


def _status(diagnosis: Diagnosis) -> str:
    for severity in _WORTH_A_FIX:
        if diagnosis.count(severity):
            return severity
    decided = len(diagnosis.findings) + len(diagnosis.passed)
    return "unknown" if len(diagnosis.undecided) > decided else "ok"


def _first_fix(checked: Checked) -> FirstFix | None:
    """As on the screen of one machine: a step of the plan where that comes first, else what mends the first finding."""
    serious = [finding for finding in checked.diagnosis.findings if finding.severity in _WORTH_A_FIX]
    if checked.plan is not None and needs_plan(checked.machine, checked.diagnosis):
        step = first_of_plan(checked.plan)
        if step is not None:
            planned = serious[0].rule if serious and serious[0].rule in PLANNED_RULES else None
            return FirstFix(planned, " ".join(step.intro), (step.text,))
    if not serious:
        return None
    return FirstFix(serious[0].rule, serious[0].fix.text, serious[0].fix.commands)


def _cpu(machine: Machine) -> str | None:
    return short_cpu_name(machine.cpu.name) if machine.cpu is not None and machine.cpu.name else None


def _torch(machine: Machine) -> str | None:
    """The version; `none` where it is not installed, None where nothing tells."""
    torch = machine.torch
    if torch is None or torch.installed is None:
        return None
    return (torch.version or "installed") if torch.installed else "none"


def counts_by_rule(rows: Iterable[MachineRow]) -> tuple[RuleCount, ...]:
    """Every rule that fired or could not be decided somewhere: the worst and most frequent first."""
    fired: dict[str, Counter[str]] = {}
    undecided: Counter[str] = Counter()
    for row in rows:
        worst: dict[str, str] = {}
        for verdict in sorted(row.verdicts, key=lambda verdict: SEVERITIES.index(verdict.severity)):
            worst.setdefault(verdict.rule, verdict.severity)
        for rule, severity in worst.items():
            fired.setdefault(rule, Counter())[severity] += 1
        undecided.update(row.undecided)
    counts = [
        RuleCount(rule, tuple(fired.get(rule, Counter())[word] for word in SEVERITIES), undecided[rule])
        for rule in {*fired, *undecided}
    ]
    return tuple(sorted(counts, key=_place))


def _place(count: RuleCount) -> tuple[int | str, ...]:
    return (*(-number for number in count.severities), 0 if count.machines else -count.undecided, count.rule)


def exit_status(rows: Sequence[MachineRow], *, strict: bool = False) -> int:
    """1 where a machine has an error, 2 where none could be read, 3 for warnings in a strict summary, else 0."""
    statuses = {row.status for row in rows}
    if "error" in statuses:
        return 1
    if statuses == {"unread"}:
        return 2
    return 3 if strict and any(row.count("warning") for row in rows) else 0
