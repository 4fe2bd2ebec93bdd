"""Does a dotted fact exist, and what can it hold? Answered from the type hints of the machine document and of the
derived facts, so that a rule with a slip of the pen fails a test and not a user."""

from __future__ import annotations

import types
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from doctor.derive.facts import Derived
from doctor.diagnosis.expression import Expression
from doctor.machine.model import Machine

#: Reached through derived facts only: their keys are no Python names.
_NOT_DOTTED = ("nodes",)


class UnknownPath(Exception):
    """A dotted fact that the model does not have. The message is one sentence."""


def holds(path: str, item: Any = None) -> frozenset[Any]:
    """What a fact can hold: a set of `bool`, `int`, `float`, `str`, `tuple`, `dict` and struct types.

    `item` is what `it` stands for in a `for_each` (see `item_of`). Raises UnknownPath.
    """
    return frozenset(_plain(form) for form in _forms(path, item))


def item_of(path: str) -> Any:
    """The type of one item of a list, for `it`. Raises UnknownPath where the fact is no list."""
    for form in _forms(path, None):
        if get_origin(form) is tuple:
            return get_args(form)[0]
    raise UnknownPath(f"{path} is not a list")


def problems_of(expression: Expression, item: Any = None) -> list[str]:
    """What is wrong with the facts of a condition, one sentence each: facts that do not exist, words taken for
    numbers or conditions."""
    problems = []
    for path in expression.facts:
        try:
            kinds = holds(path, item)
        except UnknownPath as error:
            problems.append(str(error))
            continue
        if path in expression.truths and kinds != {bool}:
            problems.append(f"{path} is not a yes or no")
        if path in expression.numbers and not kinds & {int, float}:
            problems.append(f"{path} is not a number")
        if path in expression.collections and not kinds & {tuple, dict, str}:
            problems.append(f"nothing can be in {path}")
    return problems


def machine_facts(path: str) -> tuple[str, ...]:
    """The machine facts behind a derived one, where its struct tells them (`READS`); else the path itself."""
    names = path.split(".")
    if names[0] != "derived" or len(names) < 3:
        return (path,)
    try:
        areas = holds(".".join(names[:2]))
    except UnknownPath:
        return (path,)
    for area in areas:
        reads: tuple[str, ...] = getattr(area, "READS", {}).get(names[2], ())
        if reads:
            return reads
    return (path,)


def _forms(path: str, item: Any) -> tuple[Any, ...]:
    root, *names = path.split(".")
    if root == "it":
        if item is None:
            raise UnknownPath(f"{path}: `it` exists in a for_each only")
        forms = _members(item)
    elif root == "derived":
        forms = (Derived,)
    else:
        forms, names = (Machine,), [root, *names]
    if root in _NOT_DOTTED and len(names) > 1:
        raise UnknownPath(f"{path}: read {root} through a derived fact")
    for name in names:
        forms = tuple(inner for form in forms for inner in _step(form, name))
        if not forms:
            raise UnknownPath(f"{path} is not a fact of the machine document")
    return forms


def _step(form: Any, name: str) -> tuple[Any, ...]:
    if isinstance(form, type) and issubclass(form, msgspec.Struct):
        hint = _hints(form).get(name) if name in form.__struct_fields__ else None
        return () if hint is None else _members(hint)
    return _members(get_args(form)[1]) if get_origin(form) is dict else ()


@cache
def _hints(struct: type) -> dict[str, Any]:
    return get_type_hints(struct)


def _members(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(member for part in get_args(hint) for member in _members(part))
    return () if hint is type(None) else (hint,)


def _plain(form: Any) -> Any:
    origin = get_origin(form)
    if origin is Literal:
        return type(get_args(form)[0])
    return origin or form
