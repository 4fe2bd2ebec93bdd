from __future__ import annotations

from datetime import date, timedelta

import pytest

from doctor.derive import tables
from doctor.derive.tables import USED_WHERE, table_dates, table_facts
from doctor.knowledge.location import rules_folder
from doctor.machine.model import Cpu, Machine, Python, Torch

ZEN = Machine(cpu=Cpu(vendor="AuthenticAMD", family=25, model=97))


def test_every_table_has_a_date_and_says_where_it_is_used() -> None:
    files = {path.stem for path in (rules_folder() / "knowledge").glob("*.yaml")}
    assert set(table_dates()) == files == set(USED_WHERE)


def test_age_is_counted_to_today() -> None:
    written = table_dates()["zen"]
    facts = table_facts(ZEN, written + timedelta(days=400))
    assert (facts.oldest, facts.oldest_days) == (f"zen of {written}", 400)
    assert table_facts(ZEN).oldest_days is None
    assert table_facts(ZEN, written - timedelta(days=3)).oldest_days == 0, "a clock that goes wrong"


def test_a_table_that_no_verdict_rests_on_does_not_count() -> None:
    assert table_facts(Machine(), date(2099, 1, 1)) == tables.TableFacts(oldest="none", oldest_days=0)


def test_the_oldest_of_those_in_use_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    dates = {"zen": date(2026, 1, 1), "python_support": date(2025, 1, 1), "env_vars": date(2020, 1, 1)}
    monkeypatch.setattr(tables, "table_dates", lambda: dates)
    assert table_facts(ZEN).oldest == "zen of 2026-01-01"
    lacking = Machine(cpu=ZEN.cpu, python=Python(version="3.16.0"), torch=Torch(installed=False))
    assert table_facts(lacking).oldest == "python_support of 2025-01-01"
