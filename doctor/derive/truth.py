"""Three-valued logic for derived facts: None is unknown, and it spreads only where it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def both(*values: bool | None) -> bool | None:
    """True where all are, False where one is not."""
    if any(value is False for value in values):
        return False
    return None if None in values else True


def any_of(values: Iterable[bool | None]) -> bool | None:
    """True where one is, False where none is."""
    found = list(values)
    return True if any(found) else None if None in found else False


def count(items: Iterable[T], holds: Callable[[T], bool | None]) -> int | None:
    """How many hold; None where that of one is unknown."""
    values = [holds(item) for item in items]
    return None if None in values else sum(value is True for value in values)


def known_count(items: Iterable[T], holds: Callable[[T], bool | None]) -> int | None:
    """How many are known to hold; None only where none is and one may be."""
    values = [holds(item) for item in items]
    known = sum(value is True for value in values)
    return known if known or None not in values else None
