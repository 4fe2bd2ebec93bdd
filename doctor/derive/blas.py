"""Which BLAS libraries a process with torch and NumPy has loaded. What is linked into torch is `torch.blas`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.derive.versions import release_below
from doctor.machine.model import Fact, Library, Machine

#: The first OpenBLAS of which no crash on Zen 5 is known (OpenMathLib/OpenBLAS#5243).
_GOOD_ON_ZEN5 = (0, 3, 30)


class BlasFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "openblas_loaded": ("libraries",),
        "openblas_version": ("libraries",),
        "openblas_kernel": ("libraries",),
        "openblas_old": ("libraries",),
        "numpy_mkl": ("libraries",),
    }
    openblas_loaded: bool | None = None
    openblas_version: str | None = None  # of the oldest one
    openblas_kernel: str | None = None  # the kernel family that the oldest one chose
    openblas_old: bool | None = None  # older than the first that runs well on Zen 5
    numpy_mkl: bool | None = None  # NumPy's BLAS is a loaded MKL


def blas_facts(machine: Machine, today: date | None = None) -> BlasFacts:
    if machine.libraries is None:
        return BlasFacts()
    loaded = [library for library in machine.libraries if library.kind == "blas"]
    openblas = [library for library in loaded if "openblas" in (library.name or "").lower()]
    old = [release_below(library.version, _GOOD_ON_ZEN5) for library in openblas]
    oldest = _oldest(openblas)
    return BlasFacts(
        openblas_loaded=bool(openblas),
        openblas_version=oldest.version if oldest else None,
        openblas_kernel=oldest.architecture if oldest else None,
        openblas_old=True if True in old else None if None in old else False,
        numpy_mkl=any("mkl" in (library.name or "").lower() for library in loaded),
    )


def _oldest(openblas: list[Library]) -> Library | None:
    old = [library for library in openblas if release_below(library.version, _GOOD_ON_ZEN5)]
    return next(iter([*old, *openblas]), None)
