"""`uevent` of a PCI device: what the kernel tells udev of it, one `KEY=value` a line.

    DRIVER=amdgpu
    PCI_CLASS=30000
    PCI_ID=1002:744C
    PCI_SLOT_NAME=0000:03:00.0
"""

from __future__ import annotations

import re

import msgspec

_PCI_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")


class PciDevice(msgspec.Struct, frozen=True):
    """`class_code` is the 24-bit class: 0x030000 for a VGA controller. `driver` is `"none"` without one."""

    pci_id: str
    class_code: int
    driver: str


def read_pci_uevent(text: str) -> PciDevice | None:
    """The device; None for a text of something else. Never raises."""
    fields = dict(line.strip().partition("=")[::2] for line in text.splitlines() if "=" in line)
    pci_id, class_code = fields.get("PCI_ID", "").lower(), fields.get("PCI_CLASS", "")
    if not _PCI_ID.fullmatch(pci_id) or not re.fullmatch(r"[0-9A-Fa-f]{1,6}", class_code):
        return None
    return PciDevice(pci_id, int(class_code, 16), fields.get("DRIVER") or "none")
