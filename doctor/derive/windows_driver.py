"""On Windows: do the AMD driver, the GPU and the ROCm wheel belong together?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.knowledge.gfx import gfx_row
from doctor.knowledge.windows_drivers import driver_fault
from doctor.machine.model import Fact, Gpu, Machine

#: `20260218` of the nightly build `2.10.0+rocm7.12.0a20260218`.
_BUILD = re.compile(r"\+rocm[\d.]+(?:a|rc|dev)(\d{8})\b")


class WindowsDriverFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "hides": ("windows.adrenalin", "gpus.gfx"),
        "unlisted_gfx": ("gpus.gfx",),
    }
    hides: str | None = None  # a GPU that ROCm was reported to miss with this driver, in words; "none"
    unlisted_gfx: str | None = None  # targets of the AMD GPUs, where AMD publishes no Windows wheel for any; "none"


def windows_driver_facts(machine: Machine, today: date | None = None) -> WindowsDriverFacts:
    if machine.os is None or machine.os.kind != "windows" or machine.gpus is None:
        return WindowsDriverFacts()
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == "amd"]
    return WindowsDriverFacts(hides=_hides(machine, gpus), unlisted_gfx=_unlisted(gpus))


def _hides(machine: Machine, gpus: list[Gpu]) -> str | None:
    adrenalin = machine.windows.adrenalin if machine.windows else None
    built = _BUILD.search((machine.torch.version if machine.torch else None) or "")
    for gpu in gpus:
        row = gfx_row(gpu.gfx)
        fault = driver_fault(adrenalin, row.family) if adrenalin is not None and row is not None else None
        if fault is None or row is None:
            continue
        if built is None or fault.fixed_build is None or built[1] < fault.fixed_build:
            return f"{gpu.name or gpu.gfx} ({row.family})"
    known = adrenalin is not None and all(gfx_row(gpu.gfx) is not None for gpu in gpus)
    return "none" if known else None


def _unlisted(gpus: list[Gpu]) -> str | None:
    rows = [gfx_row(gpu.gfx) for gpu in gpus]
    if any(row is not None and row.windows is not None for row in rows) or not gpus:
        return "none"
    if any(row is None for row in rows):
        return None
    return " ".join(dict.fromkeys(row.gfx for row in rows if row is not None))
