"""The rules as a list by area, and one rule explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doctor import __version__
from doctor.diagnosis.explain import RuleExplained
from doctor.diagnosis.model import AREAS
from doctor.present.areas import TITLES
from doctor.present.language import counted, phrase, row, say
from doctor.present.status import OF_SEVERITY
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import listed, padded, wrap

SCHEMA = "amd-doctor/rules/1"

_STEP = 2
_SEVERITY_COLUMNS = len("warning ")


def rules_document(rules: Sequence[RuleExplained]) -> dict[str, Any]:
    """What `rules --json` prints, for all rules or for one."""
    return {"schema": SCHEMA, "version": __version__, "rules": msgspec.to_builtins(list(rules))}


def rules_lines(rules: Sequence[RuleExplained], look: Look) -> list[Line]:
    """One entry for each rule, beneath its area: the worst it may end in, its id, its title."""
    lines: list[Line] = []
    widest = max((len(rule.id) for rule in rules), default=0)
    for area in AREAS:
        of_area = [rule for rule in rules if rule.area == area]
        if of_area:
            lines.append(line(say(TITLES[area]), "bold"))
            lines += [*(part for rule in of_area for part in _entry(rule, widest, look)), line()]
    if len({rule.area for rule in rules}) > 1:
        lines.append(line(say("Advice that is passed on, and is not right: amd-doctor rules folk.")))
    one = "{count} rule. amd-doctor rules RULE explains one."
    return [*lines, line(counted(one, "{count} rules. amd-doctor rules RULE explains one.", len(rules)))]


def _entry(rule: RuleExplained, widest: int, look: Look) -> list[Line]:
    severity = rule.severities[0]
    left = _STEP + _SEVERITY_COLUMNS + widest + 2
    first, *rest = wrap(rule.title, look.columns - left)
    head = (
        Span(" " * _STEP + padded(OF_SEVERITY[severity].said, _SEVERITY_COLUMNS), OF_SEVERITY[severity].style),
        Span(rule.id.ljust(widest + 2)),
        Span(first),
    )
    return [head, *(line(" " * left + part) for part in rest)]


def rule_lines(rule: RuleExplained, look: Look) -> list[Line]:
    """Everything about one rule."""
    ends = say(" or ").join(OF_SEVERITY[severity].said for severity in rule.severities)
    lines: list[Line] = [(Span(rule.id, "bold"),), *_wrapped(rule.title, look, 0)]
    verified = say("verified {date}", date=rule.verified)
    lines += _wrapped(f"{say(TITLES[rule.area])} · {ends} · {verified}", look, 0)
    lines += _section(say("Why"), _wrapped(rule.why, look))
    lines += _section(say("When"), _conditions(rule, look))
    lines += _section(say("It then says"), _wrapped(rule.evidence, look))
    commands = [
        line(" " * _STEP + f"{system}: {' '.join(command.split())}")
        for system, commands in rule.commands.items()
        for command in commands
    ]
    lines += _section(say("What to do"), [*_wrapped(rule.fix, look), *commands])
    lines += _section(say("Facts it needs"), _wrapped(row(rule.needs), look) if rule.needs else [])
    lines += _section(say("Other rules"), _others(rule, look))
    return [*lines, *_section(say("References"), [line(" " * _STEP + address) for address in rule.references])]


def _conditions(rule: RuleExplained, look: Look) -> list[Line]:
    lines = _wrapped(say("for each of {items}, called it", items=rule.for_each), look) if rule.for_each else []
    if rule.applies != "True":
        lines += _named(say("applies"), rule.applies, look)
    for condition in rule.fires:
        when = say("always, where it applies") if condition.when == "True" else condition.when
        status = OF_SEVERITY[condition.severity]
        lines += _named(status.said, when, look, status.style)
    return lines


def _named(word: str, text: str, look: Look, style: str = "") -> list[Line]:
    left = _STEP + _SEVERITY_COLUMNS + 1
    first, *rest = wrap(text, look.columns - left)
    head = (Span(" " * _STEP + padded(word, left - _STEP), style), Span(first))
    return [head, *(line(" " * left + part) for part in rest)]


def _others(rule: RuleExplained, look: Look) -> list[Line]:
    said = (
        (phrase("explains {rules}"), rule.explains),
        (phrase("explained by {rules}"), rule.explained_by),
        (phrase("silences {rules}"), rule.silences),
        (phrase("silenced by {rules}"), rule.silenced_by),
    )
    return [part for words, ids in said if ids for part in _wrapped(say(words, rules=listed(ids)), look)]


def _section(title: str, lines: Sequence[Line]) -> list[Line]:
    return [line(), line(title, "bold"), *lines] if lines else []


def _wrapped(text: str, look: Look, indent: int = _STEP) -> list[Line]:
    return [line(" " * indent + part) for part in wrap(text, look.columns - indent)]
