"""Who else uses the CPUs, and how much of them. Names only, never arguments: those may hold anything."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec
import psutil

#: Below this share of the CPUs a process is not named.
_NAMED_SHARE = 0.02
_MOST_NAMES = 3
_BUSY = ("user", "nice", "system", "irq", "softirq")
_NOT_BUSY = ("idle", "iowait")


class CpuTimes(msgspec.Struct, frozen=True):
    """Seconds of some CPUs together since the start of the system."""

    busy: float
    stolen: float  # by the host of a virtual machine
    all: float


class BusyProcess(msgspec.Struct, frozen=True):
    """A program, and the share of the CPUs that all its processes took together."""

    name: str
    share: float


def cpu_times(cpus: Collection[int]) -> CpuTimes:
    """The times of these CPUs. An offline CPU has none."""
    rows = [row for cpu, row in _rows().items() if cpu in cpus]
    busy = sum(row.get(kind, 0.0) for row in rows for kind in _BUSY)
    stolen = sum(row.get("steal", 0.0) for row in rows)
    idle = sum(row.get(kind, 0.0) for row in rows for kind in _NOT_BUSY)
    return CpuTimes(busy, stolen, busy + stolen + idle)


def _rows() -> dict[int, dict[str, float]]:
    if sys.platform == "linux":
        text = Path("/proc/stat").read_text(encoding="ascii", errors="replace")
        return proc_stat_rows(text, os.sysconf("SC_CLK_TCK"))
    return {cpu: row._asdict() for cpu, row in enumerate(psutil.cpu_times(percpu=True))}


def proc_stat_rows(text: str, ticks_per_second: int) -> dict[int, dict[str, float]]:
    """/proc/stat by CPU id, in seconds. psutil numbers its rows from 0, which an offline CPU shifts."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    rows = {}
    for line in text.splitlines():
        head, *ticks = line.split()
        if head.startswith("cpu") and head[3:].isdigit():
            rows[int(head[3:])] = {
                name: int(value) / ticks_per_second for name, value in zip(names, ticks, strict=False)
            }
    return rows


class Snapshot(msgspec.Struct, frozen=True):
    """The CPU seconds of every process that can be seen, by its id and start time, with its name."""

    taken_at: float
    processes: Mapping[tuple[int, float], tuple[str, float]]


def snapshot() -> Snapshot:
    found: dict[tuple[int, float], tuple[str, float]] = {}
    for process in psutil.process_iter(["name", "cpu_times", "create_time"]):
        told = process.info
        times = told["cpu_times"]
        if times is not None and told["create_time"] is not None:
            # The kernel's own threads say what they do behind a slash: `kworker/u8:2+flush-254:0`.
            name = (told["name"] or "").partition("/")[0] or "?"
            found[process.pid, told["create_time"]] = name, times.user + times.system
    return Snapshot(time.monotonic(), found)


def busiest(before: Snapshot, after: Snapshot, cpus: int, *, but: Collection[int] = ()) -> tuple[BusyProcess, ...]:
    """The programs that took a share of `cpus` CPUs worth naming between two snapshots, the busiest first.

    `but`: process ids that do not count. Whoever ended in between is not seen.
    """
    available = max(after.taken_at - before.taken_at, 1e-6) * max(cpus, 1)
    seconds: dict[str, float] = {}
    for key, (name, now) in after.processes.items():
        # Idle time is a process of Windows.
        if key[0] not in but and key[0] != 0:
            seconds[name] = seconds.get(name, 0.0) + max(now - before.processes.get(key, (name, 0.0))[1], 0.0)
    shares = [BusyProcess(name, taken / available) for name, taken in seconds.items()]
    named = [row for row in shares if row.share >= _NAMED_SHARE]
    return tuple(sorted(named, key=lambda row: (-row.share, row.name))[:_MOST_NAMES])


def busy_processes(cpus: int, watch_seconds: float = 0.5) -> tuple[BusyProcess, ...]:
    """What is busy now: watched for a moment, this process and what it started left out."""
    before = snapshot()
    time.sleep(watch_seconds)
    return busiest(before, snapshot(), cpus, but=own_family())


def own_family() -> frozenset[int]:
    """This process and everything below it."""
    try:
        below = psutil.Process().children(recursive=True)
    except psutil.Error:
        below = []
    return frozenset({os.getpid(), *(process.pid for process in below)})
