"""OpenBLAS: in use or not, how many threads it starts, how many fit."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.openblas import (
    anything_uses_openblas,
    fitting_threads,
    numpy_uses_openblas,
    openblas_threads,
    thread_stack_bytes,
)
from doctor.machine.model import Limits, Machine

OPENBLAS = {"kind": "blas", "name": "openblas", "threads": 64}
MKL = {"kind": "blas", "name": "mkl"}
PIP, CONDA = {"installer": "pip"}, {"installer": "conda"}


def machine(**parts: Any) -> Machine:
    return msgspec.convert({"os": {"kind": "linux"}, **parts}, Machine)


@pytest.mark.parametrize(
    ("parts", "uses"),
    [
        ({"libraries": [OPENBLAS]}, True),
        ({"libraries": [MKL], "packages": {"numpy": CONDA}}, False),
        ({"packages": {"numpy": PIP}}, True),
        ({"packages": {"numpy": PIP}, "libraries": [MKL]}, False),
        ({"packages": {"numpy": CONDA}}, None),
        ({"packages": {}}, None),
        ({"packages": {}, "libraries": []}, False),
        ({"packages": {"numpy": PIP}, "os": {"kind": "macos"}}, None),
        ({}, None),
    ],
)
def test_numpy(parts: dict[str, Any], uses: bool | None) -> None:
    assert numpy_uses_openblas(machine(**parts)) is uses


@pytest.mark.parametrize(
    ("parts", "uses"),
    [
        ({"torch": {"blas": "openblas"}}, True),
        ({"torch": {"blas": "mkl"}, "libraries": [OPENBLAS]}, True),
        ({"torch": {"blas": "mkl"}, "libraries": [MKL], "packages": {"numpy": CONDA}}, False),
        ({"torch": {"blas": "mkl"}, "libraries": [MKL], "packages": {"numpy": CONDA, "scipy": PIP}}, None),
        ({"torch": {"blas": "mkl"}, "libraries": [MKL]}, None),
        ({"libraries": [MKL], "packages": {"numpy": CONDA}}, None),
        ({"torch": {"blas": "mkl"}, "packages": {"torch": PIP}}, False),
    ],
)
def test_anything(parts: dict[str, Any], uses: bool | None) -> None:
    assert anything_uses_openblas(machine(**parts)) is uses


@pytest.mark.parametrize(
    ("parts", "threads"),
    [
        ({"libraries": [OPENBLAS, MKL]}, 64),
        ({"env": {}, "limits": {"affinity_cpus": 16}}, 16),
        ({"env": {}, "limits": {"affinity_cpus": 384}}, 64),
        ({"env": {"OMP_NUM_THREADS": "4"}, "limits": {"affinity_cpus": 384}}, 4),
        ({"env": {"OMP_NUM_THREADS": "4", "GOTO_NUM_THREADS": "5", "OPENBLAS_NUM_THREADS": "6"}}, 6),
        ({"env": {"OPENBLAS_NUM_THREADS": "many"}, "limits": {"affinity_cpus": 16}}, 16),
        ({"env": {}}, None),
        ({"limits": {"affinity_cpus": 16}}, None),
    ],
)
def test_threads(parts: dict[str, Any], threads: int | None) -> None:
    assert openblas_threads(machine(**parts)) == threads


def test_stacks() -> None:
    assert thread_stack_bytes(Limits(stack_bytes=8388608)) == 8388608
    assert thread_stack_bytes(Limits(stack_bytes="none")) == 2097152
    assert thread_stack_bytes(Limits()) is None
    assert thread_stack_bytes(None) is None


@pytest.mark.parametrize(
    ("parts", "threads"),
    [
        ({"limits": {"cpu_budget": 16, "cgroup": {"pids_max": "none"}}}, 16),
        ({"limits": {"cpu_budget": 128, "cgroup": {"pids_max": 32}}}, 16),
        ({"limits": {"cgroup": {"pids_max": 1}}}, 1),
        ({"limits": {"cpu_budget": 128, "max_processes": 40}, "os": {"kind": "linux", "is_root": False}}, 20),
        ({"limits": {"cpu_budget": 128, "max_processes": 40}, "os": {"kind": "linux", "is_root": True}}, 128),
        ({"limits": {"cpu_budget": 128, "address_space_bytes": 8388608 * 10}}, 5),
        ({}, None),
    ],
)
def test_fitting_threads(parts: dict[str, Any], threads: int | None) -> None:
    assert fitting_threads(machine(**parts), 8388608) == threads
