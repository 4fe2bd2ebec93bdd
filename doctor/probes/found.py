"""What a probe returns: its facts, what it could not learn, and where each fact came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doctor.machine.model import UnknownFact
from doctor.sources.base import Missing

_REASON_OF_ABSENT = "not-on-this-platform"


class Found(msgspec.Struct, frozen=True):
    """Facts by top-level field of the machine document (`{"cpu": Cpu(...)}`).

    Two probes may speak of one area: their structs are merged. `origins` maps a dotted fact to the file, command or
    call that gave it. `unknowns` holds facts that a user could do something about.
    """

    facts: Mapping[str, Any] = {}
    unknowns: tuple[UnknownFact, ...] = ()
    origins: Mapping[str, str] = {}


def unknown(fact: str, missing: Missing, detail: str | None = None) -> UnknownFact:
    """The row for a fact whose source had no answer."""
    reason = _REASON_OF_ABSENT if missing.reason == "absent" else missing.reason
    return UnknownFact(fact=fact, reason=reason, detail=detail or missing.detail)
