"""The GPUs of a machine: from PCI, from AMD's compute driver, and from ROCm's own tools where those know more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doctor.machine.model import Gpu, Rocm, UnknownFact
from doctor.probes.found import Found, unknown
from doctor.probes.gpu_firmware import with_firmware
from doctor.probes.kfd_nodes import KfdGpu, kfd_gpus
from doctor.probes.pci_gpus import pci_gpus
from doctor.probes.surroundings import wsl
from doctor.sources.base import Missing, Source
from doctor.texts.amd_smi import read_amd_smi
from doctor.texts.rocm_smi import SmiCard, read_rocm_smi
from doctor.texts.rocminfo import Agent, gpu_agents, read_rocminfo

_PCI = "/sys/bus/pci/devices"
_KFD = "/sys/class/kfd/kfd/topology/nodes"

#: The management tools, the newer one first. They are asked only where something is still missing.
_TOOLS = (("amd-smi", read_amd_smi), ("rocm-smi", read_rocm_smi))

_WSL_DETAIL = "WSL shows /dev/dxg only; rocminfo names the GPU, and so does this check on Windows"


def probe(source: Source) -> Found:
    """The area `gpus`. An empty list means that it was looked, and there is none."""
    if source.origin.platform == "windows":
        from doctor.probes import gpus_windows

        return gpus_windows.probe(source)
    return _linux(source) if source.origin.platform == "linux" else Found()


def _linux(source: Source) -> Found:
    in_wsl = bool(wsl(source, None))
    listed = pci_gpus(source)
    gpus = list(() if isinstance(listed, Missing) else listed)
    gpus = _with_compute_nodes(gpus, kfd_gpus(source))
    agents = _agents(source, in_wsl) if in_wsl or _amd(gpus) or isinstance(listed, Missing) else None
    if agents:
        gpus = _with_agents(gpus, agents)
    gpus = _with_tools(source, gpus)
    rocm = Rocm(rocminfo_gfx=_names(agents)) if agents is not None else None
    facts: dict[str, Any] = {"rocm": rocm}
    hidden = None if gpus else _hidden(source, listed, in_wsl)
    if hidden is not None:
        return Found(facts, _rows(unknown("gpus", hidden)))
    gpus, firmware = with_firmware(source, gpus)
    facts["gpus"] = tuple(gpus)
    origins = {"gpus": _PCI, "gpus.gfx": _KFD, "rocm.rocminfo_gfx": "rocminfo"}
    return Found(facts, (*_unknowns(gpus), *firmware), origins)


def _hidden(source: Source, listed: Sequence[Gpu] | Missing, in_wsl: bool) -> Missing | None:
    """Why a machine may have a GPU although none was found; None where it has none."""
    if in_wsl:
        return Missing("not-on-this-platform", _WSL_DETAIL)
    if not isinstance(listed, Missing) or listed.reason != "absent":
        return listed if isinstance(listed, Missing) else None
    # No PCI bus: a small board, or a container without sysfs. The compute driver's node tells them apart.
    kfd = source.access("/dev/kfd")
    return None if not isinstance(kfd, Missing) and not kfd.exists else listed


def _rows(*rows: UnknownFact) -> tuple[UnknownFact, ...]:
    """What a source does not hold, no user of it can help."""
    return tuple(row for row in rows if row.reason != "not-in-source")


def _amd(gpus: Sequence[Gpu]) -> list[Gpu]:
    return [gpu for gpu in gpus if gpu.vendor == "amd"]


def _names(agents: Sequence[Agent]) -> tuple[str, ...]:
    return tuple(agent.name for agent in agents if agent.name)


def _with_compute_nodes(gpus: list[Gpu], nodes: Sequence[KfdGpu]) -> list[Gpu]:
    """What the compute driver knows, put to the card it is about; a node without a card stands for one."""
    found = list(gpus)
    for node in nodes:
        at = next((at for at, gpu in enumerate(found) if _is_of(node, gpu)), None)
        known = Gpu(
            vendor="amd",
            pci_id=node.gpu.pci_id,
            gfx=node.gpu.gfx,
            integrated=True if node.gpu.with_cpu else None,
            pci_address=node.gpu.pci_address,
            kfd_node=node.number,
            kfd_memory_bytes=node.memory_bytes,
            render_node=None if node.gpu.render_minor is None else f"/dev/dri/renderD{node.gpu.render_minor}",
            compute_units=node.gpu.compute_units,
        )
        if at is None:
            found.append(msgspec.structs.replace(known, kernel_driver="amdgpu"))
        else:
            # The driver's word goes before what was read off the card.
            found[at] = _completed(msgspec.structs.replace(found[at], gfx=node.gpu.gfx or found[at].gfx), known)
    return found


def _is_of(node: KfdGpu, gpu: Gpu) -> bool:
    """A render node is one card's; partitions of one card share its address and have render nodes of their own."""
    if gpu.vendor != "amd" or gpu.kfd_node is not None:
        return False
    if node.gpu.render_minor is not None and gpu.render_node is not None:
        return gpu.render_node == f"/dev/dri/renderD{node.gpu.render_minor}"
    return gpu.pci_address is not None and gpu.pci_address == node.gpu.pci_address


