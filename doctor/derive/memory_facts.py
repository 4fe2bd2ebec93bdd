"""What only rules need to know of memory: is there room for a second channel, do the modules reach their rating?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar

from doctor.derive.memory import half_speed_bug, is_low_power, package_bus_bits
from doctor.machine.model import Cpu, Fact, Machine, Memory, MemoryModule, MemorySlot
from doctor.texts.part_number import rating_of

#: Zen and Zen+ by family and model: Summit Ridge and Naples, Pinnacle Ridge, Raven Ridge, Picasso, Dali.
_EARLY_ZEN = frozenset({(23, 1), (23, 8), (23, 17), (23, 24), (23, 32)})
#: The fastest memory that AMD promises for Zen+; Zen has 2666.
_EARLY_ZEN_MTS = 2933

#: Boards set 2666 for a module of 2667, and 3733 runs as 3732: no more than that is a difference in name only.
_SAME_SPEED = 0.995
#: What is missing above this share of the rating is hardly felt.
_NEARLY = 0.9

#: A field of every module, for a rule that misses it: the reason stands in the row of `memory.modules`.
_SPEEDS = ("memory.modules.rated_mts", "memory.modules.configured_mts")


class MemoryFacts(Fact, frozen=True):
    """Derived facts of the memory area. Every one needs the list of modules."""

    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "single_channel": ("memory.modules.channel",),
        "below_rated": _SPEEDS,
        "rated_mts": _SPEEDS,
        "gain_in_reach": _SPEEDS,
        "half_speed_firmware_bug": _SPEEDS,
        "soldered_only": ("memory.modules.soldered",),
    }

    single_channel: bool | None = None  # one channel in use, and there is room to use another
    free_slot: str | None = None  # the empty slot of another channel, as the firmware calls it
    modules_in_use: int | None = None
    below_rated: bool | None = None  # slower than every known rating on the modules' labels
    rated_mts: int | None = None  # the lowest of those ratings
    rated_part: str | None = None  # the part number that states it
    doubt: str | None = None  # in words, what may keep the modules from their rating here; unset where nothing does
    gain_in_reach: bool | None = None  # nothing speaks against the rating, and at least a tenth of it is missing
    half_speed_firmware_bug: bool | None = None
    soldered_only: bool | None = None
    package_bus_bits: int | None = None  # what the processor could use


def memory_facts(machine: Machine, today: date | None = None) -> MemoryFacts:
    """The facts, of a completed document."""
    memory = machine.memory
    bits = package_bus_bits(machine)
    if memory is None or not memory.modules:
        return MemoryFacts(package_bus_bits=bits)
    rating = _lowest_rating(memory.modules)
    below = _below_rated(memory, rating)
    doubt = None if rating is None else _doubt(memory.modules, rating[0], machine.cpu)
    return MemoryFacts(
        single_channel=_single_channel(memory, bits),
        free_slot=_free_slot(memory),
        modules_in_use=len(memory.modules),
        below_rated=below,
        rated_mts=None if rating is None else rating[0],
        rated_part=None if rating is None else rating[1],
        doubt=doubt,
        gain_in_reach=below and doubt is None and _much_is_missing(memory, rating),
        half_speed_firmware_bug=half_speed_bug(memory.modules),
        soldered_only=_all_soldered(memory.modules),
        package_bus_bits=bits,
    )


def _single_channel(memory: Memory, package_bits: int | None) -> bool | None:
    """One channel in use, with room for another. None where either cannot be known."""
    modules = memory.modules or ()
    if memory.channels is None:
        return False if is_low_power(modules) else None
    if memory.channels > 1 or is_low_power(modules) or package_bits == 64:
        return False
    if _all_soldered(modules) and memory.slots != len(modules):
        return None  # firmware lists the channel that this model was built without as an empty slot
    if memory.empty_slots:
        names = {slot.channel for slot in memory.empty_slots}
        if None not in names and modules[0].channel is not None:
            return names != {modules[0].channel}
    if memory.slots is None:
        return None
    if memory.slots <= len(modules):
        return False  # every slot is filled, or the memory is soldered
    # An empty slot that does not say where it belongs: the processor has a second channel, and boards wire it first.
    return True if package_bits is not None and package_bits > 64 else None


def _free_slot(memory: Memory) -> str | None:
    """The empty slot of an unused channel that fits best: the one at the same place as the module in its channel
    (`DIMM_B2` for `DIMM_A2`, as board manuals want it), with its bank where several slots have its name."""
    used = {module.channel for module in memory.modules or ()}
    free = [slot for slot in memory.empty_slots or () if slot.channel is not None and slot.channel not in used]
    free = [slot for slot in free if slot.locator]
    if not free or None in used:
        return None
    places = {_place(module.locator) for module in memory.modules or ()}
    best = next((slot for slot in free if _place(slot.locator) in places), free[0])
    return _name(best, [*(memory.modules or ()), *(memory.empty_slots or ())])


def _place(locator: str | None) -> str:
    return (locator or "")[-1:]


def _name(slot: MemorySlot, slots: Sequence[MemoryModule | MemorySlot]) -> str:
    namesakes = sum(other.locator == slot.locator for other in slots)
    return f"{slot.locator} of {slot.bank}" if namesakes > 1 and slot.bank else slot.locator or ""


def _all_soldered(modules: Sequence[MemoryModule]) -> bool | None:
    soldered = [module.soldered for module in modules]
    if False in soldered:
        return False
    return None if None in soldered else True


def _lowest_rating(modules: Sequence[MemoryModule]) -> tuple[int, str] | None:
    """The slowest module decides for all: (its rating, its part number)."""
    rated = [(module.rated_mts, module.part_number or "") for module in modules if module.rated_mts]
    return min(rated, default=None)


def _below_rated(memory: Memory, rating: tuple[int, str] | None) -> bool | None:
    modules = memory.modules or ()
    if rating is None:
        # Nothing is claimed for modules whose number says nothing; soldered memory runs as its maker set it.
        return False if _all_soldered(modules) else None
    if memory.effective_mts is None:
        return None
    if _is_sodimm(modules) and not _by_profile(rating[1]):
        # Laptops have no setting for it: a 3200 module on a processor of 2400 MT/s is as fast as it can be.
        return False
    return memory.effective_mts < rating[0] * _SAME_SPEED


def _much_is_missing(memory: Memory, rating: tuple[int, str] | None) -> bool:
    return rating is not None and (memory.effective_mts or 0) < _NEARLY * rating[0]


def _doubt(modules: Sequence[MemoryModule], rated_mts: int, cpu: Cpu | None) -> str | None:
    """Why the rating may be out of reach on this machine."""
    channels = [module.channel for module in modules if module.channel]
    if len(set(channels)) < len(channels):
        return "two modules per channel"
    if _is_sodimm(modules):
        return "the small modules (SODIMM) of laptops"
    if rated_mts > _EARLY_ZEN_MTS and cpu is not None and (cpu.family, cpu.model) in _EARLY_ZEN:
        return "a Zen or Zen+ processor"
    if len({module.part_number for module in modules}) > 1:
        return "modules of different kinds"
    return None if _by_profile(modules[0].part_number) else "modules without a profile"


def _is_sodimm(modules: Sequence[MemoryModule]) -> bool:
    return any(module.form_factor == "SODIMM" for module in modules)


def _by_profile(part_number: str | None) -> bool:
    rating = rating_of(part_number)
    return rating is None or rating.by_profile
