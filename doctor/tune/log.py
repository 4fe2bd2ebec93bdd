"""A run on disk, as it goes: one line with the plan, then one per unit. What was cut off while it was written is
dropped, so that a run which was killed can go on."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.measure.units import Measured
from doctor.tune.plan import Plan

SCHEMA = "amd-doctor/tune-log/1"


class BadLog(Exception):
    """Bytes that are no saved run. The message is one sentence."""


class SavedRun(msgspec.Struct, frozen=True):
    """A plan, and what was measured of it so far."""

    plan: Plan
    events: tuple[Measured, ...] = ()


class _Head(msgspec.Struct, frozen=True):
    schema: str
    plan: Plan


def first_line(plan: Plan) -> bytes:
    return msgspec.json.encode(_Head(SCHEMA, plan)) + b"\n"


def next_line(measured: Measured) -> bytes:
    return msgspec.json.encode(measured) + b"\n"


def read_log(data: bytes) -> SavedRun:
    """A saved run. A last line without its end was cut off and is left out. Raises BadLog."""
    lines = data.split(b"\n")[:-1]
    if not lines:
        raise BadLog("not a saved run: its first line is missing")
    head = _decoded(lines[0], _Head, 1)
    if head.schema != SCHEMA:
        raise BadLog(f"not a saved run of this version: its schema is {head.schema[:60]!r}")
    return SavedRun(head.plan, tuple(_decoded(line, Measured, number) for number, line in enumerate(lines[1:], 2)))


def _decoded(line: bytes, kind: type[Any], number: int) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except RecursionError as error:
        raise BadLog(f"not a saved run: line {number} is nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadLog(f"not a saved run: line {number}: {error}") from error
