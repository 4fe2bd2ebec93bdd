"""The recorded machines beside the checkout, and the truth about each: empty where they are not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"

RECORDED: dict[str, Any] = json.loads((_CORPUS / "machines.json").read_text()) if _CORPUS.is_dir() else {}

#: Its kernel lists three L3 groups for two: ids and lists disagree.
PRE_4_14 = "ryzen-5-1600-linux-pre-4.14-l3-bug"

#: Parameters of a test over all others; one stands in where there are none, so that the skip is seen.
OTHERS = [name for name in RECORDED if name != PRE_4_14] or ["none"]
