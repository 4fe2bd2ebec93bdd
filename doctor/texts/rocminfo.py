"""`rocminfo`: the agents that the HSA runtime sees, each with its memory pools and instruction sets.

A machine has processors (`Device Type: CPU`), GPUs and, on recent APUs, an NPU (`DSP`, named aie2); only the second are
GPUs. What stands as the name of a GPU is what HSA_OVERRIDE_GFX_VERSION made of it. An L1 of "32768 KB" on a processor
is bytes. Older releases colour the first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_COLOUR = re.compile(r"\x1b?\[[0-9;]*m")
_FIELD = re.compile(r"( *)([A-Z][\w .()/-]*?):+ *(.*?)\s*")
_COUNT = re.compile(r"(\d{1,19})(?:\(0x[0-9a-fA-F]+\))?(?: *(KB|MB))?")
_KIB = {"KB": 1 << 10, "MB": 1 << 20, None: 1}

_AGENT_INDENT = 2
_ITEM_INDENT = 6


class Agent(msgspec.Struct, frozen=True):
    """One agent. `pools` are the sizes of its global memory pools in bytes, each size once."""

    name: str | None = None  # a GPU's target, or a processor's name
    marketing_name: str | None = None
    device_type: str | None = None  # CPU GPU DSP
    node: int | None = None
    pci_id: str | None = None  # of a GPU: 1002:744c
    bus: str | None = None  # 03:00.0
    compute_units: int | None = None
    apu: bool | None = None  # newer releases say so of a GPU that is part of a processor
    pools: tuple[int, ...] = ()
    isas: tuple[str, ...] = ()  # gfx1151, gfx11-generic


def read_rocminfo(text: str) -> tuple[Agent, ...]:
    """The agents in their order. Never raises; a text of something else gives none."""
    return tuple(_agent(lines) for lines in _sections(_COLOUR.sub("", text).splitlines()))


def gpu_agents(agents: tuple[Agent, ...]) -> tuple[Agent, ...]:
    """The GPUs among the agents: neither processors nor the NPU."""
    return tuple(agent for agent in agents if agent.device_type == "GPU")


def _sections(lines: list[str]) -> Iterator[list[str]]:
    """The lines of each agent, from its headline to that of the next."""
    current: list[str] | None = None
    for line in lines:
        if re.fullmatch(r"Agent \d{1,4}\s*", line):
            if current is not None:
                yield current
            current = []
        elif current is not None:
            current.append(line)
    if current is not None:
        yield current


def _agent(lines: list[str]) -> Agent:
    fields: dict[str, str] = {}
    pools: list[int] = []
    isas: list[str] = []
    is_global = False
    for line in lines:
        match = _FIELD.fullmatch(line)
        if match is None:
            continue
        indent, key, value = len(match[1]), match[2], match[3]
        if indent == _AGENT_INDENT:
            fields.setdefault(key, value)
        elif indent == _ITEM_INDENT and key == "Segment":
            is_global = value.startswith("GLOBAL")
        elif indent == _ITEM_INDENT and key == "Size" and is_global:
            pools += [size for size in [_number(value)] if size]
        elif indent == _ITEM_INDENT and key == "Name" and "--" in value:
            isas.append(value.rpartition("--")[2].partition(":")[0])
    return _from_fields(fields, tuple(dict.fromkeys(pools)), tuple(dict.fromkeys(isas)))


def _from_fields(fields: dict[str, str], pools: tuple[int, ...], isas: tuple[str, ...]) -> Agent:
    is_gpu = fields.get("Device Type") == "GPU"
    chip, place = _number(fields.get("Chip ID")), _number(fields.get("BDFID"))
    properties = fields.get("Memory Properties")
    return Agent(
        name=fields.get("Name") or None,
        marketing_name=fields.get("Marketing Name") or None,
        device_type=fields.get("Device Type") or None,
        node=_number(fields.get("Node")),
        pci_id=f"1002:{chip:04x}" if is_gpu and chip and chip <= 0xFFFF else None,
        bus=f"{place >> 8:02x}:{place >> 3 & 0x1F:02x}.{place & 7}" if is_gpu and place and place <= 0xFFFF else None,
        compute_units=_number(fields.get("Compute Unit")),
        apu="APU" in properties.split() if is_gpu and properties is not None else None,
        pools=pools,
        isas=isas,
    )


def _number(text: str | None) -> int | None:
    match = _COUNT.match(text or "")
    return int(match[1]) * _KIB[match[2]] if match else None
