"""The buffer of GetLogicalProcessorInformationEx, on machines built by hand from Microsoft's field tables."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.sources.processor_groups import Group, ProcessorGroups, Unreadable
from doctor.texts.logical_processors import LogicalProcessors, read_logical_processors
from tests.texts import windows_topology as windows

MIB = 1 << 20


def read(buffer: bytes) -> LogicalProcessors:
    found = read_logical_processors(buffer)
    assert isinstance(found, LogicalProcessors), found
    return found


def l3_of(found: LogicalProcessors) -> list[tuple[int, int, int]]:
    """(lowest CPU, how many, MiB) of each L3 cache."""
    return [
        (min(cache.cpus), len(cache.cpus), cache.size_bytes // MIB) for cache in found.caches if cache.level == 3
    ]


def test_5950x_two_ccds_with_adjacent_siblings() -> None:
    found = read(windows.machine([(8, 32 * MIB), (8, 32 * MIB)]))
    assert found.online == frozenset(range(32))
    assert [sorted(core.cpus) for core in found.cores[:3]] == [[0, 1], [2, 3], [4, 5]]
    assert len(found.cores) == 16
    assert all(core.smt and core.efficiency_class == 0 for core in found.cores)
    assert l3_of(found) == [(0, 16, 32), (16, 16, 32)]
    assert found.packages == (frozenset(range(32)),)
    assert [(node.number, node.cpus) for node in found.numa_nodes] == [(0, frozenset(range(32)))]


def test_7950x3d_has_unequal_l3() -> None:
    found = read(windows.machine([(8, 96 * MIB), (8, 32 * MIB)]))
    assert l3_of(found) == [(0, 16, 96), (16, 16, 32)]
    kinds = {(cache.level, cache.kind) for cache in found.caches}
    assert kinds == {(1, "data"), (1, "instruction"), (2, "unified"), (3, "unified")}


@pytest.mark.parametrize("group_count", [None, 0], ids=["since build 20348", "before"])
def test_9654p_fills_three_groups_of_64(group_count: int | None) -> None:
    found = read(windows.machine([(8, 32 * MIB)] * 12, group_count=group_count))
    assert [group.maximum for group in found.groups.groups] == [64, 64, 64]
    assert found.online == frozenset(range(192))
    assert l3_of(found) == [(16 * ccd, 16, 32) for ccd in range(12)]
    assert found.packages == (frozenset(range(192)),)
    nodes = [len(node.cpus) for node in found.numa_nodes]
    assert nodes == ([192] if group_count is None else [64, 64, 64])


def test_two_groups_of_48_are_numbered_without_a_gap() -> None:
    """Two EPYC 7402: a NUMA node goes into a group as a whole, so that 96 CPUs are two groups of 48."""
    found = read(windows.machine([(3, 16 * MIB)] * 16, group_size=48))
    assert found.online == frozenset(range(96))
    assert sorted(found.cores[24].cpus) == [48, 49]
    assert found.groups.first(1) == 48


def test_room_for_hot_added_cpus_keeps_numbers_apart() -> None:
    buffer = windows.groups([2, 2], maximum=[64, 64])
    buffer += b"".join(windows.core((group, [bit]), smt=False) for group in (0, 1) for bit in (0, 1))
    found = read(buffer)
    assert found.online == frozenset({0, 1, 64, 65})


def test_hybrid_with_efficiency_class_and_one_shared_l3() -> None:
    parts = [windows.core((0, [2 * at, 2 * at + 1]), efficiency=1) for at in range(4)]
    parts += [windows.core((0, [8 + at]), smt=False, efficiency=0) for at in range(4)]
    parts += [windows.cache(3, 16 * MIB, (0, range(12))), windows.package((0, range(12)))]
    found = read(b"".join([*parts, windows.groups([12])]))
    assert [core.efficiency_class for core in found.cores] == [1] * 4 + [0] * 4
    assert [core.smt for core in found.cores] == [True] * 4 + [False] * 4


def test_an_l3_in_two_groups_is_one_cache() -> None:
    buffer = b"".join(
        [
            windows.core((0, [0]), smt=False),
            windows.core((1, [0]), smt=False),
            windows.cache(3, 32 * MIB, (0, [0]), (1, [0])),
            windows.groups([1, 1]),
        ]
    )
    assert l3_of(read(buffer)) == [(0, 2, 32)]


def test_a_group_count_of_zero_is_one_mask() -> None:
    new, old = windows.machine([(8, 32 * MIB)]), windows.machine([(8, 32 * MIB)], group_count=0)
    assert new != old
    assert read(new) == read(old)


def test_a_node_that_holds_memory_only_has_no_cpus() -> None:
    buffer = windows.machine([(2, 8 * MIB)]) + windows.numa(1, (7, []))
    assert [node.cpus for node in read(buffer).numa_nodes] == [frozenset(range(4)), frozenset()]


def test_order_of_records_does_not_matter_and_unknown_ones_are_passed_over() -> None:
    ordered = windows.machine([(2, 8 * MIB), (2, 8 * MIB)])
    parts, at = [], 0
    while at < len(ordered):
        size = int.from_bytes(ordered[at + 4 : at + 8], "little")
        parts.append(ordered[at : at + size])
        at += size
    shuffled = b"".join([windows.die((0, range(8))), *reversed(parts), windows.record(77, b"\xff" * 5)])
    assert read(shuffled) == read(ordered)


@pytest.mark.parametrize(
    ("buffer", "detail"),
    [
        (b"", "no record"),
        (b"\x00" * 7, "stray"),
        (windows.record(0, bytes(10)) + windows.groups([1]), "cut"),
        (windows.core((0, [0])), "no record describes the processor groups"),
        (windows.groups([1]), "the cores have 0 CPUs"),
        (windows.core((0, [0]), smt=False) + windows.groups([2]), "the cores have 1 CPUs, the processor groups 2"),
        (windows.core((0, [0])) + windows.core((0, [0])) + windows.groups([1]), "share a CPU"),
        (windows.core((3, [0])) + windows.groups([1]), "processor group 3"),
        (windows.core((0, [5])) + windows.groups([1]), "bit 5"),
        (windows.core((0, [])) + windows.groups([1]), "a core without a CPU"),
        (windows.core((0, [0])) + windows.cache(3, 1, (0, [0]), group_count=9) + windows.groups([1]), "cut"),
        (windows.core((0, [0])) + windows.cache(3, 1, (0, [0]), kind=4) + windows.groups([1]), "type 4"),
        (windows.core((0, [0])) + windows.record(4, bytes(24)), "0 groups"),
        (windows.core((0, [0])) + windows.record(4, b"\x01\x00\xff\xff" + bytes(20)), "65535 groups"),
        (windows.core((0, [0])) + windows.groups([1], maximum=[65]), "65 processors"),
    ],
)
def test_what_makes_no_sense_is_a_value_and_not_an_exception(buffer: bytes, detail: str) -> None:
    found = read_logical_processors(buffer)
    assert isinstance(found, Unreadable)
    assert detail in found.detail


WHOLE = windows.machine([(4, 16 * MIB), (4, 16 * MIB)])


@pytest.mark.parametrize("length", range(0, len(WHOLE), 7))
def test_no_prefix_is_taken_for_the_whole(length: int) -> None:
    assert isinstance(read_logical_processors(WHOLE[:length]), Unreadable)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=8))
def test_damage_never_raises(at: int, patch: bytes) -> None:
    damaged = WHOLE[:at] + patch + WHOLE[at + len(patch) :]
    assert isinstance(read_logical_processors(damaged), LogicalProcessors | Unreadable)


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_garbage_never_raises(buffer: bytes) -> None:
    assert isinstance(read_logical_processors(buffer), Unreadable | LogicalProcessors)


@settings(deadline=None)
@given(st.lists(st.integers(1, 64), min_size=1, max_size=5), st.data())
def test_numbers_and_masks_are_each_others_inverse(sizes: list[int], data: st.DataObject) -> None:
    groups = ProcessorGroups(tuple(Group(size, 2**size - 1) for size in sizes))
    cpus = data.draw(st.frozensets(st.integers(0, sum(sizes) - 1)))
    assert groups.cpus(groups.masks(cpus).items()) == cpus
    assert groups.active == frozenset(range(sum(sizes)))


def test_a_cpu_that_no_group_has_has_no_mask() -> None:
    groups = ProcessorGroups((Group(64, 2**64 - 1),))
    with pytest.raises(IndexError, match="CPU 64"):
        groups.masks([64])
