"""What the screen says of the software: Python, PyTorch, environment, ROCm, DirectML."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.machine.model import Exercise, Machine, Rocm, Torch, TorchDirectml
from doctor.present.gpu_exercises import devices_text, failed_text, is_on_gpu
from doctor.present.says import Says, not_known
from doctor.present.text import listed, plural, seconds_text

_BUILDS = {"cpu": "CPU build", "cuda": "CUDA build", "rocm": "ROCm build", "xpu": "XPU build", "source": "own build"}
_BLAS = {"mkl": "MKL", "openblas": "OpenBLAS", "blis": "BLIS", "accelerate": "Accelerate", "generic": "generic BLAS"}


def python_says(machine: Machine) -> Says:
    """Version, and which interpreter it is; on a live machine why this one, and which others hold torch."""
    python = machine.python
    if python is None or python.version is None:
        return Says(missing=(not_known(machine, "python.version", "python", what="which Python runs PyTorch"),))
    first = python.version
    first += {"cpython": "", "pypy": " PyPy"}.get(python.implementation or "cpython", f" {python.implementation}")
    first += ", 32-bit" if python.bits == 32 else ""
    first += ", free-threaded" if python.free_threaded else ""
    first += f": {python.executable}" if python.executable else ""
    facts = [first]
    if python.chosen_by:
        facts.append(f"chosen: {python.chosen_by}")
    if python.others_with_torch:
        also = "" if machine.torch is not None and machine.torch.installed is False else "also "
        facts.append(f"PyTorch is {also}in: {listed(python.others_with_torch, at_most=4)}")
    return Says(facts=tuple(facts))


def pytorch_says(machine: Machine) -> Says:
    """Version and build, what it computes with, and how its exercises ended."""
    torch = machine.torch
    if torch is None or torch.installed is None:
        return Says(missing=(not_known(machine, "torch.installed", "torch", what="whether PyTorch is installed"),))
    if torch.installed is False:
        return Says(not_applicable="PyTorch is not installed in this Python")
    first = [torch.version or "installed, version not known"]
    first += [_BUILDS.get(torch.build, torch.build)] if torch.build else []
    first += [f"imports in {seconds_text(torch.import_seconds)}"] if torch.import_seconds and torch.importable else []
    facts = [", ".join(first)]
    if torch.importable is False:
        error = torch.import_error
        wrong = "cannot be imported" + (f": {error}" if error not in (None, "none") else "")
        return Says(facts=tuple(facts), missing=(wrong,))
    facts += [text for text in (torch_uses(torch),) if text]
    if torch.importable is None:
        what = "whether it can be imported and computes right"
        return Says(facts=tuple(facts), missing=(not_known(machine, "torch.importable", "exercises", what=what),))
    of_rocm = built_for_rocm(torch)
    rows = (row for row in machine.exercises or () if not _is_on_directml(row))
    right, wrong = exercises_text([row for row in rows if not (of_rocm and is_on_gpu(row))])
    return Says(facts=(*facts, right) if right else tuple(facts), missing=(wrong,) if wrong else ())


def torch_uses(torch: Torch) -> str:
    """`uses AVX512 code, 16 threads, MKL 2024.2, oneDNN 3.12, libgomp`."""
    parts = [f"{torch.cpu_capability} code"] if torch.cpu_capability else []
    parts += [plural(torch.num_threads, "thread")] if torch.num_threads is not None else []
    if torch.blas:
        parts.append(" ".join((_BLAS.get(torch.blas, torch.blas), torch.blas_version or "")).strip())
    parts += [f"oneDNN {torch.onednn}"] if torch.onednn and torch.onednn != "none" else []
    parts += [torch.openmp] if torch.openmp and torch.openmp != "none" else []
    return f"uses {', '.join(parts)}" if parts else ""


def exercises_text(exercises: Sequence[Exercise]) -> tuple[str, str]:
    """`7 of 7 exercises are right`, and which ones are not; either may be empty."""
    tried = [row for row in exercises if row.outcome not in (None, "skipped")]
    bad = [failed_text(row) for row in tried if row.outcome != "ok"]
    right = f"{len(tried) - len(bad)} of {plural(len(tried), 'exercise')} are right" if tried else ""
    return right, f"not right: {listed(bad, at_most=3)}" if bad else ""


def environment_says(machine: Machine) -> Says:
    """The tuning variables that are set."""
    if machine.env is None:
        return Says(missing=(not_known(machine, "env", what="which tuning variables are set"),))
    if not machine.env:
        return Says(facts=("no tuning variable is set",))
    return Says(facts=(listed([f"{name}={value}" for name, value in sorted(machine.env.items())], at_most=5),))


def rocm_says(machine: Machine) -> Says:
    """Version of ROCm, what PyTorch was built for, what it sees, and on how many GPUs it calculates right."""
    rocm, torch = machine.rocm, machine.torch
    built = torch.hip if torch is not None and built_for_rocm(torch) else None
    facts = [f"ROCm {rocm.version}"] if rocm is not None and rocm.version and rocm.version != "none" else []
    facts += [f"PyTorch is built for ROCm {built}"] if built else []
    if built and torch is not None and torch.is_available is not None:
        seen = [device.gfx or device.name or "a device" for device in torch.devices or ()]
        if not torch.is_available:
            return Says(facts=(", ".join(facts),), missing=("PyTorch sees no GPU",))
        facts.append(f"PyTorch sees {listed(seen) if seen else 'a GPU'}")
    if facts:
        right, missing = _exercised_gpus(machine) if built else ((), ())
        return Says(facts=(", ".join(facts), *right, *_around_rocm(rocm)), missing=missing)
    if machine.gpus is not None and not any(gpu.vendor == "amd" for gpu in machine.gpus):
        return Says(not_applicable="no AMD GPU")
    if torch is not None and torch.installed is False:
        return Says(not_applicable="PyTorch is not installed in this Python")
    if torch is not None and torch.hip == "none":
        return Says(not_applicable="this PyTorch is not built for ROCm")
    if rocm is not None and rocm.version == "none":
        return Says(facts=("no ROCm is installed on this system; a PyTorch wheel brings its own", *_around_rocm(rocm)))
    return Says(missing=(not_known(machine, "rocm.version", "rocm", what="which ROCm is installed"),))


def built_for_rocm(torch: Torch) -> bool:
    return torch.hip not in (None, "none")


def _exercised_gpus(machine: Machine) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How many GPUs calculate right; then what was not right, or why it is not known which there are."""
    right, wrong = devices_text(machine.exercises or ())
    missing = [wrong] if wrong else []
    if not wrong and any(row.fact == "torch.devices" for row in machine.unknowns or ()):
        missing.append(not_known(machine, "torch.devices", what="which GPUs PyTorch sees, and whether they work"))
    return (right,) if right else (), tuple(missing)


