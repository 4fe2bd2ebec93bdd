"""Who uses a GPU: over recordings of two moments."""

from __future__ import annotations

import os

from doctor.measure.gpu_users import GpuUser, gpu_users
from doctor.sources.base import Missing
from doctor.sources.recording import RecordingSource


def fdinfo(client: int, busy_ns: int, vram_kib: int) -> str:
    return (
        f"drm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-pdev:\t0000:0c:00.0\n"
        f"drm-resident-vram:\t{vram_kib} KiB\ndrm-engine-gfx:\t{busy_ns} ns\n"
    )


def moment(**files: str) -> RecordingSource:
    own = os.getpid()
    plain = {
        "/proc/100/comm": "firefox\n",
        "/proc/200/comm": "blender\n",
        "/proc/300/comm": "bash\n",
        "/proc/300/fdinfo/0": "pos:\t0\nflags:\t02\n",
        f"/proc/{own}/comm": "amd-doctor\n",
        f"/proc/{own}/fdinfo/5": fdinfo(99, 10**9, 10**6),
        **{f"/proc/{name.replace('_', '/fdinfo/')}": text for name, text in files.items()},
    }
    return RecordingSource({"platform": "linux", "files": plain}, "test")


class Moments:
    """A source that is another one once time has passed."""

    def __init__(self, first: RecordingSource, second: RecordingSource) -> None:
        self._now, self._later = first, second

    def pass_time(self, seconds: float) -> None:
        self._now = self._later

    def names(self, path: str) -> tuple[str, ...] | Missing:
        return self._now.names(path)

    def text(self, path: str) -> str | Missing:
        return self._now.text(path)


def users(first: RecordingSource, second: RecordingSource) -> tuple[GpuUser, ...]:
    moments = Moments(first, second)
    return gpu_users(moments, look_seconds=0.5, sleep=moments.pass_time)  # type: ignore[arg-type]


def test_who_is_busy_or_holds_much_is_named_the_busiest_first() -> None:
    before = moment(**{"100_7": fdinfo(1, 0, 300 << 10), "200_8": fdinfo(2, 10**9, 1024)})
    after = moment(**{"100_7": fdinfo(1, 0, 300 << 10), "200_8": fdinfo(2, 10**9 + 250_000_000, 1024)})
    assert users(before, after) == (GpuUser("blender", 0.5, 1 << 20), GpuUser("firefox", 0.0, 300 << 20))


def test_a_client_behind_several_files_counts_once_and_idle_ones_not_at_all() -> None:
    files = {f"100_{fd}": fdinfo(1, 5, 200 << 10) for fd in (7, 8, 9)}
    assert users(moment(**files), moment(**files)) == (), "200 MiB once, and not busy"


def test_where_nothing_counts_nothing_is_said() -> None:
    assert users(moment(), moment()) == ()
    empty = RecordingSource({"platform": "windows"}, "test")
    assert gpu_users(empty, sleep=lambda seconds: None) == ()
