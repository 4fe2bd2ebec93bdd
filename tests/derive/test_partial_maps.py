"""A name that is missing in a list of which only some names were told is unknown, to rules and to derived facts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.facts import derive
from doctor.diagnosis.expression import Scope, compile_expression
from doctor.diagnosis.truth import Unknown
from doctor.machine.model import Gpu, Library, Machine, Os, Package, Torch, UnknownFact
from doctor.machine.unknowns import is_partial

BASE = Machine(
    os=Os(kind="linux", wsl=2),
    torch=Torch(installed=True, version="2.2.2+rocm5.7", hip="5.7.1", blas="mkl", openmp="libgomp"),
    gpus=(Gpu(vendor="amd", gfx="gfx1030", integrated=False), Gpu(vendor="amd", gfx="gfx1036", integrated=True)),
    env={},
    packages={"scipy": Package(version="1.14.1")},
)
ROWS = (UnknownFact("env", "not-in-source"), UnknownFact("packages", "not-in-source"))
PARTIAL = msgspec.structs.replace(BASE, unknowns=ROWS)


def test_a_row_about_a_map_marks_it_only_where_it_is_there() -> None:
    assert is_partial(PARTIAL, "env") and not is_partial(BASE, "env")
    assert not is_partial(msgspec.structs.replace(PARTIAL, env=None), "env")


@pytest.mark.parametrize(
    ("condition", "whole"),
    [
        ('env.OMP_NUM_THREADS == "none"', True),
        ('packages.numpy != "none"', False),
        ('packages.numpy.version == "1"', False),
    ],
)
def test_conditions(condition: str, whole: bool) -> None:
    expression = compile_expression(condition)
    assert expression.judge(Scope(BASE)) is whole
    assert isinstance(expression.judge(Scope(PARTIAL)), Unknown)


def test_a_name_that_was_told_is_known() -> None:
    machine = msgspec.structs.replace(PARTIAL, env={"OMP_NUM_THREADS": "8"})
    assert compile_expression('env.OMP_NUM_THREADS == "8"').judge(Scope(machine)) is True


#: Derived fact -> its value where the lists are whole.
ABSENCE: dict[str, Any] = {
    "gpu.masks": (),
    "gpu.masked": False,
    "gpu_reach.several_masks": False,
    "rocm.dxg_enabled": False,
    "threads.by_launcher": False,
    "threads.one_variable": "none",
    "openmp.duplicates_allowed": False,
    "environment.mkl_switch_set": False,
    "environment.binding_variables": (),
    "pytorch.numpy_too_new": False,
}


@pytest.mark.parametrize("fact", ABSENCE)
def test_derived_facts(fact: str) -> None:
    area, _, field = fact.partition(".")
    assert getattr(getattr(derive(BASE), area), field) == ABSENCE[fact]
    assert getattr(getattr(derive(PARTIAL), area), field) is None


def test_an_override_may_stand_behind_what_was_not_told() -> None:
    whole, partial = (derive(machine).gpu for machine in (BASE, PARTIAL))
    assert whole is not None and whole.devices is not None and whole.devices[0].override == "none"
    assert partial is not None and partial.devices is not None and partial.devices[0].override is None
    assert (whole.devices[1].in_use, partial.devices[1].in_use) == (False, None)


@pytest.mark.parametrize(
    ("env", "fact", "value"),
    [
        ({"HIP_VISIBLE_DEVICES": "0"}, "gpu.masked", True),
        ({"KMP_DUPLICATE_LIB_OK": "TRUE"}, "openmp.duplicates_allowed", True),
        ({"OMP_NUM_THREADS": "1"}, "threads.one_variable", "OMP_NUM_THREADS"),
        ({"HSA_ENABLE_DXG_DETECTION": "1"}, "rocm.dxg_enabled", True),
        ({"MKL_DEBUG_CPU_TYPE": "5"}, "environment.mkl_switch_set", True),
        ({"LOCAL_RANK": "0"}, "threads.by_launcher", True),
    ],
)
def test_what_was_told_still_counts(env: dict[str, str], fact: str, value: Any) -> None:
    area, _, field = fact.partition(".")
    torch = Torch(installed=True, blas="openblas", openmp="libgomp")
    derived = derive(msgspec.structs.replace(PARTIAL, env=env, torch=torch))
    assert getattr(getattr(derived, area), field) == value


def test_libraries_that_a_package_may_bring() -> None:
    machine = Machine(
        env={"KMP_BLOCKTIME": "0"}, packages={"torch": Package(installer="pip")},
        torch=Torch(installed=True, openmp="libgomp", blas="mkl"),
        libraries=(Library(kind="openmp", name="libgomp"),),
    )  # fmt: skip
    without = msgspec.structs.replace(machine, libraries=None)
    assert [row.variable for row in derive(without).environment.idle or ()] == ["KMP_BLOCKTIME"]  # type: ignore[union-attr]
    told = msgspec.structs.replace(without, unknowns=ROWS)
    assert derive(told).environment.idle == ()  # type: ignore[union-attr]
