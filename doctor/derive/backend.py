"""What PyTorch is to compute on, what its build can compute on, and what it showed on a GPU.

Of the AMD GPUs those count that are worth a wheel: a driver lets ROCm at them, a ROCm wheel has their code, and they
are more than the two compute units that the desktop processors of the Ryzen 7000 and 9000 series have for a screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.derive.gpu_device import GpuDevice
from doctor.derive.gpus import GpuFacts, gpu_facts
from doctor.derive.overwritten import overwritten_facts
from doctor.derive.truth import both, known_count
from doctor.machine.model import Fact, Machine, NoneWord, Package
from doctor.texts.torch_version import NO_HIP

#: Two compute units: the processor beside them is nearly always faster (`gfx.yaml`).
FOR_A_SCREEN = ("gfx1036",)

#: Libraries that only a build with a ROCm of its own has in `torch/lib`.
_OWN_ROCM = ("libamdhip64", "libhsa-runtime64", "amdhip64")


class BackendFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "torch_absent": ("torch.installed",),
        "rocm_build": ("torch.hip", "torch.build"),
        "gpu_wanted": ("intent.backend",),
        "rocm_expected": ("intent.backend", "torch.hip", "torch.build", "gpus"),
        "directml_installed": ("torch_directml.installed",),
        "wheel_gpus": ("gpus", "gpus.gfx", "os.kind"),
        "sees_gpu": ("torch.is_available", "torch.device_count", "torch.devices"),
        "sees_no_gpu": ("torch.is_available", "torch.device_count"),
        "gpu_worked": ("exercises",),
        "gpu_failed": ("exercises",),
        "own_rocm": ("torch.bundles", "torch.version", "packages.torch.installer"),
        "wsl_gpu_wanted": ("intent.backend", "torch.build", "torch_directml.installed"),
        "denormal_time_ratio": ("measurements.denormals.kept_seconds", "measurements.denormals.flushed_seconds"),
    }
    torch_absent: bool = False  # PyTorch is known not to be installed
    rocm_build: bool | None = None  # torch is built for ROCm, and its build found HIP
    gpu_wanted: bool = True  # nobody asked for the CPU, for DirectML or for CUDA
    rocm_expected: bool | None = None  # ROCm is wanted here, whether this torch can or not
    directml_installed: bool | None = None
    wheel_gpus: int | None = None  # AMD GPUs worth a wheel, see above
    sees_gpu: bool = False  # a ROCm build was seen to list one: then it could open what it needs
    sees_no_gpu: bool | None = None  # torch.cuda.is_available() is false, or it lists no device
    gpu_worked: bool = False  # a calculation on a GPU was seen to come out right, all GPUs being visible
    gpu_failed: bool = False  # one was seen to fail
    own_rocm: bool | None = None  # this torch brings its own ROCm, and needs none of the system's
    wsl_gpu_wanted: bool | None = None  # what is installed, or asked for, would compute on the GPU of WSL
    denormal_time_ratio: float | NoneWord = "none"  # measured: what keeping tiny numbers costs on the CPU


def backend_facts(machine: Machine, today: date | None = None) -> BackendFacts:
    gpus = gpu_facts(machine)
    return BackendFacts(
        torch_absent=machine.torch is not None and machine.torch.installed is False,
        rocm_build=rocm_build(machine),
        gpu_wanted=_asked(machine) in (None, "auto", "rocm"),
        rocm_expected=_rocm_expected(machine, gpus),
        directml_installed=directml_installed(machine),
        wheel_gpus=wheel_gpus(gpus),
        sees_gpu=_sees_gpu(machine),
        sees_no_gpu=_sees_no_gpu(machine),
        gpu_worked=gpus.worked is True,
        gpu_failed=gpus.failed not in (None, "none"),
        own_rocm=_own_rocm(machine),
        wsl_gpu_wanted=_wsl_gpu_wanted(machine),
        denormal_time_ratio=_denormal_time_ratio(machine),
    )


def rocm_build(machine: Machine) -> bool | None:
    torch = machine.torch
    if torch is None or torch.installed is False:
        return None if torch is None else False
    if torch.hip is not None:
        return torch.hip not in ("none", NO_HIP)
    return None if torch.build is None else torch.build == "rocm"


def wheel_gpus(gpus: GpuFacts) -> int | None:
    if gpus.devices is None:
        return None
    return known_count(gpus.devices, lambda gpu: both(gpu.usable, gpu.wheel_exists, not for_a_screen(gpu)))


def for_a_screen(gpu: GpuDevice) -> bool:
    return gpu.gfx in FOR_A_SCREEN


def directml_installed(machine: Machine) -> bool | None:
    """It exists on Windows and in WSL only."""
    told = machine.torch_directml.installed if machine.torch_directml else None
    if told is not None:
        return told
    return False if machine.os is not None and machine.os.kind == "linux" and machine.os.wsl == 0 else None


def _asked(machine: Machine) -> str | None:
    return machine.intent.backend if machine.intent else None


def _rocm_expected(machine: Machine, gpus: GpuFacts) -> bool | None:
    asked, built = _asked(machine), rocm_build(machine)
    if asked not in (None, "auto"):
        return asked == "rocm"
    if built or (machine.torch is not None and machine.torch.hip == NO_HIP):
        return True
    if built is None or machine.torch is None or machine.torch.installed is False:
        return None
    if overwritten_facts(machine).rocm_leftovers:
        return True
    if directml_installed(machine) or (gpus.nvidia_gpus or 0) > 0:
        return False
    wanted = wheel_gpus(gpus)
    return None if wanted is None else wanted > 0


def _sees_no_gpu(machine: Machine) -> bool | None:
    torch = machine.torch
    if torch is None:
        return None
    if torch.is_available is False or torch.device_count == 0:
        return True
    return None if torch.is_available is None and torch.device_count is None else False


def _sees_gpu(machine: Machine) -> bool:
    """Also one that was listed only while the others were hidden."""
    listed = bool(machine.torch is not None and machine.torch.devices)
    return bool(rocm_build(machine)) and (listed or _sees_no_gpu(machine) is False)


def _wsl_gpu_wanted(machine: Machine) -> bool | None:
    """A CPU build without torch-directml is there on purpose; a CUDA build may be just what pip takes by itself."""
    asked, built = _asked(machine), rocm_build(machine)
    if asked not in (None, "auto"):
        return asked != "cpu"
    if built or directml_installed(machine):
        return True
    cpu_build = machine.torch is not None and machine.torch.build == "cpu"
    return False if cpu_build and directml_installed(machine) is False else None


def _denormal_time_ratio(machine: Machine) -> float | NoneWord:
    times = machine.measurements.denormals if machine.measurements else None
    if times is None or times.kept_seconds is None or not times.flushed_seconds:
        return "none"
    return times.kept_seconds / times.flushed_seconds


def _own_rocm(machine: Machine) -> bool | None:
    """Distributions and conda build torch against a ROCm beside it; a wheel brings its own."""
    torch = machine.torch
    if torch is None:
        return None
    if torch.bundles is not None and any(name.startswith(_OWN_ROCM) for name in torch.bundles):
        return True
    if (machine.packages or {}).get("torch", Package()).installer in ("distro", "conda", "source"):
        return False
    return True if (torch.version or "").partition("+")[2].startswith("rocm") else None
