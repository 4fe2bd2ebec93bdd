"""The documents of `amd-doctor env --json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doctor.envfile.check import EnvFinding
from doctor.envfile.files import Removed
from doctor.envfile.reading import EnvRead


def show_document(name: str, read: EnvRead) -> dict[str, Any]:
    return {
        "schema": "amd-doctor/env-show/1",
        "file": name,
        "format": read.format,
        "variables": read.variables,
        "lines": [
            {"line": each.line, "name": each.name, "value": each.value, "managed": each.ours} for each in read.assigned
        ],
        "run_variables": read.evidence.run_variables if read.evidence is not None else {},
        "evidence": msgspec.to_builtins(read.evidence),
        "problems": [{"line": each.line, "text": each.text} for each in read.problems],
    }


def check_document(name: str, read: EnvRead, findings: Sequence[EnvFinding]) -> dict[str, Any]:
    counted = {f"{severity}s": sum(each.severity == severity for each in findings) for severity in ("error", "warning")}
    return {
        "schema": "amd-doctor/env-check/1",
        "file": name,
        "format": read.format,
        "findings": [
            {
                "severity": each.severity,
                "kind": each.kind,
                "line": each.line or None,
                "name": each.name or None,
                "text": each.text,
            }
            for each in findings
        ],
        "summary": counted,
    }


def removed_document(removed: Sequence[Removed]) -> dict[str, Any]:
    return {
        "schema": "amd-doctor/env-remove/1",
        "files": [
            {"file": str(each.path), "blocks": each.blocks, "variables_left": each.left, "empty": each.empty}
            for each in removed
        ],
    }
