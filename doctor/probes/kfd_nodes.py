"""The GPUs in the topology of AMD's compute driver."""

from __future__ import annotations

import msgspec

from doctor.sources.base import Missing, Source, value_or
from doctor.texts.kfd import KfdNode, gpu_memory_bytes, read_kfd_node

_NODES = "/sys/class/kfd/kfd/topology/nodes"

#: More than any machine has; a folder with more entries is not this one.
_MOST_NODES = 1024


class KfdGpu(msgspec.Struct, frozen=True):
    number: int
    gpu: KfdNode
    memory_bytes: int | None = None


def kfd_gpus(source: Source) -> tuple[KfdGpu, ...]:
    """The GPUs in the order of their nodes. A node that this process may not see (containers) is passed over."""
    names = value_or(source.names(_NODES), ())
    numbers = sorted(int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 6)
    found = []
    for number in numbers[:_MOST_NODES]:
        text = source.text(f"{_NODES}/{number}/properties")
        gpu = None if isinstance(text, Missing) else read_kfd_node(text)
        if gpu is not None:
            found.append(KfdGpu(number, gpu, _memory(source, number)))
    return tuple(found)


def _memory(source: Source, number: int) -> int | None:
    folder = f"{_NODES}/{number}/mem_banks"
    banks = [source.text(f"{folder}/{name}/properties") for name in value_or(source.names(folder), ())]
    return gpu_memory_bytes(text for text in banks if not isinstance(text, Missing))
