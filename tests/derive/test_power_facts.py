"""Power settings: which are slow, and which only sound so."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.power import PowerFacts, power_facts
from doctor.machine.model import Machine


def facts(system: str | None, power: dict[str, str], **cpu: str) -> PowerFacts:
    return power_facts(msgspec.convert({"os": {"kind": system}, "power": power, "cpu": cpu}, Machine))


AC = {"source": "ac", "platform_profile": "balanced"}


@pytest.mark.parametrize(
    ("governor", "driver", "slow"),
    [
        ("powersave", "acpi-cpufreq", True),
        ("powersave", "amd-pstate", True),
        ("powersave", "amd-pstate-epp", False),
        ("powersave", "intel_pstate", False),
        ("schedutil", "acpi-cpufreq", False),
        ("performance", "amd-pstate-epp", False),
        ("none", "none", False),
    ],
)
def test_governors(governor: str, driver: str, slow: bool) -> None:
    found = facts("linux", AC, governor=governor, scaling_driver=driver)
    assert found.slow is slow
    assert found.slow_governor == ("powersave" if slow else None)


def test_each_cause_stands_in_its_own_field() -> None:
    assert facts("windows", {"source": "battery", "plan": "power-saver", "mode": "efficiency"}) == PowerFacts(
        slow=True, slow_source="battery", slow_plan="power-saver", slow_mode="efficiency"
    )
    assert facts("linux", {"source": "ac", "platform_profile": "low-power"}, governor="schedutil") == PowerFacts(
        slow=True, slow_profile="low-power"
    )


@pytest.mark.parametrize(
    ("system", "power", "cpu", "slow"),
    [
        ("windows", {"source": "ac", "plan": "balanced"}, {}, False),
        ("windows", {"source": "ac"}, {}, None),
        ("windows", {"plan": "balanced"}, {}, None),
        ("linux", AC, {}, None),
        ("linux", AC, {"governor": "powersave"}, None),
        ("linux", {"source": "ac"}, {"governor": "schedutil"}, None),
        ("linux", {"source": "battery"}, {}, True),
        (None, {"plan": "power-saver"}, {}, True),
        (None, {}, {}, None),
    ],
)
def test_three_values(system: str | None, power: dict[str, str], cpu: dict[str, Any], slow: bool | None) -> None:
    assert facts(system, power, **cpu).slow is slow


def test_an_empty_document() -> None:
    assert power_facts(Machine()) == PowerFacts()
