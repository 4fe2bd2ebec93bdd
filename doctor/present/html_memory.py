"""The memory as a picture: slots by channel, and what each part of the machine can reach of the memory of a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.derive.gpu_memory import gpu_memory_facts
from doctor.machine.model import Gpu, Machine, MemoryModule, MemorySlot
from doctor.present.gpu import gib_text, gpu_name, gpu_text
from doctor.present.gpu_memory import memory_view
from doctor.present.hardware import memory_says
from doctor.present.language import joined, phrase, say
from doctor.present.text import bytes_text, plural

#: Around what a GPU's line says behind its name.
_OPENING, _CLOSING = "(（", ")）"


class Slot(msgspec.Struct, frozen=True):
    """`size` and `speed` hold numbers and units only; `label` is what the board calls the slot."""

    label: str
    size: str
    speed: str
    empty: bool
    title: str


class Channel(msgspec.Struct, frozen=True):
    name: str
    slots: tuple[Slot, ...]


class Segment(msgspec.Struct, frozen=True):
    """A part of a bar. `start` and `share` are of the whole bar, 0 to 100."""

    kind: str  # carved shared system own
    start: float
    share: float


class Bar(msgspec.Struct, frozen=True):
    """One line of a GPU's memory: bars of one GPU have one scale."""

    label: str
    value: str
    note: str
    segments: tuple[Segment, ...]

    @property
    def title(self) -> str:
        return f"{self.label}: {joined([self.value, self.note] if self.note else [self.value])}"


class GpuPicture(msgspec.Struct, frozen=True):
    name: str
    details: str
    integrated: bool | None
    bars: tuple[Bar, ...]
    kinds: tuple[str, ...]  # of the segments, for the legend
    advice: tuple[str, ...]
    commands: tuple[str, ...]


class MemoryPicture(msgspec.Struct, frozen=True):
    facts: tuple[str, ...]
    missing: tuple[str, ...]
    channels: tuple[Channel, ...]
    count: str


def memory_picture(machine: Machine) -> MemoryPicture:
    says = memory_says(machine)
    memory = machine.memory
    modules: tuple[MemoryModule, ...] = (memory.modules or ()) if memory else ()
    empty: tuple[MemorySlot, ...] = (memory.empty_slots or ()) if memory else ()
    channels = _channels(modules, empty) if modules else ()
    named = [channel for channel in channels if channel.name]
    counts = [plural(len(named), "channel")] if named else []
    counts += [plural(len(modules), "module")]
    counts += [plural(len(empty), "empty slot")] if empty else []
    return MemoryPicture(says.facts, says.missing, channels, joined(counts) if modules else "")


def _channels(modules: Sequence[MemoryModule], empty: Sequence[MemorySlot]) -> tuple[Channel, ...]:
    """By channel in the order of their names; what has none stands last."""
    found: dict[str, list[Slot]] = {}
    for module in modules:
        found.setdefault(module.channel or "", []).append(_filled(module))
    for slot in empty:
        label = slot.locator or slot.bank or ""
        empty_words = say("empty")
        title = f"{label}: {empty_words}" if label else empty_words
        found.setdefault(slot.channel or "", []).append(Slot(label, empty_words, "", True, title))
    order = sorted(found, key=lambda name: (not name, len(name), name))
    return tuple(Channel(name, tuple(sorted(found[name], key=lambda slot: slot.label))) for name in order)


def _filled(module: MemoryModule) -> Slot:
    label = module.locator or module.bank or ""
    size = bytes_text(module.size_bytes) if module.size_bytes else say("size not known")
    mts = module.configured_mts or module.speed_mts
    rated = module.rated_mts if module.rated_mts and mts and module.rated_mts > mts else None
    words = [size, *([module.type] if module.type else [])]
    words += [say("at {mts} MT/s", mts=mts)] if mts else []
    words += [say("made for {mts} MT/s", mts=rated)] if rated else []
    words += [say("soldered")] if module.soldered else []
    title = f"{label}: {joined(words)}" if label else joined(words)
    return Slot(label, size, f"{mts} MT/s" if mts else "", False, title)


def gpu_pictures(machine: Machine) -> tuple[GpuPicture, ...]:
    gpus = machine.gpus or ()
    several = sum(gpu.vendor == "amd" for gpu in gpus) > 1
    computing = next((gpu for gpu in gpus if gpu.vendor == "amd" and gpu.integrated), None)
    return tuple(_gpu(machine, gpu, numbered=several, computes=gpu is computing) for gpu in gpus)


def _gpu(machine: Machine, gpu: Gpu, *, numbered: bool, computes: bool) -> GpuPicture:
    name = gpu_name(gpu)
    text = gpu_text(gpu, numbered=numbered)
    details = text.removeprefix(name).strip()
    if details[:1] in _OPENING and details[-1:] in _CLOSING:
        details = details[1:-1]
    bars = _shared_bars(machine, gpu, computes=computes) if gpu.integrated else _own_bars(gpu)
    kinds = dict.fromkeys(segment.kind for bar in bars for segment in bar.segments)
    advice, commands = _advice(memory_view(machine) if computes else ())
    return GpuPicture(name, details, gpu.integrated, bars, tuple(kinds), advice, commands)


