"""Small Linux machines with GPUs, as the files that their kernel shows. Written by hand; sizes and ids are those of
real parts."""

from __future__ import annotations

from typing import Any

MIB, GIB = 1 << 20, 1 << 30
PCI = "/sys/bus/pci/devices"
KFD = "/sys/class/kfd/kfd/topology/nodes"

AMDGPU_IDS = """\
# List of AMDGPU IDs
1.0.0
1586,\tC1,\tAMD Radeon 8060S Graphics
744C,\tC8,\tAMD Radeon RX 7900 XTX
67DF,\tE7,\tAMD Radeon RX 580 Series
"""

PROCESSOR_NODE = {f"{KFD}/0/properties": "cpu_cores_count 12\nsimd_count 0\nvendor_id 0\ngfx_target_version 0\n"}


def pci(
    address: str,
    pci_id: str,
    driver: str | None = "amdgpu",
    *,
    vram: int | None = None,
    gtt: int | None = None,
    render: int | None = None,
    revision: str | None = None,
    kind: str = "30000",
) -> dict[str, str]:
    """One device on the PCI bus, with what amdgpu shows of it."""
    folder = f"{PCI}/{address}"
    uevent = f"PCI_CLASS={kind}\nPCI_ID={pci_id.upper()}\nPCI_SLOT_NAME={address}\n"
    files = {f"{folder}/uevent": (f"DRIVER={driver}\n" if driver else "") + uevent}
    if vram is not None:
        files[f"{folder}/mem_info_vram_total"] = f"{vram}\n"
    if gtt is not None:
        files[f"{folder}/mem_info_gtt_total"] = f"{gtt}\n"
    if render is not None:
        files[f"{folder}/drm/renderD{render}/dev"] = f"226:{render}\n"
    if revision is not None:
        files[f"{folder}/revision"] = f"0x{revision}\n"
    return files


def kfd(node: int, version: int, location: int, render: int, device: int, units: int, memory: int) -> dict[str, str]:
    """One GPU in the topology of the compute driver."""
    lines = {
        "cpu_cores_count": 0,
        "simd_count": units * 2,
        "simd_per_cu": 2,
        "gfx_target_version": version,
        "vendor_id": 4098,
        "device_id": device,
        "location_id": location,
        "domain": 0,
        "drm_render_minor": render,
    }
    return {
        f"{KFD}/{node}/properties": "".join(f"{name} {value}\n" for name, value in lines.items()),
        f"{KFD}/{node}/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {memory}\nflags 0\nwidth 128\n",
    }


OPEN = {"exists": True, "readable": True, "writable": True, "mode": "0660", "gid": 992, "group": "render", "acl": False}
CLOSED = OPEN | {"readable": False, "writable": False}
ABSENT = {"exists": False}

#: A bridge, a sound card and an NPU: on every machine, and no GPU.
NO_GPUS = {
    **pci("0000:00:01.1", "1022:1634", "pcieport", kind="60400"),
    **pci("0000:05:00.1", "1002:1637", "snd_hda_intel", kind="40300"),
    **pci("0000:c6:00.1", "1022:17f0", "amdxdna", kind="118000"),
}


def machine(*files: dict[str, str], renders: tuple[int, ...] = (), **parts: Any) -> dict[str, Any]:
    """A recording of a bare Linux machine whose nodes are open."""
    whole: dict[str, str] = {**NO_GPUS, "/proc/version": "Linux version 6.12.0-amd64 (gcc) #1 SMP\n"}
    for part in files:
        whole |= part
    access = {"/dev/kfd": OPEN, **{f"/dev/dri/renderD{render}": OPEN for render in renders}}
    folders = {"/dev/dri": ["card0", *(f"renderD{render}" for render in renders)]} if renders else {}
    base = {"platform": "linux", "files": whole, "folders": folders, "access": access, "env": {}}
    return base | parts


#: Ryzen 5 5600G: 512 MiB carved out of 16 GiB, and half of the rest to share.
CEZANNE = machine(
    pci("0000:05:00.0", "1002:1638", vram=512 * MIB, gtt=7686 * MIB, render=128, revision="c9"),
    PROCESSOR_NODE,
    kfd(1, 90012, 0x0500, 128, 0x1638, 7, 7686 * MIB),
    renders=(128,),
)