def _agents(source: Source, in_wsl: bool) -> tuple[Agent, ...] | None:
    """The GPUs that the runtime sees; in WSL also as it sees them once it is told to look at /dev/dxg."""
    agents: tuple[Agent, ...] | None = None
    for name in ("rocminfo", "rocminfo-wsl") if in_wsl else ("rocminfo",):
        reply = source.command(name)
        if not agents and not isinstance(reply, Missing):
            agents = gpu_agents(read_rocminfo(reply.stdout))
    return agents


def _with_agents(gpus: list[Gpu], agents: Sequence[Agent]) -> list[Gpu]:
    """What the runtime sees. It adds a card only where nothing else named one of AMD's."""
    add = not _amd(gpus)
    found = list(gpus)
    for agent in agents:
        known = Gpu(
            vendor="amd",
            name=_product(agent.marketing_name),
            pci_id=agent.pci_id,
            gfx=agent.name if (agent.name or "").startswith("gfx") else None,
            integrated=agent.apu or None,
            kfd_memory_bytes=max(agent.pools, default=None),
            compute_units=agent.compute_units or None,
        )
        at = next((at for at, gpu in enumerate(found) if _is_agent_of(agent, gpu)), None)
        if at is not None:
            found[at] = _completed(found[at], known)
        elif add:
            found.append(known)
    return found


def _is_agent_of(agent: Agent, gpu: Gpu) -> bool:
    if gpu.vendor != "amd" or gpu.pci_address is None or agent.bus is None:
        return False
    return gpu.pci_address.endswith(f":{agent.bus}") and agent.pci_id in (None, gpu.pci_id)


def _product(name: str | None) -> str | None:
    """A product's name; where the runtime knows none it says "Device 738c"."""
    return None if not name or name.startswith("Device ") else name


def _with_tools(source: Source, gpus: list[Gpu]) -> list[Gpu]:
    """AMD's management tools, for cards of its driver that still lack their target or memory."""
    for name, read in _TOOLS:
        if not any(gpu.kernel_driver == "amdgpu" and _lacks_something(gpu) for gpu in _amd(gpus)):
            break
        reply = source.command(name)
        if not isinstance(reply, Missing):
            gpus = _with_cards(gpus, read(reply.stdout))
    return gpus


def _lacks_something(gpu: Gpu) -> bool:
    return gpu.gfx is None or gpu.vram_total_bytes is None


def _with_cards(gpus: list[Gpu], cards: Sequence[SmiCard]) -> list[Gpu]:
    by_address = {card.pci_address: card for card in cards if card.pci_address is not None}
    found = []
    for gpu in gpus:
        card = by_address.get(gpu.pci_address or "") if gpu.vendor == "amd" else None
        if card is not None:
            known = Gpu(
                name=card.name,
                pci_id=card.pci_id,
                gfx=card.gfx,
                vram_total_bytes=card.vram_total_bytes,
                gtt_total_bytes=card.gtt_total_bytes,
                compute_units=card.compute_units,
            )
            gpu = _completed(gpu, known)
        found.append(gpu)
    return found


def _completed(gpu: Gpu, known: Gpu) -> Gpu:
    """`gpu`, and from `known` only what it lacks."""
    fields = {name: getattr(known, name) for name in gpu.__struct_fields__ if getattr(gpu, name) is None}
    return msgspec.structs.replace(gpu, **fields)


def _unknowns(gpus: Sequence[Gpu]) -> tuple[UnknownFact, ...]:
    """Facts of AMD GPUs that their driver would tell, were it loaded or this process let at them."""
    without = [gpu for gpu in _amd(gpus) if gpu.gfx is None]
    if not without:
        return ()
    if all(gpu.kernel_driver in ("none", "radeon", "vfio-pci") for gpu in without):
        detail = f"the driver in charge is {without[0].kernel_driver}, not amdgpu"
        return _rows(unknown("gpus.gfx", Missing("not-on-this-platform", detail)))
    detail = "the compute driver does not list the GPU for this process; rocminfo would name it"
    return _rows(unknown("gpus.gfx", Missing("probe-failed", detail)))
