"""Which wheel belongs where: nothing that the tables do not prove."""

from __future__ import annotations

import pytest

from doctor.derive.wheels import wheel_facts
from doctor.diagnosis.commands import pattern_for
from doctor.knowledge.gfx import gfx_table
from doctor.knowledge.rocm_wheels import rocm_wheels
from doctor.machine.model import Cpu, Gpu, Machine, Os, Package, Python, Torch

PYTORCH = "https://download.pytorch.org/whl/rocm7.2"
AMD = "https://repo.amd.com/rocm/whl-multi-arch/"


def machine(gfx: str | None, python: str = "3.12.3", system: str = "linux", wsl: int = 0, **parts: object) -> Machine:
    gpu = Gpu(vendor="amd", gfx=gfx, kernel_driver="amdgpu" if system == "linux" else None)
    arch = "x86_64" if system == "linux" else "AMD64"
    known = {"python": Python(version=python, machine=arch), "os": Os(kind=system, wsl=wsl), "gpus": (gpu,), **parts}
    return Machine(**known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gfx", "python", "system", "index", "requirement"),
    [
        ("gfx1100", "3.12.3", "linux", PYTORCH, "torch"),
        ("gfx1151", "3.14.0", "linux", PYTORCH, "torch"),
        ("gfx1030", "3.9.18", "linux", "https://download.pytorch.org/whl/rocm6.3", "torch"),
        ("gfx1030", "3.8.10", "linux", "https://download.pytorch.org/whl/rocm6.1", "torch"),
        ("gfx1032", "3.12.3", "linux", AMD, "torch[device-gfx1032]"),
        ("gfx1103", "3.12.3", "linux", AMD, "torch[device-gfx1103]"),  # that 2.13 has it is inferred only
        ("gfx1100", "3.12.3", "windows", AMD, "torch[device-gfx1100]"),
        ("gfx1153", "3.12.3", "windows", None, None),  # not released there
        ("gfx90c", "3.12.3", "linux", None, None),
        ("gfx803", "3.12.3", "linux", None, None),
        ("gfx1032", "3.9.18", "linux", None, None),
        (None, "3.12.3", "linux", None, None),
    ],
)
def test_the_index_that_is_proven(
    gfx: str | None, python: str, system: str, index: str | None, requirement: str | None
) -> None:
    facts = wheel_facts(machine(gfx, python, system))
    assert (facts.rocm_index_url, facts.rocm_requirement) == (index, requirement)


def test_in_wsl_no_index_is_named() -> None:
    assert wheel_facts(machine("gfx1100", wsl=2)).rocm_index_url is None


@pytest.mark.parametrize("installer", ["conda", "distro", "source"])
def test_what_did_not_come_from_an_index_is_not_replaced_from_one(installer: str) -> None:
    facts = wheel_facts(machine("gfx1100", packages={"torch": Package(version="2.6.0", installer=installer)}))
    assert facts.rocm_index_url is None and not facts.from_an_index
    assert wheel_facts(machine("gfx1100", torch=Torch(build="source"))).rocm_index_url is None


def test_another_processor_has_no_wheel_here() -> None:
    arm = machine("gfx1100", python="3.12.3")
    arm = Machine(os=arm.os, gpus=arm.gpus, python=Python(version="3.12.3", machine="aarch64"))
    assert wheel_facts(arm).rocm_index_url is None
    by_cpu = Machine(os=arm.os, gpus=arm.gpus, python=Python(version="3.12.3"), cpu=Cpu(vendor="AuthenticAMD"))
    assert wheel_facts(by_cpu).rocm_index_url == PYTORCH


@pytest.mark.parametrize(
    ("gfx", "python", "fit"),
    [
        ("gfx1151", "3.12.3", "fits"),
        ("gfx1151", "3.9.18", "too-old"),
        ("gfx1100", "3.7.16", "too-old"),
        ("gfx1100", "3.15.0", "too-new"),  # a release that came later may have it
        ("gfx90c", "3.12.3", None),  # no wheel at all: not a matter of Python
    ],
)
def test_the_python_of_the_wheels(gfx: str, python: str, fit: str | None) -> None:
    facts = wheel_facts(machine(gfx, python))
    assert facts.python_fit == fit
    assert facts.newest_python_version == (None if fit is None else "3.14")


def test_a_python_that_no_table_has_is_unknown() -> None:
    assert wheel_facts(machine("gfx1100", "nightly")).python_fit is None
    free = machine("gfx1100", gpus=(Gpu(vendor="amd", gfx="gfx1100", kernel_driver="amdgpu"),))
    free = Machine(os=free.os, gpus=free.gpus, python=Python(version="3.13.1", machine="x86_64", free_threaded=True))
    assert wheel_facts(free).python_fit is None


def test_whatever_a_table_proves_may_enter_a_command() -> None:
    index, requirement = pattern_for("it.index_url"), pattern_for("it.requirement")
    assert index is not None and requirement is not None
    addresses = [row.index for row in rocm_wheels().pytorch if row.index] + [rocm_wheels().amd.index]
    assert all(index.fullmatch(address) for address in addresses)
    extras = [row.amd_extra for row in gfx_table().rows if row.amd_extra]
    assert extras and all(requirement.fullmatch(f"torch[{extra}]") for extra in extras)
    assert not requirement.fullmatch("torch[device-gfx1100,evil]") and not index.fullmatch("https://evil.example/")


def test_what_is_installed_is_what_has_to_go() -> None:
    packages = {"torch": Package(), "torchvision": Package(), "numpy": Package()}
    assert wheel_facts(Machine(packages=packages)).installed_packages == ("torch", "torchvision")
    assert wheel_facts(Machine(torch=Torch(installed=True))).installed_packages == ("torch",)
    assert wheel_facts(Machine()).installed_packages is None
