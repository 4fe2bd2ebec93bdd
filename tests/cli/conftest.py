"""Fixtures of the tests that run the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import MACHINES, Doctor, run_doctor


@pytest.fixture
def doctor() -> Doctor:
    """`doctor("check", "--from", path, env={...}, stdin="...")` runs the command and waits for it."""
    return run_doctor


@pytest.fixture
def healthy() -> Path:
    return MACHINES / "healthy-5950x.json"
