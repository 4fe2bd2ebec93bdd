"""The JSON of rocm-smi and of amd-smi, of several releases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.amd_smi import read_amd_smi
from doctor.texts.rocm_smi import SmiCard, json_in, read_rocm_smi, read_rocm_smi_text

BEFORE_6_1 = """
WARNING: AMD GPU device(s) is/are in a low-power state.
{"card1": {"Device ID": "0x744c", "PCI Bus": "0000:03:00.0", "VRAM Total Memory (B)": "25753026560",
           "GTT Total Memory (B)": "33553674240", "Card series": "Navi 31 [Radeon RX 7900 XT/7900 XTX]"},
 "card0": {"GPU ID": "0x164e", "PCI Bus": "0000:11:00.0", "Card series": "0x1002"},
 "system": {"Driver version": "6.7.0"}}
"""
FROM_6_1 = """{"card0": {"Card Series": "Navi 31", "Card Model": "0x744c", "GFX Version": "gfx1100",
 "Device ID": "0x744c", "PCI Bus": "0000:03:00.0"}}"""

MI210 = """{"gpu_data": [{"gpu": 0,
  "asic": {"market_name": "AMD Instinct MI210", "vendor_id": "0x1002", "device_id": "0x740f", "asic_serial": "N/A",
           "num_compute_units": 104, "target_graphics_version": "gfx90a"},
  "bus": {"bdf": "0000:63:00.0", "max_pcie_width": 16},
  "vram": {"type": "HBM2E", "size": {"value": 65520, "unit": "MB"}}}]}"""


def test_the_keys_of_old_releases() -> None:
    first, second = read_rocm_smi(BEFORE_6_1)
    assert first == SmiCard(pci_address="0000:11:00.0", pci_id="1002:164e")
    assert second == SmiCard(
        pci_address="0000:03:00.0",
        pci_id="1002:744c",
        name="Navi 31 [Radeon RX 7900 XT/7900 XTX]",
        vram_total_bytes=25753026560,
        gtt_total_bytes=33553674240,
    )


def test_the_keys_of_new_releases() -> None:
    (card,) = read_rocm_smi(FROM_6_1)
    assert (card.gfx, card.name, card.pci_id) == ("gfx1100", "Navi 31", "1002:744c")


FOR_PEOPLE = """======================= ROCm System Management Interface =======================
Driver version: 6.3.12
====================================== ID ======================================
GPU[0]\t\t: GPU ID: 0x15e7
GPU[1]\t\t: GPU ID: 0x73df
GPU[0]\t\t: 1. Available power profile (#1 of 7): CUSTOM
GPU[0]\t\t: PCI Bus: 0000:04:00.0
GPU[1]\t\t: PCI Bus: 0000:03:00.0
GPU[0]\t\t: Card series: \t\tBarcelo
GPU[1]\t\t: VRAM Total Memory (B): 12868124672
"""
SHOWHW = """============================ Concise Hardware Info =============================
GPU  DID   GFX RAS  SDMA RAS  UMC RAS  VBIOS             BUS
0    738c  ENABLED  ENABLED   ENABLED  113-D3431400-037  0000:65:00.0
1    738c  ENABLED  ENABLED   ENABLED  113-D3431400-037  0000:66:00.0
================================================================================
2    nothing of the table
"""


def test_the_output_for_people() -> None:
    assert read_rocm_smi_text(FOR_PEOPLE) == (
        SmiCard(pci_address="0000:04:00.0", pci_id="1002:15e7", name="Barcelo"),
        SmiCard(pci_address="0000:03:00.0", pci_id="1002:73df", vram_total_bytes=12868124672),
    )


def test_the_table_of_showhw() -> None:
    first, second = read_rocm_smi_text(SHOWHW)
    assert first == SmiCard(pci_address="0000:65:00.0", pci_id="1002:738c")
    assert second.pci_address == "0000:66:00.0"


def test_amd_smi() -> None:
    expected = SmiCard("0000:63:00.0", "1002:740f", "gfx90a", "AMD Instinct MI210", 65520 << 20, None, 104)
    assert read_amd_smi(MI210) == (expected,)
    assert read_amd_smi(MI210.removeprefix('{"gpu_data": ').removesuffix("}")) == (expected,)


def test_amd_smi_that_knows_nothing() -> None:
    text = '[{"gpu": 0, "asic": {"market_name": "N/A", "target_graphics_version": "N/A", "num_compute_units": "N/A"}}]'
    assert read_amd_smi(text) == (SmiCard(),)


@pytest.mark.parametrize(
    ("file", "cards", "pci_id", "gfx", "vram", "gtt"),
    [
        ("mi100_rocm571.json", 6, "1002:738c", None, 34342961152, 135048462336),
        ("mi100_rocm602.json", 4, "1002:738c", None, 34342961152, 135138402304),
        ("rx6700xt_rocm430.json", 1, "1002:73df", None, 12868124672, 16792432640),
        ("rx6700xt_rocm571.json", 1, "1002:73df", None, 12868124672, 16792432640),
        ("rx6700xt_rocm602.json", 1, "1002:73df", None, 12868124672, 16792432640),
        ("rx6700xt_rocm612.json", 1, "1002:73df", "gfx1031", 12868124672, 16792432640),
        ("vega-10-XT.json", 1, "1002:6861", None, 17163091968, 17163091968),
        ("vega-20-WKS-GL-XE.json", 1, "1002:66a1", None, 34342961152, 54974742528),
    ],
)
def test_real_outputs(
    shared: Path, file: str, cards: int, pci_id: str, gfx: str | None, vram: int, gtt: int
) -> None:
    read = read_rocm_smi((shared / "corpus/gpu/rocm-smi-json" / file).read_text(encoding="utf-8"))
    assert len(read) == cards
    first = read[0]
    assert (first.pci_id, first.gfx, first.vram_total_bytes, first.gtt_total_bytes) == (pci_id, gfx, vram, gtt)
    assert all(card.pci_address for card in read)


def test_text_in_front_of_json() -> None:
    assert json_in('[ERROR] nothing\n{"a": 1}') == {"a": 1}
    assert json_in("nothing") is None and json_in("{") is None and json_in("[" * 100_000) is None


_keys = st.sampled_from(["gpu_data", "card0", "asic", "bus", "vram", "size", "PCI Bus", "Device ID"])
_json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=15,
)


@given(st.text() | _json_like.map(json.dumps))
def test_never_raises(text: str) -> None:
    cards = (*read_rocm_smi(text), *read_rocm_smi_text(text), *read_amd_smi(text))
    assert all(isinstance(card, SmiCard) for card in cards)
