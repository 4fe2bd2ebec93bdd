"""Folk advice as a list by verdict, and one piece of it explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doctor import __version__
from doctor.knowledge.folk import VERDICTS, FolkClaim, FolkTable
from doctor.present.status import ERROR, INFO, WARNING
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import listed, plural, wrap

SCHEMA = "amd-doctor/folk/1"

_STEP = 2
_TITLES = {"wrong": "Wrong", "outdated": "Outdated", "depends": "It depends"}
_STYLES = {"wrong": ERROR.style, "outdated": WARNING.style, "depends": INFO.style}


def folk_document(table: FolkTable, claims: Sequence[FolkClaim]) -> dict[str, Any]:
    """What `rules folk --json` prints, for all claims or for one."""
    rows = [_one_line(msgspec.to_builtins(claim)) for claim in claims]
    return {"schema": SCHEMA, "version": __version__, "date": table.date, "claims": rows}


def _one_line(row: dict[str, Any]) -> dict[str, Any]:
    return {name: " ".join(value.split()) if isinstance(value, str) else value for name, value in row.items()}


def folk_lines(table: FolkTable, look: Look) -> list[Line]:
    """One entry for each claim, beneath its verdict."""
    lines = _wrapped("Advice that is passed on about PyTorch on AMD, and is not right:", look, 0)
    for verdict in VERDICTS:
        of_verdict = [claim for claim in table.claims if claim.verdict == verdict]
        lines += [line(), line(_TITLES[verdict], _STYLES[verdict])]
        lines += [part for claim in of_verdict for part in _entry(claim, look)]
    count = plural(len(table.claims), "claim")
    return [*lines, line(), line(f"{count}, as of {table.date}. amd-doctor rules folk-NAME explains one.")]


def _entry(claim: FolkClaim, look: Look) -> list[Line]:
    return [line(" " * _STEP + claim.id, "bold"), *_wrapped(claim.claim, look, 2 * _STEP)]


def claim_lines(table: FolkTable, claim: FolkClaim, look: Look) -> list[Line]:
    """Everything about one claim."""
    lines: list[Line] = [(Span(claim.id, "bold"),), *_wrapped(f'"{claim.claim}"', look, 0)]
    lines += [(Span(_TITLES[claim.verdict], _STYLES[claim.verdict]), Span(f" · as of {table.date}"))]
    lines += _section("Why", _wrapped(claim.why, look))
    lines += _section("Instead", _wrapped(claim.instead, look))
    checked = listed(claim.checked_by) if claim.checked_by else "nothing: it cannot be seen on a machine"
    lines += _section("Checked here by", _wrapped(checked, look))
    lines += _section("Seen", _wrapped(claim.seen, look))
    return [*lines, *_section("References", [line(" " * _STEP + address) for address in claim.references])]


def _section(title: str, lines: Sequence[Line]) -> list[Line]:
    return [line(), line(title, "bold"), *lines]


def _wrapped(text: str, look: Look, indent: int = _STEP) -> list[Line]:
    return [line(" " * indent + part) for part in wrap(text, look.columns - indent)]
