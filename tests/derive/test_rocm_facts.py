"""ROCm and its libraries."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.derive.rocm import RocmFacts, rocm_facts
from doctor.machine.model import Machine, Os, Package, Rocm, Torch


def facts(rocm: Rocm | None = None, hip: str | None = "7.2.53211", **more: Any) -> RocmFacts:
    torch = Torch(hip=hip, bundles=more.pop("bundles", None))
    return rocm_facts(Machine(rocm=rocm, torch=torch, **more))


def test_nothing_is_known() -> None:
    assert rocm_facts(Machine()) == RocmFacts()


def test_releases() -> None:
    found = facts(Rocm(version="6.4.1"))
    assert (found.major, found.torch_major) == (6, 7)
    found = facts(Rocm(version="none"), hip="none")
    assert (found.major, found.torch_major) == (0, 0)


@pytest.mark.parametrize(
    ("folders", "version", "hip", "foreign"),
    [
        ((), None, "7.2.0", "none"),
        (("/opt/rocm-6.2/lib",), None, "7.2.0", "/opt/rocm-6.2/lib"),
        (("/opt/rocm-7.1.0/lib",), None, "7.2.0", "none"),
        (("/opt/rocm/lib",), "6.4.1", "7.2.0", "/opt/rocm/lib"),
        (("/opt/rocm/lib",), None, "7.2.0", None),
        (("/opt/rocm-6.2/lib",), None, None, None),
        (None, "6.4.1", "7.2.0", None),
    ],
)
def test_another_rocm_in_the_library_path(
    folders: tuple[str, ...] | None, version: str | None, hip: str | None, foreign: str | None
) -> None:
    assert facts(Rocm(version=version, library_path=folders), hip).foreign_library_path == foreign


@pytest.mark.parametrize(
    ("loaded", "name"),
    [
        (None, None),
        ((), "none"),
        (("libamdhip64.so.7", "librocblas.so.5"), "none"),
        (("libamdhip64.so.6.2.60204", "libamdhip64.so.7"), "libamdhip64"),
        (("libamdhip64.so", "libamdhip64.so.6"), "libamdhip64"),
        (("libhipblas.so.2", "libhipblas.so.3"), "none"),  # not one of those that must be alone
    ],
)
def test_two_copies_of_a_library(loaded: tuple[str, ...] | None, name: str | None) -> None:
    assert facts(Rocm(loaded=loaded)).loaded_twice == name


@pytest.mark.parametrize(
    ("path", "bundles", "source"),
    [
        ("/opt/rocm/lib/libhsa-runtime64.so.1", ("libhsa-runtime64.so",), "wheel"),
        ("/venv/lib/python3.12/site-packages/torch/lib/libhsa-runtime64.so", None, "wheel"),
        ("/opt/rocm/lib/libhsa-runtime64.so.1", ("libamdhip64.so",), "rocm"),
        ("/usr/lib64/libhsa-runtime64.so.1", (), "distribution"),
        ("none", (), "none"),
        ("/opt/rocm/lib/libhsa-runtime64.so.1", None, None),
        (None, (), None),
    ],
)
def test_which_runtime_wins(path: str | None, bundles: tuple[str, ...] | None, source: str | None) -> None:
    found = facts(Rocm(hsa_runtime=path), bundles=bundles)
    assert found.hsa_runtime_from == source


def test_a_distributions_torch_brings_none() -> None:
    assert facts(packages={"torch": Package(version="2.2.0", installer="distro")}).torch_uses_system is True
    assert facts(packages={"torch": Package(version="2.2.0", installer="pip")}).torch_uses_system is None
    assert facts(bundles=("libhsa-runtime64.so",)).torch_uses_system is False


def test_wsl() -> None:
    found = facts(Rocm(wsl_libraries=("libdxcore.so",)), os=Os(wsl=2), env={"HSA_ENABLE_DXG_DETECTION": "1"})
    assert (found.wsl2, found.wsl_missing, found.wsl_nvidia, found.dxg_enabled) == (True, "libd3d12.so", False, True)
    found = facts(Rocm(wsl_libraries=("libcuda.so.1", "libd3d12.so", "libdxcore.so")), os=Os(wsl=1), env={})
    assert (found.wsl2, found.wsl_missing, found.wsl_nvidia, found.dxg_enabled) == (False, "none", True, False)
    assert facts(Rocm(wsl_libraries=())).wsl_missing == "libdxcore.so and libd3d12.so"
