"""The memory of an integrated GPU: what it really gave while it was filled, what the measured batch needs, and the
smallest carve-out that loses nothing for it.

It judges room only. Whether memory that was carved out is faster than memory that is shared, no run without a reboot
can tell, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from doctor.derive.gpu_memory import GIB, gpu_memory_facts
from doctor.machine.model import Machine
from doctor.measure.units import Grown

_MIB = 1 << 20
#: What most firmware offers; a board may offer others.
_USUAL_SIZES = tuple(size << 20 for size in (512, 1024, 2048, 4096, 8192, 16384))
#: Less than this that came from a part is noise: the desktop moves as much.
_NOTICED_BYTES = 64 * _MIB
#: And so is this share of the whole where the parts are not counted, but follow from the RAM that is left.
_NOTICED_SHARE = 1 / 16
#: A batch is never the only thing in memory.
_ROOM = 1.10
_PAGES_PER_GIB = GIB // 4096

#: `refused`: the driver gave no more. `limit`: all that was asked for was given. `kept-free`: it was stopped, so that
#: the machine keeps some memory. The others are how the process ended.
Ended = Literal["refused", "limit", "kept-free", "killed", "hung", "failed"]


class IgpuFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known beforehand. `pool`: where ROCm takes memory from by the kernel's rules (shared, carve-out); both
    count for DirectML. `options_bytes`: carve-outs that the kernel itself can set on this board."""

    device: str
    system: str  # linux windows wsl
    carve_out_bytes: int | None = None
    shared_bytes: int | None = None
    ram_bytes: int | None = None
    pool: str | None = None  # shared carve-out both
    module: str = "ttm"
    most_gib: int | None = None
    options_bytes: tuple[int, ...] = ()


class IgpuMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """`held_bytes`: the most that was allocated and written to. `from_…`: where that came from; None: not readable.

    `needed_bytes`: what the advised batches take (`needed_for`), and `needed_is_estimate` where PyTorch does not tell
    and the CPU's own process stands in. `carve_out_bytes`: the smallest that loses nothing for them; None where that
    cannot be told, and `why` says why. `returned_bytes`: what the CPU gets back by it; below 0, what it loses.
    `settings`: how it is set, each a whole line.
    """

    facts: IgpuFacts
    ended: Ended
    detail: str = ""
    held_bytes: int = 0
    from_dedicated_bytes: int | None = None
    from_shared_bytes: int | None = None
    from_ram_bytes: int | None = None
    parts_are_estimate: bool = False
    needed_bytes: int | None = None
    needed_for: str = ""
    needed_is_estimate: bool = False
    carve_out_bytes: int | None = None
    returned_bytes: int | None = None
    settings: tuple[str, ...] = ()
    why: str = ""


class Needed(msgspec.Struct, frozen=True):
    """What the advised batches take on the device."""

    bytes: int
    words: str
    is_estimate: bool = False


def igpu_facts(machine: Machine, device: str, backend: str) -> IgpuFacts:
    """From a completed machine document."""
    facts = gpu_memory_facts(machine)
    system = machine.os.kind if machine.os else None
    gpu = next((gpu for gpu in machine.gpus or () if gpu.integrated), None)
    return IgpuFacts(
        device=device,
        system="wsl" if machine.os is not None and machine.os.wsl else system or "linux",
        carve_out_bytes=facts.carve_out_bytes,
        shared_bytes=facts.shared_bytes,
        ram_bytes=machine.memory.total_bytes if machine.memory else None,
        pool="both" if backend == "directml" else facts.rocm_pool,
        module=facts.module or "ttm",
        most_gib=facts.wanted_gib,
        options_bytes=tuple(gpu.carveout_options_bytes or ()) if gpu is not None else (),
    )


def judged(facts: IgpuFacts, grown: Sequence[Grown], ended: Ended, detail: str, needed: Needed | None) -> IgpuMemory:
    """What the filling says, and the carve-out that follows from it. `grown` begins with the first look."""
    found = _seen(facts, grown, ended, detail)
    if needed is None:
        return msgspec.structs.replace(found, why="no batch was measured on it, so nothing is known to be enough")
    found = msgspec.structs.replace(
        found, needed_bytes=needed.bytes, needed_for=needed.words, needed_is_estimate=needed.is_estimate
    )
    return _advised(found, int(needed.bytes * _ROOM))


def _seen(facts: IgpuFacts, grown: Sequence[Grown], ended: Ended, detail: str) -> IgpuMemory:
    if not grown:
        return IgpuMemory(facts, ended, detail)
    first, last = grown[0], grown[-1]
    ram = None
    if first.free_bytes is not None and last.free_bytes is not None:
        ram = max(first.free_bytes - last.free_bytes, 0)
    dedicated, shared = last.dedicated_bytes, last.shared_bytes
    estimate = False
    if dedicated is None and shared is None and ram is not None:
        # Nobody counts the parts here: what did not come from the RAM was carved out of it before.
        shared, estimate = _without_noise(min(ram, last.bytes), last.bytes), True
        dedicated = last.bytes - shared
    return IgpuMemory(facts, ended, detail, last.bytes, dedicated, shared, ram, estimate)


def _without_noise(part: int, whole: int) -> int:
    """A part next to nothing is none, next to the whole all of it."""
    noise = max(_NOTICED_BYTES, _NOTICED_SHARE * whole)
    if part < noise:
        return 0
    return whole if whole - part < noise else part


