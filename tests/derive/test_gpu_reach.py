"""What stands between a process and a GPU, and the way in."""

from __future__ import annotations

import msgspec
import pytest

from doctor.derive.gpu_reach import gpu_reach_facts
from doctor.machine.model import Gpu, Machine, Node, Os, Torch

CLOSED = Node(exists=True, readable=False, writable=False, mode="0660", gid=992, group="render", acl=False)
OPEN = Node(exists=True, readable=True, writable=True)
RENDER = "/dev/dri/renderD128"


def linux(**known: object) -> Os:
    return Os(**{"kind": "linux", "wsl": 0, "container": "none", **known})  # type: ignore[arg-type]


def nodes(kfd: Node) -> dict[str, Node]:
    return {"/dev/kfd": kfd, RENDER: OPEN}


def test_the_group_to_join_is_that_of_the_node() -> None:
    facts = gpu_reach_facts(Machine(os=linux(group_ids=(1000,)), nodes=nodes(CLOSED)))
    assert (facts.join_group, facts.log_in_again, facts.closed) == ("render", False, True)


@pytest.mark.parametrize(
    ("system", "node"),
    [
        (linux(container="podman", group_ids=(1000,)), CLOSED),
        (linux(group_ids=(1000,)), msgspec.structs.replace(CLOSED, group=None)),
        (linux(group_ids=(1000,)), msgspec.structs.replace(CLOSED, acl=True)),
        (linux(group_ids=(1000,)), msgspec.structs.replace(CLOSED, mode="0600")),
        (linux(group_ids=(1000,)), msgspec.structs.replace(CLOSED, group="root")),
    ],
    ids=["container", "no name", "access list", "group shut out", "root"],
)
def test_no_group_is_named_where_joining_it_is_not_the_way(system: Os, node: Node) -> None:
    assert gpu_reach_facts(Machine(os=system, nodes=nodes(node))).join_group is None


def test_a_session_that_is_older_than_the_membership_needs_no_group_but_a_new_login() -> None:
    system = linux(group_ids=(1000,), groups_in_file=("render",))
    facts = gpu_reach_facts(Machine(os=system, nodes=nodes(CLOSED)))
    assert (facts.join_group, facts.log_in_again) == (None, True)


@pytest.mark.parametrize(
    ("container", "kfd", "lacks"),
    [
        ("docker", Node(exists=False), True),
        ("docker", OPEN, False),
        ("none", Node(exists=False), False),
        (None, Node(exists=False), None),
    ],
)
def test_a_container_without_the_nodes(container: str | None, kfd: Node, lacks: bool | None) -> None:
    facts = gpu_reach_facts(Machine(os=linux(container=container), nodes=nodes(kfd)))
    assert facts.container_without_nodes is lacks
    assert gpu_reach_facts(Machine(os=Os(kind="windows"))).container_without_nodes is False


@pytest.mark.parametrize(
    ("gpu", "count"),
    [
        (Gpu(vendor="amd", kernel_driver="amdgpu"), 1),
        (Gpu(vendor="amd", gfx="gfx1100", kernel_driver="none"), 1),
        (Gpu(vendor="amd", gfx="gfx1100"), 1),
        (Gpu(vendor="amd", gfx="gfx803", kernel_driver="radeon"), 0),
        (Gpu(vendor="amd", gfx="gfx1100", kernel_driver="vfio-pci"), 0),
        (Gpu(vendor="amd", kernel_driver="none"), None),
        (Gpu(vendor="nvidia"), 0),
    ],
)
def test_gpus_that_kfd_should_exist_for(gpu: Gpu, count: int | None) -> None:
    assert gpu_reach_facts(Machine(gpus=(gpu,))).kfd_gpus == count


def test_what_keeps_the_driver_away() -> None:
    system = linux(kernel_cmdline="quiet nomodeset", kernel_modules=("ttm",), blacklisted_modules=("amdgpu",))
    facts = gpu_reach_facts(Machine(os=system))
    assert (facts.amdgpu_loaded, facts.amdgpu_blacklisted, facts.nomodeset) == (False, True, True)
    facts = gpu_reach_facts(Machine(os=linux(kernel_cmdline="drm.nomodesetting=1")))
    assert (facts.amdgpu_loaded, facts.amdgpu_blacklisted, facts.nomodeset) == (None, None, False)


@pytest.mark.parametrize(
    ("kernel", "old"),
    [
        ("6.12.74", True),
        ("6.18.3-arch1", True),
        ("6.18.4", False),
        ("6.18.9-200.fc43.x86_64", False),
        ("7.0", False),
        ("unknown", None),
        (None, None),
    ],
)
def test_the_kernel_that_amd_asks_for(kernel: str | None, old: bool | None) -> None:
    assert gpu_reach_facts(Machine(os=linux(kernel=kernel))).strix_halo_kernel_old is old


@pytest.mark.parametrize(
    ("hip", "needed"),
    [
        ("6.4.43484", False),
        ("7.0.51831", True),
        ("7.2.26015", True),
        ("7.13", False),
        ("7.14.60850", False),
        ("10.1.0", False),
        ("none", None),
        (None, None),
    ],
)
def test_the_releases_that_must_be_told_of_dxg(hip: str | None, needed: bool | None) -> None:
    assert gpu_reach_facts(Machine(torch=Torch(hip=hip))).needs_dxg_switch is needed


def test_of_several_filters_one_is_kept() -> None:
    env = {"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "8"}
    facts = gpu_reach_facts(Machine(env=env))
    assert facts.spare_variables == ("ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") and facts.several_masks
    del env["HIP_VISIBLE_DEVICES"]
    assert gpu_reach_facts(Machine(env=env)).spare_variables is None, "one of the two has to stay"
    assert gpu_reach_facts(Machine(env={"HIP_VISIBLE_DEVICES": "0"})).several_masks is False
    assert gpu_reach_facts(Machine()).several_masks is None
