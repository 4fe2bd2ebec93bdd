"""The recorded dmidecode outputs beside the checkout, each with the truth about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec


class MemoryCase(msgspec.Struct, frozen=True):
    name: str
    text: str
    truth: dict[str, Any]


def memory_cases(shared: Path) -> list[MemoryCase]:
    """One for each row of the manifest."""
    folder = shared / "corpus" / "memory"
    cases = []
    for line in (folder / "MANIFEST.jsonl").read_text(encoding="utf-8").splitlines():
        truth = json.loads(line)
        name = truth["file"].removeprefix("dmidecode/")
        cases.append(MemoryCase(name, (folder / name).read_text(encoding="utf-8", errors="replace"), truth))
    return cases
