"""ROCm as a backend of the plan: on Linux, on Windows, in WSL 2; by a wheel with the GPU's own code, or by override."""

from __future__ import annotations

import msgspec

from doctor.derive.backend import FOR_A_SCREEN
from doctor.derive.facts import Derived
from doctor.derive.gfx_support import gfx_of_version
from doctor.derive.gpu_device import GpuDevice
from doctor.derive.gpus import GpuFacts, gpu_facts
from doctor.derive.plan_model import Choice, Install, LookUp, Refusal
from doctor.derive.plan_python import platform_machine, versions_between
from doctor.derive.plan_tables import last_on_index, later_releases, override_row, page_row, wheel_rows
from doctor.derive.versions import parsed, release_below
from doctor.derive.wheels import PARTNERS, WheelSource, best_source, sources_for
from doctor.knowledge.gfx import GfxRow, gfx_row
from doctor.knowledge.official_pages import official_page
from doctor.knowledge.rocm_wheels import rocm_wheels
from doctor.machine.model import Machine, Python

_X86_64 = ("x86_64", "amd64")

#: The Adrenalin that the ROCm of WSL needs on Windows (librocdxg; ROCm#6022; as of 2026-11-30).
_WSL_ADRENALIN = "26.2.2"


def rocm(machine: Machine, derived: Derived) -> Choice | Refusal:
    """ROCm on the GPU to compute on, or why that cannot be."""
    gpus = derived.gpu or gpu_facts(machine)
    reason = _impossible(machine, gpus)
    if reason is not None:
        return Refusal("rocm", reason)
    gpu = gpus.main
    if machine.os is not None and machine.os.wsl:
        return _in_wsl(machine, gpu)
    assert gpu is not None and gpu.gfx is not None  # what else there could be is impossible
    found = _sources(machine, gpu.gfx)
    if found:
        source = best_source(machine, found) or found[0]
        return _by_wheel(machine, derived, gpu, gpu.gfx, source)
    return _by_override(machine, gpu)


def _sources(machine: Machine, gfx: str) -> tuple[WheelSource, ...]:
    """Where wheels for a target come from. Old releases count only where there are no others: another Python is the
    better way. A processor that nobody named is taken for x86-64, and the plan says so."""
    if platform_machine(machine) is None:
        python = msgspec.structs.replace(machine.python or Python(), machine=_X86_64[0])
        machine = msgspec.structs.replace(machine, python=python)
    found = sources_for(machine, gfx)
    old = {row.index for row in rocm_wheels().pytorch if row.old}
    return tuple(source for source in found if source.index_url not in old) or found


def rocm_gpu_words(machine: Machine) -> str | None:
    """`Radeon RX 7900 XTX (gfx1100)`: the AMD GPU to compute on, as the plan calls it."""
    gpu = gpu_facts(machine).main
    return None if gpu is None else _words(gpu)


def _words(gpu: GpuDevice) -> str:
    name = gpu.name or "The AMD GPU"
    return name if gpu.gfx is None or gpu.gfx in name else f"{name} ({gpu.gfx})"


def _impossible(machine: Machine, gpus: GpuFacts) -> str | None:
    """Why there can be no ROCm here, whatever the tables say; None where they decide."""
    system, arch = machine.os, platform_machine(machine)
    if system is None or system.kind is None:
        return "The operating system is not known."
    if system.kind not in ("linux", "windows"):
        return "ROCm exists on Linux and Windows only."
    if system.wsl == 1:
        return "WSL 1 has no GPU: convert it to WSL 2 first."
    if arch is not None and arch.lower() not in _X86_64:
        return f"ROCm wheels are for x86-64 only, and this is {arch}."
    if system.wsl and gpus.amd_gpus != 0:
        return None
    return _no_gpu(gpus)


def _no_gpu(gpus: GpuFacts) -> str | None:
    if gpus.devices is None:
        return "Which GPU this machine has is not known."
    if not gpus.devices:
        return "There is no AMD GPU."
    usable = [gpu for gpu in gpus.devices if gpu.usable is not False]
    if not usable:
        taken = gpus.devices[0]
        return f"The driver in charge of {_words(taken)} is {taken.kernel_driver}, which leaves nothing to ROCm."
    if gpus.main is None:
        names = ", ".join(_words(gpu) for gpu in usable)
        return f"It is not known which of these GPUs is to compute: {names}."
    if gpus.main.gfx is None:
        return f"The target (gfx…) of {_words(gpus.main)} is not known, and the wheel depends on it."
    return None


