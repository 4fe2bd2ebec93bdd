"""What the doctor says in another language, by its English: gettext catalogs, `rules/lang/<language>/*.po`.

What a catalog lacks stays English. A text that was made elsewhere, or read from a document, is known again by its
template: `told.po` holds those of the layers that speak English only, and a text that fits `"{count:w} threads"` is
told in the words of its translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from string import Formatter

from doctor.knowledge.catalog import BadCatalog, Catalog
from doctor.knowledge.location import rules_folder

#: The catalog of texts that are known again by their template.
_TOLD = "told"

#: A hole of a template; `{version:w}` takes one word only.
_FIELD = re.compile(r"\{(\w+(?::w)?)\}")
_LISTED = re.compile(r", and |, | and ")
#: Where one sentence of a text ends and the next begins.
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z])")
#: What no hole of a template takes: the end of a sentence with another one behind it.
_FULL_STOP = re.compile(r"[.!?]\s+[A-Z]")
#: Letters and marks that take two columns: no blank stands between two of them.
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60]")
#: Of these the ones that bring their own room: no blank stands beside them at all.
_ROOMY = frozenset("，。；：、！？（）【】「」《》")


class Translation(Catalog):
    """The sentences of one language. `told` holds those that are known again by their template."""

    def __init__(self, language: str, sentences: Mapping[str, str], told: Mapping[str, str] | None = None) -> None:
        self.language = language
        self._sentences = {**sentences, **(told or {})}
        templates = [_Template(english, text) for english, text in (told or {}).items() if _FIELD.search(english)]
        self._templates = sorted(templates, key=lambda template: -template.literal)

    def put(self, pieces: Iterable[str]) -> str:
        return placed(pieces)

    def sentence(self, english: str) -> str:
        return self._sentences.get(english, english)

    def filled(self, template: str, facts: Mapping[str, object]) -> str:
        translated = self._sentences.get(template)
        if translated is None:
            return template.format(**facts) if facts else template
        return _placed(translated, facts) if facts else translated

    def row(self, members: Sequence[str]) -> str:
        if not members:
            return ""
        return reduce(lambda first, last: self.filled("{first}, {last}", {"first": first, "last": last}), members)

    def told(self, text: str) -> str:
        """As a whole, by its template, or sentence by sentence."""
        known = self._told(text)
        if known is not None:
            return known
        parts = [self._told(part) or self._members(part) for part in _SENTENCE.split(text)]
        return placed(piece for part in parts for piece in (part, " ")).rstrip(" ")

    def _told(self, text: str) -> str | None:
        exact = self._sentences.get(text)
        if exact is not None and not _FIELD.search(text):
            return exact
        for template in self._templates:
            facts = template.facts_in(text)
            if facts is not None:
                return _placed(template.text, {name: self._fact(value) for name, value in facts.items()})
        return None

    def _fact(self, value: str) -> str:
        return self._told(value) or self._members(value)

    def _members(self, text: str) -> str:
        """A list of which a member is known, or whose members are single words: `linux and windows`."""
        parts = _LISTED.split(text)
        told = [self._told(part) for part in parts]
        if len(parts) == 1 or not (any(told) or all(" " not in part for part in parts)):
            return text
        return self.row([new or old for new, old in zip(told, parts, strict=True)])


class _Template:
    """An English text with holes, and its translation. Compiled only for a text that holds its longest piece."""

    def __init__(self, english: str, text: str) -> None:
        self.text = text
        self._english = english
        pieces = _FIELD.split(english)[::2]
        self._longest = max(pieces, key=len)
        self.literal = sum(map(len, pieces))

    def facts_in(self, text: str) -> dict[str, str] | None:
        if self._longest not in text:
            return None
        pieces = _FIELD.split(self._english)
        parts = (re.escape(piece) if at % 2 == 0 else _hole(piece) for at, piece in enumerate(pieces))
        found = re.fullmatch("".join(parts), text)
        if found is None or any(_FULL_STOP.search(value) for value in found.groups()):
            return None
        return found.groupdict()


def _hole(field: str) -> str:
    name, _, kind = field.partition(":")
    return rf"(?P<{name}>\S+)" if kind == "w" else f"(?P<{name}>.+?)"


def _placed(template: str, facts: Mapping[str, object]) -> str:
    """`template` with its facts, and no blank between two wide letters."""
    pieces: list[str] = []
    for literal, name, spec, _ in Formatter().parse(template):
        pieces.append(literal)
        if name is not None:
            pieces.append(format(facts[name], spec or ""))
    return placed(pieces)


def placed(pieces: Iterable[str]) -> str:
    """The pieces one after another. A template cannot know whether a name or a Chinese word takes a place in it: at the
    seams no blank stands between two wide letters or beside a wide mark, and one stands between a wide letter and a
    Latin one."""
    out = ""
    for piece in pieces:
        if not piece:
            continue
        before, behind = out.rstrip(" "), piece.lstrip(" ")
        if not before or not behind:
            out += piece
            continue
        last, first = before[-1], behind[0]
        if last in _ROOMY or first in _ROOMY or (_is_wide(last) and _is_wide(first)):
            out = before + behind
        elif out == before and piece == behind and _is_wide(last) != _is_wide(first) and _are_letters(last, first):
            out += " " + piece
        else:
            out += piece
    return out


def _is_wide(letter: str) -> bool:
    return bool(_WIDE.match(letter))


def _are_letters(*letters: str) -> bool:
    return all(letter.isalnum() for letter in letters)


@cache
def translation(language: str) -> Translation:
    """Every catalog of a language. Raises BadCatalog."""
    sentences: dict[str, str] = {}
    told: dict[str, str] = {}
    for path in catalog_files(language):
        (told if path.stem == _TOLD else sentences).update(read_catalog(path))
    return Translation(language, sentences, told)


def catalog_files(language: str) -> tuple[Path, ...]:
    return tuple(sorted((rules_folder() / "lang" / language).glob("*.po")))


def read_catalog(path: Path) -> dict[str, str]:
    """English and translation of every finished entry. Raises BadCatalog."""
    import polib

    try:
        entries = polib.pofile(str(path), encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BadCatalog(f"{path}: {' '.join(str(error).split())}") from error
    return {entry.msgid: entry.msgstr for entry in entries if entry.translated()}
