"""`amd-smi static --asic --bus --vram --json`: a list of cards; from ROCm 7 on inside `{"gpu_data": […]}`.

A value that it does not know is "N/A". Sizes are `{"value": 24560, "unit": "MB"}` (units of 2^20 bytes), in old
releases a bare number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.texts.rocm_smi import SmiCard, address, gfx, json_in, named, pci_id

_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def read_amd_smi(text: str) -> tuple[SmiCard, ...]:
    """The cards in the order of the tool. Never raises; a text of something else gives none."""
    plain = json_in(text)
    rows = plain.get("gpu_data") if isinstance(plain, dict) else plain
    return tuple(_card(row) for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()


def _card(row: Mapping[str, Any]) -> SmiCard:
    asic, bus, vram = (_mapping(row.get(part)) for part in ("asic", "bus", "vram"))
    units = asic.get("num_compute_units")
    return SmiCard(
        pci_address=address(_text(bus.get("bdf"))),
        pci_id=pci_id(_text(asic.get("device_id"))),
        gfx=gfx(_text(asic.get("target_graphics_version"))),
        name=named(_text(asic.get("market_name"))),
        vram_total_bytes=_size(vram.get("size")),
        compute_units=units if isinstance(units, int) and not isinstance(units, bool) and 0 < units < 10_000 else None,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) else None


def _size(value: Any) -> int | None:
    number, unit = (value.get("value"), value.get("unit")) if isinstance(value, dict) else (value, "MB")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 1 << 40 or unit not in _UNITS:
        return None
    return number * _UNITS[str(unit)]
