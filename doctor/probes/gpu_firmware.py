"""The firmware of integrated GPUs of which a bad release is known. The driver tells it to root only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from doctor.machine.model import Gpu, UnknownFact
from doctor.probes.found import unknown
from doctor.sources.base import Missing, Source, value_or
from doctor.texts.amdgpu_firmware import card_of_name, read_firmware_info

_CARDS = "/sys/kernel/debug/dri"

#: The others need not be asked for: no bad release of their scheduler's firmware is known.
_CONCERNED = ("gfx1150", "gfx1151", "gfx1152", "gfx1153")


def with_firmware(source: Source, gpus: Sequence[Gpu]) -> tuple[list[Gpu], tuple[UnknownFact, ...]]:
    """The GPUs with the version of their scheduler's firmware, and a row where root could add it."""
    if not any(gpu.gfx in _CONCERNED for gpu in gpus):
        return list(gpus), ()
    names = source.names(_CARDS)
    if isinstance(names, Missing):
        rows = (unknown("gpus.mes_firmware", names),) if names.reason == "needs-root" else ()
        return list(gpus), rows
    versions = _versions(source, names)
    return [_told(gpu, versions) for gpu in gpus], ()


def _versions(source: Source, names: Sequence[str]) -> Mapping[str, str]:
    """The version by the card's address, as `0x83`. A card has several folders; they say the same."""
    found: dict[str, str] = {}
    for name in names:
        address = card_of_name(value_or(source.text(f"{_CARDS}/{name}/name"), ""))
        version = read_firmware_info(value_or(source.text(f"{_CARDS}/{name}/amdgpu_firmware_info"), "")).get("MES")
        if address is not None and version:
            found.setdefault(address, f"{version:#x}")
    return found


def _told(gpu: Gpu, versions: Mapping[str, str]) -> Gpu:
    version = versions.get(gpu.pci_address or "") if gpu.gfx in _CONCERNED else None
    return gpu if version is None else msgspec.structs.replace(gpu, mes_firmware=version)
