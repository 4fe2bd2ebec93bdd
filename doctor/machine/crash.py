"""A part of the doctor that failed, while the rest went on."""

from __future__ import annotations

import msgspec


class Crash(msgspec.Struct, frozen=True):
    """A part of the doctor that failed: `probe:memory`, `rule:cpu-no-avx`. The rest went on."""

    part: str
    detail: str
