"""What is left of a ROCm build, and who replaced it."""

from __future__ import annotations

import pytest

from doctor.derive.overwritten import overwritten_facts
from doctor.machine.model import Machine, Package, UnknownFact

AT = "2025-01-10T10:00:03Z"


def facts(**packages: Package):  # type: ignore[no-untyped-def]
    return overwritten_facts(Machine(packages={name.replace("_", "-"): row for name, row in packages.items()}))


@pytest.mark.parametrize(
    ("name", "version", "is_left"),
    [
        ("pytorch-triton-rocm", "3.1.0", True),
        ("triton-rocm", "3.4.0", True),
        ("rocm-sdk-core", "7.14.0", True),
        ("rocm-sdk-libraries-gfx110x-all", "6.5.0", True),
        ("rocm-sdk-device-gfx1151", "7.14.0", True),
        ("amd-torch-device-gfx1151", "2.12.0+rocm7.14.0", True),
        ("torchvision", "0.20.1+rocm6.2", True),
        ("triton", "3.7.1+git0263a6a6.rocm7.14.0", True),
        ("rocm-bootstrap", "0.3.0", False),  # this very tool needs it
        ("rocm", "7.14.0", False),
        ("triton", "3.1.0", False),
        ("torchvision", "0.20.1", False),  # a list without local parts proves nothing
    ],
)
def test_what_only_a_rocm_build_brings(name: str, version: str, is_left: bool) -> None:
    found = overwritten_facts(Machine(packages={name: Package(version=version)})).rocm_leftovers
    assert found == ((f"{name} {version}",) if is_left else ())


def test_without_a_list_of_packages_nothing_is_known() -> None:
    assert overwritten_facts(Machine()).rocm_leftovers is None


def test_a_list_of_some_packages_proves_what_is_there_and_no_absence() -> None:
    rows = (UnknownFact("packages", "not-in-source"),)
    assert overwritten_facts(Machine(packages={"numpy": Package()}, unknowns=rows)).rocm_leftovers is None
    told = Machine(packages={"triton-rocm": Package(version="3.4.0")}, unknowns=rows)
    assert overwritten_facts(told).rocm_leftovers == ("triton-rocm 3.4.0",)


def test_a_partner_of_another_build_beside_a_rocm_torch() -> None:
    found = facts(torch=Package(version="2.9.1+rocm6.4"), torchaudio=Package(version="2.9.1+cu128"))
    assert found.foreign_partners == ("torchaudio 2.9.1+cu128",)
    assert found.restore_index_url == "https://download.pytorch.org/whl/rocm6.4"
    assert found.restore_packages == ("torch", "torchaudio")


def test_the_index_comes_from_what_is_left() -> None:
    old = Package(version="0.20.1+rocm6.2")
    assert facts(torch=Package(version="2.5.1+cu124"), torchvision=old).restore_index_url == (
        "https://download.pytorch.org/whl/rocm6.2"
    )
    mixed = {"torchvision": old, "torchaudio": Package(version="2.4.1+rocm6.1")}
    assert facts(torch=Package(version="2.5.1+cu124"), **mixed).restore_index_url is None
    assert facts(torch=Package(), torchvision=Package(version="0.27.0+rocm7.14.0")).restore_index_url is None


@pytest.mark.parametrize(
    ("requires", "installed_at", "named"),
    [
        (("torch>=1.6",), "2025-01-10T10:00:05Z", True),
        (("torch",), "2025-01-10T10:00:05", True),  # a time without a zone is one of UTC
        (("torch==2.5.*",), "2025-01-10T10:00:05Z", True),
        (("torch==2.5.1",), "2025-01-10T10:00:05Z", False),  # the ROCm build would have satisfied it
        (("torch>=1.6",), "2025-01-12T10:00:05Z", False),
        (("torchmetrics>=1",), "2025-01-10T10:00:05Z", False),
        (('torch>=2; extra == "gpu"',), "2025-01-10T10:00:05Z", False),
        (("not a requirement !",), "2025-01-10T10:00:05Z", False),
        (("torch>=1.6",), None, False),
    ],
)
def test_the_package_that_brought_it(requires: tuple[str, ...], installed_at: str | None, named: bool) -> None:
    package = Package(version="0.2.2", requires=requires, installed_at=installed_at)
    found = facts(torch=Package(version="2.5.1+cu124", installed_at=AT), lion_pytorch=package)
    assert found.by_package == ("lion-pytorch" if named else None)


def test_of_several_the_nearest_is_named_and_no_partner() -> None:
    found = facts(
        torch=Package(installed_at=AT),
        torchvision=Package(requires=("torch",), installed_at=AT),
        far=Package(requires=("torch",), installed_at="2025-01-10T10:05:00Z"),
        near=Package(requires=("torch",), installed_at="2025-01-10T10:00:09Z"),
    )
    assert found.by_package == "near"
