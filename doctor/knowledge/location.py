"""Where the rules and tables lie: inside the installed package, else in the checkout beside it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def rules_folder() -> Path:
    """The folder that holds `<area>/<rule-id>.yaml` and `knowledge/`. Raises FileNotFoundError where neither exists."""
    packaged = Path(str(files("doctor"))) / "_rules"
    checkout = Path(__file__).resolve().parents[2] / "rules"
    for folder in (packaged, checkout):
        if (folder / "knowledge").is_dir():
            return folder
    raise FileNotFoundError(f"no rules at {packaged} or {checkout}: the installation is incomplete")
