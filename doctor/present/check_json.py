"""The `amd-doctor/check/1` document: what `check --json` prints."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from doctor import __version__
from doctor.diagnosis.model import Finding
from doctor.present.checked import Checked
from doctor.present.summary import summary

SCHEMA = "amd-doctor/check/1"


def check_document(checked: Checked) -> dict[str, Any]:
    """The document as plain values."""
    diagnosis = checked.diagnosis
    return {
        "schema": SCHEMA,
        "version": __version__,
        "machine": dict(checked.document),
        "findings": [finding_json(finding) for finding in diagnosis.findings],
        "silenced": msgspec.to_builtins(diagnosis.silenced),
        "undecided": msgspec.to_builtins(diagnosis.undecided),
        "crashed": msgspec.to_builtins(diagnosis.crashed),
        "summary": summary(diagnosis),
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "area": finding.area,
        "subject": finding.subject,
        "title": finding.title,
        "evidence": finding.evidence,
        "why": finding.why,
        "fix": {"text": finding.fix.text, "commands": list(finding.fix.commands)},
        "references": list(finding.references),
        "caused_by": finding.caused_by,
    }


def json_text(plain: Any) -> str:
    """`plain` as indented JSON in ASCII, so that every terminal, pipe and code page can take it."""
    return json.dumps(plain, indent=2, ensure_ascii=True) + "\n"