#: Ryzen 9 7950X with an RX 7900 XTX: the processor brings a small GPU of its own.
RAPHAEL_AND_CARD = machine(
    pci("0000:03:00.0", "1002:744c", vram=24 * GIB - 16 * MIB, gtt=31 * GIB, render=128, revision="c8"),
    pci("0000:17:00.0", "1002:164e", vram=512 * MIB, gtt=31 * GIB, render=129, revision="c1"),
    PROCESSOR_NODE,
    kfd(1, 110000, 0x0300, 128, 0x744C, 96, 24 * GIB - 16 * MIB),
    kfd(2, 100306, 0x1700, 129, 0x164E, 2, 31 * GIB),
    {"/usr/share/libdrm/amdgpu.ids": AMDGPU_IDS},
    renders=(128, 129),
)

#: Ryzen AI MAX+ 395 with 128 GiB, half of it carved out.
STRIX_HALO = machine(
    pci("0000:c5:00.0", "1002:1586", vram=64 * GIB, gtt=31 * GIB, render=128, revision="c1", kind="38000"),
    {f"{PCI}/0000:c5:00.0/uma/carveout_options": "0: Minimum (512 MB)\n1: Medium (64 GB)\n2: High (96 GB)\n"},
    PROCESSOR_NODE,
    kfd(1, 110501, 0xC500, 128, 0x1586, 40, 64 * GIB),
    {"/usr/share/libdrm/amdgpu.ids": AMDGPU_IDS},
    renders=(128,),
)

RX_580 = machine(
    pci("0000:26:00.0", "1002:67df", vram=8 * GIB, gtt=7 * GIB, render=128, revision="e7"),
    PROCESSOR_NODE,
    kfd(1, 80003, 0x2600, 128, 0x67DF, 36, 8 * GIB),
    {"/usr/share/libdrm/amdgpu.ids": AMDGPU_IDS},
    renders=(128,),
)

#: A card that was given to a virtual machine, beside the iGPU that shows the picture.
CARD_FOR_A_GUEST = machine(
    pci("0000:03:00.0", "1002:744c", "vfio-pci", revision="c8"),
    pci("0000:17:00.0", "1002:164e", vram=512 * MIB, gtt=15 * GIB, render=128, revision="c1"),
    PROCESSOR_NODE,
    kfd(1, 100306, 0x1700, 128, 0x164E, 2, 15 * GIB),
    renders=(128,),
)

NVIDIA = machine(
    pci("0000:01:00.0", "10de:2204", "nvidia"),
    pci("0000:00:02.0", "8086:4680", "i915"),
    {"/proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA GeForce RTX 3090\nIRQ:   \t\t 100\n"},
    access={"/dev/kfd": ABSENT},
)

#: A virtual machine: its adapter only shows a picture.
NO_GPU = machine(pci("0000:00:02.0", "1234:1111", "bochs-drm"), access={"/dev/kfd": ABSENT})

WSL_VERSION = {"/proc/version": "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@x) (gcc) #1 SMP\n"}
WSL_FOLDER = ["libd3d12.so", "libd3d12core.so", "libdxcore.so"]
WSL_GPU = pci("5f3a:00:00.0", "1414:008e", "dxgkrnl", kind="30200")


def wsl(*files: dict[str, str], dxg: bool, **parts: Any) -> dict[str, Any]:
    access = {"/dev/dxg": OPEN | {"mode": "0666"} if dxg else ABSENT, "/dev/kfd": ABSENT}
    folders = {"/usr/lib/wsl/lib": WSL_FOLDER} if dxg else {}
    return machine(WSL_VERSION, WSL_GPU if dxg else {}, *files, **({"access": access, "folders": folders} | parts))


ROCMINFO_XTX = """\
*******
Agent 1
*******
  Name:                    AMD Ryzen 9 7950X 16-Core Processor
  Device Type:             CPU
*******
Agent 2
*******
  Name:                    gfx1100
  Marketing Name:          AMD Radeon RX 7900 XTX
  Node:                    1
  Device Type:             GPU
  Chip ID:                 29772(0x744c)
  BDFID:                   768
  Compute Unit:            96
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    25149440(0x17fc000) KB
"""


def replied(stdout: str, status: int = 0) -> dict[str, Any]:
    return {"status": status, "stdout": stdout}
