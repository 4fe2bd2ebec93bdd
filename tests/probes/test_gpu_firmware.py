"""The firmware of the scheduler, from debugfs to the verdict."""

from __future__ import annotations

from doctor.machine.model import Gpu
from doctor.probes.gpu_firmware import with_firmware
from doctor.sources.recording import RecordingSource

STRIX = Gpu(vendor="amd", gfx="gfx1151", pci_address="0000:c6:00.0")
INFO = """\
MES_KIQ feature version: 6, firmware version: 0x0000006e
MES feature version: 1, firmware version: 0x00000083
"""


def source(**parts: object) -> RecordingSource:
    return RecordingSource({"platform": "linux", **parts}, "test")


def test_root_reads_it_for_the_card_that_the_folder_names() -> None:
    files = {
        "/sys/kernel/debug/dri/0/name": "simpledrm dev=simple-framebuffer.0 unique=x",
        "/sys/kernel/debug/dri/1/name": "amdgpu dev=0000:c6:00.0 unique=0000:c6:00.0",
        "/sys/kernel/debug/dri/1/amdgpu_firmware_info": INFO,
    }
    other = Gpu(vendor="amd", gfx="gfx1151", pci_address="0000:c7:00.0")
    gpus, rows = with_firmware(source(files=files), [STRIX, other])
    assert [gpu.mes_firmware for gpu in gpus] == ["0x83", None]
    assert rows == ()


def test_without_root_that_is_said_once_and_only_of_the_gpus_concerned() -> None:
    closed = source(missing={"needs-root": ["names:/sys/kernel/debug/dri"]})
    gpus, rows = with_firmware(closed, [STRIX, STRIX])
    assert gpus == [STRIX, STRIX]
    assert [(row.fact, row.reason) for row in rows] == [("gpus.mes_firmware", "needs-root")]
    assert with_firmware(closed, [Gpu(vendor="amd", gfx="gfx1100")])[1] == ()


def test_what_a_recording_does_not_hold_nobody_can_add() -> None:
    assert with_firmware(source(), [STRIX]) == ([STRIX], ())
