"""The `amd-doctor/compare/1` document: what `compare --json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doctor import __version__
from doctor.derive.difference import Change, OneSided
from doctor.diagnosis.engine import reason_for
from doctor.diagnosis.shift import Moved
from doctor.machine.model import Machine
from doctor.present.check_json import finding_json
from doctor.present.checked import Checked
from doctor.present.compared import Compared
from doctor.present.summary import summary

SCHEMA = "amd-doctor/compare/1"


def compare_document(compared: Compared) -> dict[str, Any]:
    """The document as plain values. Changes stand in the order of their weight; `rules` are those that began, stopped
    or changed their severity, and read the fact."""
    difference, shift = compared.difference, compared.shift
    return {
        "schema": SCHEMA,
        "version": __version__,
        "old": _side(compared.old),
        "new": _side(compared.new),
        "began": [_moved(moved, "before") for moved in shift.began],
        "stopped": [_moved(moved, "now") for moved in shift.stopped],
        "severity": [{**finding_json(moved.finding), "before": moved.before} for moved in shift.severity],
        "changes": [_change(change, compared) for change in difference.changes],
        "unknown_now": _one_sided(difference.unknown_now, "before", compared.new.machine),
        "known_now": _one_sided(difference.known_now, "after", compared.old.machine),
        "summary": {
            "differs": compared.differs,
            "changes": len(difference.changes),
            "began": len(shift.began),
            "stopped": len(shift.stopped),
            "severity": len(shift.severity),
            "unknown_now": len(difference.unknown_now),
            "known_now": len(difference.known_now),
            "first": difference.changes[0].fact if difference.changes else None,
        },
    }


def _side(checked: Checked) -> dict[str, Any]:
    """What was looked at, and its own verdict in numbers. A `name` of null is this machine."""
    return {
        "name": checked.given,
        "sources": msgspec.to_builtins(checked.machine.sources or ()),
        "crashed": msgspec.to_builtins(checked.diagnosis.crashed),
        "summary": summary(checked.diagnosis),
    }


def _moved(moved: Moved, other: str) -> dict[str, Any]:
    """A finding, and under `other` what its rule says on the other side."""
    state = {"state": moved.other.word, "by": moved.other.by, "needs": msgspec.to_builtins(moved.other.needs)}
    return {**finding_json(moved.finding), other: state}


def _change(change: Change, compared: Compared) -> dict[str, Any]:
    return {
        "fact": change.fact,
        "before": msgspec.to_builtins(change.before),
        "after": msgspec.to_builtins(change.after),
        "added": list(change.added),
        "removed": list(change.removed),
        "direction": change.direction,
        "weight": change.weight,
        "rules": list(compared.rules_of(change)),
    }


def _one_sided(rows: Sequence[OneSided], side: str, other: Machine) -> list[dict[str, Any]]:
    return [
        {"fact": row.fact, side: row.value, "weight": row.weight, "reason": reason_for(row.fact, other.unknowns or ())}
        for row in rows
    ]
