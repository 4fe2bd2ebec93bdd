"""The kernel's counters of processes killed for their memory."""

from __future__ import annotations

from doctor.measure.kills import out_of_memory_kills
from doctor.sources.recording import RecordingSource

MOUNT_2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
MOUNT_1 = "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
EVENTS = "low 0\nhigh 0\nmax 12\noom 3\noom_kill {}\noom_group_kill 0\n"


def kills(files: dict[str, str]) -> int:
    return out_of_memory_kills(RecordingSource({"platform": "linux", "files": files}, "test"))


def test_a_group_of_version_2_and_those_above_it_and_the_system() -> None:
    files = {
        "/proc/self/cgroup": "0::/a/b\n",
        "/proc/self/mountinfo": MOUNT_2,
        "/sys/fs/cgroup/a/b/memory.events": EVENTS.format(2),
        "/sys/fs/cgroup/a/memory.events": EVENTS.format(5),
        "/proc/vmstat": "nr_free_pages 7\noom_kill 11\n",
    }
    assert kills(files) == 18


def test_a_group_of_version_1() -> None:
    files = {
        "/proc/self/cgroup": "4:memory:/box\n0::/\n",
        "/proc/self/mountinfo": MOUNT_1,
        "/sys/fs/cgroup/memory/box/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
    }
    assert kills(files) == 4


def test_nothing_to_read_counts_as_none() -> None:
    assert kills({}) == 0
    assert kills({"/proc/vmstat": "oom_kill many\noom_kill_also 3\n"}) == 0
