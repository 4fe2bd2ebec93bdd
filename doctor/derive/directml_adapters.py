"""The adapters that torch-directml counts, and those that DXGI lists: which one is taken, and how much memory it has.

The two count in orders of their own, so an adapter is recognised by its name. Windows also lists adapters that are
software; torch-directml does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar

from doctor.machine.model import Fact, Gpu, Machine, TorchDirectml

#: Vendor ids of adapters without hardware behind them: Microsoft's.
_SOFTWARE_VENDORS = ("1414",)
_SOFTWARE_NAMES = ("microsoft basic render", "microsoft remote display", "microsoft basic display")

_DEVICE_FACTS = ("torch_directml.device_names", "torch_directml.default_device", "gpus.dedicated_bytes")


class DirectmlAdapterFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "sees_adapter": ("torch_directml.device_names",),
        "smaller_is_default": _DEVICE_FACTS,
        "budget_bytes": ("gpus.dedicated_bytes", "gpus.shared_bytes", "gpus.integrated"),
    }
    sees_adapter: bool = False  # torch-directml was seen to list one
    default_device: int | None = None
    default_name: str | None = None
    best_device: int | None = None  # the one with the most memory of its own, as torch-directml counts
    best_name: str | None = None
    smaller_is_default: bool | None = None  # another one has more memory than the one that is taken
    table: tuple[str, ...] | None = None  # every device in words: "1: AMD Radeon RX 7700S, 8 GiB of its own"
    budget_bytes: int | None = None  # what programs can have on the default adapter


def directml_adapter_facts(machine: Machine, today: date | None = None) -> DirectmlAdapterFacts:
    directml = machine.torch_directml or TorchDirectml()
    names, default = directml.device_names, directml.default_device
    exercised = any(
        row.outcome == "ok" and (row.device or "").startswith("privateuseone") for row in machine.exercises or ()
    )
    if not names or default is None or not 0 <= default < len(names):
        return DirectmlAdapterFacts(sees_adapter=bool(names) or exercised, budget_bytes=_only_budget(machine))
    gpus = [gpu_named(name, hardware(machine)) for name in names]
    best = _with_most_memory(gpus)
    return DirectmlAdapterFacts(
        sees_adapter=True,
        default_device=default,
        default_name=names[default],
        best_device=best,
        best_name=None if best is None else names[best],
        smaller_is_default=_smaller_is_default(gpus, default, best),
        table=tuple(_words(at, name, gpus[at]) for at, name in enumerate(names)),
        budget_bytes=_budget(machine, gpus[default]),
    )


def hardware(machine: Machine) -> tuple[Gpu, ...]:
    """The adapters that are no software."""
    return tuple(gpu for gpu in machine.gpus or () if not _is_software(gpu))


def _is_software(gpu: Gpu) -> bool:
    vendor = (gpu.pci_id or "").partition(":")[0].lower()
    return vendor in _SOFTWARE_VENDORS or (gpu.name or "").lower().startswith(_SOFTWARE_NAMES)


def gpu_named(name: str, gpus: Sequence[Gpu]) -> Gpu | None:
    """The GPU of that name; None for none, and for several that differ in what matters here."""
    found = [gpu for gpu in gpus if _spelled_alike(gpu.name or "") == _spelled_alike(name)]
    same = {(gpu.dedicated_bytes, gpu.shared_bytes, gpu.integrated) for gpu in found}
    return found[0] if len(same) == 1 else None


def _spelled_alike(name: str) -> str:
    """torch-directml leaves the end mark of the name in place."""
    return " ".join(name.replace("\0", "").split())


def _with_most_memory(gpus: Sequence[Gpu | None]) -> int | None:
    """The place of the first with the most memory of its own; None where that of one is unknown."""
    sizes = [gpu.dedicated_bytes if gpu is not None else None for gpu in gpus]
    if any(size is None for size in sizes):
        return None
    return max(range(len(sizes)), key=lambda at: (sizes[at] or 0, -at))


def _smaller_is_default(gpus: Sequence[Gpu | None], default: int, best: int | None) -> bool | None:
    """Not where a card is taken and an iGPU was given more memory: the card is the faster one all the same."""
    if len(gpus) == 1:
        return False
    taken, larger = gpus[default], gpus[best] if best is not None else None
    if taken is None or larger is None:
        return None
    if taken.integrated is False and larger.integrated is True:
        return False
    return (taken.dedicated_bytes or 0) < (larger.dedicated_bytes or 0)


def _words(at: int, name: str, gpu: Gpu | None) -> str:
    memory = gpu.dedicated_bytes if gpu is not None else None
    return f"{at}: {name}" + (f" ({memory / 2**30:.3g} GiB of its own)" if memory is not None else "")


def _budget(machine: Machine, gpu: Gpu | None) -> int | None:
    """A card: its own memory. An iGPU: what it may borrow, at most half of the RAM."""
    if gpu is None or gpu.integrated is None:
        return None
    if not gpu.integrated:
        return gpu.dedicated_bytes
    total = machine.memory.total_bytes if machine.memory else None
    if gpu.shared_bytes is None:
        return None
    return gpu.shared_bytes if total is None else min(gpu.shared_bytes, total // 2)


def _only_budget(machine: Machine) -> int | None:
    """Where torch-directml was not asked: that of the only adapter."""
    gpus = hardware(machine)
    return _budget(machine, gpus[0]) if len(gpus) == 1 else None
