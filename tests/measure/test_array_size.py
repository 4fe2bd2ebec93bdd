"""How large an array has to be on which caches."""

from __future__ import annotations

import pytest

from doctor.measure.array_size import MIB, array_bytes, l3_bytes
from doctor.sources.recording import RecordingSource


@pytest.mark.parametrize(
    ("l3_mib", "array_mib"),
    [
        (None, 256),  # unknown
        (16, 256),  # Ryzen 7 5800U
        (64, 256),  # Ryzen 9 5950X
        (128, 512),  # Ryzen 9 7950X3D
        (256, 1024),  # EPYC 9354
        (384, 1024),  # EPYC 9654: the three together are eight times as large
        (768, 1024),  # two of them: four times
        (2304, 3072),  # two EPYC 9684X
    ],
)
def test_array_bytes(l3_mib: int | None, array_mib: int) -> None:
    l3 = None if l3_mib is None else l3_mib * MIB
    assert array_bytes(l3) == array_mib * MIB
    assert 3 * array_bytes(l3) >= 4 * (l3 or 0)


def cpu_files(cpu: int, shared: str, size: str = "32768K") -> dict[str, str]:
    cache = f"/sys/devices/system/cpu/cpu{cpu}/cache/index3"
    return {
        f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id": str(cpu),
        f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": "0",
        f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": str(cpu),
        f"{cache}/level": "3",
        f"{cache}/type": "Unified",
        f"{cache}/size": size,
        f"{cache}/shared_cpu_list": shared,
    }


def source(files: dict[str, str]) -> RecordingSource:
    return RecordingSource({"platform": "linux", "files": files}, "test")


def test_all_caches_count_once_each() -> None:
    files = {"/sys/devices/system/cpu/online": "0-3"}
    for cpu in range(4):
        files |= cpu_files(cpu, "0-1" if cpu < 2 else "2-3")
    assert l3_bytes(source(files)) == 64 * MIB


def test_caches_that_nobody_tells_are_unknown() -> None:
    assert l3_bytes(source({})) is None
