"""The GPUs on the PCI bus, whatever driver is in charge of them, and what the driver's files say of their memory."""

from __future__ import annotations

import re

from doctor.knowledge.gfx import gfx_of_gc
from doctor.machine.model import Gpu
from doctor.sources.base import Missing, Source, value_or
from doctor.texts.amdgpu_ids import product_name
from doctor.texts.uevent import PciDevice, read_pci_uevent
from doctor.texts.uma_carveout import read_carveout_options

_DEVICES = "/sys/bus/pci/devices"
_NVIDIA = "/proc/driver/nvidia/gpus"
_IDS = ("/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids")
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

_VENDORS = {"1002": "amd", "10de": "nvidia", "8086": "intel"}

#: Adapters that only show a picture: of servers and of virtual machines. Nobody computes on them.
_PICTURE_ONLY = {
    "1a03": "ASPEED",
    "102b": "Matrox",
    "1013": "Cirrus",
    "1234": "Bochs",
    "1af4": "virtio",
    "1b36": "QXL",
    "15ad": "VMware",
    "80ee": "VirtualBox",
    "1414": "Microsoft",
}

_DISPLAY, _ACCELERATOR = 0x03, 0x12


def pci_gpus(source: Source) -> tuple[Gpu, ...] | Missing:
    """The GPUs in the order of their addresses. `Missing` where the bus could not be listed."""
    names = source.names(_DEVICES)
    if isinstance(names, Missing):
        return names
    found = []
    for address in sorted(name for name in names if _ADDRESS.fullmatch(name)):
        text = source.text(f"{_DEVICES}/{address}/uevent")
        device = None if isinstance(text, Missing) else read_pci_uevent(text)
        if device is not None and _is_gpu(device):
            found.append(_gpu(source, address, device))
    return tuple(found)


def _is_gpu(device: PciDevice) -> bool:
    """A display controller; of AMD also an accelerator (Instinct). An NPU is neither (signal processing, 0x11)."""
    kind, vendor = device.class_code >> 16, device.pci_id[:4]
    if vendor in _PICTURE_ONLY:
        return False
    return kind == _DISPLAY or (kind == _ACCELERATOR and vendor == "1002")


def _gpu(source: Source, address: str, device: PciDevice) -> Gpu:
    vendor = _VENDORS.get(device.pci_id[:4], "other")
    if vendor == "amd":
        return _amd(source, address, device)
    return Gpu(
        vendor=vendor,
        name=_nvidia_name(source, address) if vendor == "nvidia" else None,
        pci_id=device.pci_id,
        kernel_driver=device.driver,
        pci_address=address,
    )


def _amd(source: Source, address: str, device: PciDevice) -> Gpu:
    folder = f"{_DEVICES}/{address}"
    options = source.text(f"{folder}/uma/carveout_options")
    return Gpu(
        vendor="amd",
        name=_amd_name(source, folder, device.pci_id),
        pci_id=device.pci_id,
        gfx=gfx_of_gc(_graphics_block(source, folder)),
        vram_total_bytes=_number(source, f"{folder}/mem_info_vram_total"),
        gtt_total_bytes=_number(source, f"{folder}/mem_info_gtt_total"),
        # Only a driver from AMD's own packages has a version of its own.
        driver_version=_line(source, "/sys/module/amdgpu/version") if device.driver == "amdgpu" else None,
        kernel_driver=device.driver,
        pci_address=address,
        render_node=_render_node(source, folder),
        carveout_options_bytes=None if isinstance(options, Missing) else read_carveout_options(options) or None,
    )


def _amd_name(source: Source, folder: str, pci_id: str) -> str | None:
    """The product's name, by libdrm's list on that machine; server cards carry it themselves."""
    own = _line(source, f"{folder}/product_name")
    if own:
        return own
    revision = re.fullmatch(r"0x([0-9a-f]{1,2})", _line(source, f"{folder}/revision") or "")
    if revision is None:
        return None
    lists = (value_or(source.text(path), "") for path in _IDS)
    names = (product_name(text, pci_id, int(revision[1], 16)) for text in lists)
    return next((name for name in names if name), None)


def _graphics_block(source: Source, folder: str) -> str | None:
    """The version of the graphics block as the card itself lists it: `11.0.0`."""
    block = f"{folder}/ip_discovery/die/0/GC/0"
    parts = [_line(source, f"{block}/{part}") for part in ("major", "minor", "revision")]
    return ".".join(part for part in parts if part) if all(parts) else None


def _render_node(source: Source, folder: str) -> str | None:
    names = value_or(source.names(f"{folder}/drm"), ())
    return next((f"/dev/dri/{name}" for name in names if re.fullmatch(r"renderD\d{1,5}", name)), None)


def _nvidia_name(source: Source, address: str) -> str | None:
    text = value_or(source.text(f"{_NVIDIA}/{address}/information"), "")
    match = re.search(r"^Model:\s+(\S.*?)\s*$", text, re.MULTILINE)
    return match[1] if match else None


def _line(source: Source, path: str) -> str | None:
    return value_or(source.text(path), "").strip() or None


def _number(source: Source, path: str) -> int | None:
    text = _line(source, path) or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
