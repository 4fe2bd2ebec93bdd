"""The OpenMP and BLAS libraries in the process that imported PyTorch and NumPy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.machine.model import Library
from doctor.probes.exercised import Exercised

_OPENMP = re.compile(r"(?:lib)?(?:gomp|iomp5md|iomp5|omp140\.x86_64|omp|vcomp\d*)(?=[-.]|$)", re.IGNORECASE)
_BLAS = {"openblas": "openblas", "mkl_rt": "mkl", "blis": "blis", "flexiblas": "flexiblas"}
_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]([^/\\]+)")

#: Folders of packages that are not called like the package.
_FOLDERS = {"sklearn": "scikit-learn", "cv2": "opencv-python"}


def libraries(told: Exercised) -> tuple[Library, ...] | None:
    """What threadpoolctl read, and mapped files that it does not know of. None where neither was told."""
    pools, mapped = told.fact("libraries", "threadpools"), told.fact("libraries", "mapped")
    if not isinstance(pools, list) and not isinstance(mapped, list):
        return None
    rows = [_of_pool(pool) for pool in pools or () if isinstance(pool, dict) and not _is_stub(pool)]
    known = {row.path for row in rows}
    rows += [row for path in mapped or () if path not in known and (row := _of_file(str(path))) is not None]
    return tuple(rows)


def _is_stub(pool: Mapping[str, Any]) -> bool:
    """On Windows torch loads every DLL in its folder, `libiompstubs5md.dll` too: it answers like a runtime with one
    thread, and nobody computes with it (torch 2.13.0, seen 2026-11-30)."""
    return _file_name(str(pool.get("filepath") or "")).lower().startswith("libiompstubs")


def _of_pool(pool: Mapping[str, Any]) -> Library:
    path = str(pool.get("filepath") or "")
    kind = pool.get("user_api")
    return Library(
        kind=kind,
        name=_openmp_name(path) or pool.get("prefix") if kind == "openmp" else pool.get("internal_api"),
        path=path or None,
        version=pool.get("version"),
        threads=pool.get("num_threads"),
        architecture=pool.get("architecture"),
        threading=pool.get("threading_layer"),
        package=package_of(path),
    )


def _of_file(path: str) -> Library | None:
    openmp, file = _openmp_name(path), _file_name(path)
    if openmp is not None:
        return Library(kind="openmp", name=openmp, path=path, package=package_of(path))
    blas = next((name for part, name in _BLAS.items() if part in file and "cublas" not in file), None)
    return Library(kind="blas", name=blas, path=path, package=package_of(path)) if blas else None


def _openmp_name(path: str) -> str | None:
    match = _OPENMP.match(_file_name(path))
    return match[0] if match else None


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def package_of(path: str) -> str | None:
    """The package whose folder holds a file: `torch`, `numpy` for `numpy.libs`. None outside of packages."""
    match = _PACKAGES.search(path)
    if match is None:
        return None
    folder = match[1].removesuffix(".libs").replace("_", "-").lower()
    return _FOLDERS.get(folder, folder)


def openmp_of_torch(rows: Iterable[Library]) -> str | None:
    """The runtime that PyTorch's own threads come from: the one in its folder, else the only one there is."""
    runtimes = [row for row in rows if row.kind == "openmp" and row.name is not None]
    own = [row for row in runtimes if row.package == "torch"]
    names = {row.name for row in own or runtimes}
    # Windows calls the same runtime libiomp5md.
    return names.pop().removesuffix("md") if len(names) == 1 else None  # type: ignore[union-attr]
