"""Which thread counts and placements are tried on which machine, in which order."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.machine.cpulist import format_cpulist, parse_cpulist
from doctor.machine.model import Core, Cpu, L3Group, Limits, Machine
from doctor.measure.units import Setting
from doctor.tune.arms import MAX_ARMS, Arm, between, is_default, thread_arms, threads_of
from doctor.tune.layout import Group, Layout, layout_of
from doctor.tune.plan import variables_alone
from scripts.simulated.documents import MIB, document

X3D = document("X3D", group_cores=(8, 8), group_bytes=(32 * MIB, 96 * MIB))
ONE_CCX = document("one CCX", group_cores=(8,), group_bytes=(16 * MIB,))
QUOTA = document("quota", group_cores=(4,) * 8, group_bytes=(32 * MIB,) * 8, quota_cpus=4.0)
TWO_SOCKETS = document("two sockets", group_cores=(8,) * 16, group_bytes=(32 * MIB,) * 16, sockets=2)


def layout(machine: Machine) -> Layout:
    found = layout_of(machine)
    assert found is not None
    return found


def arms(machine: Machine, default_threads: int | None = None, env: Mapping[str, str] | None = None) -> tuple[Arm, ...]:
    return thread_arms(layout(machine), default_threads=default_threads, env=env or {})


def asked(found: tuple[Arm, ...]) -> list[tuple[str | None, str | None]]:
    return [(arm.setting.variables["OMP_NUM_THREADS"], arm.setting.cpus) for arm in found]


def test_two_unequal_ccxs_are_both_tried_the_large_cache_first() -> None:
    found = asked(arms(X3D, default_threads=16))
    assert found[:4] == [("32", None), ("8", "8-15,24-31"), ("8", "0-7,16-23"), ("4", "8-15,24-31")]
    assert ("8", "0-3,8-11,16-19,24-27") in found, "spread over both"
    assert ("2", "0,8,16,24") in found, "one core of each"
    assert ("1", None) in found and ("8", None) in found and ("12", None) in found


def test_equal_ccxs_are_tried_once() -> None:
    equal = document("equal", group_cores=(6, 6), group_bytes=(32 * MIB, 32 * MIB))
    masks = [cpus for count, cpus in asked(arms(equal)) if count == "6" and cpus]
    assert masks == ["0-5,12-17", "0-2,6-8,12-14,18-20"]


def test_one_ccx_needs_no_mask_but_to_keep_siblings_idle() -> None:
    found = asked(arms(ONE_CCX, default_threads=8))
    assert found[:6] == [("16", None), ("4", None), ("6", None), ("5", None), ("1", None), ("2", None)]
    assert [each for each in found if each[1]] == [("8", "0-7")]


def test_two_sockets_bring_one_socket_and_several_ccxs() -> None:
    found = asked(arms(TWO_SOCKETS, default_threads=128))
    assert len(found) == MAX_ARMS
    assert ("64", "0-63,128-191") in found, "one socket"
    assert ("80", None) in found and ("64", None) in found and ("96", None) in found


def test_under_a_quota_no_arm_asks_for_more_threads_than_it_allows() -> None:
    found = asked(arms(QUOTA, default_threads=32))
    assert found[0] == ("4", None), "the quota, not the 32 cores"
    assert max(int(count or 0) for count, _ in found) == 4
    assert ("4", "0-3,32-35") in found and ("4", "0,4,8,12,32,36,40,44") in found


def test_a_hybrid_chip_with_one_cache_brings_its_fast_cores() -> None:
    kinds = ["performance"] * 4 + ["efficiency"] * 4
    cores = tuple(Core(cpus=f"{2 * at},{2 * at + 1}", l3=0, package=0, kind=kind) for at, kind in enumerate(kinds))
    chip = Cpu(cores=cores, l3_groups=(L3Group(cpus="0-15", cores=8),), logical_cpus=16, online="0-15")
    machine = Machine(cpu=chip, limits=Limits(affinity="0-15", cpu_budget=16))
    assert asked(arms(machine))[:3] == [("8", None), ("16", None), ("4", "0-7")]


def test_affinity_makes_the_machine_smaller() -> None:
    limits = msgspec.structs.replace(X3D.limits, affinity="8-15", affinity_cpus=8, cpu_budget=8)  # type: ignore[type-var]
    small = layout(msgspec.structs.replace(X3D, limits=limits))
    assert [group.cpus for group in small.groups] == [tuple(range(8, 16))]
    assert small.groups[0].size_bytes == 96 * MIB, "still the group that it is"
    found = asked(thread_arms(small, default_threads=None, env={}))
    assert found[0] == ("8", None) and all(cpus is None for _, cpus in found)


def test_one_cpu_leaves_nothing_to_try() -> None:
    assert thread_arms(Layout(1, (Group(((0,),)),)), default_threads=1, env={}) == ()


def test_where_no_cpu_list_is_known_only_counts_are_tried() -> None:
    bare = layout(Machine(limits=Limits(cpu_budget=6)))
    assert bare == Layout(6)
    assert asked(thread_arms(bare, default_threads=6, env={})) == [
        ("3", None), ("4", None), ("1", None), ("5", None), ("2", None)
    ]
    assert layout_of(Machine()) is None


def test_cores_that_do_not_cover_what_is_allowed_are_not_believed() -> None:
    half = msgspec.structs.replace(ONE_CCX.cpu, cores=ONE_CCX.cpu.cores[:4])  # type: ignore[union-attr,index,type-var]
    found = layout(msgspec.structs.replace(ONE_CCX, cpu=half))
    assert found.groups == (Group(tuple((cpu,) for cpu in range(16))),)


def test_mkl_is_told_too_where_the_user_told_it() -> None:
    (first, *_) = arms(ONE_CCX, env={"MKL_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"})
    assert first.setting.variables == {"OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": "8"}


@pytest.mark.parametrize(
    ("setting", "threads", "same"),
    [
        (Setting({"OMP_NUM_THREADS": "8"}), 8, True),
        (Setting({"OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": "8"}), 8, True),
        (Setting({"OMP_NUM_THREADS": "8"}), None, False),
        (Setting({"OMP_NUM_THREADS": "8"}), 4, False),
        (Setting({"OMP_NUM_THREADS": "8"}, "0-7"), 8, False),
        (Setting({"OMP_NUM_THREADS": "8", "OMP_WAIT_POLICY": "PASSIVE"}), 8, False),
    ],
)
def test_asking_for_the_threads_there_are_is_the_default(setting: Setting, threads: int | None, same: bool) -> None:
    assert is_default(setting, threads) is same


def test_the_variables_alone_are_a_second_candidate_only_where_they_change_something() -> None:
    masked = Arm("m", Setting({"OMP_NUM_THREADS": "8"}, "0-7"), "one CCX")
    assert variables_alone(masked, 16) == Arm("m without its mask", Setting({"OMP_NUM_THREADS": "8"}), "one CCX")
    assert variables_alone(masked, 8) is None
    assert variables_alone(Arm("t", Setting({"OMP_NUM_THREADS": "8"})), 16) is None
    assert variables_alone(Arm("mask only", Setting(cpus="0-7")), None) is None


def masked(count: int, cpus: str | None = "0-7") -> Arm:
    return Arm(f"threads-{count}-ccx0", Setting({"OMP_NUM_THREADS": str(count), "X": "1"}, cpus))


def counts_beside(leader: Arm, tried: list[Arm], default_threads: int | None = None) -> list[str | None]:
    return [arm.setting.variables["OMP_NUM_THREADS"] for arm in between(leader, tried, default_threads)]


def test_between_are_the_counts_halfway_to_the_neighbours_in_the_same_place() -> None:
    tried = [masked(4), masked(8), masked(16), masked(6, None), masked(32, None)]
    assert counts_beside(masked(8), tried) == ["6", "11"]
    assert counts_beside(masked(4), tried) == ["2", "6"], "one thread is the least, tried or not"
    assert counts_beside(masked(16), tried) == ["11"], "beyond the largest count nothing was tried"
    assert counts_beside(masked(32, None), tried, default_threads=16) == ["23"]
    assert counts_beside(masked(6, None), tried, default_threads=16) == ["10"]
    assert counts_beside(masked(7), [masked(6), masked(7), masked(8)]) == []


def test_what_lies_between_keeps_everything_but_its_count() -> None:
    leader = Arm("threads-8-ccx0", Setting({"OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": "8", "X": "8"}, "0-15"))
    (arm,) = between(leader, [leader, masked(12, "0-15")], None)[1:]
    assert arm.name == "threads-10-ccx0"
    assert arm.setting == Setting({"OMP_NUM_THREADS": "10", "MKL_NUM_THREADS": "10", "X": "8"}, "0-15")
    other = Arm("mine", Setting({"OMP_NUM_THREADS": "8"}))
    assert [arm.name for arm in between(other, [other], 2)] == ["mine, 4 threads"], "a name of its own"
    assert between(Arm("pages", Setting({"THP_MEM_ALLOC_ENABLE": "1"})), [leader], 16) == ()


@settings(deadline=None)
@given(st.sets(st.integers(1, 300), min_size=1, max_size=12), st.integers(1, 300), st.integers(0, 20))
def test_between_never_names_what_was_tried(counts: set[int], default_threads: int, pick: int) -> None:
    tried = [masked(count, None) for count in sorted(counts)]
    found = between(tried[pick % len(tried)], tried, default_threads)
    assert len(found) <= 2
    assert not {threads_of(arm.setting) for arm in found} & (counts | {default_threads})


LAYOUTS = st.builds(
    lambda groups, cores, smt, packages, quota: Layout(
        budget=max(1, min(groups * cores * smt, quota)),
        groups=tuple(
            Group(
                tuple(
                    tuple(at * cores + core + sibling * groups * cores for sibling in range(smt))
                    for core in range(cores)
                ),
                package=at * packages // groups,
                size_bytes=(at % 2) * MIB,
            )
            for at in range(groups)
        ),
    ),
    st.integers(1, 16),
    st.integers(1, 16),
    st.integers(1, 2),
    st.integers(1, 2),
    st.integers(1, 600),
)


@settings(deadline=None)
@given(LAYOUTS, st.one_of(st.none(), st.integers(1, 64)))
def test_on_any_machine_arms_are_few_distinct_and_possible(chip: Layout, default_threads: int | None) -> None:
    found = thread_arms(chip, default_threads=default_threads, env={})
    allowed = parse_cpulist(chip.all_cpus)
    assert len(found) <= MAX_ARMS
    assert len({arm.name for arm in found}) == len({str(arm.setting) for arm in found}) == len(found)
    for arm in found:
        count, cpus = int(arm.setting.variables["OMP_NUM_THREADS"] or 0), arm.setting.cpus
        assert 1 <= count <= chip.budget
        assert not is_default(arm.setting, default_threads)
        if cpus is not None:
            mask = parse_cpulist(cpus)
            assert mask < allowed and count <= len(mask) and format_cpulist(mask) == cpus
            # A core's siblings go together, but where they are kept idle on purpose.
            assert all(mask.issuperset(core) or mask.isdisjoint(core[1:]) for core in chip.cores)


@settings(deadline=None)
@given(LAYOUTS)
def test_a_small_budget_cuts_the_end_and_nothing_else(chip: Layout) -> None:
    whole = thread_arms(chip, default_threads=None, env={})
    for most in range(len(whole)):
        assert thread_arms(chip, default_threads=None, env={}, most=most) == whole[:most]
