"""Which adapter torch-directml takes, and which has the most memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.directml_adapters import DirectmlAdapterFacts, directml_adapter_facts, hardware
from doctor.machine.model import Machine

GIB = 1 << 30
SHARED = {"vendor": "amd", "shared_bytes": 15 * GIB}
IGPU = {**SHARED, "name": "AMD Radeon(TM) 780M", "integrated": True, "dedicated_bytes": GIB // 2}
CARD = {**SHARED, "name": "AMD Radeon RX 7700S", "integrated": False, "dedicated_bytes": 8 * GIB}
SOFTWARE = {"vendor": "other", "name": "Microsoft Basic Render Driver", "pci_id": "1414:008c", "dedicated_bytes": 0}


def facts(
    gpus: list[dict[str, Any]], names: list[str] | None, default: int | None = 0, **areas: Any
) -> DirectmlAdapterFacts:
    directml = {"installed": True, "device_names": names, "default_device": default}
    return directml_adapter_facts(msgspec.convert({"gpus": gpus, "torch_directml": directml, **areas}, Machine))


def test_the_igpu_is_taken_and_the_card_is_better() -> None:
    told = facts([CARD, IGPU, SOFTWARE], [IGPU["name"], CARD["name"]])
    assert told.smaller_is_default is True
    assert (told.default_device, told.default_name) == (0, "AMD Radeon(TM) 780M")
    assert (told.best_device, told.best_name) == (1, "AMD Radeon RX 7700S")
    assert told.table == (
        "0: AMD Radeon(TM) 780M (0.5 GiB of its own)",
        "1: AMD Radeon RX 7700S (8 GiB of its own)",
    )


@pytest.mark.parametrize(
    ("gpus", "names", "default", "verdict"),
    [
        ([IGPU, CARD], [CARD["name"], IGPU["name"]], 0, False),
        ([IGPU, CARD], [IGPU["name"], CARD["name"]], 1, False),
        # The order of DXGI is not that of torch-directml: the name decides.
        ([{**IGPU, "adapter_index": 1}, {**CARD, "adapter_index": 0}], [IGPU["name"], CARD["name"]], 0, True),
        ([IGPU, CARD], [IGPU["name"] + "\0", " AMD  Radeon RX 7700S"], 0, True),
        ([IGPU, SOFTWARE], [IGPU["name"]], 0, False),
        # A card with less memory than a large carve-out stays the better choice.
        ([{**IGPU, "dedicated_bytes": 64 * GIB}, CARD], [CARD["name"], IGPU["name"]], 0, False),
        ([{**IGPU, "dedicated_bytes": 64 * GIB, "integrated": None}, CARD], [CARD["name"], IGPU["name"]], 0, True),
        # An adapter that torch-directml does not list is none to take.
        ([IGPU, CARD], [IGPU["name"], "Intel(R) Arc(TM) A770 Graphics"], 0, None),
        ([IGPU], [IGPU["name"], CARD["name"]], 0, None),
        ([IGPU, {**CARD, "dedicated_bytes": None}], [IGPU["name"], CARD["name"]], 0, None),
        # Two cards of one name: which is which cannot be told where they differ.
        ([CARD, CARD], [CARD["name"], CARD["name"]], 0, False),
        ([CARD, {**CARD, "dedicated_bytes": 16 * GIB}], [CARD["name"], CARD["name"]], 0, None),
        ([IGPU, CARD], None, None, None),
        ([IGPU, CARD], [IGPU["name"], CARD["name"]], None, None),
        ([IGPU, CARD], [IGPU["name"], CARD["name"]], 7, None),
    ],
)
def test_smaller_is_default(gpus: Any, names: Any, default: int | None, verdict: bool | None) -> None:
    assert facts(gpus, names, default).smaller_is_default is verdict


def test_equal_memory_leaves_the_first() -> None:
    other = {**CARD, "name": "AMD Radeon RX 7600"}
    told = facts([other, CARD], [CARD["name"], other["name"]], 1)
    assert (told.smaller_is_default, told.best_device) == (False, 0)


@pytest.mark.parametrize("name", ["Microsoft Basic Render Driver", "Microsoft Remote Display Adapter"])
def test_software_is_no_hardware(name: str) -> None:
    machine = msgspec.convert({"gpus": [CARD, {"name": name, "vendor": "other"}]}, Machine)
    assert [gpu.name for gpu in hardware(machine)] == [CARD["name"]]


@pytest.mark.parametrize(
    ("gpu", "areas", "budget"),
    [
        (CARD, {}, 8 * GIB),
        (IGPU, {}, 15 * GIB),
        (IGPU, {"memory": {"total_bytes": 16 * GIB}}, 8 * GIB),
        ({**CARD, "integrated": None}, {}, None),
        ({**IGPU, "shared_bytes": None}, {}, None),
    ],
)
def test_what_programs_can_have(gpu: dict[str, Any], areas: dict[str, Any], budget: int | None) -> None:
    assert facts([gpu, SOFTWARE], [gpu["name"]], **areas).budget_bytes == budget
    assert facts([gpu, SOFTWARE], None, None, **areas).budget_bytes == budget


def test_an_adapter_that_worked_was_seen() -> None:
    row = {"name": "matmul", "device": "privateuseone:0", "outcome": "ok"}
    assert facts([], None, exercises=[row]).sees_adapter is True
    assert facts([], [], exercises=[{**row, "outcome": "exception"}]).sees_adapter is False
    assert facts([], ["AMD Radeon"]).sees_adapter is True
    assert directml_adapter_facts(Machine()) == DirectmlAdapterFacts()
