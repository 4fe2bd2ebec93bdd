"""Rule files: read strictly, compiled, and kept apart where one is broken.

A broken file costs its own rule only: it becomes a sentence that names the file and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from doctor.diagnosis.expression import BadExpression, Expression, compile_expression
from doctor.diagnosis.model import AREAS, SEVERITIES
from doctor.knowledge.catalog import ENGLISH, catalog
from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import BadFile, read_yaml
from doctor.machine.crash import Crash

#: A text, or one per language (`{en: …, de: …}`); English is the one that must be there.
Text: TypeAlias = "str | dict[str, str]"
Commands: TypeAlias = "str | tuple[str, ...]"

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
_VERIFIED = re.compile(r"\d{4}-\d{2}-\d{2}")


class FixText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do: a text for everybody, commands for the systems that have them."""

    text: Text
    linux: Commands = ()
    windows: Commands = ()
    macos: Commands = ()

    def commands_for(self, system: str) -> tuple[str, ...]:
        """The command templates for an `os.kind`."""
        found: Commands = getattr(self, system) if system in ("linux", "windows", "macos") else ()
        return (found,) if isinstance(found, str) else found


class Cases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Machine documents, in part, on which the rule must fire, be silent, or be undecided."""

    fires: tuple[dict[str, Any], ...]
    silent: tuple[dict[str, Any], ...]
    undecided: tuple[dict[str, Any], ...]


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A rule as it stands in its file."""

    id: str
    area: str
    title: Text
    applies: str | bool = True
    severity: str | tuple[dict[str, str | bool], ...]
    for_each: str | None = None
    subject: str | None = None  # a text that names the item of a `for_each`
    evidence: Text
    why: Text
    fix: FixText
    needs: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    silences: tuple[str, ...] = ()
    references: tuple[str, ...]
    verified: str
    cases: Cases | None = None  # tests read them; a run of the doctor does not


class Rule(msgspec.Struct, frozen=True):
    """A rule ready to judge. `ladder` holds the severities with their conditions, in the order in which they are
    tried."""

    file: RuleFile
    applies: Expression
    ladder: tuple[tuple[str, Expression], ...]

    @property
    def id(self) -> str:
        return self.file.id

    @property
    def area(self) -> str:
        return self.file.area

    @property
    def conditions(self) -> tuple[Expression, ...]:
        return (self.applies, *(condition for _, condition in self.ladder))

    @property
    def severities(self) -> tuple[str, ...]:
        """What it may end in, worst first."""
        return tuple(word for word in SEVERITIES if any(word == severity for severity, _ in self.ladder))


class RuleSet(msgspec.Struct, frozen=True):
    """Every rule that could be read, by id, and a `Crash("rule:ID", sentence)` for every file that could not."""

    rules: tuple[Rule, ...]
    broken: tuple[Crash, ...] = ()


def in_language(text: Text, language: str = ENGLISH) -> str:
    """The text in a language, on one line: from its map, else from the catalog of the language, else in English."""
    if isinstance(text, str):
        return catalog(language).sentence(" ".join(text.split()))
    chosen = text.get(language) or catalog(language).sentence(" ".join(text.get(ENGLISH, "").split()))
    return " ".join(chosen.split())


def load_rules(folder: Path | None = None) -> RuleSet:
    """Every `<area>/<rule-id>.yaml` of the folder (default: the doctor's own). Never raises for a broken file."""
    folder = folder or rules_folder()
    rules: dict[str, Rule] = {}
    broken: list[Crash] = []
    for path in sorted(folder.glob("*/*.yaml")):
        if path.parent.name == "knowledge":
            continue
        try:
            rule = read_rule(path)
            if rule.id in rules:
                raise BadFile(f"{path}: another area has a rule {rule.id}")
            rules[rule.id] = rule
        except BadFile as error:
            detail = str(error).replace(str(path), path.relative_to(folder).as_posix(), 1)
            broken.append(Crash(part=f"rule:{path.stem}", detail=detail))
    return RuleSet(rules=tuple(rules[name] for name in sorted(rules)), broken=tuple(broken))


def read_rule(path: Path, with_cases: bool = False) -> Rule:
    """One rule file. Raises BadFile."""
    plain = read_yaml(path, up_to=None if with_cases else "cases:")
    try:
        rule = compile_rule(msgspec.convert(plain, RuleFile))
    except (msgspec.ValidationError, RecursionError, BadRule) as error:
        raise BadFile(f"{path}: {error}") from error
    if (rule.area, rule.id) != (path.parent.name, path.stem):
        raise BadFile(f"{path}: its area and id say {rule.area}/{rule.id}")
    return rule


class BadRule(Exception):
    """A rule that cannot judge. The message is one sentence."""


def compile_rule(file: RuleFile) -> Rule:
    """Raises BadRule."""
    if not _ID.fullmatch(file.id):
        raise BadRule(f"{file.id!r} is not an id: words in lower case, joined by dashes")
    if file.area not in AREAS:
        raise BadRule(f"no such area: {file.area!r}")
    if not _VERIFIED.fullmatch(file.verified):
        raise BadRule(f"verified is no date: {file.verified!r}")
    for name, text in (("title", file.title), ("evidence", file.evidence), ("why", file.why), ("fix", file.fix.text)):
        if not in_language(text):
            raise BadRule(f"{name} has no English text")
    if (file.for_each is None) != (file.subject is None):
        raise BadRule("for_each and subject come together")
    return Rule(file=file, applies=_compiled("applies", file.applies), ladder=tuple(_ladder(file.severity)))


def _ladder(severity: str | tuple[dict[str, str | bool], ...]) -> Iterable[tuple[str, Expression]]:
    rungs = ({severity: True},) if isinstance(severity, str) else severity
    if not rungs:
        raise BadRule("severity is empty")
    for rung in rungs:
        if len(rung) != 1 or not set(rung) <= set(SEVERITIES):
            raise BadRule(f"severity wants one of {', '.join(SEVERITIES)}: {list(rung)}")
        ((word, condition),) = rung.items()
        yield word, _compiled(word, condition)


def _compiled(name: str, condition: str | bool) -> Expression:
    try:
        return compile_expression(str(condition))
    except BadExpression as error:
        raise BadRule(f"{name}: {error}: {condition}") from error
