"""What pasted texts about software say of a machine: collect_env, PyTorch's own description of its build, log lines.

A text is believed where it is clear. What collect_env prints for a GPU is what PyTorch sees, so an override may stand
behind it: it goes into `torch.devices`, never into `gpus`. What it cannot print stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doctor.knowledge.env_vars import env_variable
from doctor.machine.model import Cpu, LogLine, Machine, Package, Rocm, Torch, TorchDevice, merged
from doctor.pasted import lscpu
from doctor.pasted.interpreters import os_of, python_of, windows_of
from doctor.pasted.packages import CONDA_READER, PIP_READER, directml_of, packages_of
from doctor.pasted.parts import Part, PartReader
from doctor.pasted.segments import collect_env_span, torch_config_span
from doctor.texts.collect_env import STRONG_KEYS, CollectEnv, read_collect_env
from doctor.texts.collect_env_cpu import read_macos_cpu, read_windows_cpu
from doctor.texts.conda_list import build_of, by_pip, pip_name
from doctor.texts.log_errors import LogError, read_log_errors
from doctor.texts.torch_config import read_torch_config
from doctor.texts.torch_version import build_kind

_VERSION = re.compile(r"(\d+(?:\.\d+){1,3}(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[\w.]+)?)(?: .*)?")
_NUMBER = re.compile(r"\d+(?:\.\d+){1,3}")
_HIP = re.compile(r"\d+\.\d+[\w.-]*")
_NOT_BUILT_FOR = ("n/a", "none", "could not collect", "no cuda")
_DEVICE = re.compile(r"(.+?)(?: \((gfx[0-9a-f]{3,5}\S{0,40})\)|NoGCNArchNameOnOldPyTorch)?")
_ROCM_RELEASE = re.compile(r"(\d{1,2}\.\d{1,2})\.\d.*")
_ROCM_FOLDER = re.compile(r"rocm|hip", re.IGNORECASE)

_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def read_environment(text: str) -> Part | None:
    """The first output of collect_env in a text, of PyTorch or of vLLM."""
    lines = text.split("\n")
    span = collect_env_span(lines[:-1])
    if span is None:
        return None
    first, end = span
    behind = lines[-1] if end == len(lines) - 1 else ""
    read = read_collect_env("\n".join([*lines[first:end], behind]))
    cpu, origins, note = _cpu(read)
    packages = packages_of(read.pip or (), read.conda) if read.pip or read.conda else None
    env = _variables(read)
    facts: dict[str, Any] = {
        "os": merged(os_of(read), cpu.os),
        "cpu": cpu.cpu,
        "python": python_of(read),
        "packages": packages,
        "torch": _torch(read, packages or {}),
        "torch_directml": directml_of(packages, whole=read.pip_ended and read.pip is not None) if packages else None,
        "rocm": _rocm(read),
        "windows": windows_of(read),
        "env": env,
    }
    named = {area: "collect_env" for area, value in facts.items() if value is not None}
    partial = tuple(area for area in ("packages", "env") if facts[area] is not None)
    return Part("collect_env", Machine(**facts), {**named, **_ORIGINS, **origins}, (first, end), note, partial)


_ORIGINS: Mapping[str, str] = {
    "torch.version": "collect_env: PyTorch version",
    "torch.cuda": "collect_env: CUDA used to build PyTorch",
    "torch.hip": "collect_env: ROCM used to build PyTorch",
    "torch.is_available": "collect_env: Is CUDA available",
    "torch.devices": "collect_env: GPU models and configuration",
    "python": "collect_env: Python version",
    "os.name": "collect_env: OS",
    "os.kernel": "collect_env: Python platform",
    "packages": "collect_env: Versions of relevant libraries",
}


def _cpu(read: CollectEnv) -> tuple[Machine, Mapping[str, str], str | None]:
    """The block beneath "CPU:"; of lscpu with what it says of the system."""
    part = lscpu.read(read.cpu) if read.cpu else None
    if part is not None:
        return part.machine, part.origins, part.note
    cpu: Cpu | None = read_windows_cpu(read.cpu) or read_macos_cpu(read.cpu)
    return Machine(cpu=cpu), {}, None


def _torch(read: CollectEnv, packages: Mapping[str, Package]) -> Torch | None:
    """PyTorch as the script that imported it saw it."""
    told = read.value("pytorch version")
    if told is None:
        return None
    if told.lower() == "n/a":
        return _torch_not_imported(read, packages)
    version = _VERSION.fullmatch(told)
    if version is None:
        return None
    cuda = _built_for(read.value("cuda used to build pytorch"), _NUMBER)
    hip = _built_for(read.value("rocm used to build pytorch"), _HIP)
    return Torch(
        installed=True,
        version=version[1],
        cuda=cuda,
        hip=hip,
        build=build_kind(version[1], cuda, hip) or _build_by_conda(read),
        importable=True,
        import_error="none",
        is_available=_TRUTHS.get((read.value("is cuda available") or "").lower()),
        devices=_devices(read, hip),
    )


def _torch_not_imported(read: CollectEnv, packages: Mapping[str, Package]) -> Torch | None:
    """The script could not import torch. Scripts that print a CPU block ask the pip of the same Python: there, a torch
    that pip lists is broken. A list without it tells that it is not installed."""
    package = packages.get("torch")
    if package is not None:
        same_python = bool(read.cpu) and read.pip is not None
        return Torch(installed=True, version=package.version, importable=False if same_python else None)
    lists_none = read.pip is not None and read.pip_ended and not any("torch" in name for name in packages)
    return Torch(installed=False) if lists_none and read.cpu else None


def _built_for(told: str | None, number: re.Pattern[str]) -> str | None:
    """`12.4`; `"none"` where the text says that there is none; None where it says nothing or something else."""
    if told is None:
        return None
    if told.lower() in _NOT_BUILT_FOR:
        return "none"
    return told if number.fullmatch(told) else None


def _build_by_conda(read: CollectEnv) -> str | None:
    row = next((row for row in read.conda or () if pip_name(row) == "torch" and not by_pip(row)), None)
    build = build_of(row) if row is not None else None
    return build[0] if build else None


def _devices(read: CollectEnv, hip: str | None) -> tuple[TorchDevice, ...] | None:
    """The device of a ROCm build: one line, of the first GPU that PyTorch sees. Else `nvidia-smi` printed the lines."""
    available = _TRUTHS.get((read.value("is cuda available") or "").lower())
    if hip in (None, "none") or not available or len(read.gpus) != 1:
        return None
    device = _DEVICE.fullmatch(read.gpus[0])
    if device is None or device[1].lower() in _NOT_BUILT_FOR:
        return None
    return (TorchDevice(name=device[1], gfx=device[2]),)


def _variables(read: CollectEnv) -> dict[str, str] | None:
    """vLLM's list, as far as it is about tuning."""
    if read.variables is None:
        return None
    return {name: value for name, value in read.variables.items() if env_variable(name) is not None}


