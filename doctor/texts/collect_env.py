"""Reads what `python -m torch.utils.collect_env` prints, from torch 1.6 on, and the longer variant of vLLM.

    PyTorch version: 2.6.0+cu124          vLLM since 2025:  PyTorch version              : 2.7.0+rocm6.3
    …                                                       under banners of `=`, and without the GPU block on a CPU
    CPU:                                  since 1.13: lscpu, `wmic cpu /VALUE`, since 2.6 PowerShell, or sysctl
    Versions of relevant libraries:
    [pip3] torch==2.6.0                   `pip list` of the same Python, filtered by the words in a name
    [conda] Could not collect             `conda list`, filtered likewise; vLLM's own rows and variables follow

Texts arrive cut, so every line counts for itself. What stands behind a key is kept as it is written there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from doctor.texts.conda_list import read_conda_row
from doctor.texts.package_row import ListedPackage

#: Keys that no other well-known text has.
STRONG_KEYS = (
    "pytorch version",
    "is debug build",
    "cuda used to build pytorch",
    "rocm used to build pytorch",
    "is cuda available",
    "cuda runtime version",
    "cuda_module_loading set to",
    "gpu models and configuration",
    "hip runtime version",
    "miopen runtime version",
    "is xnnpack available",
    "caching allocator config",
)
_OTHER_KEYS = (
    "os",
    "gcc version",
    "clang version",
    "cmake version",
    "libc version",
    "python version",
    "python platform",
    "nvidia driver version",
    "cudnn version",
    "is xpu available",
    "xpu used to build pytorch",
    "rocm version",
    "neuron sdk version",
    "vllm version",
    "vllm build flags",
    "gpu topology",
)
#: vLLM's own: behind them its list of variables may follow.
VLLM_KEYS = ("rocm version", "neuron sdk version", "vllm version", "vllm build flags", "gpu topology")

_KEYS = "|".join(map(re.escape, STRONG_KEYS + _OTHER_KEYS))
_KEYED = re.compile(rf"[ \t]*(?:[-*] )?({_KEYS})[ \t]*:(?:[ \t]+(.*)|$)", re.IGNORECASE)
_ROW = re.compile(r"[ \t]*\[(pip3?|conda)\][ \t]*(.*)")
_PIP_ROW = re.compile(r"([A-Za-z0-9][\w.-]{0,99})(?:==| \()([\w.!+-]{1,99})\)?")
_VARIABLE = re.compile(r"[ \t]*([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_CPU_HEAD = re.compile(r"[ \t]*CPU(?: Info)?:?[ \t]*", re.IGNORECASE)
_LIBRARIES_HEAD = re.compile(r"[ \t]*Versions of relevant libraries:?[ \t]*", re.IGNORECASE)
_VARIABLES_HEAD = re.compile(r"[ \t]*Environment Variables:?[ \t]*", re.IGNORECASE)
_LABELLED = re.compile(r"[ \t]*[\w()/][\w() .,/-]{0,60}[:=]|-{10,}|[ \t]{8,}\S")
_BANNER = re.compile(r"={10,}")
_TITLE = re.compile(r"[ \t]+(?:System Info|PyTorch Info|Python Environment|(?:CUDA|Intel XPU) / GPU Info|vLLM Info)")

_NOT_COLLECTED = ("could not collect", "n/a", "none", "")
_NO_PACKAGES = "no relevant packages"


class CollectEnv(msgspec.Struct, frozen=True):
    """What the text says. A list that is None was not in it, or could not be collected.

    values: what stands behind a key, by the key in lower case.
    gpus: the lines behind "GPU models and configuration".
    cpu: the block beneath "CPU:".
    pip_ended: something stands behind the last row of pip, so that the list was not cut.
    variables: vLLM only.
    """

    values: dict[str, str] = {}
    gpus: tuple[str, ...] = ()
    cpu: str = ""
    pip: tuple[ListedPackage, ...] | None = None
    conda: tuple[ListedPackage, ...] | None = None
    pip_ended: bool = False
    variables: dict[str, str] | None = None

    def value(self, key: str) -> str | None:
        return self.values.get(key)


def key_of(line: str) -> str | None:
    """The key of a line of collect_env, in lower case; None for any other line."""
    keyed = _KEYED.fullmatch(line)
    return keyed[1].lower() if keyed else None


def is_package_row(line: str) -> bool:
    return _ROW.fullmatch(line) is not None


def is_headline(line: str) -> bool:
    """`CPU:`, `Versions of relevant libraries:`, and what vLLM puts around its parts."""
    heads = (_CPU_HEAD, _LIBRARIES_HEAD, _VARIABLES_HEAD, _TITLE)
    return is_banner(line) or any(head.fullmatch(line) for head in heads)


def is_banner(line: str) -> bool:
    """A line of `=`, as vLLM draws them around its titles."""
    return _BANNER.fullmatch(line.strip()) is not None


def is_cpu_headline(line: str) -> bool:
    return _CPU_HEAD.fullmatch(line) is not None


def is_libraries_headline(line: str) -> bool:
    return _LIBRARIES_HEAD.fullmatch(line) is not None


def is_variables_headline(line: str) -> bool:
    return _VARIABLES_HEAD.fullmatch(line) is not None


def is_variable(line: str) -> bool:
    return _VARIABLE.fullmatch(line) is not None


def is_labelled(line: str) -> bool:
    """`label: value` or `Label=value`, as they stand beneath "CPU:"."""
    return _LABELLED.match(line) is not None


def read_collect_env(text: str) -> CollectEnv:
    """The text of one run. Never raises; a text of something else gives an empty struct.

    A last line that no newline ends may have been cut: `2.1` may have been `2.13.0`. It is not read.
    """
    reader = _Reading()
    *lines, last = text.split("\n")
    for line in lines:
        reader.take(line.rstrip())
    return reader.result(last)


class _Reading:
    """One pass over the lines; `_take` is what becomes of a line without a key of its own."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._gpus: list[str] = []
        self._cpu: list[str] = []
        self._rows: dict[str, list[str]] = {}
        self._pip_ended = False
        self._variables: dict[str, str] | None = None
        self._take: Callable[[str], None] = _nothing

    def take(self, line: str) -> None:
        row = _ROW.fullmatch(line)
        if row is not None:
            self._take = _nothing
            self._package_row("conda" if row[1] == "conda" else "pip", row[2])
            return
        if line.strip() and "pip" in self._rows:
            self._pip_ended = True
        keyed = _KEYED.fullmatch(line)
        if keyed is not None:
            self._keyed(keyed[1].lower(), (keyed[2] or "").strip())
        elif _CPU_HEAD.fullmatch(line):
            self._take = self._cpu.append
        elif _VARIABLES_HEAD.fullmatch(line):
            self._variables = self._variables or {}
            self._take = self._variable
        elif _LIBRARIES_HEAD.fullmatch(line) or _TITLE.fullmatch(line):
            self._take = _nothing
        elif not is_banner(line):
            self._take(line)

    def _package_row(self, lister: str, rest: str) -> None:
        if lister == "conda" and "pip" in self._rows:
            self._pip_ended = True
        self._rows.setdefault(lister, []).append(rest.strip())

    def _keyed(self, key: str, value: str) -> None:
        self._values.setdefault(key, value)
        self._take = _nothing
        if key == "gpu models and configuration":
            self._take = self._gpu
            self._gpu(value)
        elif key == "gpu topology":
            self._take = self._variable

    def _gpu(self, line: str) -> None:
        if line.strip():
            self._gpus.append(line.strip())

    def _variable(self, line: str) -> None:
        variable = _VARIABLE.fullmatch(line)
        if variable is not None:
            self._variables = self._variables or {}
            self._variables.setdefault(variable[1], variable[2])

    def result(self, last: str) -> CollectEnv:
        cut = _ROW.fullmatch(last)
        return CollectEnv(
            values=self._values,
            gpus=tuple(self._gpus),
            cpu="".join(f"{line}\n" for line in self._cpu),
            pip=_packages(self._rows.get("pip"), _pip_row),
            conda=_packages(self._rows.get("conda"), read_conda_row),
            pip_ended=self._pip_ended or ("pip" in self._rows and cut is not None and cut[1] == "conda"),
            variables=self._variables,
        )


def _nothing(line: str) -> None:
    return


def _packages(
    rows: list[str] | None, read: Callable[[str], ListedPackage | None]
) -> tuple[ListedPackage, ...] | None:
    if rows is None or all(row.lower() in _NOT_COLLECTED for row in rows):
        return None
    found: Iterator[ListedPackage | None] = (read(row) for row in rows if row.lower() != _NO_PACKAGES)
    return tuple(package for package in found if package is not None)


def _pip_row(row: str) -> ListedPackage | None:
    """`numpy==2.2.2`; torch before 1.7 printed `numpy (1.13.3)`. A row that was cut behind `==` is none."""
    match = _PIP_ROW.fullmatch(row)
    return ListedPackage(match[1], match[2]) if match else None
