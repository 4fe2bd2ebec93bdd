"""May this process open the device nodes that ROCm needs, and if not, why? Access was tried; group names prove nothing.

Of the render nodes those of AMD cards count where the document knows which those are, else all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, ClassVar

from doctor.machine.model import Fact, Machine, Node

KFD = "/dev/kfd"
_RENDER = "/dev/dri/renderD"
_FOLDER = "/dev/dri"

#: The bits of the group in a mode: read and write.
_GROUP_MAY = 0o060


class GpuAccessFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **dict.fromkeys(("kfd_exists", "kfd_accessible", "render_nodes", "open_render_nodes"), ("nodes",)),
        **dict.fromkeys(("missing", "denied", "denied_gid", "denied_group", "denied_mode", "denied_acl"), ("nodes",)),
        **dict.fromkeys(("accessible", "group_would_help", "denied_nodes", "missing_nodes"), ("nodes",)),
        "session_is_older": ("nodes", "os.group_ids", "os.groups_in_file"),
        "dxg_exists": ("nodes",),
    }
    kfd_exists: bool | None = None
    kfd_accessible: bool | None = None  # exists, and may be read and written
    render_nodes: int | None = None  # how many /dev/dri/renderD* there are
    open_render_nodes: int | None = None  # how many of them may be read and written
    accessible: bool | None = None  # ROCm can work: /dev/kfd and a render node may be read and written
    missing: bool | None = None  # /dev/kfd, or every render node, does not exist
    missing_nodes: str | None = None  # "/dev/kfd and /dev/dri/renderD*", or "none"
    denied: str | None = None  # the first node that exists and may not be read and written, or "none"
    denied_nodes: str | None = None  # all of them, in words; "none"
    denied_gid: int | None = None  # the group that owns it
    denied_group: str | None = None  # its name on this system; "none" where it has no name here (containers)
    denied_mode: str | None = None  # "0660"
    denied_acl: bool | None = None  # an access control list decides, so the mode's group bits are not the group's
    group_would_help: bool | None = None  # being in that group would open it
    session_is_older: bool | None = None  # the user is in that group by now, and this session began before
    dxg_exists: bool | None = None  # /dev/dxg, the GPU of WSL


def gpu_access_facts(machine: Machine, today: date | None = None) -> GpuAccessFacts:
    nodes = machine.nodes
    if nodes is None:
        return GpuAccessFacts()
    kfd = nodes.get(KFD)
    render = _render_nodes(machine, nodes)
    denied = _denied(kfd, render)
    named = _denied_facts(machine, denied[0][1]) if denied else {}
    missing = _missing(kfd, render)
    kfd_open = None if kfd is None else _open(kfd)
    open_count = None if render is None else _count_open(render)
    dxg = nodes.get("/dev/dxg")
    return GpuAccessFacts(
        kfd_exists=None if kfd is None else kfd.exists,
        kfd_accessible=kfd_open,
        render_nodes=None if render is None else len(render),
        open_render_nodes=open_count,
        accessible=_accessible(kfd_open, open_count, None if render is None else len(render)),
        missing=None if missing is None else missing != "none",
        missing_nodes=missing,
        denied="none" if denied is not None and not denied else denied[0][0] if denied else None,
        denied_nodes=None if denied is None else " and ".join(name for name, _ in denied) or "none",
        dxg_exists=None if dxg is None else dxg.exists,
        **named,
    )


def _render_nodes(machine: Machine, nodes: Mapping[str, Node]) -> dict[str, Node] | None:
    """The render nodes that exist; None where nobody looked at them."""
    found = {name: node for name, node in nodes.items() if name.startswith(_RENDER) and node.exists}
    if not found and any(name.startswith(_RENDER) and node.exists is None for name, node in nodes.items()):
        return None
    if not found and not any(name.startswith(_RENDER) for name in nodes):
        folder = nodes.get(_FOLDER)
        return {} if folder is not None and folder.exists is False else None
    of_amd = {gpu.render_node for gpu in machine.gpus or () if gpu.vendor == "amd" and gpu.render_node}
    return {name: node for name, node in found.items() if name in of_amd} or found if of_amd else found


def _open(node: Node) -> bool | None:
    if node.exists is False or node.readable is False or node.writable is False:
        return False
    return None if node.readable is None or node.writable is None else True


def _count_open(render: Mapping[str, Node]) -> int | None:
    answers = [_open(node) for node in render.values()]
    return None if None in answers else sum(answer is True for answer in answers)


def _accessible(kfd: bool | None, open_nodes: int | None, nodes: int | None) -> bool | None:
    if kfd is False or open_nodes == 0 or nodes == 0:
        return False
    return None if kfd is None or open_nodes is None else True


def _missing(kfd: Node | None, render: Mapping[str, Node] | None) -> str | None:
    absent = [KFD] if kfd is not None and kfd.exists is False else []
    absent += [f"{_RENDER}*"] if render is not None and not render else []
    if absent:
        return " and ".join(absent)
    return None if kfd is None or kfd.exists is None or render is None else "none"


def _denied(kfd: Node | None, render: Mapping[str, Node] | None) -> list[tuple[str, Node]] | None:
    """The nodes that exist and are closed. One open render node is enough: another may be that of another user."""
    denied = [(KFD, kfd)] if kfd is not None and kfd.exists and _open(kfd) is False else []
    closed = [(name, node) for name, node in (render or {}).items() if _open(node) is False]
    if render and len(closed) == len(render):
        denied += closed
    if denied:
        return denied
    unknown = kfd is None or (kfd.exists is not False and _open(kfd) is None) or render is None
    return None if unknown or (render and _count_open(render) is None) else []


def _denied_facts(machine: Machine, node: Node) -> dict[str, Any]:
    return {
        "denied_gid": node.gid,
        "denied_group": node.group if node.group is not None else "none" if node.gid is not None else None,
        "denied_mode": node.mode,
        "denied_acl": node.acl,
        "group_would_help": _group_would_help(machine, node),
        "session_is_older": _session_is_older(machine, node),
    }


def _group_would_help(machine: Machine, node: Node) -> bool | None:
    """Not where a list decides, where the mode shuts the group out, or where the process is in the group already."""
    groups = machine.os.group_ids if machine.os else None
    if node.acl or (node.gid is not None and groups is not None and node.gid in groups):
        return False
    try:
        opens = None if node.mode is None else int(node.mode, 8) & _GROUP_MAY == _GROUP_MAY
    except ValueError:
        opens = None
    if opens is False or node.acl is None:
        return False if opens is False else None
    return opens


def _session_is_older(machine: Machine, node: Node) -> bool | None:
    system = machine.os
    if system is None or node.gid is None or node.group is None or system.group_ids is None:
        return None
    if node.gid in system.group_ids:
        return False
    return None if system.groups_in_file is None else node.group in system.groups_in_file
