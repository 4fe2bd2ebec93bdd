"""The Python and the system that collect_env names: `sys.version` and `platform.platform()` in one line each."""

from __future__ import annotations

import re

from doctor.machine.model import Os, Python, Windows
from doctor.texts.collect_env import CollectEnv

#: `3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0] (64-bit runtime)`; until torch 1.9 only `3.8 (64-bit runtime)`.
_PYTHON = re.compile(r"(\d+\.\d+(?:\.\d+(?:(?:a|b|rc)\d+)?\+?)?)(?=[ ,]|$).*")
_BITS = re.compile(r"\((\d\d)-bit runtime\)")
_COMPILER = re.compile(r"\[(?:GCC|Clang|MSC|clang|gcc)")
_OTHERS = (("[PyPy", "pypy"), ("[Graal", "graalpy"))
_CONDA = ("packaged by conda-forge", "Anaconda", "Continuum")
_WINDOWS_MACHINE = re.compile(r"\((AMD64|ARM64|Intel)\)")

#: `Linux-6.11.0-17-generic-x86_64-with-glibc2.39`, `Windows-10-10.0.22631-SP0`, `macOS-14.5-arm64-arm-64bit`.
_LINUX = re.compile(r"Linux-(\S{1,200}?)-(x86_64|aarch64|ppc64le|riscv64|i686)(?:-with-\S*)?")
_WINDOWS = re.compile(r"Windows-[\w.]+-\d+\.\d+\.(\d{4,6})(?:-\S*)?")
_MACOS = re.compile(r"(?:macOS|Darwin)-[\w.]+-(arm64|x86_64)\S*")

_BEHIND_NAME = re.compile(r" \((?:x86_64|aarch64|arm64|ppc64le|riscv64|i686|[\d.]+ [\w-]+)\)$")
_WINDOWS_BUILD = re.compile(r"\(\d+\.\d+\.(\d{4,6}) ")
#: Up to torch 1.6 nothing but the name of the distribution tells the system.
_DISTRIBUTION = re.compile(r"\b(?:Linux|Ubuntu|Debian|Fedora|CentOS|Red Hat|Rocky|openSUSE|SLES|Pop!_OS|NixOS)\b")
_WSL1 = re.compile(r"4\.4\.0-\d+-Microsoft\b")


def python_of(read: CollectEnv) -> Python | None:
    """The interpreter that ran collect_env."""
    told = read.value("python version") or ""
    version = _PYTHON.fullmatch(told)
    if version is None:
        return None
    bits = _BITS.search(told)
    whole = _COMPILER.search(told) is not None
    other = next((name for mark, name in _OTHERS if mark in told), None)
    free_threaded = True if "free-threading build" in told else False if whole else None
    return Python(
        version=version[1].rstrip("+"),
        implementation=other or ("cpython" if whole else None),
        bits=int(bits[1]) if bits else None,
        machine=_machine(read, told),
        free_threaded=free_threaded,
        manager="conda" if any(mark in told for mark in _CONDA) else None,
    )


def _machine(read: CollectEnv, told: str) -> str | None:
    platform = read.value("python platform") or ""
    found = _LINUX.fullmatch(platform)
    if found is not None:
        return found[2]
    found = _MACOS.fullmatch(platform)
    if found is not None:
        return found[1]
    windows = _WINDOWS_MACHINE.search(told)
    return None if windows is None else "x86" if windows[1] == "Intel" else windows[1]


def os_of(read: CollectEnv) -> Os | None:
    """Kind, name and kernel. A kernel without Microsoft's name is not that of WSL."""
    told, platform = read.value("os") or "", read.value("python platform") or ""
    linux = _LINUX.fullmatch(platform)
    kind = _kind(told, platform)
    kernel = linux[1] if linux else None
    if kind is None and kernel is None:
        return None
    return Os(
        kind=kind,
        name=_name(told),
        kernel=kernel,
        wsl=_wsl(kernel) if kernel else 0 if kind in ("windows", "macos") else None,
    )


def _kind(told: str, platform: str) -> str | None:
    for kind, pattern in (("linux", _LINUX), ("windows", _WINDOWS), ("macos", _MACOS)):
        if pattern.fullmatch(platform):
            return kind
    if "Windows" in told:
        return "windows"
    if told.startswith(("macOS", "Mac OS")):
        return "macos"
    return "linux" if told.endswith(("(x86_64)", "(aarch64)")) or _DISTRIBUTION.search(told) else None


def _name(told: str) -> str | None:
    name = _BEHIND_NAME.sub("", told).removeprefix("Microsoft ").strip()
    return name if name and name.lower() not in ("could not collect", "n/a", "linux") else None


def _wsl(kernel: str) -> int:
    if "microsoft" not in kernel.lower():
        return 0
    return 1 if _WSL1.search(kernel) else 2


def windows_of(read: CollectEnv) -> Windows | None:
    """The build number of Windows."""
    platform = _WINDOWS.fullmatch(read.value("python platform") or "")
    told = _WINDOWS_BUILD.search(read.value("os") or "")
    build = platform or (told if "Windows" in (read.value("os") or "") else None)
    return Windows(build=int(build[1])) if build else None