def _advised(found: IgpuMemory, needed: int) -> IgpuMemory:
    facts = found.facts
    pool = _pool(found)
    if facts.carve_out_bytes is None or facts.ram_bytes is None:
        return _unknown(found, "how much the firmware has carved out is not known")
    if pool is None:
        return _unknown(found, "where its memory came from could not be read")
    if found.ended in ("hung", "failed"):
        return _unknown(found, "filling it did not come to an end that tells how much there is")
    carve_out = _smallest(facts, pool, needed)
    if carve_out is not None:
        return _with_carve_out(found, carve_out, pool)
    if pool == "shared" and facts.system == "linux":
        return _with_more_shared(found, needed)
    return _unknown(found, f"no carve-out that is usual holds {_gib(needed)} of it")


def _pool(found: IgpuMemory) -> str | None:
    """Where memory comes from, as it was counted; by the system's rules where nobody counts."""
    dedicated, shared = found.from_dedicated_bytes, found.from_shared_bytes
    if dedicated is None or shared is None or (found.parts_are_estimate and found.facts.pool is not None):
        return found.facts.pool
    gave = (dedicated >= _NOTICED_BYTES, shared >= _NOTICED_BYTES)
    seen = {(True, True): "both", (True, False): "carve-out", (False, True): "shared"}.get(gave)
    if seen == "carve-out" and found.facts.pool == "both":
        # The shared part may only not have been reached.
        return "both" if found.ended != "refused" else "carve-out"
    return seen or found.facts.pool


def _smallest(facts: IgpuFacts, pool: str, needed: int) -> int | None:
    """The smallest carve-out with which a need is met; None where none of those that can be set does it."""
    for size in facts.options_bytes or _USUAL_SIZES:
        if _room(facts, pool, size) >= needed and _leaves_half(facts, size):
            return size
    return None


def _installed(facts: IgpuFacts) -> int:
    return (facts.ram_bytes or 0) + (facts.carve_out_bytes or 0)


def _room(facts: IgpuFacts, pool: str, carve_out: int) -> int:
    """What the GPU can have with a carve-out. What is shared follows the RAM that is left: half of it, or as it was
    set."""
    ram_now = facts.ram_bytes or 1
    share = min((facts.shared_bytes or 0) / ram_now, 1.0)
    shared = int((_installed(facts) - carve_out) * share)
    return {"shared": shared, "carve-out": carve_out}.get(pool, shared + carve_out)


def _leaves_half(facts: IgpuFacts, carve_out: int) -> bool:
    """More than half of the memory carved out leaves the CPU too little to feed the GPU."""
    return carve_out <= _installed(facts) // 2


def _with_carve_out(found: IgpuMemory, carve_out: int, pool: str) -> IgpuMemory:
    now = found.facts.carve_out_bytes or 0
    if carve_out == now:
        why = "the carve-out is the smallest already that holds it"
        return msgspec.structs.replace(found, carve_out_bytes=carve_out, returned_bytes=0, why=why)
    if abs(carve_out - now) < _NOTICED_BYTES:
        why = "the carve-out is right as it is"
        return msgspec.structs.replace(found, carve_out_bytes=now, returned_bytes=0, why=why)
    why = {
        "shared": "the memory came from the shared part alone",
        "carve-out": "the memory came from the carve-out alone",
    }.get(pool, "the shared part gives what the carve-out does not")
    return msgspec.structs.replace(
        found, carve_out_bytes=carve_out, returned_bytes=now - carve_out, settings=_how(found.facts, carve_out), why=why
    )


def _with_more_shared(found: IgpuMemory, needed: int) -> IgpuMemory:
    """The smallest carve-out, and a higher limit for the shared part."""
    facts = found.facts
    gib = -(-needed // GIB)
    if facts.most_gib is None or gib > facts.most_gib:
        return _unknown(found, f"{gib} GiB of it would leave the system less than a quarter of the memory")
    smallest = min(facts.options_bytes or _USUAL_SIZES)
    pages = gib * _PAGES_PER_GIB
    limit = f"on the kernel's command line: {facts.module}.pages_limit={pages} {facts.module}.page_pool_size={pages}"
    carve_out = min(smallest, facts.carve_out_bytes or smallest)
    how = () if carve_out == facts.carve_out_bytes else _how(facts, carve_out)
    return msgspec.structs.replace(
        found,
        carve_out_bytes=carve_out,
        returned_bytes=(facts.carve_out_bytes or 0) - carve_out,
        settings=(*how, limit),
        why=f"the shared part is limited to {_gib(facts.shared_bytes or 0)}",
    )


def _how(facts: IgpuFacts, carve_out: int) -> tuple[str, ...]:
    size = _gib(carve_out)
    firmware = f"in the firmware (BIOS), UMA frame buffer size: {size}"
    if facts.system == "windows" or facts.system == "wsl":
        where = "on Windows, " if facts.system == "wsl" else ""
        step = f"AMD Software, Performance, Tuning, Variable Graphics Memory: the step nearest above {size}"
        return (f"{where}{step}; or {firmware}",)
    if carve_out in facts.options_bytes:
        return (f"by the kernel, for the next boot: write the number of {size} from uma/carveout_options of the card "
                f"into uma/carveout; or {firmware}",)
    return (f"{firmware}, or the next larger that it offers",)


def _unknown(found: IgpuMemory, why: str) -> IgpuMemory:
    return msgspec.structs.replace(found, why=why)


def _gib(size: int) -> str:
    return f"{size / GIB:.3g} GiB" if size >= GIB else f"{size // _MIB} MiB"