def _rocm(read: CollectEnv) -> Rocm | None:
    """vLLM asks hipcc, whose release has the first two numbers of ROCm's."""
    release = _ROCM_RELEASE.fullmatch(read.value("rocm version") or "")
    path = (read.variables or {}).get("LD_LIBRARY_PATH")
    folders = None if path is None else tuple(part for part in path.split(":") if _ROCM_FOLDER.search(part))
    return Rocm(version=release[1] if release else None, library_path=folders) if release or folders else None


def read_config(text: str) -> Part | None:
    """The first output of `torch.__config__.show()` or `parallel_info()` in a text."""
    lines = text.split("\n")[:-1]
    span = torch_config_span(lines)
    if span is None:
        return None
    rows = "\n".join(lines[span[0] : span[1]]).replace("\\n", "\n").split("\n")
    config = read_torch_config("\n".join(rows))
    runtimes = {found[1]: found[2] for row in rows if (found := _RUNTIME.fullmatch(row))}
    hip = runtimes.get("HIP")
    cuda = runtimes.get("CUDA") or ("none" if hip or config.settings.get("USE_CUDA") in _OFF else None)
    hip = hip or ("none" if config.settings.get("USE_ROCM") in _OFF else None)
    version = config.settings.get("TORCH_VERSION")
    env = {found[1]: found[2] for row in rows if (found := _SET.fullmatch(row))}
    unset = any(_UNSET.fullmatch(row) for row in rows)
    torch = Torch(
        installed=True,
        version=version,
        cuda=cuda,
        hip=hip,
        build="rocm" if hip not in (None, "none") else "cuda" if cuda not in (None, "none") else None,
        importable=True,
        import_error="none",
        cpu_capability=config.cpu_capability,
        num_threads=config.num_threads,
        interop_threads=config.interop_threads,
        default_num_threads=config.num_threads if unset and not env else None,
        blas=config.blas,
        blas_version=config.blas_version,
        openmp="none" if config.openmp == "none" else None,
        onednn=config.onednn,
    )
    if torch == _NOTHING_TOLD:
        return None
    machine = Machine(torch=torch, env=env or None)
    return Part("torch-config", machine, {"torch": "torch.__config__"}, span, partial=("env",) if env else ())


