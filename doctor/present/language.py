"""The language in which the screens speak. It is set once, by the command line; what is printed as JSON is English.

`say` speaks a sentence of this folder: its English is its name in the catalog. `told` repeats a text that another layer
made, in English, as far as the catalog knows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from doctor.knowledge.catalog import ENGLISH, Catalog, catalog

_IN_ENGLISH = catalog(ENGLISH)
_SPOKEN: ContextVar[Catalog] = ContextVar("spoken", default=_IN_ENGLISH)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak a language in the block. Raises BadCatalog."""
    token = _SPOKEN.set(catalog(language))
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def language() -> str:
    """The language that is spoken: `en`, `zh`."""
    return _SPOKEN.get().language


def say(english: str, /, **facts: object) -> str:
    """A sentence, or a template with its facts: `say("{count} of {total} CPUs may be used", count=8, total=16)`.

    The English is a literal where it is spoken, or a `phrase` of a table: so the catalogs can be held to it.
    """
    spoken = _SPOKEN.get()
    if spoken is _IN_ENGLISH:
        return english.format(**facts) if facts else english
    return spoken.filled(english, facts)


def counted(one: str, many: str, count: int, /, **facts: object) -> str:
    """`counted("{count} core", "{count} cores", 8)`. A language without a plural has a translation of `many` alone."""
    if _SPOKEN.get() is _IN_ENGLISH:
        return (one if count == 1 else many).format(count=count, **facts)
    return say(many, count=count, **facts)


def phrase(english: str) -> str:
    """Marks an English text of a table that `say` speaks later."""
    return english


def told(text: str) -> str:
    """A text that was made in English, by another layer or for a document, as it is spoken here."""
    spoken = _SPOKEN.get()
    return text if spoken is _IN_ENGLISH else spoken.told(text)


def row(members: Iterable[str]) -> str:
    """`a, b, c`: the members of a list."""
    return _SPOKEN.get().row(list(members))


def joined(parts: Iterable[str]) -> str:
    """`16 cores, 32 threads`: facts on one line. Chinese has another comma for them than for the members of a list."""
    return say(", ").join(parts)
