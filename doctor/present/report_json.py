"""A report as one JSON document, with nothing cut: what a script reads, and `check --from` too."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.present.check_json import check_document
from doctor.present.report_parts import SCHEMA
from doctor.present.reported import Reported


def report_document(reported: Reported) -> dict[str, Any]:
    """The document of `check --json`, with what a report adds to it."""
    left_out = {
        "packages": reported.packages_left_out,
        "kernel_parameters": reported.kernel_parameters_left_out,
    }
    return {
        **check_document(reported.checked),
        "schema": SCHEMA,
        "made_on": reported.today,
        "tune": None if reported.tune is None else msgspec.to_builtins(reported.tune.result),
        "removed": dict(reported.removed),
        "left_out": left_out,
    }
