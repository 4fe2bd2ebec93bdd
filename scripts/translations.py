"""Brings the translations up to date: `python scripts/translations.py`; `--check` only says what is missing.

Everything that the screens and the rules say in English gets an entry in `rules/lang/<language>/*.po`, without a
translation where it is new. Where the English of an entry changed, its old translation is kept and marked fuzzy: it
is not shown until somebody has read it and taken the mark away. What nobody says any more goes. `told.po` holds texts
that other layers make; it is kept by hand, and only checked. Run it with the Python of `.venv`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import polib

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.diagnosis.rules import Text, load_rules  # noqa: E402
from doctor.knowledge.catalog import ENGLISH, LANGUAGES  # noqa: E402
from doctor.knowledge.folk import folk_table  # noqa: E402

FOLDER = ROOT / "rules" / "lang"

#: Where sentences are spoken, and which argument of which call is one. `plural` is a count and a noun.
_SPEAKERS = ("present", "cli", "diagnosis", "knowledge")
_CALLS = {"say": 0, "phrase": 0, "counted": 1, "sentence": 0, "filled": 0}

_IN_TEMPLATES = re.compile(r'say\("([^"]+)"')


class Said(NamedTuple):
    """One English text, with the file it stands in and what it is there."""

    english: str
    place: str
    about: str = ""


def texts_of_rules(language: str) -> Iterator[Said]:
    """The texts of every rule that does not bring the language itself."""
    for rule in load_rules(ROOT / "rules").rules:
        file = rule.file
        place = f"rules/{rule.area}/{rule.id}.yaml"
        texts: dict[str, Text] = {"title": file.title, "evidence": file.evidence, "why": file.why, "fix": file.fix.text}
        for about, text in texts.items():
            if isinstance(text, str):
                yield Said(_one_line(text), place, about)
            elif language not in text:
                yield Said(_one_line(text[ENGLISH]), place, about)


def texts_of_folk() -> Iterator[Said]:
    for claim in folk_table().claims:
        for about in ("claim", "why", "instead", "seen"):
            yield Said(_one_line(getattr(claim, about)), "rules/knowledge/folk.yaml", f"{claim.id}: {about}")


def texts_of_screens() -> Iterator[Said]:
    """What the code speaks: literals in calls of `say`, `phrase` and the like."""
    for folder in _SPEAKERS:
        for path in sorted((ROOT / "doctor" / folder).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    yield from (Said(text, place) for text in _spoken(node))
    yield from _texts_of_pages()


def _texts_of_pages() -> Iterator[Said]:
    """What the templates of the page speak: `say("…")`."""
    for path in sorted((ROOT / "doctor" / "present" / "html").glob("*.html")):
        place = path.relative_to(ROOT).as_posix()
        yield from (Said(text, place) for text in _IN_TEMPLATES.findall(path.read_text(encoding="utf-8")))


def _spoken(call: ast.Call) -> Iterator[str]:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name == "plural":
        noun, many = ([_literals(argument) for argument in call.args[1:3]] + [[], []])[:2]
        yield from (f"{{count}} {each}" for each in many or [f"{each}s" for each in noun])
    elif name in _CALLS and len(call.args) > _CALLS[name]:
        yield from _literals(call.args[_CALLS[name]])


def _literals(node: ast.expr) -> list[str]:
    """The text of an argument; of `"yes" if x else "no"` both."""
    if isinstance(node, ast.IfExp):
        return [*_literals(node.body), *_literals(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _one_line(text: str) -> str:
    return " ".join(text.split())


def catalogs_wanted(language: str) -> dict[str, list[Said]]:
    """What each catalog of a language has to hold, each English once, in the order in which it is found."""
    found = {"rules": texts_of_rules(language), "folk": texts_of_folk(), "screens": texts_of_screens()}
    wanted: dict[str, list[Said]] = {}
    for name, texts in found.items():
        once: dict[str, Said] = {}
        for said in texts:
            once.setdefault(said.english, said)
        wanted[name] = list(once.values())
    return wanted


def missing(language: str) -> list[Said]:
    """Everything without a finished translation."""
    lacks: list[Said] = []
    for name, texts in catalogs_wanted(language).items():
        entries = _read(FOLDER / language / f"{name}.po")
        done = {entry.msgid for entry in entries if entry.translated()}
        lacks += [said for said in texts if said.english not in done]
    return lacks


def _read(path: Path) -> polib.POFile:
    return polib.pofile(str(path), encoding="utf-8") if path.exists() else polib.POFile(encoding="utf-8")


def update(language: str) -> None:
    """Rewrite the catalogs of a language."""
    for name, texts in catalogs_wanted(language).items():
        path = FOLDER / language / f"{name}.po"
        old = _read(path)
        new = _updated(old, texts, language)
        if str(new) != str(old):
            path.parent.mkdir(parents=True, exist_ok=True)
            new.metadata["PO-Revision-Date"] = f"{date.today().isoformat()} 00:00+0000"
            new.save(str(path))


def _updated(old: polib.POFile, texts: list[Said], language: str) -> polib.POFile:
    kept = {entry.msgid: entry for entry in old}
    gone = {entry.msgid: entry for entry in old if entry.msgid not in {said.english for said in texts}}
    new = polib.POFile(wrapwidth=116)
    new.metadata = {
        "Project-Id-Version": "amd-doctor",
        "PO-Revision-Date": old.metadata.get("PO-Revision-Date", ""),
        "Language": {"zh": "zh_CN"}.get(language, language),
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    for said in texts:
        entry = kept.get(said.english) or _started(said, gone)
        entry.occurrences, entry.comment = [(said.place, "")], said.about
        new.append(entry)
    return new


def _started(said: Said, gone: dict[str, polib.POEntry]) -> polib.POEntry:
    """A new entry, with the translation of the one whose English it replaces."""
    for old in gone.values():
        if said.about and (old.occurrences, old.comment) == ([(said.place, "")], said.about):
            return _fuzzy(said, old)
    close = get_close_matches(said.english, gone, n=1, cutoff=0.7)
    return _fuzzy(said, gone[close[0]]) if close else polib.POEntry(msgid=said.english)


def _fuzzy(said: Said, old: polib.POEntry) -> polib.POEntry:
    flags = ["fuzzy"] if old.msgstr else []
    return polib.POEntry(msgid=said.english, msgstr=old.msgstr, previous_msgid=old.msgid, flags=flags)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 where something is missing")
    given = parser.parse_args(arguments)
    lacks = 0
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        if not given.check:
            update(language)
        for said in missing(language):
            lacks += 1
            print(f"{language}: {said.place}{f' {said.about}' if said.about else ''}: {said.english}")
    print(f"{lacks} texts are not translated", file=sys.stderr)
    return 1 if lacks else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