# A wheel with the GPU's own code


def _by_wheel(machine: Machine, derived: Derived, gpu: GpuDevice, gfx: str, source: WheelSource) -> Choice:
    windows = machine.os is not None and machine.os.kind == "windows"
    of_amd = source.index_url == rocm_wheels().amd.index
    backend = "rocm-windows" if windows else "rocm-amd" if of_amd else "rocm-pytorch"
    titles = {
        "rocm-windows": "ROCm for Windows, from AMD's multi-arch index",
        "rocm-amd": "the ROCm build of AMD's multi-arch index",
        "rocm-pytorch": "the ROCm build of download.pytorch.org",
    }
    return Choice(
        backend=backend,
        option="rocm",
        title=titles[backend],
        reason=f"{_words(gpu)}: these wheels have code for it.{_not_on_pytorch_org(gpu, backend)}",
        gives_up=_price(source),
        notes=(*_system_notes(machine, derived, gpu), *_nodes_notes(derived), *_beside(derived)),
        installs=(Install(_requirements(machine, source), source.index_url),),
        pythons=versions_between(str(source.first_python), str(source.last_python)),
        newest=str(source.last_python),
        why_not=_too_small(gpu),
        native=True,
        sources=wheel_rows(source, gfx),
        look_up=later_releases(of_amd),
    )


def _not_on_pytorch_org(gpu: GpuDevice, backend: str) -> str:
    """Why AMD's index and not the better known one."""
    if backend == "rocm-windows":
        return " Those of download.pytorch.org are for Linux only."
    row = gfx_row(gpu.gfx)
    if backend == "rocm-pytorch" or row is None:
        return ""
    if row.torch is None:
        return " Those of download.pytorch.org have none."
    return f" Whether those of download.pytorch.org have it (torch {row.torch}) is not proven."


def _requirements(machine: Machine, source: WheelSource) -> tuple[str, ...]:
    """torch, and what must come from the same index as far as it is installed. AMD's page names the extra for
    torchvision as well; torchaudio has none."""
    installed = [name for name in PARTNERS[1:] if name in (machine.packages or {})]
    extra = source.requirement.removeprefix("torch")
    return (source.requirement, *(f"{name}{extra}" if name == "torchvision" else name for name in installed))


def _price(source: WheelSource) -> tuple[str, ...]:
    amd = rocm_wheels().amd
    if source.index_url == amd.index:
        return (f"torch before {amd.torch[0]} and after {amd.torch[1]}, which the tables do not know on this index",)
    return (f"torch after {last_on_index(source.index_url)}, which the tables do not know on this index",)


def _system_notes(machine: Machine, derived: Derived, gpu: GpuDevice) -> tuple[str, ...]:
    system, row = machine.os, gfx_row(gpu.gfx)
    if system is None or row is None:
        return ()
    if platform_machine(machine) is None:
        return ("It needs an x86-64 processor, and nothing tells which this is.",)
    if system.kind == "windows":
        hides = derived.windows_driver.hides if derived.windows_driver else None
        broken = f"This driver was reported to hide the GPU from ROCm: {hides}." if hides not in (None, "none") else ""
        return tuple(text for text in ("It needs a current Adrenalin driver of AMD.", broken) if text)
    return _kernel_notes(system.kernel, row)


def _kernel_notes(kernel: str | None, row: GfxRow) -> tuple[str, ...]:
    if row.kernel is None or parsed(row.kernel) is None:
        return ()
    wanted = f"For {row.gfx} AMD asks for Linux {row.kernel} or later"
    older = _is_older(kernel, row.kernel)
    if older is None:
        return (f"{wanted}.",)
    return (f"{wanted}; this is {kernel}: update the kernel first.",) if older else ()


def _is_older(kernel: str | None, wanted: str) -> bool | None:
    bound = parsed(wanted)
    return None if kernel is None or bound is None else release_below(kernel.partition("-")[0], bound.release)


def _nodes_notes(derived: Derived) -> tuple[str, ...]:
    """Where the driver offers no way in, no wheel helps. Of containers the steps speak."""
    access, reach = derived.gpu_access, derived.gpu_reach
    if access is None or not access.missing or (reach is not None and reach.container_without_nodes):
        return ()
    return (f"There is no {access.missing_nodes} yet, and ROCm needs it: amd-doctor check says why.",)


