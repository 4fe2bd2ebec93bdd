"""Judges a machine by the rules. A rule that fails takes nobody with it, and no rule guesses: a fact that is missing
makes it undecided, with the reason why the fact is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from doctor.derive.facts import Derived
from doctor.diagnosis.commands import commands
from doctor.diagnosis.explain import document_name
from doctor.diagnosis.expression import Scope, look_up
from doctor.diagnosis.model import SEVERITIES, Diagnosis, Finding, Fix, Needed, Undecided
from doctor.diagnosis.order import Links, in_order
from doctor.diagnosis.paths import machine_facts
from doctor.diagnosis.rules import Rule, in_language
from doctor.diagnosis.template import facts_of, filled
from doctor.diagnosis.truth import Unknown
from doctor.knowledge.catalog import ENGLISH, catalog
from doctor.machine.crash import Crash
from doctor.machine.model import Machine, UnknownFact
from doctor.sources.redaction import redacted_error

#: Why a fact is unknown where no row of the document says so.
_DEFAULT_REASON = "not-in-source"


class Verdict(msgspec.Struct, frozen=True):
    """What a rule says of one subject: a severity, or the facts it misses, or neither."""

    severity: str | None = None
    missing: tuple[str, ...] = ()
    applies: bool = True


def diagnose(
    machine: Machine, derived: Derived, rules: Sequence[Rule], only: Sequence[str] = (), language: str = ENGLISH
) -> Diagnosis:
    """Everything the rules say of a completed machine. `only` names rules or areas; none means all."""
    findings: list[Finding] = []
    undecided: list[Undecided] = []
    crashed: list[Crash] = []
    not_applicable: list[str] = []
    passed: list[str] = []
    for rule in rules:
        if only and rule.id not in only and rule.area not in only:
            continue
        try:
            judged = [(scope, judge(rule, scope)) for scope in _scopes(rule, machine, derived)]
            fired = [_finding(rule, scope, verdict.severity, language) for scope, verdict in judged if verdict.severity]
            missing = _unique([fact for _, verdict in judged for fact in verdict.missing])
            needs = _needs(machine, rule, missing)
        except Exception as error:
            crashed.append(Crash(part=f"rule:{rule.id}", detail=redacted_error(error)))
            continue
        findings += _once_per_subject(fired)
        if needs:
            undecided.append(Undecided(rule=rule.id, needs=needs))
        elif not fired:
            (passed if any(verdict.applies for _, verdict in judged) else not_applicable).append(rule.id)
    links = {rule.id: Links(rule.file.explains, rule.file.silences, rule.file.for_each) for rule in rules}
    ordered, silenced = in_order(findings, links)
    return Diagnosis(
        findings=ordered,
        silenced=silenced,
        undecided=tuple(undecided),
        not_applicable=tuple(not_applicable),
        passed=tuple(passed),
        crashed=tuple(crashed),
    )


def judge(rule: Rule, scope: Scope) -> Verdict:
    """One rule on one subject.

    The first severity whose condition holds is taken. An unknown condition before it matters only where it could have
    made the matter smaller (a special case that stands first): then the rule is undecided. Where every severity is
    ruled out the rule is silent, whether it applies or not.
    """
    if isinstance(scope.it, Unknown):
        applies = rule.applies.judge(msgspec.structs.replace(scope, it=None))
        return Verdict(applies=False) if applies is False else Verdict(missing=scope.it.facts)
    applies = rule.applies.judge(scope)
    if applies is False:
        return Verdict(applies=False)
    open_applies = applies.facts if isinstance(applies, Unknown) else ()
    open_ladder: list[str] = []
    smallest = 0  # rank of the smallest severity whose condition is unknown so far
    for severity, condition in rule.ladder:
        truth = condition.judge(scope)
        rank = SEVERITIES.index(severity)
        if isinstance(truth, Unknown):
            open_ladder += truth.facts
            smallest = max(smallest, rank)
        elif truth:
            decided = applies is True and smallest <= rank
            return Verdict(severity=severity) if decided else Verdict(missing=(*open_applies, *open_ladder))
    return Verdict(missing=(*open_applies, *open_ladder) if open_ladder else ())


def _scopes(rule: Rule, machine: Machine, derived: Derived) -> list[Scope]:
    """One scope for each item that the rule judges; one whose `it` is unknown where the list is."""
    if rule.file.for_each is None:
        return [Scope(machine, derived)]
    items = look_up(Scope(machine, derived), tuple(rule.file.for_each.split(".")))
    return [Scope(machine, derived, item) for item in ((items,) if isinstance(items, Unknown) else items)]


def _finding(rule: Rule, scope: Scope, severity: str, language: str) -> Finding:
    def value(fact: str) -> Any:
        return look_up(scope, tuple(fact.split(".")))

    def text(source: Any) -> str:
        return filled(in_language(source, language), value, catalog(language))

    file = rule.file
    return Finding(
        rule=rule.id,
        severity=severity,
        area=rule.area,
        subject=_subject(file.subject, value, language),
        title=text(file.title),
        evidence=text(file.evidence),
        why=in_language(file.why, language),
        fix=Fix(text=text(file.fix.text), commands=_commands(rule, scope, value)),
        references=file.references,
    )


def _subject(template: str | None, value: Callable[[str], Any], language: str) -> str | None:
    """What a finding is about; None where it is about everything, or nobody knows which item it is."""
    if template is None or any(isinstance(value(fact), Unknown) for fact in facts_of(template)):
        return None
    return filled(template, value, catalog(language))


def _commands(rule: Rule, scope: Scope, value: Callable[[str], Any]) -> tuple[str, ...]:
    """For this machine's shell, and only where every fact that the rule needs is known."""
    system = value("os.kind")
    if not isinstance(system, str) or any(isinstance(value(fact), Unknown) for fact in rule.file.needs):
        return ()
    return commands(rule.file.fix.commands_for(system), system, value)


def _once_per_subject(findings: Sequence[Finding]) -> list[Finding]:
    """Two cards of one name are one line, with the worse of the two verdicts. Those without a name stay apart."""
    worst: dict[str | None, Finding] = {}
    for finding in sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)):
        worst.setdefault(finding.subject, finding)
    return [finding for finding in findings if finding.subject is None or worst[finding.subject] is finding]


def _needs(machine: Machine, rule: Rule, missing: Sequence[str]) -> tuple[Needed, ...]:
    """The missing facts as the document names them, with the reason from its rows (the longest prefix speaks)."""
    facts: list[str] = []
    for name in (document_name(rule, fact) for fact in missing):
        behind = machine_facts(name)
        unknown = [fact for fact in behind if isinstance(look_up(Scope(machine), tuple(fact.split("."))), Unknown)]
        facts += unknown or [name]
    return tuple(Needed(fact=fact, reason=reason_for(fact, machine.unknowns or ())) for fact in _unique(facts))


def reason_for(fact: str, rows: Sequence[UnknownFact]) -> str:
    """Why a fact is unknown, from the row that names it or the longest part of it."""
    fitting = [row for row in rows if fact == row.fact or fact.startswith(f"{row.fact}.")]
    return max(fitting, key=lambda row: len(row.fact)).reason if fitting else _DEFAULT_REASON


def _unique(facts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(facts))
