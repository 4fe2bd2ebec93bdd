"""One AMD GPU as rules need it: what it is, which wheels have code for it, and what an override makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from doctor.derive.gfx_support import (
    OVERRIDE,
    bare,
    covered,
    gfx_of_version,
    helpful_override,
    override_verdict,
    targets_of_torch,
)
from doctor.derive.visible_devices import masks_in
from doctor.knowledge.gfx import gfx_row
from doctor.machine.model import Fact, Gpu, Machine
from doctor.machine.unknowns import is_partial

#: Kernel drivers that leave a card to nobody who computes with ROCm: an old one, a virtual machine, none.
_DRIVERS_WITHOUT_ROCM = ("radeon", "vfio-pci", "pci-stub", "none")


class GpuDevice(Fact, frozen=True):
    """An AMD GPU. A field that is None is unknown."""

    name: str | None = None  # as it is called; its gfx or PCI id where that is all there is
    gfx: str | None = None  # the real target, whatever an override says
    pci_id: str | None = None
    integrated: bool | None = None
    hip_index: int | None = None  # as HIP counts; known from an exercise only
    vram_bytes: int | None = None
    kernel_driver: str | None = None
    usable: bool | None = None  # the driver in charge lets ROCm (on Windows: any runtime) at it
    wheel_exists: bool | None = None  # some ROCm wheel for this system has code for this target
    amd_extra: str | None = None  # its name in AMD's multi-arch index ("device-gfx1103"), or "none"
    first_torch: str | None = None  # the first torch whose wheels on download.pytorch.org have it, or "none"
    in_wheel: bool | None = None  # the installed torch has code for it, its own or generic
    override: str | None = None  # the HSA_OVERRIDE_GFX_VERSION that reaches it, or "none"
    override_verdict: str | None = None  # see `gfx_support.override_verdict`; "none" without one
    helpful_override: str | None = None  # the one that lets the installed torch run on it ("10.3.0"), or "none"
    runs: str | None = None  # how the installed torch runs on it: natively, override, no
    in_use: bool | None = None  # the one to compute on; False: an iGPU beside a card, or one that is not usable


def gpu_devices(machine: Machine) -> tuple[GpuDevice, ...] | None:
    """The AMD GPUs in the order of the document; None where it is not known which there are."""
    if machine.gpus is None:
        return None
    targets = targets_of_torch(machine) if machine.torch is not None and machine.torch.hip != "none" else None
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == "amd"]
    able = Counter(gpu.integrated for gpu in gpus if is_usable(machine, gpu) is not False)
    return tuple(_device(machine, gpu, able, targets) for gpu in gpus)


def _device(machine: Machine, gpu: Gpu, able: Counter[bool | None], targets: Sequence[str] | None) -> GpuDevice:
    row = gfx_row(gpu.gfx)
    override = _override(machine, gpu)
    verdict = _verdict(gpu, override, targets)
    in_wheel = None if gpu.gfx is None or targets is None else covered(gpu.gfx, targets)
    return GpuDevice(
        name=gpu.name or gpu.gfx or f"AMD GPU {gpu.pci_id or ''}".strip(),
        gfx=None if gpu.gfx is None else bare(gpu.gfx),
        pci_id=gpu.pci_id,
        integrated=gpu.integrated,
        hip_index=gpu.hip_index,
        vram_bytes=gpu.vram_total_bytes if gpu.vram_total_bytes is not None else gpu.dedicated_bytes,
        kernel_driver=gpu.kernel_driver,
        usable=is_usable(machine, gpu),
        wheel_exists=_wheel_exists(machine, gpu),
        amd_extra=None if row is None else row.amd_extra or "none",
        first_torch=None if row is None else row.torch or "none",
        in_wheel=in_wheel,
        override=override,
        override_verdict=verdict,
        helpful_override=_helpful(machine, gpu, targets),
        runs=_runs(in_wheel, verdict),
        in_use=_in_use(machine, gpu, able),
    )


def is_usable(machine: Machine, gpu: Gpu) -> bool | None:
    """Does the driver in charge leave the card to who computes? On Windows and WSL its driver is that of Windows."""
    if gpu.hip_index is not None or (machine.os is not None and (machine.os.kind == "windows" or machine.os.wsl)):
        return True
    return None if gpu.kernel_driver is None else gpu.kernel_driver not in _DRIVERS_WITHOUT_ROCM


def _wheel_exists(machine: Machine, gpu: Gpu) -> bool | None:
    row = gfx_row(gpu.gfx)
    system = machine.os.kind if machine.os else None
    if row is None or system is None:
        return None
    return row.windows is not None if system == "windows" else system == "linux" and row.has_linux_wheel


def _override(machine: Machine, gpu: Gpu) -> str | None:
    """The override that reaches a GPU: that of its node in the compute topology goes before that of all GPUs."""
    env = machine.env
    if env is None:
        return None
    of_nodes = {name: value for name, value in env.items() if name.startswith(f"{OVERRIDE}_")}
    if of_nodes and gpu.kfd_node is None:
        return None
    own = of_nodes.get(f"{OVERRIDE}_{gpu.kfd_node}") or env.get(OVERRIDE)
    # The runtime of Windows does not read it.
    if machine.os is not None and machine.os.kind == "windows":
        return "none"
    return own or (None if is_partial(machine, "env") else "none")


def _verdict(gpu: Gpu, override: str | None, targets: Sequence[str] | None) -> str | None:
    if override is None or override == "none":
        return override
    if gfx_of_version(override) is None:
        return "unparsable"
    return None if gpu.gfx is None else override_verdict(override, gpu.gfx, targets)


def _helpful(machine: Machine, gpu: Gpu, targets: Sequence[str] | None) -> str | None:
    if machine.os is not None and machine.os.kind == "windows":
        return "none"
    return None if gpu.gfx is None else helpful_override(gpu.gfx, targets)


def _runs(in_wheel: bool | None, verdict: str | None) -> str | None:
    """How the installed torch runs on a GPU. With an override in the way that is not the target's own, it does not."""
    if verdict in ("needed", "unreliable"):
        return "override"
    if in_wheel is False:
        return "no"
    if verdict in ("none", "redundant"):
        return "natively" if in_wheel else None
    return None


def _in_use(machine: Machine, gpu: Gpu, able: Counter[bool | None]) -> bool | None:
    """Is this the GPU to compute on? A card goes before an iGPU; where a mask chooses, what torch lists decides.

    `able`: how many of the GPUs that may be usable are integrated, are cards, are either.
    """
    if is_usable(machine, gpu) is False:
        return False
    if able.total() == 1:
        return True
    if machine.env is None or (is_partial(machine, "env") and not masks_in(machine.env)):
        return None
    if masks_in(machine.env):
        return _listed_by_torch(machine, gpu)
    if gpu.integrated is None or gpu.integrated is False:
        return True if gpu.integrated is False else None
    if able[False]:
        return False
    return None if able[None] else True


def _listed_by_torch(machine: Machine, gpu: Gpu) -> bool | None:
    """Does torch list the GPU's target? With an override it lists other names than the real ones."""
    devices = machine.torch.devices if machine.torch else None
    told = machine.env is not None and not is_partial(machine, "env")
    overridden = not told or any(name.startswith(OVERRIDE) for name in machine.env or {})
    if devices is None or overridden or gpu.gfx is None or any(device.gfx is None for device in devices):
        return None
    return bare(gpu.gfx) in {bare(device.gfx) for device in devices if device.gfx}
