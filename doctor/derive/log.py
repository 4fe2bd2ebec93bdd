"""Was a text looked through for known errors? The rules on such lines have nothing to do where there was none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.machine.model import Fact, Machine


class LogFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {"given": ("log",)}
    given: bool = False


def log_facts(machine: Machine, today: date | None = None) -> LogFacts:
    return LogFacts(given=machine.log is not None)
