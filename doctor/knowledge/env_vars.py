"""Environment variables that change how PyTorch runs, and which runtimes really read them (`env_vars.yaml`).

The table is read on every start, because it is also the allow-list of the environment: it takes about 3 ms. That is
why the file groups its rows into families instead of repeating every field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import BadFile, read_typed

_FILE = "env_vars.yaml"
_PLACEHOLDERS = {"<n>": "[0-9]{1,3}", "*": "[A-Z0-9_]{1,80}"}


class EnvVariable(msgspec.Struct, frozen=True):
    """One variable. `name` holds a placeholder (`<n>`, `*`) where it stands for many."""

    name: str
    family: str
    read_by: tuple[str, ...]
    os: tuple[str, ...]
    when_read: str
    before_import: str
    does: str
    default: str | None
    traps: str | None
    touches_files: bool
    source: str
    date: str


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    does: str
    default: str | None = None
    traps: str | None = None
    read_by: tuple[str, ...] | None = None
    os: tuple[str, ...] | None = None
    when_read: str | None = None
    before_import: str | None = None
    touches_files: Literal["yes", "no"] = "no"
    source: str | None = None


class _Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    family: str
    read_by: tuple[str, ...]
    os: tuple[str, ...]
    when_read: str
    before_import: str
    source: str
    variables: dict[str, _Row]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: tuple[str, ...]
    date: str
    families: tuple[_Family, ...]


@cache
def env_variables() -> Mapping[str, EnvVariable]:
    """Every row by its name, in the order of the file. Raises BadFile."""
    path = rules_folder() / "knowledge" / _FILE
    table = read_typed(path, _Table)
    rows: dict[str, EnvVariable] = {}
    for family in table.families:
        for name, row in family.variables.items():
            if name in rows:
                raise BadFile(f"{path}: {name} stands in two families")
            rows[name] = _variable(name, row, family, table.date)
    return rows


def _variable(name: str, row: _Row, family: _Family, date: str) -> EnvVariable:
    return EnvVariable(
        name=name,
        family=family.family,
        read_by=row.read_by or family.read_by,
        os=row.os or family.os,
        when_read=row.when_read or family.when_read,
        before_import=row.before_import or family.before_import,
        does=row.does,
        default=row.default,
        traps=row.traps,
        touches_files=row.touches_files == "yes",
        source=row.source or family.source,
        date=date,
    )


@cache
def tuning_names() -> frozenset[str]:
    """The concrete names: the published allow-list of the environment, but for `tuning_patterns`."""
    return frozenset(name for name in env_variables() if not _is_pattern(name))


@cache
def tuning_patterns() -> tuple[tuple[re.Pattern[str], EnvVariable], ...]:
    """Names that stand for many, as regular expressions over a whole name."""
    return tuple((_pattern(name), row) for name, row in env_variables().items() if _is_pattern(name))


def _is_pattern(name: str) -> bool:
    return any(mark in name for mark in _PLACEHOLDERS)


def _pattern(name: str) -> re.Pattern[str]:
    expression = re.escape(name)
    for mark, meaning in _PLACEHOLDERS.items():
        expression = expression.replace(re.escape(mark), meaning)
    return re.compile(expression)


def env_variable(name: str) -> EnvVariable | None:
    """The row that speaks of `name`; None for a variable that is not in the table."""
    if name in tuning_names():
        return env_variables()[name]
    return next((row for pattern, row in tuning_patterns() if pattern.fullmatch(name)), None)


def is_tuning_name(name: str) -> bool:
    """Whether a variable of this name belongs into a machine document."""
    return env_variable(name) is not None
