"""What a test holds of a page that is open in a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Opened:
    """A page in a browser, and what it said and asked for."""

    page: Any
    console: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
