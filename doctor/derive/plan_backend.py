"""What PyTorch can compute on here: every backend either as a choice with its reason and its price, or as a refusal.

Nothing is chosen that no table proves: an index comes from `rocm_wheels.yaml`, a target from `gfx.yaml` and
`rocm_arch.yaml`, a release of torch-directml from `directml.yaml`. Where they end, an official page is named instead.
"""

from __future__ import annotations

from doctor.derive.backend import FOR_A_SCREEN
from doctor.derive.facts import Derived
from doctor.derive.gpus import gpu_facts
from doctor.derive.plan_model import Choice, Install, LookUp, Refusal
from doctor.derive.plan_python import newest_settled, platform_machine, torch_tags, version_of
from doctor.derive.plan_rocm import rocm, rocm_gpu_words
from doctor.derive.plan_tables import directml_row, page_row, plain_row
from doctor.knowledge.directml import DirectmlRelease, last_directml_release
from doctor.knowledge.official_pages import official_page
from doctor.knowledge.rocm_wheels import rocm_wheels
from doctor.machine.model import Machine

#: The first builds of Windows with DirectML for PyTorch, and with it in WSL (Microsoft's pages on it).
_WINDOWS_BUILD, _WSL_BUILD = 16299, 22000
_X86_64 = ("x86_64", "amd64")


def backend_choices(machine: Machine, derived: Derived) -> tuple[tuple[Choice, ...], tuple[Refusal, ...]]:
    """Every backend that can work here, best first, and every one that cannot."""
    found = (cuda(machine), rocm(machine, derived), directml(machine), cpu(machine))
    choices = tuple(each for each in found if isinstance(each, Choice))
    return choices, tuple(each for each in found if isinstance(each, Refusal))


def cuda(machine: Machine) -> Choice | Refusal:
    """NVIDIA's cards are not this tool's business: what is there for them is left alone."""
    names = [gpu.name or "an NVIDIA GPU" for gpu in machine.gpus or () if gpu.vendor == "nvidia"]
    if not names:
        known = machine.gpus is not None
        return Refusal("cuda", "There is no NVIDIA GPU." if known else "No NVIDIA GPU is known of.")
    what = "A graphics card of AMD is here too, but" if _has_amd(machine) else "This is not an AMD machine:"
    return Choice(
        backend="cuda",
        option="cuda",
        title="the CUDA build, as it is",
        reason=f"{what} {names[0]} computes with CUDA. amd-doctor leaves CUDA builds alone.",
        look_up=(LookUp("The build of PyTorch for this NVIDIA GPU", official_page("pytorch").address),),
    )


def directml(machine: Machine) -> Choice | Refusal:
    """torch-directml, on Windows or in WSL 2."""
    reason = _no_directml(machine)
    if reason is not None:
        return Refusal("directml", reason)
    last = last_directml_release()
    in_wsl = _wsl(machine) > 0
    words = rocm_gpu_words(machine) or "the GPU"
    price = [
        f"every torch but {last.torch}, and every Python after {version_of(last.windows[-1])}",
        f"new releases: the last is of {last.released}, and nobody develops it any more",
        "autocast, and some operators, which fall back to the CPU",
    ]
    page = official_page("directml-wsl" if in_wsl else "directml-windows")
    build = _WSL_BUILD if in_wsl else _WINDOWS_BUILD
    return Choice(
        backend="directml",
        option="directml",
        title="DirectML (torch-directml)",
        reason=f"DirectX 12 reaches {words}.",
        gives_up=tuple(price),
        notes=(f"It needs Windows of build {build} or later, and a current graphics driver there.",),
        installs=_directml_installs(last, in_wsl),
        pythons=tuple(map(version_of, last.tags("linux" if in_wsl else "windows"))),
        newest=version_of(last.tags("linux" if in_wsl else "windows")[-1]),
        why_not=_not_directml(machine, last, in_wsl),
        sources=(directml_row(last), page_row(page)),
    )


def _not_directml(machine: Machine, last: DirectmlRelease, in_wsl: bool) -> str | None:
    gpu = gpu_facts(machine).main
    if gpu is not None and gpu.gfx in FOR_A_SCREEN:
        return "this GPU has two compute units, and the CPU is nearly always faster"
    if in_wsl or not _has_amd(machine):
        return f"it is not developed any more and keeps torch at {last.torch}"
    return None


def _directml_installs(last: DirectmlRelease, in_wsl: bool) -> tuple[Install, ...]:
    plugin = Install((f"torch-directml=={last.version}",))
    if not in_wsl:
        return (plugin,)
    # On Linux PyPI has the torch that it asks for as a CUDA build only, of several GB.
    return (Install((f"torch=={last.torch}", f"torchvision=={last.torchvision}"), rocm_wheels().plain.cpu), plugin)


def _no_directml(machine: Machine) -> str | None:
    """Why DirectML cannot work here; None where nothing speaks against it."""
    system, arch = machine.os, platform_machine(machine)
    if system is None or system.kind is None:
        return "The operating system is not known."
    if system.kind != "windows" and _wsl(machine) < 2:
        return "DirectML needs the DirectX 12 of Windows: there is none on this system (libd3d12.so)."
    if arch is not None and arch.lower() not in _X86_64:
        return f"torch-directml has wheels for x86-64 only, and this is {arch}."
    dxg = (machine.nodes or {}).get("/dev/dxg")
    if system.kind == "linux" and dxg is not None and dxg.exists is False:
        return "There is no /dev/dxg, so Windows lends WSL no GPU: update it with wsl --update."
    build = machine.windows.build if machine.windows else None
    if build is not None and build < _WINDOWS_BUILD:
        return f"Windows must be of build {_WINDOWS_BUILD} or later, and this is {build}."
    if machine.gpus == () and system.kind == "windows":
        return "There is no GPU."
    return None


def cpu(machine: Machine) -> Choice | Refusal:
    """PyTorch without a GPU: it works wherever there are wheels."""
    kind = machine.os.kind if machine.os else None
    if kind is None:
        return Refusal("cpu", "The operating system is not known.")
    tags = torch_tags(machine)
    if not tags:
        return Refusal("cpu", f"The tables know no wheel of PyTorch for {kind} on {platform_machine(machine)}.")
    index = None if kind == "macos" else rocm_wheels().plain.cpu
    return Choice(
        backend="cpu",
        option="cpu",
        title="the CPU alone",
        reason=_cpu_reason(machine),
        gives_up=("the GPU",) if machine.gpus else (),
        installs=(Install(("torch",), index),),
        pythons=tuple(map(version_of, tags)),
        newest=newest_settled(tags),
        sources=(plain_row(index),) if index is not None else (),
    )


def _cpu_reason(machine: Machine) -> str:
    if machine.gpus is None:
        return "Which GPU this machine has is not known; the CPU always works."
    if not machine.gpus:
        return "There is no GPU."
    if not _has_amd(machine):
        return "There is no AMD GPU."
    return "It always works."


def _has_amd(machine: Machine) -> bool:
    return any(gpu.vendor == "amd" for gpu in machine.gpus or ())


def _wsl(machine: Machine) -> int:
    return (machine.os.wsl or 0) if machine.os else 0
