"""The one document of `tune`: the result, every sample it rests on, and the machine that was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from doctor import __version__
from doctor.measure.units import Measured
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult

PLAN_SCHEMA = "amd-doctor/tune-plan/1"


def tune_document(
    result: TuneResult, samples: Sequence[Measured], machine: Mapping[str, Any], taken_at: datetime
) -> dict[str, Any]:
    """`read_result` reads the result back from it. `samples`: every unit in the order of measuring.

    What is derived from the result stands beside it, so that a script needs no arithmetic: `disturbed`, and the
    settings that may be exported.
    """
    said = {name: value for name, value in msgspec.to_builtins(result).items() if name != "schema"}
    return {
        "schema": result.schema,
        "version": __version__,
        "taken_at": taken_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        **said,
        "disturbed": result.disturbed,
        "export": _setting(result.export),
        "export_variables": _setting(result.export_variables),
        "samples": [msgspec.to_builtins(sample) for sample in samples],
        "machine": dict(machine),
    }


def _setting(candidate: Any) -> dict[str, Any] | None:
    if candidate is None:
        return None
    return {"name": candidate.name, **msgspec.to_builtins(candidate.setting)}


def plan_document(plan: Plan) -> dict[str, Any]:
    """What would be tried."""
    return {"schema": PLAN_SCHEMA, "version": __version__, "plan": msgspec.to_builtins(plan)}
