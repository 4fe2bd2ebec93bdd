"""Wheels, targets and overrides."""

from __future__ import annotations

import pytest

from doctor.derive.gfx_support import (
    bare,
    covered,
    gfx_of_version,
    helpful_override,
    major_of,
    override_verdict,
    targets_of_torch,
)
from doctor.derive.visible_devices import beyond, hides_all, indices, masks_disagree, masks_in
from doctor.machine.model import Machine, Package, Torch

ROCM_6_0 = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100")
GENERIC = ("gfx9-generic", "gfx10-3-generic", "gfx11-generic")


def test_features_are_dropped() -> None:
    assert bare("gfx90a:sramecc+:xnack-") == "gfx90a"
    torch = Torch(arch_list=("gfx90a:sramecc+:xnack-", "gfx90a:xnack+", "gfx942"))
    assert targets_of_torch(Machine(torch=torch)) == ("gfx90a", "gfx942")


@pytest.mark.parametrize(
    ("version", "installer", "known"),
    [
        ("2.4.1+rocm6.0", "pip", True),
        ("2.4.1+rocm6.0", None, True),
        ("2.2.0", "distro", False),
        ("2.4.1+rocm6.0", "conda", False),
        ("2.9.0.dev20260101+rocm6.4", "pip", False),
        ("2.10.0+rocm7.13.0a20260508", "pip", False),  # AMD's own
        ("2.13.0+rocm7.2", "pip", False),  # inferred only
        ("2.4.1+cu121", "pip", False),
        (None, None, False),
    ],
)
def test_a_table_answers_for_released_wheels_only(version: str | None, installer: str | None, known: bool) -> None:
    machine = Machine(torch=Torch(version=version), packages={"torch": Package(version=version, installer=installer)})
    assert targets_of_torch(machine) == (ROCM_6_0 if known else None)


@pytest.mark.parametrize(
    ("gfx", "targets", "yes"),
    [
        ("gfx1100", ROCM_6_0, True),
        ("gfx90a:xnack-", ROCM_6_0, True),
        ("gfx1032", ROCM_6_0, False),
        ("gfx1032", GENERIC, True),
        ("gfx90c", GENERIC, True),
        ("gfx90a", GENERIC, False),  # no generic target has its instructions
        ("gfx1151", GENERIC, True),
        ("gfx1012", GENERIC, False),
        ("gfx9999", GENERIC, False),
    ],
)
def test_own_and_generic_code(gfx: str, targets: tuple[str, ...], yes: bool) -> None:
    assert covered(gfx, targets) is yes


@pytest.mark.parametrize(
    ("version", "gfx"),
    [
        ("10.3.0", "gfx1030"),
        ("9.0.12", "gfx90c"),
        ("11.5.1", "gfx1151"),
        ("10.3", None),
        ("10.3.0 ", None),
        ("gfx1030", None),
        ("", None),
        ("64.0.0", None),
        ("1.2.3.4", None),
    ],
)
def test_versions_as_the_runtime_takes_them(version: str, gfx: str | None) -> None:
    assert gfx_of_version(version) == gfx


def test_generations() -> None:
    assert [major_of(gfx) for gfx in ("gfx90c", "gfx1030", "gfx1151", "gfx803")] == ["9", "10", "11", "8"]


@pytest.mark.parametrize(
    ("version", "gfx", "targets", "verdict"),
    [
        ("10.3.0", "gfx1032", ROCM_6_0, "needed"),
        ("9.0.0", "gfx90c", ROCM_6_0, "needed"),
        ("9.0.0", "gfx902", ROCM_6_0, "unreliable"),
        ("11.0.0", "gfx1101", ROCM_6_0, "needed"),  # as long as the wheel has no code of its own
        ("11.0.0", "gfx1101", (*ROCM_6_0, "gfx1101"), "native"),
        ("10.3.0", "gfx90c", ROCM_6_0, "wrong-family"),
        ("11.0.0", "gfx1032", ROCM_6_0, "wrong-family"),
        ("11.0.0", "gfx1103", ROCM_6_0, "harmful"),
        ("11.0.2", "gfx1103", ROCM_6_0, "harmful"),
        ("11.0.2", "gfx1103", None, "harmful"),
        ("10.3.0", "gfx1033", ROCM_6_0, "harmful"),
        ("11.0.0", "gfx1151", ROCM_6_0, "harmful"),
        ("11.0.0", "gfx1151", ("gfx1151",), "native"),
        ("10.3.0", "gfx1010", ROCM_6_0, "useless"),
        ("10.3.0", "gfx1030", ROCM_6_0, "redundant"),
        ("10.3.0", "gfx1032", ("gfx1100",), "not-in-wheel"),
        ("10.3.2", "gfx1032", None, "redundant"),
        ("10.3.0", "gfx1032", None, None),  # the wheel may have its own code
        ("10.3.0", "gfx1032", GENERIC, "native"),
        ("11.0.0", "gfx1152", ROCM_6_0, "unlisted"),
        ("ten", "gfx1032", ROCM_6_0, "unparsable"),
    ],
)
def test_what_an_override_does(version: str, gfx: str, targets: tuple[str, ...] | None, verdict: str | None) -> None:
    assert override_verdict(version, gfx, targets) == verdict


@pytest.mark.parametrize(
    ("gfx", "targets", "version"),
    [
        ("gfx1032", ROCM_6_0, "10.3.0"),
        ("gfx1032", (*ROCM_6_0, "gfx1032"), "none"),
        ("gfx1032", ("gfx1100",), "none"),
        ("gfx1032", None, None),
        ("gfx90c", ROCM_6_0, "9.0.0"),
        ("gfx1103", ROCM_6_0, "none"),
        ("gfx1033", ROCM_6_0, "none"),
        ("gfx1010", ROCM_6_0, "none"),
        ("gfx902", ROCM_6_0, "none"),
        ("gfx803", None, "none"),
    ],
)
def test_no_override_is_advised_that_does_harm(
    gfx: str, targets: tuple[str, ...] | None, version: str | None
) -> None:
    assert helpful_override(gfx, targets) == version


# Masks


def test_masks_in_their_order() -> None:
    env = {"CUDA_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "1", "OMP_NUM_THREADS": "4"}
    assert masks_in(env) == ("ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@pytest.mark.parametrize(("value", "hidden"), [("", True), (" ", True), ("-1", True), ("0", False), ("0,-1", False)])
def test_masks_that_show_nothing(value: str, hidden: bool) -> None:
    assert hides_all(value) is hidden


def test_two_names_of_one_mask() -> None:
    assert masks_disagree({"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "1"})
    assert not masks_disagree({"HIP_VISIBLE_DEVICES": "0, 1", "CUDA_VISIBLE_DEVICES": "0,1"})
    assert not masks_disagree({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"})


def test_indices() -> None:
    assert indices("0, 2") == (0, 2) and indices("") == () and indices("GPU-abc") is None


@pytest.mark.parametrize(
    ("env", "gpus", "name"),
    [
        ({"HIP_VISIBLE_DEVICES": "1"}, 2, "none"),
        ({"HIP_VISIBLE_DEVICES": "2"}, 2, "HIP_VISIBLE_DEVICES"),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, 2, "HIP_VISIBLE_DEVICES"),  # one is left: 0
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, 2, "none"),
        ({"ROCR_VISIBLE_DEVICES": "GPU-1", "HIP_VISIBLE_DEVICES": "7"}, 2, "none"),
        ({}, 0, "none"),
    ],
)
def test_an_index_that_no_gpu_has(env: dict[str, str], gpus: int, name: str) -> None:
    assert beyond(env, gpus) == name
