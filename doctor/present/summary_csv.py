"""The rows of `check --summary` as CSV for a spreadsheet. No cell of it starts a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

from doctor.diagnosis.model import SEVERITIES
from doctor.present.summary_rows import MachineRow
from doctor.present.text import clean

COLUMNS = (
    "machine",
    "status",
    *(f"{word}s" for word in SEVERITIES),
    "undecided",
    "first_rule",
    "first_fix",
    "rules",
    "cpu",
    "gpus",
    "torch",
    "reason",
)

#: What a spreadsheet takes for the start of a formula, also in the wide letters of East Asian keyboards, and behind
#: blanks that it may trim.
_FORMULA = re.compile(r"[ \u3000]*[=+\-@＝＋－＠]")


def summary_csv(rows: Iterable[MachineRow]) -> str:
    """A head line, and a line for each machine. An unknown value is an empty cell, "none" is known absence."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(_cells(row))
    return out.getvalue()


def _cells(row: MachineRow) -> list[str]:
    rules = " ".join(dict.fromkeys(f"{verdict.severity}:{verdict.rule}" for verdict in row.verdicts))
    gpus = None if row.gpus is None else " / ".join(row.gpus) or "none"
    known = row.status not in ("unread", "crashed")
    counts = [str(row.count(word)) if known else "" for word in SEVERITIES]
    undecided = str(len(row.undecided)) if known else ""
    fix = row.fix.line if row.fix else ""
    reason = row.reason or "; ".join(f"crashed: {part}" for part in row.crashed)
    texts = [row.first, fix, rules, row.cpu, gpus, row.torch, reason]
    return [cell(row.machine), row.status, *counts, undecided, *(cell(text or "") for text in texts)]


def cell(text: str) -> str:
    """Text from a machine as a cell: on one line, and with an apostrophe in front where a formula would start."""
    bare = clean(text)
    return f"'{bare}" if _FORMULA.match(bare) else bare
