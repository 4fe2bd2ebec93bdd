"""Control group texts: memberships, mounts, the way up, and the limit files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.cgroup import (
    Chain,
    Mount,
    chain,
    read_cfs,
    read_cpu_max,
    read_cpus,
    read_limit,
    read_memberships,
    read_mounts,
    read_throttling,
)

_V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
_V1_CPU = (
    "33 31 0:30 /docker/4f1 /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 shared:3 - cgroup cgroup rw,cpu,cpuacct\n"
)


def chain_of(controller: str, own: str, mounts: str) -> Chain | None:
    return chain(controller, read_memberships(own), read_mounts(mounts))


def test_a_path_may_hold_colons_and_a_line_may_be_garbage() -> None:
    text = "12:cpu,cpuacct:/a:b\n0::/user.slice\n1:name=systemd:/init\nnonsense\n:::\n5:cpu:relative\n"
    rows = read_memberships(text)
    assert [(row.version, sorted(row.controllers), row.path) for row in rows] == [
        (1, ["cpu", "cpuacct"], "/a:b"),
        (2, [], "/user.slice"),
        (1, ["name=systemd"], "/init"),
    ]


def test_mount_points_are_unescaped_and_the_later_mount_wins() -> None:
    text = (
        "30 23 0:26 / /sys/fs/c\\040group rw - cgroup2 cgroup2 rw\n"
        "31 23 0:27 / /sys/fs/hidden rw shared:1 - cgroup2 cgroup2 rw\n"
        "32 23 0:28 / /sys/fs/hidden rw - tmpfs tmpfs rw\n"
        "garbage\n"
    )
    assert read_mounts(text) == (Mount(2, frozenset(), "/", "/sys/fs/c group"),)


def test_the_way_up_starts_at_the_own_group() -> None:
    found = chain_of("cpu", "0::/user.slice/user-1000.slice/a.scope\n", _V2)
    assert found == Chain(
        2,
        (
            "/sys/fs/cgroup/user.slice/user-1000.slice/a.scope",
            "/sys/fs/cgroup/user.slice/user-1000.slice",
            "/sys/fs/cgroup/user.slice",
            "/sys/fs/cgroup",
        ),
    )


def test_a_mounted_part_of_a_hierarchy_starts_at_its_root() -> None:
    point = "/sys/fs/cgroup/cpu,cpuacct"
    assert chain_of("cpu", "4:cpu,cpuacct:/docker/4f1/job\n", _V1_CPU) == Chain(1, (f"{point}/job", point))
    assert chain_of("cpu", "4:cpu,cpuacct:/docker/4f1\n", _V1_CPU) == Chain(1, (point,))


@pytest.mark.parametrize("path", ["/", "/docker", "/docker/other", "/docker/4f1/../other"])
def test_a_group_outside_of_the_mounted_part_has_no_way_up(path: str) -> None:
    assert chain_of("cpu", f"4:cpu,cpuacct:{path}\n", _V1_CPU) is None


@pytest.mark.parametrize("path", ["/..", "/../..", "/../sibling"])
def test_a_foreign_namespace_has_no_way_up(path: str) -> None:
    assert chain_of("cpu", f"0::{path}\n", _V2) is None


def test_a_mount_from_above_the_namespace_is_followed_where_the_names_are_known() -> None:
    mount = "30 23 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    assert chain_of("cpu", "0::/../sibling\n", mount) == Chain(2, ("/sys/fs/cgroup/sibling", "/sys/fs/cgroup"))
    assert chain_of("cpu", "0::/\n", mount) is None


def test_a_controller_is_looked_for_in_its_own_hierarchy() -> None:
    unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    own = "4:cpu,cpuacct:/docker/4f1\n0::/x\n"
    assert chain_of("cpu", own, _V1_CPU + unified) == Chain(1, ("/sys/fs/cgroup/cpu,cpuacct",))
    assert chain_of("pids", own, _V1_CPU + unified) == Chain(2, ("/sys/fs/cgroup/unified/x", "/sys/fs/cgroup/unified"))
    assert chain_of("cpu", own, unified) is None


def test_the_usual_mount_point_wins_over_a_second_one() -> None:
    second = "50 23 0:26 / /host/sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"
    assert chain_of("cpu", "0::/\n", second + _V2) == Chain(2, ("/sys/fs/cgroup",))


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("850000 100000\n", 8.5),
        ("  max   100000 \n", "none"),
        ("max\n", "none"),
        ("50000", 0.5),
        ("200000\t50000", 4.0),
        ("33333 100000", 0.3333),
        ("", None),
        ("100000 0", None),
        ("0 100000", None),
        ("-5 100000", None),
        ("1e5 100000", None),
        ("max max max", None),
        ("٣ 100000", None),
    ],
)
def test_cpu_max(text: str, cpus: float | str | None) -> None:
    assert read_cpu_max(text) == cpus


def test_quota_and_period_of_version_1() -> None:
    assert read_cfs("-1\n", "100000\n") == "none"
    assert read_cfs("150000\n", "100000\n") == 1.5
    assert read_cfs("garbage", "100000") is None
    assert read_cfs("150000", "") is None


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max\n", "none"),
        ("9223372036854771712\n", "none"),
        ("9223372036854710272\n", "none"),
        ("2147483648\n", 2147483648),
        ("0\n", 0),
        ("-1", None),
        ("12 MB", None),
        ("", None),
    ],
)
def test_limits(text: str, limit: int | str | None) -> None:
    assert read_limit(text) == limit


def test_cpu_sets() -> None:
    assert read_cpus("0-3\n") == {0, 1, 2, 3}
    assert read_cpus("\n") == frozenset()
    assert read_cpus("all of them") is None


def test_throttling_counters_are_there_only_where_a_quota_counts() -> None:
    counted = "usage_usec 91\nuser_usec 80\nsystem_usec 11\nnr_periods 400\nnr_throttled 381\nthrottled_usec 7\n"
    assert read_throttling(counted) == (400, 381)
    assert read_throttling("usage_usec 91\nuser_usec 80\nsystem_usec 11\n") is None
    assert read_throttling("nr_periods many\nnr_throttled 1\n") is None


@given(st.text(max_size=80))
def test_no_text_breaks_a_reader(text: str) -> None:
    read_mounts(text)
    read_memberships(text)
    for reader in (read_cpu_max, read_limit, read_cpus, read_throttling):
        reader(text)


@given(st.lists(st.text(st.characters(exclude_characters="/:\n\r"), max_size=8), max_size=5), st.booleans())
def test_every_folder_of_a_way_up_lies_below_its_mount(names: list[str], above: bool) -> None:
    own = "0::/" + ("../" if above else "") + "/".join(names) + "\n"
    found = chain_of("cpu", own, _V2)
    for folder in found.folders if found else ():
        assert folder == "/sys/fs/cgroup" or folder.startswith("/sys/fs/cgroup/")
        assert ".." not in folder.split("/")
