"""Which runtimes are there, and whether anybody reads a variable."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.runtimes import read_here, runtime_is_there
from doctor.knowledge.env_vars import env_variable, env_variables
from doctor.machine.model import Machine


def machine(**parts: Any) -> Machine:
    return msgspec.convert(parts, Machine)


LINUX_WHEEL = {
    "os": {"kind": "linux"},
    "torch": {"installed": True, "hip": "none", "openmp": "libgomp", "blas": "mkl"},
    "libraries": [{"kind": "openmp", "name": "libgomp"}, {"kind": "blas", "name": "openblas"}],
    "packages": {"torch": {"installer": "pip"}, "numpy": {"installer": "pip"}},
    "torch_directml": {"installed": False},
}
WINDOWS_WHEEL = {
    "os": {"kind": "windows"},
    "torch": {"installed": True, "hip": "none", "openmp": "libiomp5", "blas": "mkl"},
    "libraries": [{"kind": "openmp", "name": "libiomp5md"}],
}
ROCM = {"os": {"kind": "linux"}, "torch": {"installed": True, "hip": "6.4.43484"}}


@pytest.mark.parametrize(
    ("name", "parts", "read"),
    [
        ("OMP_NUM_THREADS", LINUX_WHEEL, True),
        ("MKL_NUM_THREADS", LINUX_WHEEL, True),
        ("OPENBLAS_NUM_THREADS", LINUX_WHEEL, True),
        ("KMP_AFFINITY", LINUX_WHEEL, False),
        ("KMP_AFFINITY", WINDOWS_WHEEL, True),
        ("GOMP_CPU_AFFINITY", LINUX_WHEEL, True),
        ("GOMP_SPINCOUNT", WINDOWS_WHEEL, False),
        ("HIP_VISIBLE_DEVICES", LINUX_WHEEL, False),
        ("HIP_VISIBLE_DEVICES", ROCM, True),
        ("HSA_OVERRIDE_GFX_VERSION", {**ROCM, "os": {"kind": "windows"}}, False),
        ("HSA_OVERRIDE_GFX_VERSION", {"os": {"kind": "linux"}}, None),
        ("DML_VISIBLE_DEVICES", LINUX_WHEEL, False),
        ("BLIS_NUM_THREADS", LINUX_WHEEL, False),
        ("NPY_DISABLE_CPU_FEATURES", LINUX_WHEEL, True),
        ("ATEN_CPU_CAPABILITY", LINUX_WHEEL, True),
        ("TORCH_LOOP_CORE_PINNING", LINUX_WHEEL, False),
        ("MALLOC_CONF", LINUX_WHEEL, None),
        ("OMP_NUM_THREADS", {}, None),
    ],
)
def test_who_reads_what(name: str, parts: dict[str, Any], read: bool | None) -> None:
    row = env_variable(name)
    assert row is not None
    assert read_here(row, machine(**parts)) is read


def test_on_an_unknown_machine_only_inventions_are_read_by_nobody() -> None:
    verdicts = {row.family: read_here(row, Machine()) for row in env_variables().values()}
    assert {family for family, read in verdicts.items() if read is False} == {"nobody"}
    assert True not in verdicts.values()


@pytest.mark.parametrize("installed", [True, False])
def test_parts_of_torch_come_with_torch(installed: bool) -> None:
    torch = {"installed": installed, "hip": "none"}
    assert runtime_is_there("aten", machine(torch=torch)) is installed
    assert runtime_is_there("hip", machine(torch=torch)) is False


def test_a_runtime_that_leaves_no_trace_is_unknown() -> None:
    assert runtime_is_there("launcher", machine(**LINUX_WHEEL)) is None
    assert runtime_is_there("never heard of", machine(**LINUX_WHEEL)) is None
