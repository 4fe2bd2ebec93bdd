"""The topology of AMD's compute driver: `/sys/class/kfd/kfd/topology/nodes/N/properties` and its memory banks.

One line is a name and a decimal number: `simd_count 28`, `gfx_target_version 90012` (that is 9.0.12: gfx90c). A node is
a processor (`cpu_cores_count`), a GPU (`simd_count`) or, on old APUs, both. Source: Linux
drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

#: Kinds of memory that belong to the GPU: visible to the CPU, and not.
_HEAPS_OF_THE_GPU = (1, 2)

#: A node that the driver does not show to this process (its device is not in the control group) has zeros.
_MAX_DIGITS = 20


class KfdNode(msgspec.Struct, frozen=True):
    """A node with a GPU. `gfx` is what the chip is: no override reaches this file."""

    gfx: str | None = None
    pci_id: str | None = None  # 1002:744c
    pci_address: str | None = None  # 0000:03:00.0
    render_minor: int | None = None  # 128: /dev/dri/renderD128
    compute_units: int | None = None
    with_cpu: bool = False


def read_kfd_node(text: str) -> KfdNode | None:
    """The GPU of a node; None for a processor, or a text that is none. Never raises."""
    fields = read_numbers(text)
    if not fields.get("simd_count"):
        return None
    vendor, device = fields.get("vendor_id"), fields.get("device_id")
    per_unit = fields.get("simd_per_cu")
    return KfdNode(
        gfx=gfx_name(fields.get("gfx_target_version", 0)),
        pci_id=f"{vendor:04x}:{device:04x}" if vendor and device else None,
        pci_address=_address(fields),
        render_minor=fields.get("drm_render_minor") or None,
        compute_units=fields["simd_count"] // per_unit if per_unit else None,
        with_cpu=bool(fields.get("cpu_cores_count")),
    )


def gpu_memory_bytes(banks: Iterable[str]) -> int | None:
    """The memory that the driver offers on a GPU, from the `properties` of its banks. None where no bank tells."""
    sizes = []
    for fields in map(read_numbers, banks):
        if fields.get("heap_type") in _HEAPS_OF_THE_GPU and "size_in_bytes" in fields:
            sizes.append(fields["size_in_bytes"])
    return sum(sizes) if sizes else None


def read_numbers(text: str) -> Mapping[str, int]:
    """The lines that are a name and a number; others are passed over."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        value = value.strip()
        if name and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
            found[name] = int(value)
    return found


def gfx_name(version: int) -> str | None:
    """`gfx90c` for 90012, `gfx1100` for 110000; None for 0 (a processor, or a driver too old to say it)."""
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    if not 6 <= major <= 63 or minor > 15 or stepping > 15:
        return None
    return f"gfx{major}{minor:x}{stepping:x}"


def _address(fields: Mapping[str, int]) -> str | None:
    """The PCI address: `location_id` holds bus, device and function."""
    place = fields.get("location_id")
    if not place or place > 0xFFFF:
        return None
    return f"{fields.get('domain', 0):04x}:{place >> 8:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
