"""Reads `conda list` (also of mamba and micromamba), and its rows where another text quotes them.

    # packages in environment at /opt/conda/envs/x:            micromamba: List of packages in environment: "/opt/x"
    #
    # Name                    Version                   Build  Channel          a rule of dashes beneath the heads
    pytorch                   2.2.2              py3.11_cpu_0    pytorch

The channel is left out for packages of the defaults channel, and is `pypi` for what pip installed there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from doctor.texts.package_row import ListedPackage, sorted_far_enough

_PLACE = re.compile(r"[ \t]*(?:# ?)?(?:packages in environment at|List of packages in environment:) .*", re.IGNORECASE)
_HEAD = re.compile(r"[ \t]*(?:# ?)?Name[ \t]+Version[ \t]+Build(?:[ \t]+Channel)?[ \t]*", re.IGNORECASE)
_RULE = re.compile(r"[ \t]*[─━-]{10,}[ \t]*")
_VERSION = r"(?=[\w.!+-]{0,60}\d)[a-z0-9][\w.!+-]{0,60}"  # "9e", "r2024a", "1!2.3": there is a digit in it
_BUILD = r"[\w.<>-]{1,99}"
_ROW = re.compile(rf"[ \t]*(\w[\w.-]{{0,99}})[ \t]+({_VERSION})[ \t]+({_BUILD})(?:[ \t]+(\S{{1,99}}))?[ \t]*", re.ASCII)

#: What a build string of conda says a PyTorch was built for: `py3.11_cuda12.1_cudnn8_0`, `cuda126_mkl_py312_300`.
_CUDA_BUILD = re.compile(r"(?:^|_)cuda_?(\d[\d.]*)(?:_|$)")
_CPU_BUILD = re.compile(r"(?:^|_)cpu(?:_|$)")

#: Names that conda gives to packages of PyPI.
_PIP_NAMES = {"pytorch": "torch"}
#: Builds and channels of what pip installed into a conda environment.
_BY_PIP = ("pypi", "<pip>")


class CondaList(msgspec.Struct, frozen=True):
    """`end` is the number of the line behind the last row. `whole`: nothing suggests that rows are missing."""

    packages: tuple[ListedPackage, ...]
    end: int
    whole: bool = False


def is_conda_headline(line: str) -> bool:
    """A line with which a list begins."""
    return _PLACE.fullmatch(line) is not None or _HEAD.fullmatch(line) is not None


def read_conda_list(lines: Sequence[str], first: int = 0) -> CondaList | None:
    """The rows beneath the headline at `first`. None where none follows. Never raises."""
    packages: list[ListedPackage] = []
    at = first
    while at < len(lines):
        row = None if _is_around(lines[at]) else read_conda_row(lines[at])
        if row is not None:
            packages.append(row)
        elif packages or not _is_around(lines[at]):
            break
        at += 1
    if not packages:
        return None
    return CondaList(tuple(packages), at, whole=sorted_far_enough(packages))


def _is_around(line: str) -> bool:
    """The headlines of a list, and the empty lines before its first row."""
    heads = _PLACE.fullmatch(line) or _HEAD.fullmatch(line) or _RULE.fullmatch(line)
    return heads is not None or line.strip() in ("", "#")


def read_conda_row(line: str) -> ListedPackage | None:
    """`name version build [channel]`; None for any other line."""
    row = _ROW.fullmatch(line)
    return ListedPackage(row[1], row[2], row[3], row[4]) if row else None


def pip_name(package: ListedPackage) -> str:
    """What pip calls the package: conda's `pytorch` is pip's `torch`."""
    return _PIP_NAMES.get(package.normal_name, package.normal_name)


def by_pip(package: ListedPackage) -> bool:
    """Did pip install it?"""
    return package.channel in _BY_PIP or (package.build or "").startswith(_BY_PIP)


def build_of(package: ListedPackage) -> tuple[str, str] | None:
    """What a build string of a PyTorch says: `("cuda", "12.1")`, `("cpu", "none")`; None where it says nothing."""
    cuda = _CUDA_BUILD.search(package.build or "")
    if cuda:
        version = cuda[1] if "." in cuda[1] else f"{cuda[1][:-1]}.{cuda[1][-1]}"
        return "cuda", version
    return ("cpu", "none") if _CPU_BUILD.search(package.build or "") else None
