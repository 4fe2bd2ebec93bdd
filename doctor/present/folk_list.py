"""Folk advice as a list by verdict, and one piece of it explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doctor import __version__
from doctor.knowledge.folk import VERDICTS, FolkClaim, FolkTable
from doctor.present.language import counted, phrase, say
from doctor.present.status import ERROR, INFO, WARNING
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import listed, wrap

SCHEMA = "amd-doctor/folk/1"

_STEP = 2
_TITLES = {"wrong": phrase("Wrong"), "outdated": phrase("Outdated"), "depends": phrase("It depends")}
_STYLES = {"wrong": ERROR.style, "outdated": WARNING.style, "depends": INFO.style}


def folk_document(table: FolkTable, claims: Sequence[FolkClaim]) -> dict[str, Any]:
    """What `rules folk --json` prints, for all claims or for one."""
    rows = [_one_line(msgspec.to_builtins(claim)) for claim in claims]
    return {"schema": SCHEMA, "version": __version__, "date": table.date, "claims": rows}


def _one_line(row: dict[str, Any]) -> dict[str, Any]:
    return {name: " ".join(value.split()) if isinstance(value, str) else value for name, value in row.items()}


def folk_lines(table: FolkTable, look: Look) -> list[Line]:
    """One entry for each claim, beneath its verdict."""
    lines = _wrapped(say("Advice that is passed on about PyTorch on AMD, and is not right:"), look, 0)
    for verdict in VERDICTS:
        of_verdict = [claim for claim in table.claims if claim.verdict == verdict]
        lines += [line(), line(say(_TITLES[verdict]), _STYLES[verdict])]
        lines += [part for claim in of_verdict for part in _entry(claim, look)]
    one = "{count} claim, as of {date}. amd-doctor rules folk-NAME explains one."
    many = phrase("{count} claims, as of {date}. amd-doctor rules folk-NAME explains one.")
    return [*lines, line(), line(counted(one, many, len(table.claims), date=table.date))]


def _entry(claim: FolkClaim, look: Look) -> list[Line]:
    return [line(" " * _STEP + claim.id, "bold"), *_wrapped(_said(claim.claim), look, 2 * _STEP)]


def claim_lines(table: FolkTable, claim: FolkClaim, look: Look) -> list[Line]:
    """Everything about one claim."""
    lines: list[Line] = [(Span(claim.id, "bold"),), *_wrapped(say('"{claim}"', claim=_said(claim.claim)), look, 0)]
    as_of = say("as of {date}", date=table.date)
    lines += [(Span(say(_TITLES[claim.verdict]), _STYLES[claim.verdict]), Span(f" · {as_of}"))]
    lines += _section(say("Why"), _wrapped(_said(claim.why), look))
    lines += _section(say("Instead"), _wrapped(_said(claim.instead), look))
    checked = listed(claim.checked_by) if claim.checked_by else say("nothing: it cannot be seen on a machine")
    lines += _section(say("Checked here by"), _wrapped(checked, look))
    lines += _section(say("Seen"), _wrapped(_said(claim.seen), look))
    return [*lines, *_section(say("References"), [line(" " * _STEP + address) for address in claim.references])]


def _said(text: str) -> str:
    """A text of the table in the language of the screen."""
    return say(" ".join(text.split()))


def _section(title: str, lines: Sequence[Line]) -> list[Line]:
    return [line(), line(title, "bold"), *lines]


def _wrapped(text: str, look: Look, indent: int = _STEP) -> list[Line]:
    return [line(" " * indent + part) for part in wrap(text, look.columns - indent)]
