"""The plan as JSON (`amd-doctor/plan/1`)."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor import __version__
from doctor.derive.plan_model import Plan
from doctor.derive.plan_verify import Verification

SCHEMA = "amd-doctor/plan/1"


def plan_document(plan: Plan, verification: Verification | None = None) -> dict[str, Any]:
    """The document as plain values. Commands stand under the shell that they are for; what is unknown is null.
    `verification` is null where nobody asked for it."""
    fields: dict[str, Any] = msgspec.to_builtins(plan)
    verified = None
    if verification is not None:
        verified = {"right": verification.right, "checks": msgspec.to_builtins(verification.checks)}
    return {"schema": SCHEMA, "version": __version__, **fields, "verification": verified}
