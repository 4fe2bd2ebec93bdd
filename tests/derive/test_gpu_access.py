"""May a process open the nodes, and if not, why?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.gpu_access import GpuAccessFacts, gpu_access_facts
from doctor.machine.model import Gpu, Machine, Node, Os

OPEN = Node(exists=True, readable=True, writable=True, mode="0660", gid=992, group="render", acl=False)
CLOSED = msgspec.structs.replace(OPEN, readable=False, writable=False)
ABSENT = Node(exists=False)
KFD, RENDER = "/dev/kfd", "/dev/dri/renderD128"


def facts(nodes: dict[str, Node] | None, **areas: Any) -> GpuAccessFacts:
    return gpu_access_facts(Machine(nodes=nodes, **areas))


def test_all_is_open() -> None:
    found = facts({KFD: OPEN, RENDER: OPEN})
    assert (found.accessible, found.missing, found.denied) == (True, False, "none")
    assert (found.missing_nodes, found.denied_nodes) == ("none", "none")
    assert (found.render_nodes, found.open_render_nodes) == (1, 1)


def test_nothing_is_known() -> None:
    assert facts(None) == GpuAccessFacts()
    found = facts({})
    assert (found.accessible, found.missing, found.denied, found.render_nodes) == (None, None, None, None)


@pytest.mark.parametrize(
    ("nodes", "missing"),
    [
        ({KFD: ABSENT, "/dev/dri": ABSENT}, "/dev/kfd and /dev/dri/renderD*"),
        ({KFD: OPEN, "/dev/dri/renderD*": ABSENT}, "/dev/dri/renderD*"),
        ({KFD: ABSENT}, "/dev/kfd"),
        ({KFD: ABSENT, RENDER: OPEN}, "/dev/kfd"),
        ({KFD: OPEN}, None),  # nobody looked at the others
    ],
)
def test_nodes_that_are_missing(nodes: dict[str, Node], missing: str | None) -> None:
    found = facts(nodes)
    assert found.missing_nodes == missing
    assert found.missing is (None if missing is None else True)
    assert found.accessible is (None if missing is None else False)


def test_a_closed_node_names_its_owner() -> None:
    found = facts({KFD: CLOSED, RENDER: OPEN}, os=Os(group_ids=(1000,), groups_in_file=("video",)))
    assert (found.denied, found.denied_nodes, found.missing) == (KFD, KFD, False)
    assert (found.denied_gid, found.denied_group, found.denied_mode, found.denied_acl) == (992, "render", "0660", False)
    assert (found.accessible, found.group_would_help, found.session_is_older) == (False, True, False)


def test_a_group_without_a_name_here() -> None:
    found = facts({KFD: msgspec.structs.replace(CLOSED, group=None), RENDER: OPEN}, os=Os(group_ids=(39, 105)))
    assert (found.denied_gid, found.denied_group, found.group_would_help) == (992, "none", True)


def test_a_session_that_began_before_the_group_was_given() -> None:
    system = Os(group_ids=(1000,), groups_in_file=("render", "video"))
    assert facts({KFD: CLOSED, RENDER: CLOSED}, os=system).session_is_older is True
    assert facts({KFD: CLOSED, RENDER: CLOSED}, os=Os(group_ids=(1000,))).session_is_older is None


@pytest.mark.parametrize(
    ("changes", "helps"),
    [
        ({"acl": True}, False),  # the group bits are then the mask of the list
        ({"acl": None}, None),
        ({"mode": "0600"}, False),
        ({"mode": "0640"}, False),
        ({"mode": None}, None),
        ({"mode": "odd"}, None),
        ({"gid": 1000}, False),  # it is in that group already
    ],
)
def test_when_a_group_would_not_help(changes: dict[str, Any], helps: bool | None) -> None:
    node = msgspec.structs.replace(CLOSED, **changes)
    assert facts({KFD: node, RENDER: OPEN}, os=Os(group_ids=(1000,))).group_would_help is helps


def test_one_open_render_node_is_enough() -> None:
    found = facts({KFD: OPEN, RENDER: CLOSED, "/dev/dri/renderD129": OPEN})
    assert (found.accessible, found.denied, found.open_render_nodes) == (True, "none", 1)
    found = facts({KFD: OPEN, RENDER: CLOSED, "/dev/dri/renderD129": CLOSED})
    assert (found.accessible, found.denied_nodes) == (False, f"{RENDER} and /dev/dri/renderD129")


def test_only_nodes_of_amd_count_where_they_are_known() -> None:
    amd = Gpu(vendor="amd", render_node="/dev/dri/renderD129")
    found = facts({KFD: OPEN, RENDER: OPEN, "/dev/dri/renderD129": CLOSED}, gpus=(Gpu(vendor="nvidia"), amd))
    assert (found.accessible, found.denied) == (False, "/dev/dri/renderD129")


def test_a_file_may_be_half_open() -> None:
    found = facts({KFD: msgspec.structs.replace(OPEN, writable=False), RENDER: OPEN})
    assert (found.kfd_accessible, found.denied) == (False, KFD)
    assert facts({KFD: Node(exists=True), RENDER: OPEN}).accessible is None


def test_the_node_of_wsl() -> None:
    assert facts({"/dev/dxg": OPEN}).dxg_exists is True
    assert facts({"/dev/dxg": ABSENT}).dxg_exists is False
    assert facts({}).dxg_exists is None


def test_a_render_node_of_which_it_is_not_known_whether_it_exists_is_not_missing() -> None:
    facts = gpu_access_facts(Machine(nodes={"/dev/kfd": Node(exists=True), "/dev/dri/renderD128": Node(readable=True)}))
    assert (facts.missing, facts.render_nodes) == (None, None)
