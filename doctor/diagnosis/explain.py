"""A rule explained: what it says, when, and from which facts, as plain data for a screen or a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doctor.diagnosis.paths import machine_facts
from doctor.diagnosis.rules import Rule, in_language
from doctor.knowledge.catalog import ENGLISH

_SYSTEMS = ("linux", "windows", "macos")


class Condition(msgspec.Struct, frozen=True):
    severity: str
    when: str


class RuleExplained(msgspec.Struct, frozen=True):
    """`needs` are facts of the machine document; `commands` are templates, by system."""

    id: str
    area: str
    severities: tuple[str, ...]  # worst first
    title: str
    for_each: str | None
    applies: str
    fires: tuple[Condition, ...]  # tried in this order
    evidence: str
    why: str
    fix: str
    commands: dict[str, tuple[str, ...]]
    needs: tuple[str, ...]
    explains: tuple[str, ...]
    explained_by: tuple[str, ...]
    silences: tuple[str, ...]
    silenced_by: tuple[str, ...]
    references: tuple[str, ...]
    verified: str


def explained(rule: Rule, rules: Sequence[Rule], language: str = ENGLISH) -> RuleExplained:
    """One rule, with what the other rules say about it."""

    def text(source: Any) -> str:
        return in_language(source, language)

    file = rule.file
    return RuleExplained(
        id=rule.id,
        area=rule.area,
        severities=rule.severities,
        title=text(file.title),
        for_each=file.for_each,
        applies=text(rule.applies.text),
        fires=tuple(Condition(severity, text(condition.text)) for severity, condition in rule.ladder),
        evidence=text(file.evidence),
        why=text(file.why),
        fix=text(file.fix.text),
        commands={system: file.fix.commands_for(system) for system in _SYSTEMS if file.fix.commands_for(system)},
        needs=needed_facts(rule),
        explains=file.explains,
        explained_by=tuple(other.id for other in rules if rule.id in other.file.explains),
        silences=file.silences,
        silenced_by=tuple(other.id for other in rules if rule.id in other.file.silences),
        references=file.references,
        verified=file.verified,
    )


def needed_facts(rule: Rule) -> tuple[str, ...]:
    """The machine facts that the conditions read, each once; those behind a derived fact stand for it."""
    facts: list[str] = []
    for fact in (fact for condition in rule.conditions for fact in condition.facts):
        facts += machine_facts(document_name(rule, fact))
    return tuple(dict.fromkeys(facts))


def document_name(rule: Rule, fact: str) -> str:
    """`it.gfx` as the document calls it: `gpus.gfx`."""
    root, dot, rest = fact.partition(".")
    return rule.file.for_each + dot + rest if root == "it" and rule.file.for_each is not None else fact
