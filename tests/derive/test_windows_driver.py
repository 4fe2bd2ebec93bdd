"""Do the AMD driver, the GPU and the ROCm wheel on Windows belong together?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.windows_driver import WindowsDriverFacts, windows_driver_facts
from doctor.machine.model import Machine

RDNA2 = {"vendor": "amd", "name": "AMD Radeon RX 6800 XT", "gfx": "gfx1030"}
RDNA3 = {"vendor": "amd", "name": "AMD Radeon RX 7900 XTX", "gfx": "gfx1100"}
POLARIS = {"vendor": "amd", "gfx": "gfx803"}
NIGHTLY_BEFORE, NIGHTLY_AFTER = "2.10.0+rocm7.12.0a20260218", "2.10.0+rocm7.13.0a20260508"


def facts(gpus: list[dict[str, Any]] | None, adrenalin: str | None, torch: str = "2.9.0+rocm7.2") -> WindowsDriverFacts:
    areas = {
        "os": {"kind": "windows"},
        "torch": {"version": torch, "hip": "7.2"},
        "windows": {"adrenalin": adrenalin},
        "gpus": gpus,
    }
    return windows_driver_facts(msgspec.convert(areas, Machine))


@pytest.mark.parametrize(
    ("gpus", "adrenalin", "torch", "hides"),
    [
        ([RDNA2], "26.1.1", "2.9.0+rocm7.2", "AMD Radeon RX 6800 XT (RDNA 2)"),
        ([RDNA2], "26.1.1", NIGHTLY_BEFORE, "AMD Radeon RX 6800 XT (RDNA 2)"),
        ([RDNA2], "26.1.1", NIGHTLY_AFTER, "none"),
        ([RDNA2], "25.12.1", "2.9.0+rocm7.2", "none"),
        ([RDNA3], "26.1.1", "2.9.0+rocm7.2", "none"),
        ([RDNA3, RDNA2], "26.3.1", "2.9.0+rocm7.2", "AMD Radeon RX 6800 XT (RDNA 2)"),
        ([RDNA2], None, "2.9.0+rocm7.2", None),
        ([{"vendor": "amd"}], "26.1.1", "2.9.0+rocm7.2", None),
        ([{"vendor": "nvidia"}], "26.1.1", "2.9.0+rocm7.2", "none"),
    ],
)
def test_a_gpu_that_a_driver_hides(gpus: Any, adrenalin: str | None, torch: str, hides: str | None) -> None:
    assert facts(gpus, adrenalin, torch).hides == hides


@pytest.mark.parametrize(
    ("gpus", "unlisted"),
    [
        ([POLARIS], "gfx803"),
        ([POLARIS, RDNA3], "none"),
        ([{"vendor": "amd"}], None),
        ([{"vendor": "amd"}, RDNA3], "none"),
        ([], "none"),
    ],
)
def test_targets_without_a_windows_wheel(gpus: Any, unlisted: str | None) -> None:
    assert facts(gpus, "25.9.1").unlisted_gfx == unlisted


def test_elsewhere_and_without_a_list_of_gpus_nothing_is_said() -> None:
    linux = msgspec.convert({"os": {"kind": "linux"}, "gpus": [RDNA2], "windows": {"adrenalin": "26.1.1"}}, Machine)
    assert windows_driver_facts(linux) == facts(None, "26.1.1") == WindowsDriverFacts()