def _beside(derived: Derived) -> tuple[str, ...]:
    """An iGPU beside the card: PyTorch may take the wrong one."""
    gpus = derived.gpu
    if gpus is None or not gpus.mixed or gpus.masked:
        return ()
    small = next((gpu.gfx for gpu in gpus.devices or () if gpu.integrated and gpu.gfx), "the integrated GPU")
    return (
        f"The processor's own GPU ({small}) may get in the way of the card. amd-doctor check says, once PyTorch is "
        "installed, whether to hide it with HIP_VISIBLE_DEVICES, and which number the card has.",
    )


def _too_small(gpu: GpuDevice) -> str | None:
    if gpu.gfx not in FOR_A_SCREEN:
        return None
    return f"{_words(gpu)} has two compute units, and the CPU is nearly always faster"


# Another target's code, and WSL


def _by_override(machine: Machine, gpu: GpuDevice) -> Choice | Refusal:
    """No wheel has the target's own code. Where another's is known to run on it, it is offered, never recommended."""
    row, windows = gfx_row(gpu.gfx), machine.os is not None and machine.os.kind == "windows"
    if windows:
        return Refusal("rocm", f"AMD publishes no ROCm wheel for {_words(gpu)} on Windows.")
    override = row.override if row is not None else None
    named = gfx_of_version(override.version) if override is not None and override.verdict == "works" else None
    found = _sources(machine, named) if named is not None else ()
    if row is None or override is None or named is None or not found:
        known = "" if row is not None else ", as far as the tables know"
        return Refusal("rocm", f"No ROCm wheel has code for {_words(gpu)}{known}, and no override is known to help.")
    source = best_source(machine, found) or found[0]
    return Choice(
        backend="rocm-pytorch",
        option="rocm",
        title=f"the ROCm build of download.pytorch.org, run as {named}",
        reason=f"No wheel has code for {_words(gpu)}; users report that the code for {named} runs on it.",
        gives_up=(
            "the support of AMD: it may crash, hang or compute wrong numbers",
            *_price(source),
        ),
        notes=_beside_override(named),
        installs=(Install(_requirements(machine, source), source.index_url),),
        pythons=versions_between(str(source.first_python), str(source.last_python)),
        newest=str(source.last_python),
        why_not=f"it needs HSA_OVERRIDE_GFX_VERSION={override.version}, which AMD does not support",
        override=override.version,
        sources=(*wheel_rows(source, named), override_row(row.gfx, override)),
        look_up=later_releases(of_amd=False),
    )


def _beside_override(named: str) -> tuple[str, ...]:
    row = gfx_row(named)
    return (f"Of {named} itself it is known: {row.note}.",) if row is not None and row.note else ()


def _in_wsl(machine: Machine, gpu: GpuDevice | None) -> Choice | Refusal:
    """The wheels of the indexes in the tables reach no /dev/dxg, so what to install stands at AMD's page."""
    dxg = (machine.nodes or {}).get("/dev/dxg")
    if dxg is not None and dxg.exists is False:
        return Refusal("rocm", "There is no /dev/dxg, so Windows lends WSL no GPU: update it with wsl --update.")
    page = official_page("rocm-wsl")
    known = gpu is not None and gpu.gfx is not None
    name = _words(gpu) if gpu is not None else "Which GPU Windows has is not known here; it"
    return Choice(
        backend="rocm-wsl",
        option="rocm",
        title="ROCm in WSL 2",
        reason=f"{name} is reached through /dev/dxg; AMD supports that for some Radeon cards.",
        gives_up=("graphics memory beyond the RAM of WSL, perhaps",),
        notes=(
            f"It needs Adrenalin {_WSL_ADRENALIN} or later on Windows, and ROCm 7 with librocdxg in WSL.",
            "Ubuntu's packages libhsa-runtime64-1 and libhsakmt1 must not be there: they hide AMD's.",
            "No /dev/kfd, no /dev/dri and no GPU in lspci are normal in WSL. Docker inside it does not help.",
            *_outside_wsl(gpu),
        ),
        why_not=None if known else "it is not known which GPU Windows has",
        enable_dxg=True,
        sources=(page_row(page),),
        look_up=(LookUp("Whether this card is supported, and which wheels to install in WSL", page.address),),
    )


def _outside_wsl(gpu: GpuDevice | None) -> tuple[str, ...]:
    row = gfx_row(gpu.gfx) if gpu is not None else None
    if row is None or row.windows is None:
        return ()
    return (f"On Windows itself AMD has wheels for {row.gfx}: amd-doctor plan, run there, prints how to get them.",)
