"""The reader of /proc/meminfo."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.meminfo import read_meminfo

MEMINFO = """\
MemTotal:       32766456 kB
MemFree:        11111111 kB
MemAvailable:   22222222 kB
HugePages_Total:       0
"""


def test_kilobytes_are_1024_bytes() -> None:
    assert read_meminfo(MEMINFO) == (32766456 * 1024, 22222222 * 1024)


def test_kernels_before_3_14_do_not_say_what_is_available() -> None:
    assert read_meminfo("MemTotal: 1024 kB\nMemFree: 512 kB\n") == (1048576, None)


@given(st.text() | st.lists(st.sampled_from(MEMINFO.splitlines()) | st.text(max_size=30)).map("\n".join))
def test_never_raises(text: str) -> None:
    total, available = read_meminfo(text)
    assert (total or 0) >= 0
    assert (available or 0) >= 0
