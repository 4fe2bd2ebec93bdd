"""Who else uses a GPU now, by the counters of its driver (Linux). Names only, never arguments.

Processes of other users are seen as root only; where nothing counts, nothing is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

import msgspec

from doctor.measure.load import own_family
from doctor.sources.base import Missing, Source
from doctor.texts.fdinfo import Client, read_fdinfo

#: What is worth a word: a part of an engine's time, or memory that a measurement would miss.
_BUSY_SHARE = 0.02
_HELD_BYTES = 256 << 20
_MOST_FILES = 20_000
_MOST_NAMED = 4


class GpuUser(msgspec.Struct, frozen=True):
    """A program. `share`: of the time, by all its engines together. `held_bytes`: of the memory of the GPU."""

    name: str
    share: float
    held_bytes: int


_Clients = Mapping[tuple[str, str], tuple[str, Client]]


def gpu_users(
    source: Source, look_seconds: float = 0.5, sleep: Callable[[float], None] = time.sleep
) -> tuple[GpuUser, ...]:
    """What is at work on a GPU, watched for a moment: the busiest first, this process and its children left out."""
    own = own_family()
    before = _clients(source, own)
    if not before:
        return ()
    began = time.monotonic()
    sleep(look_seconds)
    took = max(time.monotonic() - began, look_seconds)
    return users_between(before, _clients(source, own), took)


def users_between(before: _Clients, after: _Clients, seconds: float) -> tuple[GpuUser, ...]:
    busy: dict[str, float] = {}
    held: dict[str, int] = {}
    for key, (name, client) in after.items():
        first = before.get(key, (name, client))[1]
        busy[name] = busy.get(name, 0.0) + max(client.busy_ns - first.busy_ns, 0) / 1e9 / seconds
        held[name] = held.get(name, 0) + client.held_bytes
    found = [GpuUser(name, busy[name], held[name]) for name in busy]
    named = [user for user in found if user.share >= _BUSY_SHARE or user.held_bytes >= _HELD_BYTES]
    return tuple(sorted(named, key=lambda user: (-user.share, -user.held_bytes, user.name))[:_MOST_NAMED])


def _clients(source: Source, own: Collection[int]) -> dict[tuple[str, str], tuple[str, Client]]:
    """Every client of a GPU with the name of its process; a client that several files or processes hold counts once."""
    found: dict[tuple[str, str], tuple[str, Client]] = {}
    folders = source.names("/proc")
    left = _MOST_FILES
    for pid in () if isinstance(folders, Missing) else folders:
        if not pid.isdigit() or int(pid) in own:
            continue
        files = source.names(f"/proc/{pid}/fdinfo")
        for name in () if isinstance(files, Missing) else files[:left]:
            left -= 1
            text = source.text(f"/proc/{pid}/fdinfo/{name}")
            client = None if isinstance(text, Missing) else read_fdinfo(text)
            if client is not None and (client.device, client.number) not in found:
                comm = source.text(f"/proc/{pid}/comm")
                found[client.device, client.number] = "?" if isinstance(comm, Missing) else comm.strip(), client
        if left <= 0:
            break
    return found
