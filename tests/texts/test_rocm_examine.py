"""`rocm examine --json`: what is read, and what must not be taken at its word."""

from __future__ import annotations

import json
from typing import Any

from doctor.texts.rocm_examine import (
    Examination,
    ExaminedGpu,
    gpu_target_of,
    looks_like_rocm_examine,
    read_rocm_examine,
)

_XTX = {"name": "Advanced Micro Devices, Inc. [AMD/ATI] Navi 31", "gfx_target": "gfx1100", "pci_id": "0000:03:00.0",
        "is_apu": False, "is_amd": True}  # fmt: skip
_IGPU = {**_XTX, "name": "Advanced Micro Devices, Inc. [AMD/ATI] Raphael", "gfx_target": "gfx1036",
         "pci_id": "0000:0f:00.0"}  # fmt: skip


def _text(**fields: Any) -> str:
    plain = {"os_family": "linux", "gpus": [_XTX], "rocminfo_status": "ok", "user_name": "jane", "env": {}, **fields}
    return json.dumps(plain, indent=2)


def _read(**fields: Any) -> Examination:
    text = _text(**fields)
    read = read_rocm_examine(text)
    assert looks_like_rocm_examine(text) and read is not None
    return read


def test_private_fields_are_not_read() -> None:
    env = {"PATH": "/home/jane/bin", "HSA_OVERRIDE_GFX_VERSION": "10.3.0", "HOME": "/home/jane"}
    read = _read(env=env)
    assert read.env == {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
    assert "jane" not in repr(read)


def test_fields_of_a_newer_release_are_passed_over() -> None:
    assert _read(new_field={"a": 1}, summary={"detected_gfx_target": "gfx1100", "more": 2}).os_family == "linux"


def _targets(*gpus: dict[str, Any], **fields: Any) -> list[str | None]:
    read = _read(gpus=list(gpus), **fields)
    return [gpu_target_of(read, gpu) for gpu in read.gpus]


def test_the_target_of_a_single_gpu() -> None:
    assert _targets(_XTX) == ["gfx1100"]
    assert _targets({**_XTX, "gfx_target": "gfx90a:sramecc+:xnack-"}) == ["gfx90a"]
    assert _targets({**_XTX, "gfx_target": ""}) == [None]


def test_targets_that_were_dealt_out_by_order_are_not_believed() -> None:
    assert _targets(_XTX, _IGPU) == [None, None]
    assert _targets(_XTX, _XTX) == ["gfx1100", "gfx1100"]


def test_a_target_that_was_guessed_from_the_name() -> None:
    krackan = {**_XTX, "name": "[AMD/ATI] Krackan [Radeon 840M / 860M Graphics]", "gfx_target": "gfx1150"}
    assert _targets(krackan) == [None]
    assert _targets({**krackan, "name": "[AMD/ATI] Strix [Radeon 880M / 890M]"}) == ["gfx1150"]


def test_the_kernel_knows_better() -> None:
    krackan = {**_XTX, "name": "Krackan", "gfx_target": "gfx1150"}
    assert _targets(krackan, summary={"detected_gfx_target": "gfx1152"}) == ["gfx1152"]
    assert _targets({**_XTX, "gfx_target": ""}, summary={"detected_gfx_target": "gfx1100"}) == ["gfx1100"]
    assert _targets({**_XTX, "gfx_target": ""}, _IGPU, summary={"detected_gfx_target": "gfx1100"}) == [None, None]
    assert _targets(_XTX, summary={"detected_gfx_target": None}) == ["gfx1100"]


def test_what_stands_as_a_pci_id() -> None:
    assert ExaminedGpu(pci_id="0000:03:00.0").address == "0000:03:00.0"
    assert ExaminedGpu(pci_id="0000:03:00.0").device is None
    windows = ExaminedGpu(pci_id="PCI\\VEN_1002&DEV_744C&SUBSYS_0E3B1002&REV_C8\\6&1A2B3C4D&0&00000019")
    assert (windows.address, windows.device) == (None, "1002:744c")
    assert ExaminedGpu(pci_id="1002:74a1").device == "1002:74a1"
    assert (ExaminedGpu(pci_id="").device, ExaminedGpu(pci_id="").address) == (None, None)


def test_texts_of_something_else() -> None:
    for text in ("", "{}", '{"gfx_target": 1}', '{"gpus": [], "rocminfo_status": "ok"}', _text()[:-9], "[" * 100_000):
        assert read_rocm_examine(text) is None
    assert read_rocm_examine(_text(gpus=3)) is None
