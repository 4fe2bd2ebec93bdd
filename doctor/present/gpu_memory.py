"""The memory of an integrated GPU in one view, in GiB: what there is, who can reach it, and what changes it."""

from __future__ import annotations

from doctor.derive.gpu_memory import GpuMemoryFacts, gpu_memory_facts
from doctor.machine.model import Gpu, Machine
from doctor.present.gpu import gib_text, gpu_name
from doctor.present.language import phrase, say
from doctor.present.text import listed, padded, wrap

_LABEL_COLUMNS = 26
_SIZE_COLUMNS = 11
_TEXT_COLUMNS = 72

#: A larger limit is worth a word from so much more on.
_WORTH_IT_BYTES = 1 << 30


def memory_view(machine: Machine) -> list[str]:
    """The lines of the view; none where no integrated GPU computes, or nothing is known of its memory."""
    facts = gpu_memory_facts(machine)
    rows = _rows(machine, facts)
    if not facts.applies or not rows:
        return []
    gpu = next((gpu for gpu in machine.gpus or () if gpu.vendor == "amd" and gpu.integrated), Gpu())
    lines = [say("Memory of {name}", name=gpu_name(gpu))]
    for label, size, note in rows:
        lines.append(f"  {padded(label, _LABEL_COLUMNS)}{gib_text(size).rjust(_SIZE_COLUMNS)}   {note}".rstrip())
    for text in _settings(machine, facts, gpu):
        lines += [f"  {part}" for part in wrap(text, _TEXT_COLUMNS, hang=2)]
    return lines + _limit_lines(facts)


def _rows(machine: Machine, facts: GpuMemoryFacts) -> list[tuple[str, int, str]]:
    """(label, bytes, note): first what there is, then what each can reach of it."""
    windows = machine.os is not None and machine.os.kind == "windows"
    ram = machine.memory.total_bytes if machine.memory else None
    carve_out, shared = say("carve-out (VRAM)"), say("shared (GTT)")
    if windows:
        carve_out, shared = say("dedicated"), say("shared")
    both = say("reached by DirectML") if windows else say("reached by Vulkan")
    found = [
        (carve_out, facts.carve_out_bytes, say("taken from the RAM by the firmware")),
        (shared, facts.shared_bytes, say("lent by the RAM while it is needed")),
        (say("RAM"), ram, say("what the system has, the shared part included")),
        (say("reached by PyTorch"), facts.torch_bytes, say("as PyTorch itself reports it")),
        (say("reached by ROCm"), None if windows else facts.rocm_bytes, _pool_note(facts)),
        (both, facts.reachable_bytes, say("both parts")),
        (say("reached by the CPU"), ram, ""),
    ]
    return [(label, size, note) for label, size, note in found if size is not None]


def _pool_note(facts: GpuMemoryFacts) -> str:
    words = {"shared": phrase("the shared part alone"), "carve-out": phrase("the carve-out alone")}
    return say(words[facts.rocm_pool]) if facts.rocm_pool in words else ""


def _settings(machine: Machine, facts: GpuMemoryFacts, gpu: Gpu) -> list[str]:
    """The one setting to change, and what stands in its way."""
    if machine.os is not None and machine.os.kind == "windows":
        return [
            say("To change it: Variable Graphics Memory in AMD Software (Performance, Tuning), or UMA in the firmware.")
        ]
    if machine.os is not None and machine.os.wsl:
        return [say("To change it: Variable Graphics Memory in AMD Software on Windows.")]
    texts = []
    if facts.old_kernel:
        texts.append(say("Before Linux 6.9.9 ROCm has the carve-out alone: take a newer kernel, or a larger UMA."))
    elif facts.rocm_pool == "shared" and facts.small_carve_out is False:
        texts.append(say("ROCm leaves the carve-out unused: set UMA in the firmware to its smallest."))
    if facts.both_set:
        words = phrase("amdgpu.gttsize and ttm.pages_limit are both set: keep the second, the first is deprecated.")
        texts.append(say(words))
    if facts.foreign_module_option not in (None, "none"):
        modules = {"foreign": facts.foreign_module_option, "module": facts.module}
        texts.append(say("Options for {foreign} do nothing here: the module is {module}.", **modules))
    if gpu.carveout_options_bytes:
        sizes = listed([gib_text(size) for size in gpu.carveout_options_bytes])
        words = phrase("This board lets the kernel set the carve-out for the next boot (uma/carveout): {sizes}.")
        texts.append(say(words, sizes=sizes))
    return texts


def _limit_lines(facts: GpuMemoryFacts) -> list[str]:
    """The largest limit for the shared part, where it gives ROCm more than it has by enough."""
    if facts.old_kernel or facts.wanted_gib is None or facts.shared_bytes is None:
        return []
    if facts.foreign_module_option not in (None, "none"):
        return []
    if (facts.wanted_gib << 30) - max(facts.shared_bytes, facts.rocm_bytes or 0) < _WORTH_IT_BYTES:
        return []
    module, pages = facts.module or "ttm", facts.wanted_pages
    words = phrase("Up to {size} GiB can be shared, a quarter left to the system. Start the kernel with")
    if facts.small_carve_out is False:
        words = phrase(
            "With the smallest UMA, up to {size} GiB can be shared, a quarter left to the system. Start the kernel with"
        )
    text = say(words, size=facts.wanted_gib)
    parts = [f"  {part}" for part in wrap(text, _TEXT_COLUMNS, hang=2)]
    return [*parts, f"    {module}.pages_limit={pages} {module}.page_pool_size={pages}"]
