from __future__ import annotations

import pytest

from doctor.derive.openmp import openmp_facts
from doctor.machine.model import Library, Machine


def openmp(name: str, path: str | None = None, package: str | None = None) -> Library:
    return Library(kind="openmp", name=name, path=path, package=package)


TORCH_GOMP = openmp("libgomp", "~/venv/lib/python3.11/site-packages/torch/lib/libgomp.so.1")
SKLEARN_GOMP = openmp("libgomp", "~/venv/lib/python3.11/site-packages/scikit_learn.libs/libgomp-a34b3233.so.1.0.0")
CONDA_IOMP = openmp("libiomp5", "~/env/lib/libiomp5.so")
WINDOWS_IOMP = openmp("libiomp5md", r"C:\env\Lib\site-packages\torch\lib\libiomp5md.dll")
NUMPY_BLAS = Library(kind="blas", name="libopenblas64_p", path="/x/numpy.libs/libopenblas64_p.so", threading="pthreads")


@pytest.mark.parametrize(
    ("libraries", "conflict", "copies"),
    [
        ((), False, 0),
        ((TORCH_GOMP, NUMPY_BLAS), False, 1),
        ((TORCH_GOMP, SKLEARN_GOMP), False, 2),
        ((TORCH_GOMP, TORCH_GOMP), False, 1),
        ((TORCH_GOMP, CONDA_IOMP), True, 1),
        ((openmp("libomp", "/a/libomp.so"), CONDA_IOMP), True, 0),
        ((CONDA_IOMP, openmp("libiomp5", "/b/libiomp5.so")), True, 0),
        ((CONDA_IOMP,), False, 0),
        # one folder, one package: built together
        ((WINDOWS_IOMP, openmp("libomp140", r"C:\env\Lib\site-packages\torch\lib\libomp140.x86_64.dll")), False, 0),
        # the same file in the two spellings of Windows
        ((WINDOWS_IOMP, openmp("libiomp5md", "c:/ENV/lib/site-packages/torch/lib/libiomp5md.dll")), False, 0),
        ((WINDOWS_IOMP, openmp("vcomp140", r"C:\env\Lib\site-packages\sklearn\.libs\vcomp140.dll")), False, 0),
        ((WINDOWS_IOMP, openmp("libiompstubs5md", r"C:\env\Library\bin\libiompstubs5md.dll")), False, 0),
        ((openmp("libiomp5", None, "torch"), openmp("libgomp", None, "torch")), False, 1),
        ((openmp("libiomp5", None, "mkl"), openmp("libgomp", None, "torch")), True, 1),
        # nothing tells whose they are
        ((openmp("libiomp5"), openmp("libgomp")), None, 1),
    ],
)
def test_conflicts_and_what_only_looks_like_one(
    libraries: tuple[Library, ...], conflict: bool | None, copies: int
) -> None:
    facts = openmp_facts(Machine(libraries=libraries))
    assert (facts.conflict, facts.libgomp_copies) == (conflict, copies)


def test_the_files_that_count() -> None:
    facts = openmp_facts(Machine(libraries=(WINDOWS_IOMP, NUMPY_BLAS)))
    assert facts.files == ("C:/env/Lib/site-packages/torch/lib/libiomp5md.dll",)


@pytest.mark.parametrize(
    ("value", "allowed"),
    [("TRUE", True), ("1", True), ("yes", True), ("on", True), ("0", False), ("FALSE", False), ("off", False)],
)
def test_the_variable_is_read_as_the_runtime_reads_it(value: str, allowed: bool) -> None:
    facts = openmp_facts(Machine(env={"KMP_DUPLICATE_LIB_OK": value}))
    assert facts.duplicates_allowed is facts.conflict_may_hide is allowed
    assert facts.conflict is None


def test_unknown_stays_unknown() -> None:
    facts = openmp_facts(Machine())
    assert facts.conflict is facts.duplicates_allowed is facts.conflict_may_hide is facts.files is None
    known = openmp_facts(Machine(libraries=(TORCH_GOMP,), env={"KMP_DUPLICATE_LIB_OK": "TRUE"}))
    assert known.conflict_may_hide is False and known.duplicates_allowed is True
