"""Cores and L3 groups among the CPUs that a process may use."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.budget import BudgetFacts, budget_facts
from doctor.machine.model import Machine

#: A Ryzen 9 9900X as Linux numbers it.
TWO_DIES = {
    "logical_cpus": 24,
    "physical_cores": 12,
    "l3_groups": [{"cpus": "0-5,12-17", "cores": 6}, {"cpus": "6-11,18-23", "cores": 6}],
}
CORES = [{"cpus": f"{at},{at + 12}", "l3": at // 6} for at in range(12)]


def facts(cpu: dict[str, Any], **limits: Any) -> BudgetFacts:
    return budget_facts(msgspec.convert({"cpu": cpu, "limits": limits}, Machine))


def test_the_whole_machine() -> None:
    assert facts(TWO_DIES, cpu_budget=24) == BudgetFacts(
        cpus="0-23",
        physical_cores=12,
        l3_groups=2,
        largest_l3_cores=6,
        largest_l3_cpus="0-5,12-17",
        largest_l3_first_threads="0-5",
    )


def test_a_quota_limits_the_cores_and_not_the_places() -> None:
    found = facts({**TWO_DIES, "cores": CORES}, affinity="0-23", cpu_budget=4)
    assert (found.cpus, found.physical_cores, found.l3_groups) == ("0-23", 4, 2)


def test_a_mask_is_counted_in_cores_where_the_cores_are_known() -> None:
    found = facts({**TWO_DIES, "cores": CORES}, affinity="4-8,16-20", cpu_budget=10)
    assert found == BudgetFacts(
        cpus="4-8,16-20",
        physical_cores=5,
        l3_groups=2,
        largest_l3_cores=3,
        largest_l3_cpus="6-8,18-20",
        largest_l3_first_threads="6-8",
    )


def test_a_mask_without_known_cores_leaves_them_unknown() -> None:
    found = facts(TWO_DIES, affinity="4-8,16-20", cpu_budget=10)
    assert (found.physical_cores, found.largest_l3_cores, found.largest_l3_first_threads) == (None, None, None)
    assert (found.l3_groups, found.largest_l3_cpus) == (2, "6-8,18-20")


def test_neighbouring_threads_are_not_taken_for_cores() -> None:
    windows = {"logical_cpus": 24, "l3_groups": [{"cpus": "0-11", "cores": 6}, {"cpus": "12-23", "cores": 6}]}
    found = facts(windows, cpu_budget=24)
    assert (found.largest_l3_cores, found.largest_l3_cpus, found.largest_l3_first_threads) == (6, "0-11", None)


def test_without_smt_every_cpu_is_a_core() -> None:
    groups = [{"cpus": "0-3", "cores": 4}, {"cpus": "4-7", "cores": 4}]
    found = facts({"logical_cpus": 8, "l3_groups": groups}, cpu_budget=8)
    assert found.largest_l3_first_threads == "0-3"


def test_offline_cpus_and_the_cpuset_are_left_out() -> None:
    online = {**TWO_DIES, "online": "0-5,12-17"}
    found = facts(online, affinity="0-23", cgroup={"cpuset_cpus": "0-2,12-23"}, cpu_budget=6)
    assert (found.cpus, found.l3_groups) == ("0-2,12-17", 1)


@pytest.mark.parametrize(
    "limits", [{}, {"affinity_cpus": 8, "cpu_budget": 8}, {"cpu_budget": 8}, {"affinity_cpus": 8}]
)
def test_where_the_mask_is_unknown_nothing_is_placed(limits: dict[str, int]) -> None:
    assert facts({**TWO_DIES, "cores": CORES}, **limits) == BudgetFacts()


def test_an_empty_document() -> None:
    assert budget_facts(Machine()) == BudgetFacts()
