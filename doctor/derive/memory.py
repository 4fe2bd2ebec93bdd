"""What follows from the memory modules: their channels, the width of the bus, the speed that it runs at.

Firmware lies in known ways (counted on 25,717 machines): it writes half the speed (4 %), shows LPDDR4X with half of
its width (561 of 563), and calls DDR5 "out of spec" on old tools. What it cannot tell stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from doctor.derive.memory_channels import channels_of
from doctor.knowledge.memory_bus import memory_bus_bits
from doctor.machine.model import Machine, Memory, MemoryModule, MemorySlot
from doctor.texts.part_number import rating_of

#: The slowest JEDEC data rate of a generation (JESD79-3, -4, -5). Below it, a "configured speed" is a clock in MHz.
_SLOWEST_MTS = {"DDR3": 800, "DDR4": 1600, "DDR5": 3200}

#: LPDDR4X ends at 4266 MT/s, and every tool has a word for DDR4: above, what has no word is DDR5 or LPDDR5.
_SLOWEST_DDR5_MTS = 4800

_SOLDERED_FORMS = frozenset({"Row Of Chips", "Chip", "Die", "TSOP"})
_SOCKETED_FORMS = frozenset({"DIMM", "SODIMM", "SRIMM", "RIMM", "FB-DIMM", "CAMM"})
_MODULE_TYPE = re.compile(r"DDR[2-9]\b")
_LPDDR_CHANNEL_BITS = 32


def complete_memory(machine: Machine) -> Machine:
    """The document with what follows from its memory modules. Facts that it states already are kept."""
    memory = machine.memory
    if memory is None:
        return machine
    if memory.modules:
        memory = _with_modules(memory, package_bus_bits(machine), (machine.cpu and machine.cpu.sockets) or 1)
    peak = memory.peak_bytes_per_second
    if peak is None and memory.effective_mts is not None and memory.bus_width_bits is not None:
        peak = memory.effective_mts * 1_000_000 * memory.bus_width_bits // 8
    return msgspec.structs.replace(machine, memory=msgspec.structs.replace(memory, peak_bytes_per_second=peak))


def package_bus_bits(machine: Machine) -> int | None:
    """The width of the memory bus of one processor package, where the processor is known."""
    cpu = machine.cpu
    return None if cpu is None else memory_bus_bits(cpu.family, cpu.model, cpu.name)


def _with_modules(memory: Memory, package_bits: int | None, sockets: int) -> Memory:
    modules = tuple(_completed(module) for module in memory.modules or ())
    empty = memory.empty_slots or ()
    names = channels_of([*modules, *empty])
    modules = tuple(
        module if module.channel else msgspec.structs.replace(module, channel=name)
        for module, name in zip(modules, names, strict=False)
    )
    slots: tuple[MemorySlot, ...] = tuple(
        slot if slot.channel else msgspec.structs.replace(slot, channel=name)
        for slot, name in zip(empty, names[len(modules) :], strict=True)
    )
    channels, bits = _channels_and_width(modules, package_bits, sockets)
    return msgspec.structs.replace(
        memory,
        modules=modules,
        empty_slots=slots if memory.empty_slots is not None else None,
        channels=channels if memory.channels is None else memory.channels,
        bus_width_bits=bits if memory.bus_width_bits is None else memory.bus_width_bits,
        effective_mts=_effective_mts(modules) if memory.effective_mts is None else memory.effective_mts,
    )


def _completed(module: MemoryModule) -> MemoryModule:
    kind = module.type or _type(module)
    rating = rating_of(module.part_number)
    return msgspec.structs.replace(
        module,
        type=kind,
        soldered=_soldered(module.form_factor, kind) if module.soldered is None else module.soldered,
        rated_mts=rating.mts if module.rated_mts is None and rating else module.rated_mts,
    )


def _type(module: MemoryModule) -> str | None:
    """Tools older than the module know no word for DDR5 and LPDDR5."""
    if max(module.speed_mts or 0, module.configured_mts or 0) < _SLOWEST_DDR5_MTS:
        return None
    return {64: "DDR5", 32: "LPDDR5", 16: "LPDDR5"}.get(module.width_bits or 0)


def _soldered(form: str | None, kind: str | None) -> bool | None:
    if form in _SOCKETED_FORMS:
        return False
    if form in _SOLDERED_FORMS or (kind or "").startswith("LPDDR"):
        return True
    return None


def is_low_power(modules: Sequence[MemoryModule]) -> bool:
    """LPDDR throughout: packages of chips, whose rows in the table are not modules in slots."""
    return all((module.type or "").startswith("LPDDR") for module in modules)


def _channels_and_width(
    modules: Sequence[MemoryModule], package_bits: int | None, sockets: int
) -> tuple[int | None, int | None]:
    """(channels in use, bits of the bus), each None where it cannot be known."""
    widths = _width_per_channel(modules)
    if widths is None:
        return None, None
    bits = None if None in widths else sum(width or 0 for width in widths)
    if is_low_power(modules):
        return len(widths), _low_power_bits(modules, bits, package_bits)
    if bits is not None and package_bits is not None and bits > package_bits * sockets:
        return len(widths), None
    return len(widths), bits


def _width_per_channel(modules: Sequence[MemoryModule]) -> list[int | None] | None:
    """The width of each channel that has a module; None where the channels cannot be told apart."""
    places = {(module.locator, module.bank) for module in modules}
    if is_low_power(modules):
        if len(modules) == 1:
            return None  # one row for all packages: no processor has a bus that narrow
        if len(places) < len(modules) or any(module.channel is None for module in modules):
            return [_width(module) for module in modules]  # whatever they are called: a row for each package
    elif len(modules) == 1:
        return [_width(modules[0])] if modules[0].channel or _MODULE_TYPE.match(modules[0].type or "") else None
    elif len(places) < len(modules):
        return None
    channels: dict[str, int | None] = {}
    for module in modules:
        if module.channel is None:
            return None
        width = _width(module)
        before = channels.setdefault(module.channel, width)
        channels[module.channel] = None if None in (before, width) else max(before or 0, width or 0)
    return list(channels.values())


def _width(module: MemoryModule) -> int | None:
    if module.width_bits is None and _MODULE_TYPE.match(module.type or ""):
        return 64
    return module.width_bits


def _low_power_bits(modules: Sequence[MemoryModule], bits: int | None, package_bits: int | None) -> int | None:
    if any((module.type or "").startswith("LPDDR4") for module in modules):
        # Renoir to Barcelo report two rows of 32 bits for a bus of 128.
        return package_bits
    if package_bits is None:
        wide = any((module.width_bits or 0) > _LPDDR_CHANNEL_BITS for module in modules)
        return None if wide else bits
    # Some firmware reports rows of 64 bits for packages of 32.
    return bits if bits is None else min(bits, package_bits)


def half_speed_bug(modules: Sequence[MemoryModule]) -> bool:
    """Does the firmware write clocks (MHz) where transfers belong? Then one module shows exactly half of its speed."""
    return any(
        module.speed_mts and module.configured_mts and abs(2 * module.configured_mts - module.speed_mts) <= 2
        for module in modules
    )


def _effective_mts(modules: Sequence[MemoryModule]) -> int | None:
    """The speed that the modules run at: that of the slowest. None where a module does not tell, or tells half."""
    configured = [module.configured_mts for module in modules]
    known = [speed for speed in configured if speed is not None]
    if len(known) < len(configured):
        return None
    slowest = min(known)
    if half_speed_bug(modules):
        return 2 * slowest
    return None if any(_may_be_half(module) for module in modules) else slowest


def _may_be_half(module: MemoryModule) -> bool:
    configured = module.configured_mts or 0
    if configured < _SLOWEST_MTS.get(module.type or "", 0):
        return True
    if module.rated_mts is None or (module.speed_mts is not None and configured >= module.speed_mts):
        return False
    return abs(2 * configured - module.rated_mts) <= 2
