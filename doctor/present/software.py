"""What the screen says of the software: Python, PyTorch, environment, ROCm, DirectML."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.machine.model import Exercise, Machine, Rocm, Torch, TorchDirectml
from doctor.present.gpu_exercises import devices_text, failed_text, is_on_gpu
from doctor.present.language import counted, joined, phrase, say, told
from doctor.present.says import Says, not_known
from doctor.present.text import listed, plural, seconds_text

_BUILDS = {
    "cpu": phrase("CPU build"),
    "cuda": phrase("CUDA build"),
    "rocm": phrase("ROCm build"),
    "xpu": phrase("XPU build"),
    "source": phrase("own build"),
}
_BLAS = {
    "mkl": "MKL",
    "openblas": "OpenBLAS",
    "blis": "BLIS",
    "accelerate": "Accelerate",
    "generic": phrase("generic BLAS"),
}


def python_says(machine: Machine) -> Says:
    """Version, and which interpreter it is; on a live machine why this one, and which others hold torch."""
    python = machine.python
    if python is None or python.version is None:
        return Says(missing=(not_known(machine, "python.version", "python", what=say("which Python runs PyTorch")),))
    first = python.version
    first += {"cpython": "", "pypy": " PyPy"}.get(python.implementation or "cpython", f" {python.implementation}")
    kinds = [say("32-bit")] if python.bits == 32 else []
    kinds += [say("free-threaded")] if python.free_threaded else []
    first = joined((first, *kinds))
    facts = [say("{what}: {path}", what=first, path=python.executable) if python.executable else first]
    if python.chosen_by:
        facts.append(say("chosen: {reason}", reason=told(python.chosen_by)))
    if python.others_with_torch:
        others = listed(python.others_with_torch, at_most=4)
        lacks = machine.torch is not None and machine.torch.installed is False
        words = phrase("PyTorch is in: {others}") if lacks else phrase("PyTorch is also in: {others}")
        facts.append(say(words, others=others))
    return Says(facts=tuple(facts))


def pytorch_says(machine: Machine) -> Says:
    """Version and build, what it computes with, and how its exercises ended."""
    torch = machine.torch
    if torch is None or torch.installed is None:
        return Says(missing=(not_known(machine, "torch.installed", "torch", what=say("whether PyTorch is installed")),))
    if torch.installed is False:
        return Says(not_applicable=say("PyTorch is not installed in this Python"))
    first = [torch.version or say("installed, version not known")]
    first += [say(_BUILDS.get(torch.build, torch.build))] if torch.build else []
    if torch.import_seconds and torch.importable:
        first.append(say("imports in {time}", time=seconds_text(torch.import_seconds)))
    facts = [joined(first)]
    if torch.importable is False:
        error = torch.import_error
        wrong = say("cannot be imported")
        wrong = wrong if error in (None, "none") else say("{what}: {reason}", what=wrong, reason=error)
        return Says(facts=tuple(facts), missing=(wrong,))
    facts += [text for text in (torch_uses(torch),) if text]
    if torch.importable is None:
        what = say("whether it can be imported and computes right")
        return Says(facts=tuple(facts), missing=(not_known(machine, "torch.importable", "exercises", what=what),))
    of_rocm = built_for_rocm(torch)
    rows = (row for row in machine.exercises or () if not _is_on_directml(row))
    right, wrong = exercises_text([row for row in rows if not (of_rocm and is_on_gpu(row))])
    return Says(facts=(*facts, right) if right else tuple(facts), missing=(wrong,) if wrong else ())


def torch_uses(torch: Torch) -> str:
    """`uses AVX512 code, 16 threads, MKL 2024.2, oneDNN 3.12, libgomp`."""
    parts = [say("{sets} code", sets=torch.cpu_capability)] if torch.cpu_capability else []
    parts += [plural(torch.num_threads, "thread")] if torch.num_threads is not None else []
    if torch.blas:
        parts.append(" ".join((say(_BLAS.get(torch.blas, torch.blas)), torch.blas_version or "")).strip())
    parts += [f"oneDNN {torch.onednn}"] if torch.onednn and torch.onednn != "none" else []
    parts += [torch.openmp] if torch.openmp and torch.openmp != "none" else []
    return say("uses {parts}", parts=joined(parts)) if parts else ""


def exercises_text(exercises: Sequence[Exercise]) -> tuple[str, str]:
    """`7 of 7 exercises are right`, and which ones are not; either may be empty."""
    tried = [row for row in exercises if row.outcome not in (None, "skipped")]
    bad = [failed_text(row) for row in tried if row.outcome != "ok"]
    right = right_text(len(tried) - len(bad), len(tried)) if tried else ""
    return right, say("not right: {names}", names=listed(bad, at_most=3)) if bad else ""


def right_text(right: int, tried: int) -> str:
    one = "{right} of {count} exercise are right"
    return counted(one, "{right} of {count} exercises are right", tried, right=right)


def environment_says(machine: Machine) -> Says:
    """The tuning variables that are set."""
    if machine.env is None:
        return Says(missing=(not_known(machine, "env", what=say("which tuning variables are set")),))
    if not machine.env:
        return Says(facts=(say("no tuning variable is set"),))
    return Says(facts=(listed([f"{name}={value}" for name, value in sorted(machine.env.items())], at_most=5),))


def rocm_says(machine: Machine) -> Says:
    """Version of ROCm, what PyTorch was built for, what it sees, and on how many GPUs it calculates right."""
    rocm, torch = machine.rocm, machine.torch
    built = torch.hip if torch is not None and built_for_rocm(torch) else None
    facts = [f"ROCm {rocm.version}"] if rocm is not None and rocm.version and rocm.version != "none" else []
    facts += [say("PyTorch is built for ROCm {version}", version=built)] if built else []
    if built and torch is not None and torch.is_available is not None:
        seen = [device.gfx or device.name or say("a device") for device in torch.devices or ()]
        if not torch.is_available:
            return Says(facts=(joined(facts),), missing=(say("PyTorch sees no GPU"),))
        facts.append(say("PyTorch sees {devices}", devices=listed(seen) if seen else say("a GPU")))
    if facts:
        right, missing = _exercised_gpus(machine) if built else ((), ())
        return Says(facts=(joined(facts), *right, *_around_rocm(rocm)), missing=missing)
    if machine.gpus is not None and not any(gpu.vendor == "amd" for gpu in machine.gpus):
        return Says(not_applicable=say("no AMD GPU"))
    if torch is not None and torch.installed is False:
        return Says(not_applicable=say("PyTorch is not installed in this Python"))
    if torch is not None and torch.hip == "none":
        return Says(not_applicable=say("this PyTorch is not built for ROCm"))
    if rocm is not None and rocm.version == "none":
        none = say("no ROCm is installed on this system; a PyTorch wheel brings its own")
        return Says(facts=(none, *_around_rocm(rocm)))
    return Says(missing=(not_known(machine, "rocm.version", "rocm", what=say("which ROCm is installed")),))


def built_for_rocm(torch: Torch) -> bool:
    return torch.hip not in (None, "none")


def _exercised_gpus(machine: Machine) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How many GPUs calculate right; then what was not right, or why it is not known which there are."""
    right, wrong = devices_text(machine.exercises or ())
    missing = [wrong] if wrong else []
    if not wrong and any(row.fact == "torch.devices" for row in machine.unknowns or ()):
        missing.append(not_known(machine, "torch.devices", what=say("which GPUs PyTorch sees, and whether they work")))
    return (right,) if right else (), tuple(missing)


