"""The topology of the compute driver."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.kfd import KfdNode, gfx_name, gpu_memory_bytes, read_kfd_node, read_numbers

CEZANNE = """\
cpu_cores_count 0
simd_count 28
mem_banks_count 1
caches_count 12
io_links_count 1
p2p_links_count 0
cpu_core_id_base 0
simd_id_base 2147487744
max_waves_per_simd 10
lds_size_in_kb 64
wave_front_size 64
simd_per_cu 4
gfx_target_version 90012
vendor_id 4098
device_id 5688
location_id 1280
domain 0
drm_render_minor 128
hive_id 0
unique_id 0
local_mem_size 0
"""

PROCESSOR = "cpu_cores_count 12\nsimd_count 0\nvendor_id 0\ndevice_id 0\ngfx_target_version 0\n"


def test_an_apu() -> None:
    assert read_kfd_node(CEZANNE) == KfdNode(
        gfx="gfx90c",
        pci_id="1002:1638",
        pci_address="0000:05:00.0",
        render_minor=128,
        compute_units=7,
        with_cpu=False,
    )


def test_a_processor_is_no_gpu() -> None:
    assert read_kfd_node(PROCESSOR) is None


def test_an_old_apu_is_one_node() -> None:
    node = read_kfd_node("cpu_cores_count 4\nsimd_count 32\nsimd_per_cu 4\ngfx_target_version 80001\n")
    assert node is not None and node.with_cpu and node.gfx == "gfx801"


def test_a_card_in_another_domain() -> None:
    node = read_kfd_node(CEZANNE.replace("location_id 1280", "location_id 25344").replace("domain 0", "domain 1"))
    assert node is not None and node.pci_address == "0001:63:00.0"


@pytest.mark.parametrize(
    ("version", "name"),
    [(90012, "gfx90c"), (90010, "gfx90a"), (110003, "gfx1103"), (120001, "gfx1201"), (80003, "gfx803"), (0, None)],
)
def test_names_of_targets(version: int, name: str | None) -> None:
    assert gfx_name(version) == name


def test_only_memory_of_the_gpu_counts() -> None:
    banks = [
        "heap_type 1\nsize_in_bytes 536870912\nflags 0\n",
        "heap_type 2\nsize_in_bytes 1073741824\n",
        "heap_type 0\nsize_in_bytes 16000000000\n",
    ]
    assert gpu_memory_bytes(banks) == 3 * 536870912
    assert gpu_memory_bytes(banks[2:]) is None and gpu_memory_bytes([]) is None


def test_what_is_no_number_is_passed_over() -> None:
    assert read_numbers("a 1\nb x\nc -1\nd 123456789012345678901\n e  2 \n") == {"a": 1, "e": 2}


@given(st.text() | st.lists(st.sampled_from(CEZANNE.splitlines()) | st.text(max_size=30)).map("\n".join))
def test_never_raises(text: str) -> None:
    assert isinstance(read_kfd_node(text), KfdNode | None)
    assert isinstance(gpu_memory_bytes([text]), int | None)


@given(st.integers(min_value=0, max_value=10**21))
def test_every_number_has_a_name_or_none(version: int) -> None:
    name = gfx_name(version)
    assert name is None or name.startswith("gfx")
