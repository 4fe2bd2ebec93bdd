"""The device nodes that ROCm and DirectML need: whether they exist, and whether this process may open them."""

from __future__ import annotations

import re

from doctor.machine.model import Node, UnknownFact
from doctor.probes.found import Found, unknown
from doctor.probes.surroundings import wsl
from doctor.sources.base import Access, Missing, Source

_DRI = "/dev/dri"
_RENDER = re.compile(r"renderD\d{1,5}")


def probe(source: Source) -> Found:
    """The area `nodes`. Access is tried; it is not computed from owners and groups."""
    if source.origin.platform != "linux":
        return Found()
    nodes, unknowns = _render_nodes(source)
    for path in ("/dev/kfd", "/dev/dxg") if wsl(source, None) else ("/dev/kfd",):
        _ask(source, path, nodes, unknowns)
    return Found({"nodes": nodes} if nodes else {}, tuple(unknowns), {"nodes": "access"} if nodes else {})


def _render_nodes(source: Source) -> tuple[dict[str, Node], list[UnknownFact]]:
    """Each render node; where there is none, that (`/dev/dri/renderD*`), or that their folder does not exist."""
    nodes: dict[str, Node] = {}
    unknowns: list[UnknownFact] = []
    names = source.names(_DRI)
    if isinstance(names, Missing):
        return ({_DRI: Node(exists=False)} if names.reason == "absent" else {}), []
    found = [name for name in names if _RENDER.fullmatch(name)]
    for name in found:
        _ask(source, f"{_DRI}/{name}", nodes, unknowns)
    return nodes if found else {f"{_DRI}/renderD*": Node(exists=False)}, unknowns


def _ask(source: Source, path: str, nodes: dict[str, Node], unknowns: list[UnknownFact]) -> None:
    answer = source.access(path)
    if not isinstance(answer, Missing):
        nodes[path] = _node(answer)
    elif answer.reason != "not-in-source":
        unknowns.append(unknown(f"nodes.{path}", answer))


def _node(answer: Access) -> Node:
    if not answer.exists:
        return Node(exists=False)
    return Node(
        exists=True,
        readable=answer.readable,
        writable=answer.writable,
        mode=answer.mode,
        group=answer.group,
        gid=answer.gid,
        acl=answer.acl,
    )