def _around_rocm(rocm: Rocm | None) -> tuple[str, ...]:
    """What may get in the way of ROCm: folders in the linker's path, a second runtime, in WSL the missing bridge."""
    if rocm is None:
        return ()
    texts = [f"LD_LIBRARY_PATH names {listed(rocm.library_path)}"] if rocm.library_path else []
    if rocm.hsa_runtimes and len(rocm.hsa_runtimes) > 1:
        texts.append(f"several HSA runtimes are installed: {listed(rocm.hsa_runtimes)}")
    if rocm.dxg_library is not None:
        texts.append("librocdxg, the bridge to /dev/dxg, is " + ("installed" if rocm.dxg_library else "not installed"))
    return tuple(texts)


def directml_says(machine: Machine) -> Says:
    """Version and devices of torch-directml; on other systems than Windows and WSL it does not exist."""
    directml, system = machine.torch_directml, machine.os
    if directml is not None and directml.installed:
        return _installed_directml_says(directml, [row for row in machine.exercises or () if _is_on_directml(row)])
    if system is not None and (system.kind == "macos" or (system.kind == "linux" and system.wsl == 0)):
        return Says(not_applicable="exists on Windows and WSL only")
    if directml is not None and directml.installed is False:
        return Says(not_applicable="torch-directml is not installed")
    if machine.packages is not None and "torch-directml" not in machine.packages:
        return Says(not_applicable="torch-directml is not installed")
    what = "whether torch-directml is installed"
    return Says(missing=(not_known(machine, "torch_directml.installed", "torch_directml", what=what),))


def _installed_directml_says(directml: TorchDirectml, exercises: Sequence[Exercise]) -> Says:
    """Its adapters, and which exercises were not right: what that means is said by the rules."""
    first = f"torch-directml {directml.version or ''}".strip()
    first += f", for torch {directml.requires_torch}" if directml.requires_torch else ""
    names = directml.device_names or ()
    default = directml.default_device if len(names) > 1 else None
    marks = (" (default)" if at == default else "" for at in range(len(names)))
    facts = [first, *(f"device {at}: {name}{mark}" for at, (name, mark) in enumerate(zip(names, marks, strict=True)))]
    tried = [row for row in exercises if row.outcome not in (None, "skipped")]
    if tried:
        bad = list(dict.fromkeys(str(row.name) for row in tried if row.outcome != "ok"))
        right = sum(row.outcome == "ok" for row in tried)
        not_right = f"; not right: {listed(bad, at_most=6)}" if bad else ""
        facts.append(f"{right} of {plural(len(tried), 'exercise')} are right{not_right}")
    missing = ("it sees no adapter",) if directml.device_names == () else ()
    return Says(facts=tuple(facts), missing=missing)


def _is_on_directml(row: Exercise) -> bool:
    return row.name == "import-torch-directml" or (row.device or "").startswith(("privateuseone", "directml"))
