"""Which rules began or stopped firing between two diagnoses, and what they said before or say now.

A rule that no longer fires may be content, undecided for want of a fact, or pointless beside another one: these are
told apart, since only the first is good news.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from doctor.derive.difference import plain_name
from doctor.diagnosis.explain import needed_facts
from doctor.diagnosis.model import SEVERITIES, Diagnosis, Finding, Needed
from doctor.diagnosis.rules import RuleSet

#: What a rule may say of a machine. `other-subject`: it fires, on another subject. `absent`: it was not asked.
STATES = ("other-subject", "silenced", "undecided", "passed", "not-applicable", "crashed", "absent")


class State(msgspec.Struct, frozen=True):
    """What a rule says of the machine on the other side. `by` silences it; `needs` are the facts that it misses."""

    word: str
    by: str | None = None
    needs: tuple[Needed, ...] = ()


class Moved(msgspec.Struct, frozen=True):
    """A finding of one side that the other side does not have, and what its rule says there. `reads`: the facts of the
    machine document that its conditions read."""

    finding: Finding
    other: State
    reads: tuple[str, ...] = ()


class Severity(msgspec.Struct, frozen=True):
    """A finding of both sides whose severity is another now."""

    finding: Finding  # of the new side
    before: str
    reads: tuple[str, ...] = ()


class Shift(msgspec.Struct, frozen=True):
    """Each in the order of its diagnosis: worst root cause first."""

    began: tuple[Moved, ...] = ()
    stopped: tuple[Moved, ...] = ()
    severity: tuple[Severity, ...] = ()


def shift(old: Diagnosis, new: Diagnosis, rule_set: RuleSet) -> Shift:
    """What the rules say differently of the new machine."""
    reads = {rule.id: needed_facts(rule) for rule in rule_set.rules}
    before = {_key(finding): finding for finding in old.findings}
    after = {_key(finding): finding for finding in new.findings}
    began = [
        Moved(finding, state_of(old, finding.rule), reads.get(finding.rule, ()))
        for key, finding in after.items()
        if key not in before
    ]
    stopped = [
        Moved(finding, state_of(new, finding.rule), reads.get(finding.rule, ()))
        for key, finding in before.items()
        if key not in after
    ]
    severity = [
        Severity(finding, before[key].severity, reads.get(finding.rule, ()))
        for key, finding in after.items()
        if key in before and before[key].severity != finding.severity
    ]
    return Shift(tuple(began), tuple(stopped), tuple(severity))


def _key(finding: Finding) -> tuple[str, str | None]:
    return finding.rule, finding.subject


def state_of(diagnosis: Diagnosis, rule: str) -> State:
    """What a rule says of a machine."""
    if any(finding.rule == rule for finding in diagnosis.findings):
        return State("other-subject")
    for silenced in diagnosis.silenced:
        if silenced.rule == rule:
            return State("silenced", by=silenced.by)
    for undecided in diagnosis.undecided:
        if undecided.rule == rule:
            return State("undecided", needs=undecided.needs)
    if any(crash.part == f"rule:{rule}" for crash in diagnosis.crashed):
        return State("crashed")
    if rule in diagnosis.passed:
        return State("passed")
    return State("not-applicable" if rule in diagnosis.not_applicable else "absent")


def got_worse(moved: Severity) -> bool:
    return SEVERITIES.index(moved.finding.severity) < SEVERITIES.index(moved.before)


def concerns(fact: str, reads: Iterable[str]) -> bool:
    """Is a fact, as a difference names it, one of those that a rule reads?"""
    name = plain_name(fact)
    return any(_within(name, read) or _within(read, name) for read in reads)


def _within(name: str, whole: str) -> bool:
    return name == whole or name.startswith(f"{whole}.")
