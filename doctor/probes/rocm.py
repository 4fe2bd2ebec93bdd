"""ROCm on Linux: the release that is installed, its libraries, and what WSL takes from Windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from doctor.machine.model import Rocm, UnknownFact
from doctor.probes.exercised import exercised
from doctor.probes.found import Found, unknown
from doctor.probes.surroundings import wsl
from doctor.sources.base import Missing, Source, value_or

_OPT = "/opt"
_RELEASE = re.compile(r"rocm-(\d{1,2}(?:\.\d{1,2}){0,2})")
_VERSION = re.compile(r"\d{1,2}(?:\.\d{1,3}){1,3}")

#: Where a ROCm installation writes its release; the second is that of the packages from ROCm 7.9 on.
_VERSION_FILES = (".info/version", "core/.info/version")

#: Where the runtime lies: AMD's packages, Debian and Ubuntu, Fedora, Arch.
_RUNTIME = "libhsa-runtime64.so.1"
_RUNTIME_FOLDERS = ("/opt/rocm/lib", "/opt/rocm/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
_DXG_LIBRARY = "librocdxg.so"
_WSL_FOLDER = "/usr/lib/wsl/lib"
_WSL_LIBRARIES = re.compile(r"lib(dxcore|d3d12|d3d12core|cuda)\.so(\.\d+)*")

#: Libraries of ROCm that a process with PyTorch holds.
_LOADED = re.compile(r"lib(amdhip64|hsa-runtime64|rocblas|hipblas|hipblaslt|MIOpen|rocdxg)\.so")


def probe(source: Source) -> Found:
    """The area `rocm`, without what the GPU probe asks of rocminfo."""
    if source.origin.platform != "linux":
        return Found()
    in_wsl = bool(wsl(source, None))
    version, origin = _version(source)
    runtimes = _runtimes(source)
    mapped = _mapped(source)
    rocm = Rocm(
        version=version,
        library_path=_library_path(source),
        loaded=None if mapped is None else tuple(dict.fromkeys(PurePosixPath(path).name for path in mapped)),
        hsa_runtime=_runtime(mapped, runtimes),
        hsa_runtimes=runtimes,
        dxg_library=_has_dxg_library(source) if in_wsl else None,
        wsl_libraries=_wsl_libraries(source) if in_wsl else None,
    )
    origins = {"rocm.version": origin} if origin else {}
    return Found({"rocm": rocm}, _unknowns(rocm), {**origins, "rocm.loaded": "exercise:cpu"})


def _version(source: Source) -> tuple[str | None, str]:
    """The release of the ROCm under /opt, `"none"` without one; and the file that says so. A distribution's own
    packages do not say which release they are."""
    names = source.names(_OPT)
    if isinstance(names, Missing):
        return ("none" if names.reason == "absent" and _runtimes(source) == () else None), ""
    folders = [name for name in names if name == "rocm"] + sorted(filter(_RELEASE.fullmatch, names), reverse=True)
    for folder in folders:
        for file in _VERSION_FILES:
            match = _VERSION.match(value_or(source.text(f"{_OPT}/{folder}/{file}"), "").strip())
            if match:
                return match[0], f"{_OPT}/{folder}/{file}"
    releases = [match[1] for folder in folders if (match := _RELEASE.fullmatch(folder)) and "." in match[1]]
    if len(releases) == 1:
        return releases[0], f"{_OPT}/rocm-{releases[0]}"
    return (None if folders or _runtimes(source) != () else "none"), ""


def _runtimes(source: Source) -> tuple[str, ...] | None:
    """Every HSA runtime where the system looks for libraries; None where a place could not be asked."""
    found = []
    for folder in _RUNTIME_FOLDERS:
        answer = source.access(f"{folder}/{_RUNTIME}")
        if isinstance(answer, Missing):
            return None
        if answer.exists:
            found.append(f"{folder}/{_RUNTIME}")
    return tuple(found)


def _runtime(mapped: Sequence[str] | None, runtimes: tuple[str, ...] | None) -> str | None:
    """The one that a process of PyTorch was seen to hold, else the only one there is. Of two, only a process shows
    which the linker takes."""
    seen = [path for path in mapped or () if PurePosixPath(path).name.startswith("libhsa-runtime64.so")]
    if seen:
        return seen[0]
    if runtimes is None or len(runtimes) > 1:
        return None
    return runtimes[0] if runtimes else "none"


def _mapped(source: Source) -> tuple[str, ...] | None:
    """The libraries of ROCm in a process that imported PyTorch, and in one that computed on a GPU, which loads more;
    None where no exercise tells."""
    told: list[Any] = []
    for device in ("cpu", "rocm"):
        ran = exercised(source, device)
        told.append(None if isinstance(ran, Missing) else ran.fact("libraries", "mapped"))
    mapped = [str(path) for paths in told if isinstance(paths, list) for path in paths]
    if not any(isinstance(paths, list) for paths in told):
        return None
    return tuple(dict.fromkeys(path for path in mapped if _LOADED.match(PurePosixPath(path).name)))


def _library_path(source: Source) -> tuple[str, ...] | None:
    folders = source.api("library-path")
    return tuple(map(str, folders)) if isinstance(folders, list) else None


def _has_dxg_library(source: Source) -> bool | None:
    answers = [source.access(f"{folder}/{_DXG_LIBRARY}") for folder in _RUNTIME_FOLDERS]
    if any(not isinstance(answer, Missing) and answer.exists for answer in answers):
        return True
    return None if any(isinstance(answer, Missing) for answer in answers) else False


def _wsl_libraries(source: Source) -> tuple[str, ...] | None:
    names = source.names(_WSL_FOLDER)
    if isinstance(names, Missing):
        return () if names.reason == "absent" else None
    return tuple(name for name in names if _WSL_LIBRARIES.fullmatch(name))


def _unknowns(rocm: Rocm) -> tuple[UnknownFact, ...]:
    if rocm.hsa_runtime is not None or rocm.hsa_runtimes is None:
        return ()
    detail = f"{' and '.join(rocm.hsa_runtimes)} are both there; only a process that loads one shows which"
    return (unknown("rocm.hsa_runtime", Missing("probe-failed", detail)),)
