"""The CPU budget: what is known is used, what is unknown blocks it, nothing is invented."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.derive.limits import complete_limits, limits_facts
from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cgroup, Cpu, Limits, Machine, Os, UnknownFact


def budget(system: str | None = "linux", online: str | None = None, **limits: Any) -> int | None:
    machine = Machine(
        os=Os(kind=system),
        cpu=Cpu(online=online),
        limits=Limits(**{**limits, "cgroup": Cgroup(**limits.get("cgroup", {}))}),
    )
    completed = complete_limits(machine).limits
    assert completed is not None
    return completed.cpu_budget


@pytest.mark.parametrize(
    ("quota", "cpus"),
    [(8.5, 8), (8.0, 8), (1.9, 1), (0.1, 1), (2.0, 2), (384, 16), ("none", 16)],
)
def test_a_quota_is_rounded_down_and_never_below_one(quota: float | str, cpus: int) -> None:
    assert budget(affinity="0-15", cgroup={"quota_cpus": quota}) == cpus


def test_affinity_cpuset_and_online_cut_each_other() -> None:
    none = {"quota_cpus": "none"}
    assert budget(affinity="0-15", cgroup={**none, "cpuset_cpus": "8-23"}) == 8
    assert budget(affinity="0-15", online="0-3,8-11", cgroup=none) == 8
    assert budget(affinity="0-15", online="0-3,8-11", cgroup={**none, "cpuset_cpus": "8-23"}) == 4
    assert budget(affinity_cpus=384, cgroup={**none, "cpuset_cpus": "0-7"}) == 8


def test_an_unknown_quota_blocks_where_there_may_be_one() -> None:
    assert budget(affinity="0-15") is None
    assert budget(None, affinity="0-15") is None
    assert budget("windows", affinity="0-15") == 16


def test_an_unknown_affinity_blocks_on_every_system() -> None:
    assert budget(cgroup={"quota_cpus": "none", "cpuset_cpus": "0-7"}) is None
    assert budget(cgroup={"quota_cpus": 8.0}) is None
    assert budget("windows") is None


def test_one_cpu_is_one_cpu_whatever_is_unknown() -> None:
    assert budget(affinity="3") == 1
    assert budget(cgroup={"quota_cpus": 1.5}) == 1


def test_what_a_document_says_is_kept() -> None:
    assert budget(affinity="0-15", cpu_budget=6, cgroup={"quota_cpus": "none"}) == 6
    assert budget(cpu_budget=6) == 6
    assert complete_limits(Machine()) == Machine()


@pytest.mark.parametrize(
    ("limits", "row", "reason", "lacks"),
    [
        (Limits(affinity="0-15"), None, "not-in-source", "limits.cgroup.quota_cpus"),
        (Limits(affinity="0-15"), "limits.cgroup.quota_cpus", "needs-root", "limits.cgroup.quota_cpus"),
        (Limits(cgroup=Cgroup(quota_cpus=8.0)), "limits.affinity_cpus", "needs-root", "limits.affinity_cpus"),
    ],
)
def test_a_missing_budget_says_what_it_lacks(limits: Limits, row: str | None, reason: str, lacks: str) -> None:
    before = () if row is None else (UnknownFact(fact=row, reason="needs-root"),)
    completed = complete_limits(Machine(os=Os(kind="linux"), limits=limits, unknowns=before))
    rows = {one.fact: one for one in completed.unknowns or ()}
    assert list(rows) == sorted(rows) and len(rows) == len(before) + 1
    assert (rows["limits.cpu_budget"].reason, rows["limits.cpu_budget"].detail) == (reason, f"it follows from {lacks}")
    assert complete_limits(completed) == completed


def test_the_mask_is_counted() -> None:
    completed = complete_limits(Machine(limits=Limits(affinity="0-3,8"))).limits
    assert completed is not None and completed.affinity_cpus == 5


def test_a_mask_that_leaves_nothing_has_no_budget() -> None:
    assert budget(affinity="0-3", online="8-11", cgroup={"quota_cpus": "none"}) is None


sets = st.sets(st.integers(0, 40), min_size=1, max_size=20)
quotas = st.one_of(st.none(), st.just("none"), st.floats(0.01, 64))


@given(sets, st.none() | sets, st.none() | sets, quotas)
def test_the_budget_is_never_more_than_a_part_allows(
    mask: set[int], cpuset: set[int] | None, online: set[int] | None, quota: float | str | None
) -> None:
    texts = [None if cpus is None else format_cpulist(cpus) for cpus in (cpuset, online)]
    found = budget(
        affinity=format_cpulist(mask), online=texts[1], cgroup={"cpuset_cpus": texts[0], "quota_cpus": quota}
    )
    left = mask & (cpuset or mask) & (online or mask)
    if found is None:
        assert quota is None or not left
        return
    assert 1 <= found <= max(len(left), 1)
    if isinstance(quota, float):
        assert found <= max(quota, 1)
    if quota == "none":
        assert found == len(left)


@pytest.mark.parametrize(
    ("cgroup", "percent"),
    [
        ({"quota_cpus": 8.0, "nr_periods": 400, "nr_throttled": 381}, 95.25),
        ({"quota_cpus": 8.0, "nr_periods": 0, "nr_throttled": 0}, 0.0),
        ({"quota_cpus": "none"}, 0.0),
        ({"quota_cpus": 8.0}, None),
        ({"quota_cpus": 8.0, "nr_periods": 400}, None),
    ],
)
def test_throttled_share(cgroup: dict[str, Any], percent: float | None) -> None:
    machine = Machine(limits=Limits(cgroup=msgspec.convert(cgroup, Cgroup)))
    assert limits_facts(machine).throttled_percent == percent


def test_without_limits_nothing_is_derived() -> None:
    assert limits_facts(Machine()).throttled_percent is None
