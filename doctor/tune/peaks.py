"""What the hardware could do at its best, as far as the facts tell."""

from __future__ import annotations

import msgspec

from doctor.derive.budget import budget_facts
from doctor.knowledge.peak_flop import flop_per_cycle
from doctor.machine.model import Cpu, Machine, Memory, Os
from doctor.tune.layout import layout_of


class Peaks(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the facts say, as far as they are known. `no_clock`: why the clock that is read under load is not the real
    one; empty where it is."""

    cores: int
    flop_per_cycle: int | None = None
    bytes_per_second: int | None = None
    generation: str | None = None
    no_clock: str = ""


def peaks_of(machine: Machine) -> Peaks | None:
    """The facts behind the peak, of a completed document; None where not even the number of cores is known."""
    cpu, memory = machine.cpu or Cpu(), machine.memory or Memory()
    layout = layout_of(machine)
    cores = budget_facts(machine).physical_cores or (layout.physical if layout is not None else None)
    if cores is None:
        return None
    return Peaks(
        cores=cores,
        flop_per_cycle=_flop_per_cycle(cpu),
        bytes_per_second=memory.peak_bytes_per_second,
        generation=cpu.generation,
        no_clock=_why_no_clock(machine.os or Os()),
    )


def _flop_per_cycle(cpu: Cpu) -> int | None:
    isa = cpu.isa
    if isa is None or not (isa.avx2 and isa.fma):
        return None
    return flop_per_cycle(cpu.generation, cpu.vector_width_bits, avx512=cpu.avx512 in ("double-pumped", "full-width"))


def _why_no_clock(system: Os) -> str:
    if system.hypervisor is None:
        return "whether this is a virtual machine is not known"
    if system.wsl or system.hypervisor != "none":
        return "a virtual machine does not tell the real clock"
    return ""
