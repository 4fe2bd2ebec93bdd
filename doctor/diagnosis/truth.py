"""Three truth values, and how they combine. Everything here is total: no value of a machine makes it raise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec


class Unknown(msgspec.Struct, frozen=True):
    """The third truth value, and the facts that would decide, in the order of reading."""

    facts: tuple[str, ...]


Truth: TypeAlias = "bool | Unknown"


def missed(*values: Any) -> Unknown:
    """Unknown for every fact that the unknown ones of the values missed."""
    return Unknown(tuple(dict.fromkeys(fact for value in values if isinstance(value, Unknown) for fact in value.facts)))


def negated(truth: Truth) -> Truth:
    return truth if isinstance(truth, Unknown) else not truth


def joined(truths: Iterable[Truth], decisive: bool) -> Truth:
    """`and` with `decisive` False, `or` with True: one decisive part decides, wherever it stands."""
    unknown: list[Unknown] = []
    for truth in truths:
        if isinstance(truth, Unknown):
            unknown.append(truth)
        elif truth == decisive:
            return decisive
    return missed(*unknown) if unknown else not decisive


def is_number(value: Any) -> bool:
    """A yes or no is no number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def ordered(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> Truth:
    """Only numbers have an order."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return missed(left, right)
    return is_number(left) and is_number(right) and compare(left, right)


def calculated(calculate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A number, or Unknown; the word "none" where there is no number to calculate with, or none comes out."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return missed(left, right)
    if not (is_number(left) and is_number(right)):
        return "none"
    try:
        result = calculate(left, right)
        return result if math.isfinite(result) else "none"
    except (ZeroDivisionError, OverflowError):
        return "none"


def equal(left: Any, right: Any) -> Truth:
    """Equal, and of one kind: `True` is not 1."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return missed(left, right)
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def contains(inside: Any, item: Any) -> Truth:
    """Is `item` a member of a list, a key of a map, a part of a text?"""
    if isinstance(inside, Unknown):
        return missed(item, inside)
    if isinstance(inside, str):
        return item if isinstance(item, Unknown) else isinstance(item, str) and item in inside
    if isinstance(inside, dict):
        return item if isinstance(item, Unknown) else isinstance(item, str) and item in inside
    if not isinstance(inside, tuple | list):
        return False
    return joined((equal(item, member) for member in inside), True)
