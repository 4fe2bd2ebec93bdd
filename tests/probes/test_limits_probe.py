"""The layouts in which control groups are met, as small machines written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.machine.model import Cgroup, Limits
from doctor.probes.found import Found
from doctor.probes.limits import probe
from doctor.sources.recorder import Recorder
from doctor.sources.recording import RecordingSource

V2 = "30 23 0:26 / /sys/fs/cgroup ro,nosuid,relatime - cgroup2 cgroup rw,nsdelegate\n"
TOP = "/sys/fs/cgroup"


def run(files: dict[str, str], **parts: Any) -> Found:
    return probe(RecordingSource({"platform": "linux", "files": files, **parts}, "test"))


def limits_of(found: Found) -> Limits:
    limits = found.facts["limits"]
    assert isinstance(limits, Limits)
    return limits


def cgroup_of(found: Found) -> Cgroup:
    group = limits_of(found).cgroup
    assert group is not None
    return group


def unknown_facts(found: Found) -> dict[str, str]:
    return {row.fact: row.reason for row in found.unknowns}


def folder(path: str, **files: str) -> dict[str, str]:
    """A version 2 group that is not the root, with its limit files (`cpu_max` is `cpu.max`)."""
    own = {"cgroup.procs": "", "cgroup.type": "domain\n"}
    own.update({name.replace("_", ".", 1): text for name, text in files.items()})
    return {f"{path}/{name}": text for name, text in own.items()}


ROOT_V2 = {
    f"{TOP}/cgroup.procs": "1\n",
    f"{TOP}/cgroup.controllers": "cpuset cpu io memory pids\n",
    f"{TOP}/cpuset.cpus.effective": "0-15\n",
    f"{TOP}/cpu.stat": "usage_usec 1\n",
}


def test_a_systemd_user_session_has_no_limit_but_the_tasks_of_its_slice() -> None:
    slice_ = f"{TOP}/user.slice/user-1000.slice"
    files = {
        "/proc/self/cgroup": "0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope\n",
        "/proc/self/mountinfo": V2,
        **ROOT_V2,
        **folder(f"{TOP}/user.slice", cpu_max="max 100000\n", memory_max="max\n", pids_max="max\n"),
        **folder(slice_, cpu_max="max 100000\n", memory_max="max\n", pids_max="50000\n"),
        # The cpu controller is not delegated to the user's own manager: these groups have no cpu.max at all.
        **folder(f"{slice_}/user@1000.service", memory_max="max\n", pids_max="max\n"),
        **folder(f"{slice_}/user@1000.service/app.slice", memory_max="max\n", pids_max="max\n"),
        **folder(f"{slice_}/user@1000.service/app.slice/a.scope", memory_max="max\n", pids_max="max\n"),
    }
    found = run(files, api={"affinity": "0-15"})
    assert cgroup_of(found) == Cgroup(
        version=2, quota_cpus="none", cpuset_cpus="0-15", memory_bytes="none", pids_max=50000
    )
    assert limits_of(found).affinity_cpus == 16
    assert found.unknowns == ()


def test_a_quota_of_a_slice_above_wins_and_its_counters_are_read() -> None:
    slice_ = f"{TOP}/system.slice"
    files = {
        "/proc/self/cgroup": "0::/system.slice/job.service\n",
        "/proc/self/mountinfo": V2,
        **ROOT_V2,
        **folder(slice_, cpu_max="200000 100000\n", cpu_stat="nr_periods 50\nnr_throttled 40\n"),
        **folder(f"{slice_}/job.service", cpu_max="1600000 100000\n", cpu_stat="nr_periods 9\nnr_throttled 0\n"),
    }
    found = run(files)
    group = cgroup_of(found)
    assert (group.quota_cpus, group.nr_periods, group.nr_throttled) == (2.0, 50, 40)
    assert found.origins["limits.cgroup.quota_cpus"] == f"{TOP}/system.slice"


DOCKER_V2 = {
    "/proc/self/cgroup": "0::/\n",
    "/proc/self/mountinfo": V2,
    **folder(
        TOP,
        cpu_max="150000 100000\n",
        memory_max="2147483648\n",
        pids_max="512\n",
        cpu_stat="usage_usec 4\nnr_periods 100\nnr_throttled 12\n",
    ),
    f"{TOP}/cpuset.cpus.effective": "0-3\n",
}


def test_docker_with_a_private_namespace() -> None:
    assert cgroup_of(run(DOCKER_V2)) == Cgroup(
        version=2,
        quota_cpus=1.5,
        cpuset_cpus="0-3",
        memory_bytes=2147483648,
        nr_periods=100,
        nr_throttled=12,
        pids_max=512,
    )


def test_a_kubernetes_pod_with_a_quota_of_eight_and_a_half() -> None:
    pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab.slice"
    files = {
        "/proc/self/cgroup": f"0::{pod}/cri-containerd-77.scope\n",
        "/proc/self/mountinfo": V2,
        **ROOT_V2,
        **folder(f"{TOP}/kubepods.slice", cpu_max="max 100000\n", memory_max="max\n", pids_max="max\n"),
        **folder(f"{TOP}/kubepods.slice/kubepods-burstable.slice", cpu_max="max 100000\n", memory_max="max\n"),
        **folder(f"{TOP}{pod}", cpu_max="850000 100000\n", memory_max="17179869184\n"),
        **folder(f"{TOP}{pod}/cri-containerd-77.scope", cpu_max="850000 100000\n", memory_max="17179869184\n"),
    }
    group = cgroup_of(run(files))
    assert (group.quota_cpus, group.memory_bytes, group.pids_max) == (8.5, 17179869184, "none")


def v1(path: str, mounted: str = "/") -> dict[str, str]:
    names = ("cpu,cpuacct", "cpuset", "memory", "pids")
    own = [f"{at}:{name}:{path}\n" for at, name in enumerate(names, 2)]
    mounts = [f"4{at} 31 0:3{at} {mounted} {TOP}/{of} ro - cgroup cgroup rw,{of}\n" for at, of in enumerate(names)]
    return {
        "/proc/self/cgroup": "".join([*own, "1:name=systemd:/x\n"]),
        "/proc/self/mountinfo": "".join([f"31 23 0:28 / {TOP} ro - tmpfs tmpfs rw,mode=755\n", *mounts]),
    }


def group_v1(name: str, path: str, **files: str) -> dict[str, str]:
    own = {"tasks": "", "cgroup.procs": "", **{key.replace("__", "."): text for key, text in files.items()}}
    return {f"{TOP}/{name}{path}/{key}": text for key, text in own.items()}


def test_docker_on_version_1_sees_its_own_group_only() -> None:
    files = {
        **v1("/docker/4f1", mounted="/docker/4f1"),
        **group_v1("cpu,cpuacct", "", cpu__cfs_quota_us="250000\n", cpu__cfs_period_us="100000\n",
                   cpu__stat="nr_periods 7\nnr_throttled 3\nthrottled_time 1\n"),
        **group_v1("cpuset", "", cpuset__cpus="0-7\n", cpuset__effective_cpus="0-3\n"),
        **group_v1("memory", "", memory__limit_in_bytes="9223372036854771712\n"),
        **group_v1("pids", "", pids__max="max\n"),
    }  # fmt: skip
    assert cgroup_of(run(files)) == Cgroup(
        version=1, quota_cpus=2.5, cpuset_cpus="0-3", memory_bytes="none", nr_periods=7, nr_throttled=3, pids_max="none"
    )


def test_a_bare_host_on_version_1_has_no_quota() -> None:
    files = {
        **v1("/"),
        **group_v1("cpu,cpuacct", "", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n"),
        **group_v1("cpuset", "", cpuset__cpus="0-15\n"),
        **group_v1("memory", "", memory__limit_in_bytes="9223372036854771712\n"),
        **group_v1("pids", ""),
    }
    found = run(files)
    assert cgroup_of(found) == Cgroup(
        version=1, quota_cpus="none", cpuset_cpus="0-15", memory_bytes="none", pids_max="none"
    )
    assert "limits.cgroup.quota_cpus" not in unknown_facts(found)


def test_an_lxc_guest_inherits_the_memory_limit_of_the_group_above() -> None:
    files = {
        **v1("/lxc/web/job"),
        **group_v1("cpu,cpuacct", "", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n"),
        **group_v1("cpu,cpuacct", "/lxc", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n"),
        **group_v1("cpu,cpuacct", "/lxc/web", cpu__cfs_quota_us="400000\n", cpu__cfs_period_us="100000\n"),
        **group_v1("cpu,cpuacct", "/lxc/web/job", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n"),
        **group_v1("memory", "", memory__limit_in_bytes="9223372036854771712\n"),
        **group_v1("memory", "/lxc", memory__limit_in_bytes="9223372036854771712\n"),
        **group_v1("memory", "/lxc/web", memory__limit_in_bytes="4294967296\n"),
        **group_v1("memory", "/lxc/web/job", memory__limit_in_bytes="8589934592\n"),
        **group_v1("cpuset", "/lxc/web", cpuset__cpus="4-11\n"),
    }
    group = cgroup_of(run(files))
    # The cpuset of the job itself was not recorded; the one above it binds all the same.
    assert (group.quota_cpus, group.memory_bytes, group.cpuset_cpus) == (4.0, 4294967296, "4-11")


def test_a_hybrid_machine_keeps_its_quota_in_version_1() -> None:
    files = {
        "/proc/self/cgroup": "1:cpu:/\n2:name=systemd:/\n0::/user.slice\n",
        "/proc/self/mountinfo": (
            f"32 31 0:29 / {TOP}/cpu rw - cgroup cgroup rw,cpu\n41 31 0:38 / {TOP}/unified rw - cgroup2 cgroup2 rw\n"
        ),
        **group_v1("cpu", "", cpu__cfs_quota_us="300000\n", cpu__cfs_period_us="100000\n"),
        **folder(f"{TOP}/unified/user.slice", cpu_max="100000 100000\n", pids_max="99\n"),
        f"{TOP}/unified/cgroup.procs": "",
    }
    group = cgroup_of(run(files))
    assert (group.version, group.quota_cpus, group.pids_max) == (1, 3.0, 99)


def test_a_cpuset_of_a_parent_binds_its_children() -> None:
    files = {
        "/proc/self/cgroup": "0::/jobs/a\n",
        "/proc/self/mountinfo": V2,
        **ROOT_V2,
        **folder(f"{TOP}/jobs", cpu_max="max 100000\n"),
        f"{TOP}/jobs/cpuset.cpus.effective": "8-15\n",
        **folder(f"{TOP}/jobs/a"),
    }
    group = cgroup_of(run(files))
    assert (group.cpuset_cpus, group.quota_cpus) == ("8-15", "none")


@pytest.mark.parametrize("path", ["/../..", "/../other"])
def test_a_foreign_namespace_leaves_everything_unknown(path: str) -> None:
    found = run({**DOCKER_V2, "/proc/self/cgroup": f"0::{path}\n"})
    assert cgroup_of(found) == Cgroup()
    assert unknown_facts(found)["limits.cgroup.quota_cpus"] == "probe-failed"


def test_a_container_without_the_cpu_controller_does_not_claim_that_there_is_no_quota() -> None:
    found = run({"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": V2, **folder(TOP, memory_max="max\n")})
    group = cgroup_of(found)
    assert (group.quota_cpus, group.memory_bytes) == (None, "none")
    assert "limits.cgroup.quota_cpus" in unknown_facts(found)


def test_without_a_mounted_hierarchy_nothing_is_known() -> None:
    found = run({"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"})
    assert cgroup_of(found) == Cgroup()
    assert set(unknown_facts(found)) >= {"limits.cgroup.quota_cpus", "limits.affinity_cpus"}


def test_a_tree_without_proc_self_is_unknown_and_not_unlimited() -> None:
    found = run({"/proc/cpuinfo": "processor : 0\n"})
    assert limits_of(found).cgroup is None
    assert unknown_facts(found) == {
        "limits.cgroup.quota_cpus": "not-in-source",
        "limits.affinity_cpus": "not-in-source",
    }


def test_a_kernel_without_control_groups_limits_nothing() -> None:
    files = {"/proc/self/status": "Cpus_allowed_list:\t0-3\n"}
    found = run(files, missing={"absent": ["text:/proc/self/cgroup", "text:/proc/self/mountinfo"]})
    assert cgroup_of(found) == Cgroup(quota_cpus="none", memory_bytes="none", pids_max="none")


def test_control_groups_that_were_not_recorded_are_not_absent() -> None:
    assert limits_of(run({"/proc/self/status": "Cpus_allowed_list:\t0-3\n"})).cgroup is None


@pytest.mark.parametrize("text", ["lots 100000", "", "100000 0", "-7"])
def test_garbage_is_unknown(text: str) -> None:
    found = run({**DOCKER_V2, f"{TOP}/cpu.max": text})
    assert cgroup_of(found).quota_cpus is None
    assert unknown_facts(found)["limits.cgroup.quota_cpus"] == "probe-failed"


def test_max_with_odd_spaces_is_no_limit() -> None:
    assert cgroup_of(run({**DOCKER_V2, f"{TOP}/cpu.max": "  max \t 100000\n\n"})).quota_cpus == "none"


def test_a_level_that_was_not_recorded_leaves_the_quota_unknown() -> None:
    files = {
        "/proc/self/cgroup": "0::/a/b\n",
        "/proc/self/mountinfo": V2,
        **ROOT_V2,
        **folder(f"{TOP}/a/b", cpu_max="400000 100000\n"),
        f"{TOP}/a/other": "",
    }
    assert cgroup_of(run(files)).quota_cpus is None


def test_a_level_that_may_not_be_read_leaves_the_quota_unknown() -> None:
    files = {"/proc/self/cgroup": "0::/a\n", "/proc/self/mountinfo": V2, **ROOT_V2, **folder(f"{TOP}/a")}
    found = run(files, missing={"needs-root": [f"text:{TOP}/a/cpu.max"]})
    assert cgroup_of(found).quota_cpus is None
    assert unknown_facts(found)["limits.cgroup.quota_cpus"] == "needs-root"


def test_the_mask_of_proc_is_cut_to_what_is_online() -> None:
    files = {
        "/proc/self/status": "Name:\tpython\nCpus_allowed:\tffffffff\nCpus_allowed_list:\t0-31\n",
        "/sys/devices/system/cpu/online": "0-15\n",
    }
    limits = limits_of(run(files))
    assert (limits.affinity, limits.affinity_cpus) == ("0-15", 16)


def test_the_system_call_wins_over_proc() -> None:
    files = {"/proc/self/status": "Cpus_allowed_list:\t0-31\n"}
    found = run(files, api={"affinity": "2-3,6", "rlimits": {"nproc": 4096, "as": "none", "stack": 8388608}})
    limits = limits_of(found)
    assert (limits.affinity, limits.affinity_cpus) == ("2-3,6", 3)
    assert (limits.max_processes, limits.address_space_bytes, limits.stack_bytes) == (4096, "none", 8388608)
    assert found.origins["limits.affinity"] == "sched_getaffinity"


def test_a_mask_that_cannot_be_understood_is_unknown() -> None:
    found = run({"/proc/self/status": "Cpus_allowed_list:\tall\n"})
    assert limits_of(found).affinity_cpus is None
    assert unknown_facts(found)["limits.affinity_cpus"] == "probe-failed"


SESSION = {
    "/proc/self/cgroup": "0::/user.slice/a.scope\n",
    "/proc/self/mountinfo": V2,
    **ROOT_V2,
    **folder(f"{TOP}/user.slice", cpu_max="max 100000\n"),
    **folder(f"{TOP}/user.slice/a.scope"),
}


@pytest.mark.parametrize("files", [DOCKER_V2, SESSION, {"/proc/cpuinfo": "processor : 0\n"}])
def test_a_recording_of_it_tells_the_same(files: dict[str, str]) -> None:
    recorder = Recorder(RecordingSource({"platform": "linux", "files": files, "api": {"affinity": "0-3"}}, "first"))
    first = probe(recorder)
    again = probe(RecordingSource(recorder.recording(), "second"))
    assert (again.facts, again.unknowns, again.origins) == (first.facts, first.unknowns, first.origins)


def test_every_system_has_its_own_probe() -> None:
    windows = probe(RecordingSource({"platform": "windows", "api": {"affinity": "0-7"}}, "test"))
    assert limits_of(windows) == Limits(affinity_cpus=8, affinity="0-7")
    assert probe(RecordingSource({"platform": "macos"}, "test")) == Found()
