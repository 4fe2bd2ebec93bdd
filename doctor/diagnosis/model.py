"""What a diagnosis is: findings in order of cause, and everything that could not be decided."""

from __future__ import annotations

import msgspec

from doctor.machine.crash import Crash as Crash

SEVERITIES = ("error", "warning", "info", "hint")

#: The areas of the screen, in its order.
AREAS = (
    "cpu",
    "topology",
    "memory",
    "limits",
    "power",
    "system",
    "python",
    "pytorch",
    "environment",
    "gpu",
    "rocm",
    "directml",
)


class Fix(msgspec.Struct, frozen=True):
    """What to do: one sentence, and the commands for this machine's shell (none where a value could not enter one)."""

    text: str
    commands: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """One rule that fired on one subject."""

    rule: str
    severity: str
    area: str
    subject: str | None
    title: str
    evidence: str
    why: str
    fix: Fix
    references: tuple[str, ...] = ()
    caused_by: str | None = None  # the rule that explains this one


class Silenced(msgspec.Struct, frozen=True):
    """A finding that another one makes pointless."""

    rule: str
    by: str


class Needed(msgspec.Struct, frozen=True):
    """A fact that a rule misses, and why it is unknown."""

    fact: str
    reason: str


class Undecided(msgspec.Struct, frozen=True):
    rule: str
    needs: tuple[Needed, ...]


class Diagnosis(msgspec.Struct, frozen=True):
    """Everything the rules said. `findings` are in the order of the screen: worst root cause first, and what a
    finding explains right behind it."""

    findings: tuple[Finding, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    not_applicable: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    crashed: tuple[Crash, ...] = ()

    def count(self, severity: str) -> int:
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def first(self) -> str | None:
        """The rule of the first finding."""
        return self.findings[0].rule if self.findings else None
