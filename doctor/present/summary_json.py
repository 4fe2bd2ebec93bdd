"""The `amd-doctor/summary/1` document: what `check --summary --json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from doctor import __version__
from doctor.diagnosis.model import SEVERITIES
from doctor.present.summary_rows import STATUSES, MachineRow, RuleCount, counts_by_rule

SCHEMA = "amd-doctor/summary/1"


def summary_document(rows: Sequence[MachineRow]) -> dict[str, Any]:
    """The document as plain values: a row for each machine, counts by rule (the worst first), counts in all."""
    states = Counter(row.status for row in rows)
    counts = counts_by_rule(rows)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "machines": [_machine(row) for row in rows],
        "rules": [_rule(count) for count in counts],
        "summary": {
            "machines": len(rows),
            **{status: states[status] for status in STATUSES},
            "first": next((count.rule for count in counts if count.machines), None),
        },
    }


def _machine(row: MachineRow) -> dict[str, Any]:
    fix = row.fix
    return {
        "machine": row.machine,
        "status": row.status,
        "reason": row.reason,
        "crashed": list(row.crashed),
        "summary": {
            **{f"{word}s": row.count(word) for word in SEVERITIES},
            "undecided": len(row.undecided),
            "first": row.first,
        },
        "findings": msgspec.to_builtins(row.verdicts),
        "undecided": list(row.undecided),
        "first_fix": None if fix is None else {"rule": fix.rule, "text": fix.text, "commands": list(fix.commands)},
        "cpu": row.cpu,
        "gpus": None if row.gpus is None else list(row.gpus),
        "torch": row.torch,
    }


def _rule(count: RuleCount) -> dict[str, Any]:
    severities = {f"{word}s": number for word, number in zip(SEVERITIES, count.severities, strict=True)}
    return {"rule": count.rule, "machines": count.machines, **severities, "undecided": count.undecided}
