"""What the screen says of the GPUs: each with its target, memory and driver, and whether this user may use it."""

from __future__ import annotations

from doctor.derive.gpu_access import GpuAccessFacts, gpu_access_facts
from doctor.derive.gpu_device import gpu_devices
from doctor.knowledge.gfx import gfx_row
from doctor.machine.model import Gpu, Machine
from doctor.present.language import counted, joined, phrase, say, told
from doctor.present.says import Says, not_known
from doctor.present.text import bytes_text

_VENDORS = {"amd": "AMD", "nvidia": "NVIDIA", "intel": "Intel"}

#: Drivers whose name says little to who does not know them.
_DRIVERS = {
    "none": phrase("no driver has it"),
    "vfio-pci": phrase("kept for a virtual machine by vfio-pci"),
    "pci-stub": phrase("kept for a virtual machine by pci-stub"),
    "radeon": phrase("driver radeon, which knows no ROCm"),
}


def gpu_says(machine: Machine) -> Says:
    """A line for each GPU; then, on Linux with a card of AMD, whether its nodes are open to this user."""
    if machine.gpus is None:
        return _hidden(machine)
    if not machine.gpus:
        return Says(facts=(say("none found"),))
    several = sum(gpu.vendor == "amd" for gpu in machine.gpus) > 1
    lines = [gpu_text(gpu, numbered=several) for gpu in machine.gpus]
    return Says(facts=(*lines, *_without_wheel(machine), *_access_text(machine)))


def _hidden(machine: Machine) -> Says:
    in_wsl = machine.os is not None and bool(machine.os.wsl)
    if in_wsl and gpu_access_facts(machine).dxg_exists is False:
        return Says(facts=_wsl_text(machine))
    what = say("which GPU Windows lends") if in_wsl else say("whether there is a GPU")
    return Says(facts=_wsl_text(machine), missing=(not_known(machine, "gpus", what=what),))


def gpu_text(gpu: Gpu, *, numbered: bool = False) -> str:
    """`AMD Radeon RX 7900 XTX (gfx1100, 24 GiB, driver amdgpu)`."""
    inside = [gpu.gfx] if gpu.gfx else []
    inside += [say("part of the processor")] if gpu.integrated else []
    inside += [text for text in (memory_text(gpu), _driver_text(gpu)) if text]
    if numbered and gpu.hip_index is not None:
        inside.append(say("device {number} for HIP", number=gpu.hip_index))
    return say("{name} ({inside})", name=gpu_name(gpu), inside=joined(inside)) if inside else gpu_name(gpu)


def gpu_name(gpu: Gpu) -> str:
    """Its product name, else its family, else its PCI id."""
    if gpu.name:
        return gpu.name
    row = gfx_row(gpu.gfx)
    if row is not None and gpu.vendor in ("amd", None):
        return f"AMD {row.family} GPU"
    return " ".join((_VENDORS.get(gpu.vendor or "") or say("unknown"), "GPU", gpu.pci_id or "")).strip()


def memory_text(gpu: Gpu) -> str:
    """`24 GiB`; of a GPU that is part of the processor both parts: `0.5 GiB carved out + 7.5 GiB shared`
    (Windows calls the first one dedicated)."""
    own = gpu.vram_total_bytes if gpu.vram_total_bytes is not None else gpu.dedicated_bytes
    if not gpu.integrated:
        return bytes_text(own) if own else ""
    shared = gpu.gtt_total_bytes if gpu.gtt_total_bytes is not None else gpu.shared_bytes
    word = phrase("{size} carved out") if gpu.dedicated_bytes is None else phrase("{size} dedicated")
    parts = [say(word, size=gib_text(own))] if own is not None else []
    parts += [say("{size} shared", size=gib_text(shared))] if shared is not None else []
    return " + ".join(parts)


def gib_text(count: int) -> str:
    """In GiB, with one decimal: sizes that are compared are written alike."""
    return f"{count / (1 << 30):.1f} GiB"


def _driver_text(gpu: Gpu) -> str:
    if gpu.kernel_driver in _DRIVERS:
        return say(_DRIVERS[gpu.kernel_driver])
    name = " ".join(word for word in (gpu.kernel_driver, gpu.driver_version) if word)
    return say("driver {name}", name=name) if name else ""


def _without_wheel(machine: Machine) -> tuple[str, ...]:
    """The targets that no ROCm wheel for this system has code for."""
    devices = gpu_devices(machine) or ()
    names = dict.fromkeys(device.gfx for device in devices if device.gfx and device.wheel_exists is False)
    return tuple(say("no ROCm wheel for this system has code for {name}", name=name) for name in names)


def _wsl_text(machine: Machine) -> tuple[str, ...]:
    if machine.os is None or not machine.os.wsl:
        return ()
    exists = gpu_access_facts(machine).dxg_exists
    if exists is None:
        return ()
    if exists:
        return (say("/dev/dxg is there: Windows lends a GPU"),)
    return (say("/dev/dxg is missing: Windows lends no GPU"),)


def _access_text(machine: Machine) -> tuple[str, ...]:
    """In plain words whether this user may use the GPU. On Windows and WSL there is nothing to open."""
    system = machine.os
    if system is None or system.kind != "linux" or system.wsl:
        return ()
    if not any(gpu.vendor == "amd" and gpu.kernel_driver not in _DRIVERS for gpu in machine.gpus or ()):
        return ()
    access = gpu_access_facts(machine)
    if access.missing:
        return (_missing_text(access, in_container=system.container not in (None, "none")),)
    if access.denied not in (None, "none"):
        says, owner = say("this user may not open {nodes}", nodes=told(access.denied_nodes or "")), _owner_text(access)
        return (say("{what} ({reasons})", what=says, reasons=owner) if owner else says,)
    if not access.accessible:
        return ()
    one = "open to this user: /dev/kfd and {count} render node"
    return (counted(one, "open to this user: /dev/kfd and {count} render nodes", access.open_render_nodes or 0),)


def _missing_text(access: GpuAccessFacts, *, in_container: bool) -> str:
    several = " and " in (access.missing_nodes or "")
    words = phrase("{nodes} do not exist") if several else phrase("{nodes} does not exist")
    if in_container:
        inside = phrase("{nodes} do not exist in this container"), phrase("{nodes} does not exist in this container")
        words = inside[0] if several else inside[1]
    return say(words, nodes=told(access.missing_nodes or ""))


def _owner_text(access: GpuAccessFacts) -> str:
    """`group render, 992, mode 0660`, as far as it is known."""
    inside = [say("group {name}", name=access.denied_group)] if access.denied_group not in (None, "none") else []
    if access.denied_gid is not None:
        inside.append(f"{access.denied_gid}" if inside else say("group {name}", name=access.denied_gid))
    inside += [say("mode {mode}", mode=access.denied_mode)] if access.denied_mode else []
    inside += [say("an access list decides")] if access.denied_acl else []
    return joined(inside)


