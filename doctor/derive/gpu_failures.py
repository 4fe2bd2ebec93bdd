"""What failed on each GPU in the exercises, in words, and which GPU of the document it was."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.derive.exercises import outcome_words
from doctor.derive.gfx_support import bare
from doctor.derive.gpu_device import GpuDevice, is_usable
from doctor.derive.visible_devices import masks_in
from doctor.machine.model import Exercise, Fact, Machine
from doctor.machine.unknowns import is_partial

#: What an exercise tries that is no calculation, in words.
_WORDS = {"list-devices": "counting the GPUs", "open-device": "moving numbers to it and back"}
NO_CALCULATION = ("import-torch", *_WORDS)

_OUT_OF_MEMORY = re.compile(r"out of memory", re.IGNORECASE)


class GpuFailure(Fact, frozen=True):
    """A GPU, as HIP counts, on which an exercise failed while all were visible."""

    name: str | None = None  # what the document calls it; unknown where it is not known which GPU it is
    where: str = ""  # cuda:1, or "any GPU" where HIP could not count them
    exercise: str = ""  # the first that failed
    outcome: str = ""  # what became of it, in words
    also: str = "none"  # the others that failed
    alone: str = ""  # how the first one ended while this was the only visible GPU, in words
    alone_index: int | None = None  # what HIP_VISIBLE_DEVICES was then, where it came out right
    out_of_memory: bool = False  # that was all that failed
    spare: bool = False  # another GPU is the one to compute on


def failures(machine: Machine, devices: Sequence[GpuDevice] | None) -> tuple[GpuFailure, ...] | None:
    """Every GPU that failed, in HIP's order; None where none was tried. `devices` are those of the document."""
    rows = [row for row in machine.exercises or () if _is_on_gpu(row) and row.outcome not in (None, "skipped")]
    together = [row for row in rows if not row.with_mask]
    if not together:
        return None
    places = dict.fromkeys(row.device or "" for row in together)
    found = (_failure(machine, place, together, rows, devices) for place in places)
    return tuple(failure for failure in found if failure is not None)


def _is_on_gpu(row: Exercise) -> bool:
    return (row.device or "").startswith("cuda") and row.name != "import-torch"


def calculated_right(row: Exercise) -> bool:
    """Numbers that only came back unchanged prove nothing: copying needs no code for the GPU."""
    return row.outcome == "ok" and row.name not in NO_CALCULATION


def _failure(
    machine: Machine,
    place: str,
    together: Sequence[Exercise],
    rows: Sequence[Exercise],
    devices: Sequence[GpuDevice] | None,
) -> GpuFailure | None:
    failed = [row for row in together if row.device == place and row.outcome != "ok"]
    if not failed:
        return None
    first = failed[0]
    device = device_at(machine, place, devices or ())
    alone = _alone(first, rows)
    return GpuFailure(
        name=device.name if device is not None else _name_without_document(machine, place),
        where=place if ":" in place else "any GPU",
        exercise=_WORDS.get(first.name or "", first.name or "an exercise"),
        outcome=outcome_words(first),
        also=", ".join(f"{row.name} ({row.outcome})" for row in failed[1:]) or "none",
        alone=_alone_words(alone),
        alone_index=_alone_index(machine, alone),
        out_of_memory=all(_OUT_OF_MEMORY.search(row.detail or "") for row in failed),
        spare=_is_spare(device, place, together),
    )


def device_at(machine: Machine, place: str, devices: Sequence[GpuDevice]) -> GpuDevice | None:
    """The GPU of the document that HIP gives a number: by that number where it is known, by its place on the bus where
    PyTorch tells it, or because there is no other."""
    index = _index(place)
    listed = (machine.torch.devices if machine.torch else None) or ()
    address = listed[index].pci_address if index is not None and index < len(listed) else None
    amd = [gpu for gpu in machine.gpus or () if gpu.vendor == "amd"]
    usable = [at for at, gpu in enumerate(amd) if is_usable(machine, gpu) is not False]
    by_number = [at for at in usable if index is not None and amd[at].hip_index == index]
    by_address = [at for at in usable if address is not None and amd[at].pci_address == address]
    only = usable if len(usable) == 1 and len(listed) < 2 and index in (0, None) else []
    found = by_address or by_number or only
    return devices[found[0]] if len(found) == 1 and found[0] < len(devices) else None


def _name_without_document(machine: Machine, place: str) -> str | None:
    """Where the document names no GPUs, they are called by the targets that PyTorch lists."""
    index, listed = _index(place), (machine.torch.devices if machine.torch else None) or ()
    if machine.gpus is not None or index is None or index >= len(listed):
        return None
    gfx = listed[index].gfx
    return bare(gfx) if gfx else None


def _index(place: str) -> int | None:
    number = place.partition(":")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 5 else None


def _alone(first: Exercise, rows: Sequence[Exercise]) -> Exercise | None:
    """The same on the same GPU while the others were hidden. Where HIP could not count them: on the first GPU that
    calculated right, else on the first that was tried."""
    hidden = [row for row in rows if row.with_mask]
    if ":" in (first.device or ""):
        return next((row for row in hidden if (row.name, row.device) == (first.name, first.device)), None)
    return next((row for row in hidden if calculated_right(row)), hidden[0] if hidden else None)


def _alone_words(alone: Exercise | None) -> str:
    if alone is None:
        return "not tried"
    return "it came out right" if alone.outcome == "ok" else f"{outcome_words(alone)} as well"


def _alone_index(machine: Machine, alone: Exercise | None) -> int | None:
    """Where a mask is set already, HIP counts what that shows: its numbers are not those of a new mask."""
    env = machine.env
    if alone is None or alone.outcome != "ok" or env is None or is_partial(machine, "env") or masks_in(env):
        return None
    return _index(alone.device or "")


def _is_spare(device: GpuDevice | None, place: str, together: Sequence[Exercise]) -> bool:
    """Another one is to compute on: a card beside an iGPU, or one that works beside one without code."""
    if device is None:
        return False
    others_work = any(calculated_right(row) for row in together if row.device != place)
    return device.in_use is False or (others_work and device.runs == "no")
