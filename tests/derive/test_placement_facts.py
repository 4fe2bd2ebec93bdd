"""Threads that fit behind one L3 cache but may run on several dies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.placement import PlacementFacts, placement_facts
from doctor.machine.model import Machine

RYZEN_9900X = {
    "vendor": "AuthenticAMD",
    "family": 26,
    "model": 68,
    "sockets": 1,
    "logical_cpus": 24,
    "physical_cores": 12,
    "l3_groups": [{"cpus": "0-5,12-17", "cores": 6}, {"cpus": "6-11,18-23", "cores": 6}],
}


def facts(**changes: Any) -> PlacementFacts:
    plain: dict[str, Any] = {
        "cpu": RYZEN_9900X,
        "limits": {"affinity_cpus": 24, "cpu_budget": 24, "cgroup": {"quota_cpus": "none"}},
        "torch": {"num_threads": 6},
        "env": {},
        **changes,
    }
    return placement_facts(msgspec.convert({key: value for key, value in plain.items() if value is not None}, Machine))


def test_six_threads_on_two_dies_of_six_cores() -> None:
    assert facts() == PlacementFacts(apart=True, one_l3_cpus="0-5", one_l3_mask="3F")


def zen(family: int, model: int, name: str, groups: list[str], logical: int) -> dict[str, Any]:
    cores = logical // 2 // len(groups)
    rows = [{"cpus": cpus, "cores": cores} for cpus in groups]
    return {
        "vendor": "AuthenticAMD", "family": family, "model": model, "name": name, "sockets": 1,
        "logical_cpus": logical, "physical_cores": logical // 2, "l3_groups": rows,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cpu", "threads", "apart"),
    [
        (zen(23, 113, "AMD Ryzen 5 3600 6-Core Processor", ["0-2,6-8", "3-5,9-11"], 12), 3, False),
        (zen(23, 1, "AMD Ryzen 7 1700 Eight-Core Processor", ["0-3,8-11", "4-7,12-15"], 16), 4, False),
        (zen(23, 96, "AMD Ryzen 7 4800H", ["0-3,8-11", "4-7,12-15"], 16), 4, False),
        (zen(26, 36, "AMD Ryzen AI 9 HX 370", ["0-3,12-15", "4-11,16-23"], 24), 4, False),
        (zen(25, 33, "AMD Ryzen 7 5800X", ["0-7,8-15"], 16), 8, False),
        (zen(25, 33, "AMD Ryzen 9 5950X", ["0-7,16-23", "8-15,24-31"], 32), 8, True),
        (zen(23, 113, "AMD Ryzen 9 3900X", ["0-2,12-14", "3-5,15-17", "6-8,18-20", "9-11,21-23"], 24), 3, True),
        (zen(23, 113, "AMD Ryzen 9 3900X", ["0-2,12-14", "3-5,15-17", "6-8,18-20", "9-11,21-23"], 24), 12, False),
        (zen(26, 80, "AMD of tomorrow", ["0-7,16-23", "8-15,24-31"], 32), 8, None),
    ],
)
def test_dies_count_and_not_groups(cpu: dict[str, Any], threads: int, apart: bool | None) -> None:
    logical = cpu["logical_cpus"]
    found = facts(cpu=cpu, limits={"affinity_cpus": logical, "cpu_budget": logical}, torch={"num_threads": threads})
    assert found.apart is apart


@pytest.mark.parametrize(
    "changes",
    [
        {"torch": {"num_threads": 7}},
        {"torch": {"num_threads": 1}},
        {"limits": {"affinity": "0-5,12-17", "cpu_budget": 12}},
        {"limits": {"affinity": "0-23", "cpu_budget": 8, "cgroup": {"quota_cpus": 8.0}}},
        {"env": {"OMP_PROC_BIND": "close"}},
        {"os": {"hypervisor": "kvm"}},
        {"os": {"wsl": 2}},
        {"measurements": {"placement": {"unit": "tok/s", "one_l3_group": [10.0], "spread": [12.0]}}},
    ],
)
def test_nothing_is_said_where_nothing_is_won(changes: dict[str, Any]) -> None:
    assert facts(**changes).apart is False


@pytest.mark.parametrize(
    "changes", [{"torch": {}}, {"env": None}, {"limits": {}}, {"cpu": {**RYZEN_9900X, "sockets": None}}]
)
def test_what_is_unknown_leaves_it_open(changes: dict[str, Any]) -> None:
    if changes.get("cpu"):
        changes = {"cpu": {key: value for key, value in changes["cpu"].items() if value is not None}}
    assert facts(**changes).apart is None


@pytest.mark.parametrize(
    ("unit", "one", "spread", "percent"),
    [
        ("tok/s", [16.016, 11.344, 15.936], [12.254, 9.578, 12.016], 32.6),
        ("seconds", [8.0], [10.0], 25.0),
        ("ms", [8.0], [10.0], 25.0),
        ("points", [8.0], [10.0], "none"),
        ("tok/s", [8.0], [0.0], "none"),
        ("tok/s", [], [1.0], "none"),
    ],
)
def test_a_measured_gain_is_throughput(unit: str, one: list[float], spread: list[float], percent: float | str) -> None:
    found = facts(measurements={"placement": {"unit": unit, "one_l3_group": one, "spread": spread}}).gain_percent
    assert found == percent if isinstance(percent, str) else found == pytest.approx(percent, abs=0.1)


def test_a_mask_of_windows_holds_64_cpus() -> None:
    cpu = {**RYZEN_9900X, "logical_cpus": 144, "l3_groups": [
        {"cpus": "0-71", "cores": 36}, {"cpus": "72-143", "cores": 72}]}  # fmt: skip
    found = facts(cpu=cpu, limits={"affinity_cpus": 144, "cpu_budget": 144})
    assert (found.one_l3_cpus, found.one_l3_mask) == ("0-71", None)
