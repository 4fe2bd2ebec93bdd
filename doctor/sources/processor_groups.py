"""Windows counts CPUs per processor group of at most 64. Here each gets one number, and the same one everywhere.

The number is the sum of the maximum processor counts of the groups before its own, plus its bit in the group's mask.
Why so: it is what a machine with one group shows anyway, and what `os.cpu_count()` counts over all groups; two groups
of 48 give 0-95 and not 0-47,64-111. The *maximum* count is used, not the active one, because a bit may lie above the
active count where a CPU can be added to the running machine; two CPUs then never share a number. Where Windows itself
wants a mask (`start /affinity`, SetProcessAffinityMask), it is relative to one group: a number of ours is for display
and comparison, and is taken apart again with `ProcessorGroups.masks`.

Layouts: SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX, GROUP_RELATIONSHIP, PROCESSOR_GROUP_INFO, GROUP_AFFINITY of winnt.h
in a 64-bit process, little endian (learn.microsoft.com, read 2026-11-30).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import msgspec

from doctor.machine.cpulist import MAX_CPU_ID

RELATION_GROUP = 4
GROUP_SIZE = 64

_HEADER = struct.Struct("<II")  # Relationship, Size (of the whole record, header included)
_GROUP_HEADER = struct.Struct("<HH20x")  # MaximumGroupCount, ActiveGroupCount
_GROUP_INFO = struct.Struct("<BB38xQ")  # MaximumProcessorCount, ActiveProcessorCount, ActiveProcessorMask


class Unreadable(msgspec.Struct, frozen=True):
    """A buffer that is not what the call documents, and why."""

    detail: str


class Record(msgspec.Struct, frozen=True):
    """One record of the buffer: its relationship, and its bytes behind the header of eight."""

    relation: int
    body: bytes


class Group(msgspec.Struct, frozen=True):
    """A processor group: how many processors it may hold, and those that are active."""

    maximum: int
    active_mask: int

    @property
    def width(self) -> int:
        """How many numbers the group takes up."""
        return max(self.maximum, self.active_mask.bit_length())


class ProcessorGroups(msgspec.Struct, frozen=True):
    """All processor groups of a machine, in their order."""

    groups: tuple[Group, ...]

    def first(self, group: int) -> int:
        """The number of bit 0 of a group. Raises IndexError for a group that this machine does not have."""
        if not 0 <= group < len(self.groups):
            raise IndexError(f"processor group {group} of {len(self.groups)}")
        return sum(before.width for before in self.groups[:group])

    def cpus(self, masks: Iterable[tuple[int, int]]) -> frozenset[int]:
        """The CPU numbers of (group, mask) pairs. Raises IndexError for a CPU that no group has room for."""
        found: set[int] = set()
        for group, mask in masks:
            first = self.first(group)
            if mask.bit_length() > self.groups[group].width:
                raise IndexError(f"bit {mask.bit_length() - 1} in processor group {group}")
            found.update(first + bit for bit in range(mask.bit_length()) if mask >> bit & 1)
        return frozenset(found)

    @property
    def active(self) -> frozenset[int]:
        return self.cpus((at, group.active_mask) for at, group in enumerate(self.groups))

    def masks(self, cpus: Iterable[int]) -> dict[int, int]:
        """The mask of each group that holds any of `cpus`. Raises IndexError for a CPU that no group has."""
        masks: dict[int, int] = {}
        for cpu in cpus:
            group = next((at for at in range(len(self.groups)) if self.first(at) <= cpu < self._end(at)), None)
            if group is None:
                raise IndexError(f"CPU {cpu}")
            masks[group] = masks.get(group, 0) | 1 << (cpu - self.first(group))
        return masks

    def _end(self, group: int) -> int:
        return self.first(group) + self.groups[group].width


def read_records(buffer: bytes) -> tuple[Record, ...] | Unreadable:
    """The records of the buffer of GetLogicalProcessorInformationEx, in their order."""
    records: list[Record] = []
    at = 0
    while at < len(buffer):
        if len(buffer) - at < _HEADER.size:
            return Unreadable(f"{len(buffer) - at} stray bytes at the end")
        relation, size = _HEADER.unpack_from(buffer, at)
        if not _HEADER.size <= size <= len(buffer) - at:
            return Unreadable(f"record {len(records)} says {size} bytes, {len(buffer) - at} are left")
        records.append(Record(relation, buffer[at + _HEADER.size : at + size]))
        at += size
    return tuple(records) if records else Unreadable("no record")


def read_groups(records: Iterable[Record]) -> ProcessorGroups | Unreadable:
    """The processor groups, from the one record that describes them."""
    record = next((record for record in records if record.relation == RELATION_GROUP), None)
    if record is None:
        return Unreadable("no record describes the processor groups")
    if len(record.body) < _GROUP_HEADER.size:
        return Unreadable("the record of the processor groups is cut")
    _, count = _GROUP_HEADER.unpack_from(record.body)
    if len(record.body) < _GROUP_HEADER.size + count * _GROUP_INFO.size or not count:
        return Unreadable(f"the record of the processor groups says {count} groups in {len(record.body)} bytes")
    groups = []
    for at in range(count):
        maximum, _, mask = _GROUP_INFO.unpack_from(record.body, _GROUP_HEADER.size + at * _GROUP_INFO.size)
        if maximum > GROUP_SIZE:
            return Unreadable(f"processor group {at} says {maximum} processors")
        groups.append(Group(maximum, mask))
    if sum(group.width for group in groups) > MAX_CPU_ID + 1:
        return Unreadable(f"{count} processor groups")
    return ProcessorGroups(tuple(groups))
