"""Memory modules and processors, to test what follows from them."""

from __future__ import annotations

from typing import Any

from doctor.derive.memory import complete_memory
from doctor.derive.memory_facts import MemoryFacts, memory_facts
from doctor.machine.model import Cpu, Machine, Memory, MemoryModule
from doctor.texts.dmidecode import read_dmidecode
from tests.texts.memory_corpus import MemoryCase

RENOIR = Cpu(vendor="AuthenticAMD", family=23, model=96, name="AMD Ryzen 7 4700U with Radeon Graphics")
PHOENIX = Cpu(vendor="AuthenticAMD", family=25, model=116, name="AMD Ryzen 7 7840HS w/ Radeon 780M Graphics")
MENDOCINO = Cpu(vendor="AuthenticAMD", family=23, model=160, name="AMD Ryzen 3 7320U with Radeon Graphics")
RAPHAEL = Cpu(vendor="AuthenticAMD", family=25, model=97, name="AMD Ryzen 9 7950X 16-Core Processor")
SUMMIT_RIDGE = Cpu(vendor="AuthenticAMD", family=23, model=1, name="AMD Ryzen 5 1600 Six-Core Processor")


def dimm(bank: str | None = None, locator: str = "DIMM 0", **fields: Any) -> MemoryModule:
    known = {"type": "DDR4", "form_factor": "DIMM", "width_bits": 64, "speed_mts": 3200, "configured_mts": 3200}
    return MemoryModule(locator=locator, bank=bank, **{**known, **fields})


def chips(bank: str, **fields: Any) -> MemoryModule:
    known = {"type": "LPDDR5", "form_factor": "Other", "width_bits": 32, "speed_mts": 6400, "configured_mts": 6400}
    return MemoryModule(locator="DIMM 0", bank=bank, **{**known, **fields})


def completed(*modules: MemoryModule, cpu: Cpu | None = None, slots: int | None = None, empty: Any = None) -> Memory:
    machine = Machine(cpu=cpu, memory=Memory(modules=modules, slots=slots, empty_slots=empty))
    memory = complete_memory(machine).memory
    assert memory is not None
    return memory


def facts(*modules: MemoryModule, cpu: Cpu | None = None, slots: int | None = None, empty: Any = None) -> MemoryFacts:
    memory = Memory(modules=modules, slots=slots, empty_slots=empty)
    return memory_facts(complete_memory(Machine(cpu=cpu, memory=memory)))


def machine_of(case: MemoryCase) -> Machine:
    table = read_dmidecode(case.text)
    memory = Memory(modules=table.modules, slots=len(table.devices), empty_slots=table.empty_slots)
    return Machine(cpu=table.cpu, memory=memory)
