"""What the doctor says, in a language: here in English, which the code and the rules hold themselves.

English costs nothing: it reads no file and compiles no pattern. The other languages are in `translation.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh")


class BadCatalog(Exception):
    """A catalog that cannot be read. The message is one sentence that names the file and the reason."""


class Catalog:
    """The sentences of a language, by their English. This one is English itself."""

    language = ENGLISH

    def sentence(self, english: str) -> str:
        """A sentence or template. What a language lacks stays English."""
        return english

    def filled(self, template: str, facts: Mapping[str, object]) -> str:
        """A template with its facts."""
        return template.format(**facts) if facts else template

    def put(self, pieces: Iterable[str]) -> str:
        """The pieces of a text as one text."""
        return "".join(pieces)

    def row(self, members: Sequence[str]) -> str:
        """`a, b, c`: the members of a list."""
        return ", ".join(members)

    def told(self, text: str) -> str:
        """A text that was made in English, by a layer that speaks nothing else or for a document."""
        return text


_IN_ENGLISH = Catalog()


def catalog(language: str = ENGLISH) -> Catalog:
    """The catalog of a language. Raises BadCatalog."""
    if language == ENGLISH:
        return _IN_ENGLISH
    from doctor.knowledge.translation import translation

    return translation(language)
