"""Is torch-directml wanted, can this Python have it, and does it fit the torch beside it?"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.directml import DirectmlFacts, complete_directml, directml_facts
from doctor.machine.model import Machine, TorchDirectml

LAST = "0.2.5.dev240914"


def facts(**areas: Any) -> DirectmlFacts:
    return directml_facts(complete_directml(msgspec.convert(areas, Machine)))


INSTALLED = {"installed": True, "version": LAST}
AMD, INTEL = [{"vendor": "amd", "gfx": "gfx1032"}], [{"vendor": "intel"}]
VISION_0_20 = {"torchvision": {"version": "0.20.1+cpu"}, "torch-directml": {}}
WINDOWS, LINUX, WSL = {"kind": "windows"}, {"kind": "linux", "wsl": 0}, {"kind": "linux", "wsl": 2}


@pytest.mark.parametrize(
    ("areas", "wanted"),
    [
        ({"intent": {"backend": "directml"}}, True),
        ({"intent": {"backend": "directml"}, "os": LINUX}, True),
        ({"intent": {"backend": "cpu"}, "torch_directml": INSTALLED}, False),
        ({"intent": {"backend": "rocm"}, "torch_directml": INSTALLED}, False),
        ({"intent": {"backend": "auto"}, "torch_directml": INSTALLED}, True),
        ({"torch_directml": INSTALLED}, True),
        ({"torch_directml": INSTALLED, "torch": {"hip": "7.2"}}, True),
        ({}, None),
        ({"torch_directml": {"installed": False}, "os": WINDOWS, "gpus": AMD}, None),
        ({"torch_directml": {"installed": False}, "os": WSL}, None),
        ({"torch_directml": {"installed": False}, "os": LINUX}, False),
        ({"torch_directml": {"installed": False}, "os": {"kind": "macos"}}, False),
        ({"torch_directml": {"installed": False}, "os": WINDOWS, "gpus": INTEL}, False),
        ({"torch_directml": {"installed": False}, "os": WINDOWS, "gpus": []}, False),
        ({"os": WINDOWS, "torch": {"hip": "7.2"}}, False),
        ({"os": WINDOWS, "torch": {"is_available": True}}, False),
    ],
)
def test_wanted(areas: dict[str, Any], wanted: bool | None) -> None:
    assert facts(**areas).wanted is wanted


@pytest.mark.parametrize(
    ("system", "python", "has_wheel"),
    [
        (WINDOWS, {"version": "3.12.7", "bits": 64, "machine": "AMD64", "free_threaded": False}, True),
        (WINDOWS, {"version": "3.8.10"}, True),
        (WINDOWS, {"version": "3.7.9"}, True),
        (WSL, {"version": "3.7.9"}, False),
        (WSL, {"version": "3.10.12", "machine": "x86_64"}, True),
        (WINDOWS, {"version": "3.13.1"}, False),
        (WINDOWS, {"version": "3.14.0rc2"}, False),
        (WINDOWS, {"version": "3.6.8"}, False),
        (WINDOWS, {"version": "3.11.4", "bits": 32}, False),
        (WINDOWS, {"version": "3.11.4", "machine": "ARM64"}, False),
        (WINDOWS, {"version": "3.10.14", "implementation": "pypy"}, False),
        (WINDOWS, {"version": "3.12.0", "free_threaded": True}, False),
        (WINDOWS, {"version": "three"}, None),
        (WINDOWS, {}, None),
        ({}, {"version": "3.13.1"}, None),
        ({"kind": "macos"}, {"version": "3.13.1"}, None),
    ],
)
def test_wheels_for_a_python(system: dict[str, Any], python: dict[str, Any], has_wheel: bool | None) -> None:
    assert facts(os=system, python=python).python_has_wheel is has_wheel


def test_what_the_last_release_asks_for() -> None:
    told = facts()
    assert (told.newest_python_version, told.last_version, told.last_torch_version) == ("3.12", LAST, "2.4.1")


@pytest.mark.parametrize(
    ("areas", "mismatched"),
    [
        ({"torch": {"version": "2.4.1+cpu"}}, ()),
        ({"torch": {"version": "2.4.1"}}, ()),
        ({"torch": {"version": "2.4.1+cu121"}, "os": WSL}, ()),
        (
            {"torch": {"version": "2.4.1+cu121"}, "os": WINDOWS},
            ("torch is 2.4.1+cu121, it asks for the CPU build of 2.4.1",),
        ),
        ({"torch": {"version": "2.6.0+cpu"}}, ("torch is 2.6.0+cpu, it asks for 2.4.1",)),
        ({"torch": {"version": "2.4.1.post2"}}, ("torch is 2.4.1.post2, it asks for 2.4.1",)),
        ({"torch": {"installed": False}}, ("torch is not installed, it asks for 2.4.1",)),
        ({"torch": {}}, None),
        ({}, None),
        ({"torch": {"version": "main"}}, None),
        (
            {"torch": {"version": "2.4.1+cpu"}, "packages": VISION_0_20},
            ("torchvision is 0.20.1+cpu, it asks for 0.19.1",),
        ),
        (
            {
                "torch": {"version": "2.4.1"},
                "packages": {
                    "torch": {"version": "2.4.1", "installer": "conda"},
                    "torch_directml": {"version": LAST, "installer": "pip"},
                },
            },
            ("torch comes from conda, it comes from pip",),
        ),
        ({"torch": {}, "packages": VISION_0_20}, ("torchvision is 0.20.1+cpu, it asks for 0.19.1",)),
    ],
)
def test_what_does_not_fit(areas: dict[str, Any], mismatched: tuple[str, ...] | None) -> None:
    assert facts(torch_directml=INSTALLED, **areas).mismatched == mismatched


def test_its_own_metadata_beats_the_table() -> None:
    told = facts(torch={"version": "2.13.0+cpu"}, torch_directml={**INSTALLED, "requires_torch": "2.13.0"})
    assert (told.mismatched, told.wanted_torch_version) == ((), "2.13.0")


def test_a_release_that_asks_for_nothing_fits_everything() -> None:
    first = {"installed": True, "version": "0.1.13.dev221216"}
    assert facts(torch={"version": "1.13.0"}, torch_directml=first).mismatched == ()
    unlisted = {"installed": True, "version": "0.9.0"}
    assert facts(torch={"version": "1.13.0"}, torch_directml=unlisted).mismatched is None


def test_what_is_not_installed_fits_nothing() -> None:
    assert facts(torch={"version": "2.6.0"}, torch_directml={"installed": False}).mismatched is None


@pytest.mark.parametrize(
    ("torch", "beside"),
    [
        ({"hip": "7.13"}, True),
        ({"hip": "none", "version": "2.4.1"}, False),
        ({"version": "2.5.1+rocm6.2"}, True),
        ({"version": "2.4.1+cpu"}, False),
        ({"installed": False}, False),
        ({}, None),
    ],
)
def test_a_torch_for_rocm_beside_it(torch: dict[str, Any], beside: bool | None) -> None:
    told = facts(torch=torch, torch_directml=INSTALLED)
    assert told.beside_rocm is beside
    assert told.pins_matter is (None if beside is None else not beside)
    assert facts(torch=torch, torch_directml=INSTALLED, intent={"backend": "directml"}).pins_matter is True


@pytest.mark.parametrize(
    ("system", "gpus", "named"),
    [
        (WINDOWS, [{"vendor": "amd", "gfx": "gfx1103"}, {"vendor": "amd", "gfx": "gfx1102"}], "gfx1103 gfx1102"),
        (WINDOWS, [{"vendor": "amd", "gfx": "gfx90c"}], "none"),
        (WINDOWS, [{"vendor": "amd"}], None),
        (WINDOWS, [], "none"),
        (LINUX, [{"vendor": "amd", "gfx": "gfx1100"}], None),
        (WINDOWS, None, None),
    ],
)
def test_where_amd_has_something_better(system: dict[str, Any], gpus: Any, named: str | None) -> None:
    assert facts(os=system, **({} if gpus is None else {"gpus": gpus})).rocm_gfx == named


@pytest.mark.parametrize(
    ("areas", "directml"),
    [
        ({"packages": {"torch": {}}}, TorchDirectml(installed=False)),
        (
            {"packages": {"torch-directml": {"version": LAST}}},
            TorchDirectml(installed=True, version=LAST, requires_torch="2.4.1", requires_torchvision="0.19.1"),
        ),
        (
            {"torch_directml": {"installed": True, "version": LAST, "requires_torch": "2.4.0"}, "packages": {}},
            TorchDirectml(installed=True, version=LAST, requires_torch="2.4.0", requires_torchvision="0.19.1"),
        ),
        ({"torch_directml": {"installed": False}}, TorchDirectml(installed=False)),
        ({"exercises": [{"name": "lstm", "device": "privateuseone:0"}]}, TorchDirectml(installed=True)),
        ({"exercises": [{"name": "lstm", "device": "cuda:0"}]}, None),
        ({}, None),
    ],
)
def test_completing_the_document(areas: dict[str, Any], directml: TorchDirectml | None) -> None:
    assert complete_directml(msgspec.convert(areas, Machine)).torch_directml == directml