_OFF = ("OFF", "0")
_RUNTIME = re.compile(r"[ \t]+- (HIP|CUDA) Runtime (\d+\.\d+[\w.-]*)[ \t]*")
_SET = re.compile(r"[ \t]*((?:OMP|MKL)_NUM_THREADS) : (\d{1,5})[ \t]*")
_UNSET = re.compile(r"[ \t]*(?:OMP|MKL)_NUM_THREADS : \[not set\][ \t]*")
_NOTHING_TOLD = Torch(installed=True, importable=True, import_error="none")


#: What a line of a family is about where it names nothing.
_ABOUT: Mapping[str, str] = {
    "pip-no-distribution": "pip",
    "import-error": "import",
    "invalid-device-function": "HIP",
    "out-of-device-memory": "GPU memory",
    "omp-duplicate": "OpenMP",
    "hipblaslt": "hipBLASLt",
}


def _about(error: LogError) -> str:
    return error.about or _ABOUT[error.kind]


def read_log(text: str) -> Part | None:
    """The known errors in a text. They stand wherever they stand: the span is the whole text."""
    errors = read_log_errors(text)
    if not errors:
        return None
    log = tuple(LogLine(kind=e.kind, text=e.text, about=_about(e), times=e.times) for e in errors)
    return Part("log", Machine(log=log), {"log": f"line {errors[0].line + 1}"}, (0, text.count("\n") + 1))


def _has_key(text: str) -> bool:
    lower = text.lower()
    return any(key in lower for key in STRONG_KEYS) or "versions of relevant libraries" in lower


def _has_config(text: str) -> bool:
    return "PyTorch built with:" in text or "ATen/Parallel:" in text


ENVIRONMENT_READER = PartReader("collect_env", _has_key, read_environment)
CONFIG_READER = PartReader("torch-config", _has_config, read_config)
LOG_READER = PartReader("log", lambda text: True, read_log)

#: In the order in which they take their lines: collect_env quotes lscpu and the lists of packages.
READERS: tuple[PartReader, ...] = (ENVIRONMENT_READER, CONFIG_READER, CONDA_READER, PIP_READER)


def redacted_log(part: Part, redact: Callable[[str], str]) -> Part:
    """The part with its lines redacted, and what they name told anew from what is left."""
    lines = []
    for row in part.machine.log or ():
        text = redact(row.text or "")
        again = read_log_errors(text)
        about = _about(again[0]) if again else _ABOUT.get(row.kind or "")
        lines.append(msgspec.structs.replace(row, text=text, about=about))
    return msgspec.structs.replace(part, machine=Machine(log=tuple(lines)))
