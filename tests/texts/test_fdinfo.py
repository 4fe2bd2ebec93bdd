"""What the kernel tells of an open GPU, by its documented format; from older and newer kernels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.fdinfo import Client, read_fdinfo

#: After Documentation/gpu/drm-usage-stats.rst and amdgpu_fdinfo.c.
NEWER = """pos:\t0
flags:\t02100002
mnt_id:\t26
ino:\t284
drm-driver:\tamdgpu
drm-client-id:\t33
drm-pdev:\t0000:0c:00.0
pasid:\t32779
drm-total-cpu:\t0
drm-total-gtt:\t61440 KiB
drm-total-vram:\t409600 KiB
drm-shared-vram:\t0
drm-resident-vram:\t307200 KiB
drm-resident-gtt:\t20480 KiB
drm-engine-gfx:\t1500000000 ns
drm-engine-compute:\t500000000 ns
drm-engine-capacity-video:\t2
"""
OLDER = """drm-driver: amdgpu
drm-client-id: 7
drm-pdev: 0000:03:00.0
drm-memory-vram: 1024 KiB
drm-memory-gtt: 2 MiB
drm-memory-cpu: 0 KiB
drm-engine-gfx: 100 ns
"""


def test_newer_kernels_tell_what_lies_on_the_card_now() -> None:
    assert read_fdinfo(NEWER) == Client("amdgpu", "0000:0c:00.0", "33", 2_000_000_000, (307200 + 20480) << 10)


def test_older_kernels_have_another_name_for_it() -> None:
    assert read_fdinfo(OLDER) == Client("amdgpu", "0000:03:00.0", "7", 100, (1 << 20) + (2 << 20))


def test_other_files_are_no_gpu() -> None:
    assert read_fdinfo("pos:\t0\nflags:\t0100002\nmnt_id:\t15\n") is None
    assert read_fdinfo("drm-driver: i915\n") is None, "without a client nothing can be counted once"
    assert read_fdinfo("") is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_fdinfo(text)
    read_fdinfo("drm-driver: x\ndrm-client-id: 1\n" + text)