def _advice(view: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of the view its sentences, each in one piece again, and its lines to copy. The sizes stand in the bars."""
    sentences: list[str] = []
    commands: list[str] = []
    for line in view[1:]:
        text = line.strip()
        if " GiB   " in line or line.endswith(" GiB"):
            continue
        if ".pages_limit=" in text and " " in text and text.split(" ")[0].count("=") == 1:
            commands.append(text)
        elif line.startswith("    ") and sentences:
            # Chinese has no blank where a line was broken.
            blank = " " if sentences[-1][-1:].isascii() or text[:1].isascii() else ""
            sentences[-1] += blank + text
        else:
            sentences.append(text)
    return tuple(sentences), tuple(commands)


def _own_bars(gpu: Gpu) -> tuple[Bar, ...]:
    own = gpu.vram_total_bytes if gpu.vram_total_bytes is not None else gpu.dedicated_bytes
    if not own:
        return ()
    return (Bar(say("its own memory (VRAM)"), gib_text(own), "", (Segment("own", 0, 100),)),)


_POOLS = {"shared": phrase("the shared part alone"), "carve-out": phrase("the carve-out alone")}


class _Scale(msgspec.Struct, frozen=True):
    """Bars of one GPU: from the left the carve-out, the shared part, the rest of the RAM. `whole` bytes fill a bar."""

    whole: int

    def bar(self, label: str, note: str, parts: Sequence[_Part]) -> Bar:
        segments = [Segment(part.kind, 100 * part.start / self.whole, 100 * part.size / self.whole)
                    for part in parts if part.size > 0]  # fmt: skip
        return Bar(label, gib_text(sum(part.size for part in parts)), note, tuple(segments))


class _Part(msgspec.Struct, frozen=True):
    """Bytes of one kind, counted from where the bar begins."""

    kind: str
    start: int
    size: int


def _shared_bars(machine: Machine, gpu: Gpu, *, computes: bool) -> tuple[Bar, ...]:
    """What is in the machine, then who reaches how much of it."""
    windows = machine.os is not None and machine.os.kind == "windows"
    carved = gpu.vram_total_bytes if gpu.vram_total_bytes is not None else gpu.dedicated_bytes
    shared = gpu.gtt_total_bytes if gpu.gtt_total_bytes is not None else gpu.shared_bytes
    ram = machine.memory.total_bytes if machine.memory else None
    start, lent, total = carved or 0, shared or 0, ram or 0
    scale = _Scale(start + max(total, lent))
    if not scale.whole or (carved is None and shared is None):
        return ()
    bars = []
    if carved is not None:
        label = say("dedicated") if windows else say("carve-out (VRAM)")
        bars.append(scale.bar(label, say("taken from the RAM by the firmware"), [_Part("carved", 0, start)]))
    if shared is not None:
        label = say("shared") if windows else say("shared (GTT)")
        bars.append(scale.bar(label, say("lent by the RAM while it is needed"), [_Part("shared", start, lent)]))
    if ram is not None:
        parts = [_Part("shared", start, min(lent, total)), _Part("system", start + lent, max(total - lent, 0))]
        note = say("the shared part included") if shared is not None else ""
        bars.append(scale.bar(say("the CPU reaches"), note, parts))
    return (*bars, *(_reached(machine, scale, windows=windows) if computes else ()))


def _reached(machine: Machine, scale: _Scale, *, windows: bool) -> list[Bar]:
    facts = gpu_memory_facts(machine)
    carved, shared = facts.carve_out_bytes or 0, facts.shared_bytes or 0
    bars = []
    if facts.torch_bytes is not None:
        seen = _filling(facts.torch_bytes, facts.rocm_pool, carved)
        bars.append(scale.bar(say("PyTorch reaches"), say("as it reports itself"), seen))
    if facts.rocm_bytes is not None and not windows:
        note = say(_POOLS.get(facts.rocm_pool or "", ""))
        bars.append(scale.bar(say("ROCm reaches"), note, _filling(facts.rocm_bytes, facts.rocm_pool, carved)))
    if facts.reachable_bytes is not None:
        both = [_Part("carved", 0, carved), _Part("shared", carved, shared)]
        who = say("DirectML reaches") if windows else say("Vulkan reaches")
        bars.append(scale.bar(who, say("both parts"), both))
    return bars


def _filling(size: int, pool: str | None, carved: int) -> list[_Part]:
    """Where an amount lies: in the pool that is known, else in the carve-out first."""
    if pool == "shared":
        return [_Part("shared", carved, size)]
    return [_Part("carved", 0, min(size, carved)), _Part("shared", carved, max(size - carved, 0))]
