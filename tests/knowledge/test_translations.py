"""What every catalog is held to: it is complete, and says the same as the English, with the same holes and names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import polib
import pytest

from doctor.diagnosis.rules import RuleSet, load_rules
from doctor.diagnosis.template import facts_of
from doctor.knowledge.catalog import ENGLISH, LANGUAGES
from doctor.knowledge.translation import catalog_files
from scripts.translations import Said, catalogs_wanted, missing

#: English texts that may be without a translation for a while, by language.
MAY_BE_MISSING: dict[str, set[str]] = {"zh": set()}

OTHERS = [language for language in LANGUAGES if language != ENGLISH]
FILES = [(language, path) for language in OTHERS for path in catalog_files(language)]

_IDS = [f"{language}-{path.stem}" for language, path in FILES]
every_file = pytest.mark.parametrize(("language", "path"), FILES, ids=_IDS)


def entries(path: object) -> Iterator[polib.POEntry]:
    """The finished entries of a catalog."""
    yield from (entry for entry in polib.pofile(str(path), encoding="utf-8") if entry.translated())


def test_every_language_has_catalogs() -> None:
    assert {language for language, _ in FILES} == set(OTHERS)


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_is_missing(language: str) -> None:
    """A new rule or sentence: python scripts/translations.py makes its entry, docs/translating.md says the rest."""
    lacks: list[Said] = [said for said in missing(language) if said.english not in MAY_BE_MISSING[language]]
    assert lacks == [], f"{len(lacks)} texts without a translation: python scripts/translations.py"


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_is_translated_that_nobody_says(language: str) -> None:
    wanted = {name: {said.english for said in texts} for name, texts in catalogs_wanted(language).items()}
    for _, path in ((each, path) for each, path in FILES if each == language and path.stem in wanted):
        spoken = {entry.msgid for entry in polib.pofile(str(path), encoding="utf-8")}
        assert spoken - wanted[path.stem] == set(), "python scripts/translations.py takes them out"


@every_file
def test_no_english_stands_twice(language: str, path: object) -> None:
    times = Counter(entry.msgid for entry in polib.pofile(str(path), encoding="utf-8"))
    assert [english for english, count in times.items() if count > 1] == []


_HOLE = re.compile(r"\{([\w.]+)(?::([^}]*))?\}")


@every_file
def test_holes_are_the_same(language: str, path: object) -> None:
    """The same facts, each as often, in the same form; `{name:w}` of `told.po` says only what the hole takes."""

    def holes(text: str) -> Counter[tuple[str, str]]:
        return Counter((name, "" if kind == "w" else kind) for name, kind in _HOLE.findall(text))

    for entry in entries(path):
        assert holes(entry.msgid) == holes(entry.msgstr), entry.msgid


#: What is the same in every language: addresses, options, names in capitals, versions, paths, gfx targets.
_NAMES = re.compile(
    r"https?://[\w./#-]*[\w/#-]|(?<![\w-])--[a-z][a-z-]+|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b\d+(?:\.\d+)+\b|\bgfx[0-9a-f]+\b"
    r"|(?<![\w.])/(?:dev|etc|opt|proc|sys|usr)/[\w./*-]*[\w*]"
)


@every_file
def test_names_are_the_same(language: str, path: object) -> None:
    for entry in entries(path):
        assert set(_NAMES.findall(entry.msgid)) == set(_NAMES.findall(entry.msgstr)), entry.msgid


_CLAUSE = {"en": re.compile(r"(?<=[.;])\s+"), "zh": re.compile(r"(?<=[。；])|(?<=[.;])\s+")}


@pytest.fixture(scope="module")
def rule_set() -> RuleSet:
    return load_rules()


@pytest.mark.parametrize("language", OTHERS)
def test_clauses_of_rules_hold_the_same_facts(language: str, rule_set: RuleSet) -> None:
    """A clause falls where one of its facts is unknown: the same facts have to stand together in every language."""

    def clauses(text: str, spoken: str) -> Counter[frozenset[str]]:
        return Counter(facts for part in _CLAUSE[spoken].split(text) if (facts := frozenset(facts_of(part))))

    (path,) = (path for path in catalog_files(language) if path.stem == "rules")
    for entry in entries(path):
        if entry.comment in ("title", "evidence", "fix"):
            assert clauses(entry.msgid, "en") == clauses(entry.msgstr, language), entry.msgid


# Chinese

CHINESE = [path for language, path in FILES if language == "zh"]


@pytest.mark.parametrize("path", CHINESE, ids=[path.stem for path in CHINESE])
def test_chinese_is_written_as_it_is_written(path: object) -> None:
    """Full-width marks behind Chinese, a blank between Chinese and Latin letters or figures, nobody addressed."""
    for entry in entries(path):
        text = entry.msgstr
        assert not re.search(r"[\u4e00-\u9fff][,;:!?]|[\u4e00-\u9fff]\.(\s|$)", text), text
        assert not re.search(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9%][\u4e00-\u9fff]", text), text
        assert not re.search(r"[\u4e00-\u9fff（）] [\u4e00-\u9fff]|[，。；：、！？] (?!https)", text), text
        assert not re.search("[您你咱]", text), text
        assert "。" not in text[-1:] or entry.msgid.rstrip()[-1:] in ".:\"", text