def _around_rocm(rocm: Rocm | None) -> tuple[str, ...]:
    """What may get in the way of ROCm: folders in the linker's path, a second runtime, in WSL the missing bridge."""
    if rocm is None:
        return ()
    texts = [say("LD_LIBRARY_PATH names {folders}", folders=listed(rocm.library_path))] if rocm.library_path else []
    if rocm.hsa_runtimes and len(rocm.hsa_runtimes) > 1:
        texts.append(say("several HSA runtimes are installed: {paths}", paths=listed(rocm.hsa_runtimes)))
    if rocm.dxg_library is True:
        texts.append(say("librocdxg, the bridge to /dev/dxg, is installed"))
    elif rocm.dxg_library is False:
        texts.append(say("librocdxg, the bridge to /dev/dxg, is not installed"))
    return tuple(texts)


def directml_says(machine: Machine) -> Says:
    """Version and devices of torch-directml; on other systems than Windows and WSL it does not exist."""
    directml, system = machine.torch_directml, machine.os
    if directml is not None and directml.installed:
        return _installed_directml_says(directml, [row for row in machine.exercises or () if _is_on_directml(row)])
    if system is not None and (system.kind == "macos" or (system.kind == "linux" and system.wsl == 0)):
        return Says(not_applicable=say("exists on Windows and WSL only"))
    if directml is not None and directml.installed is False:
        return Says(not_applicable=say("torch-directml is not installed"))
    if machine.packages is not None and "torch-directml" not in machine.packages:
        return Says(not_applicable=say("torch-directml is not installed"))
    what = say("whether torch-directml is installed")
    return Says(missing=(not_known(machine, "torch_directml.installed", "torch_directml", what=what),))


def _installed_directml_says(directml: TorchDirectml, exercises: Sequence[Exercise]) -> Says:
    """Its adapters, and which exercises were not right: what that means is said by the rules."""
    first = f"torch-directml {directml.version or ''}".strip()
    if directml.requires_torch:
        first = joined((first, say("for torch {version}", version=directml.requires_torch)))
    names = directml.device_names or ()
    default = directml.default_device if len(names) > 1 else None
    marked = [say("{name} (default)", name=name) if at == default else name for at, name in enumerate(names)]
    facts = [first, *(say("device {number}: {name}", number=at, name=name) for at, name in enumerate(marked))]
    tried = [row for row in exercises if row.outcome not in (None, "skipped")]
    if tried:
        bad = list(dict.fromkeys(str(row.name) for row in tried if row.outcome != "ok"))
        right = sum(row.outcome == "ok" for row in tried)
        result = right_text(right, len(tried))
        if bad:
            names_of_bad = listed(bad, at_most=6)
            result = say("{result}; not right: {names}", result=result, names=names_of_bad)
        facts.append(result)
    missing = (say("it sees no adapter"),) if directml.device_names == () else ()
    return Says(facts=tuple(facts), missing=missing)


def _is_on_directml(row: Exercise) -> bool:
    return row.name == "import-torch-directml" or (row.device or "").startswith(("privateuseone", "directml"))
