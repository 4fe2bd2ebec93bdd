from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from doctor.derive.facts import COMPLETE, DERIVE, Derived, complete, derive
from doctor.diagnosis.paths import UnknownPath, holds, item_of
from doctor.machine.model import Fact, Machine

AREAS = {name: get_args(hint)[0] for name, hint in get_type_hints(Derived).items()}


def exists(path: str) -> bool:
    """A fact of the machine document; within a list, one of its items."""
    owner, _, last = path.rpartition(".")
    try:
        return bool(holds(path))
    except UnknownPath:
        return owner != "" and bool(holds(f"it.{last}", item_of(owner)))


def test_every_area_is_derived_once() -> None:
    assert [name for name, _ in DERIVE] == list(dict.fromkeys(name for name, _ in DERIVE))
    assert {name for name, _ in DERIVE} == set(Derived.__struct_fields__)


def test_an_empty_machine_is_completed_and_derived() -> None:
    assert complete(Machine()) == Machine()
    derived = derive(Machine())
    assert all(isinstance(getattr(derived, name), AREAS[name]) for name in Derived.__struct_fields__)


@pytest.mark.parametrize("name", sorted(AREAS))
def test_the_facts_behind_a_derived_one_exist(name: str) -> None:
    area: type[Fact] = AREAS[name]
    reads: dict[str, tuple[str, ...]] = getattr(area, "READS", {})
    assert set(reads) <= set(area.__struct_fields__)
    for field, paths in reads.items():
        for path in paths:
            assert exists(path), f"{field}: {path}"


def test_completing_is_done_once() -> None:
    assert [name for name, _ in COMPLETE] == list(dict.fromkeys(name for name, _ in COMPLETE))
