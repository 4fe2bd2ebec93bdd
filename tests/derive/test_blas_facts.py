from __future__ import annotations

import pytest

from doctor.derive.blas import blas_facts
from doctor.machine.model import Library, Machine


def blas(name: str, version: str | None = None, kernel: str | None = None) -> Library:
    return Library(kind="blas", name=name, version=version, architecture=kernel)


@pytest.mark.parametrize(
    ("libraries", "loaded", "old", "version", "kernel"),
    [
        ((), False, False, None, None),
        ((blas("mkl", "2023.1.0"),), False, False, None, None),
        ((blas("libopenblas64_p", "0.3.31.188", "Cooperlake"),), True, False, "0.3.31.188", "Cooperlake"),
        ((blas("openblas", "0.3.27", "SkylakeX"),), True, True, "0.3.27", "SkylakeX"),
        ((blas("openblas", "0.3.31", "Zen"), blas("scipy", "0.3.29", "X")), True, False, "0.3.31", "Zen"),
        ((blas("openblas", "0.3.31", "Zen"), blas("openblasp", "0.3.29", "X")), True, True, "0.3.29", "X"),
        ((blas("openblas", None, "Zen"),), True, None, None, "Zen"),
        ((blas("openblas", "0.3.27"), blas("openblas", None)), True, True, "0.3.27", None),
    ],
)
def test_openblas(
    libraries: tuple[Library, ...], loaded: bool, old: bool | None, version: str | None, kernel: str | None
) -> None:
    facts = blas_facts(Machine(libraries=libraries))
    assert (facts.openblas_loaded, facts.openblas_old) == (loaded, old)
    assert (facts.openblas_version, facts.openblas_kernel) == (version, kernel)


def test_mkl_and_the_unknown() -> None:
    assert blas_facts(Machine(libraries=(blas("mkl_rt"),))).numpy_mkl is True
    assert blas_facts(Machine(libraries=(blas("openblas"),))).numpy_mkl is False
    assert blas_facts(Machine()).numpy_mkl is None
    assert blas_facts(Machine()).openblas_loaded is None
