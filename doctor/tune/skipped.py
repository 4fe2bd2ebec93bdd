"""What a run leaves out, and why."""

from __future__ import annotations

import msgspec


class Skipped(msgspec.Struct, frozen=True):
    """An axis, or a part of it, that was left out before the run, and why."""

    axis: str
    why: str
