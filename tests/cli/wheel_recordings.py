"""Recordings of one machine with a Radeon RX 7900 XTX before and after a careless `pip install`: they differ in the
torch wheel, and in nothing else but what changes by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doctor.sources.recorder import write_recording
from tests.probes.gpu_machines import ABSENT, AMDGPU_IDS, GIB, MIB, PROCESSOR_NODE, kfd, machine, pci

SITE = "~/venv/lib/python3.12/site-packages"
ROCM_WHEEL = ("2.9.1+rocm6.4", "hip = '6.4.43484'\ncuda = None\n", ("libamdhip64.so", "libgomp.so.1"))
CUDA_WHEEL = ("2.10.0", "hip = None\ncuda = '12.8'\n", ("libgomp.so.1", "libtorch_cuda.so"))

_CARD = machine(
    pci("0000:03:00.0", "1002:744c", vram=24 * GIB - 16 * MIB, gtt=31 * GIB, render=128, revision="c8"),
    PROCESSOR_NODE,
    kfd(1, 110000, 0x0300, 128, 0x744C, 96, 24 * GIB - 16 * MIB),
    {"/usr/share/libdrm/amdgpu.ids": AMDGPU_IDS, "/etc/os-release": 'NAME="Ubuntu"\nVERSION_ID="24.04"\n'},
    renders=(128,),
)


def recording(wheel: tuple[str, str, tuple[str, ...]], taken_at: str, free_kb: int) -> dict[str, Any]:
    """The machine with one wheel, at one time."""
    version, builds, libraries = wheel
    told = {
        "version": "3.12.3",
        "executable": "~/venv/bin/python",
        "venv": True,
        "prefix": "~/venv",
        "torch": {
            "origin": f"{SITE}/torch/__init__.py",
            "version_file": f"__version__ = '{version}'\ndebug = False\n{builds}",
            "libraries": list(libraries),
        },
        "packages": [
            {"name": name, "version": number, "location": SITE, "installer": "pip", "installed_at": taken_at}
            for name, number in (("torch", version), ("numpy", "2.3.4"), ("requests", "2.32.5"))
        ],
    }
    files = {**_CARD["files"], "/proc/meminfo": f"MemTotal: 65536000 kB\nMemAvailable: {free_kb} kB\n"}
    bare = {"/.dockerenv": ABSENT, "/run/.containerenv": ABSENT}
    return {
        **_CARD,
        "access": {**_CARD["access"], **bare},
        "schema": "amd-doctor/recording/1",
        "taken_at": taken_at,
        "files": files,
        "exercises": {"interpreter": told},
    }


def before_and_after(folder: Path) -> tuple[Path, Path]:
    """The two recordings as files."""
    old, new = folder / "works.json.gz", folder / "broken.json.gz"
    write_recording(old, recording(ROCM_WHEEL, "2026-11-23T09:00:00Z", 50_000_000))
    write_recording(new, recording(CUDA_WHEEL, "2026-11-30T21:30:00Z", 12_345_678))
    return old, new
