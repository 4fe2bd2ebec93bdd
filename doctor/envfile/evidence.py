"""The evidence as one line of ASCII JSON that may stand in a comment of every format, and back."""

from __future__ import annotations

import json

import msgspec

from doctor.envfile.content import SCHEMA, Evidence

#: What stands before the JSON.
EVIDENCE = "evidence: "
_MAX_BYTES = 64 * 1024


def evidence_text(evidence: Evidence) -> str:
    """One line. A percent sign is escaped: cmd looks for them even in comments."""
    plain = {"schema": SCHEMA, **msgspec.to_builtins(evidence)}
    return json.dumps(plain, separators=(",", ":")).replace("%", "\\u0025")


def evidence_in(text: str) -> tuple[Evidence | None, str]:
    """The evidence in a text, or a sentence on why there is none."""
    if len(text) > _MAX_BYTES:
        return None, "the evidence is larger than amd-doctor writes it"
    try:
        evidence = msgspec.json.decode(text.strip().encode("utf-8", "replace"), type=Evidence)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        return None, "the evidence cannot be read: it was changed by hand or cut off"
    if evidence.schema != SCHEMA:
        return None, f"the evidence is of another version: its schema is {evidence.schema[:40]!r}"
    return evidence, ""
