"""Variables that do nothing, that bind threads, or that are out of date - and those of which it is not known."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.environment import EnvironmentFacts, environment_facts
from doctor.knowledge.env_vars import env_variables
from doctor.machine.model import Machine

LIBGOMP = {"kind": "openmp", "name": "libgomp"}
IOMP = {"kind": "openmp", "name": "libiomp5"}
WHEEL = {"openmp": "libgomp", "blas": "mkl", "version": "2.13.0+cpu"}


def facts(env: dict[str, str] | None, **parts: Any) -> EnvironmentFacts:
    plain = dict(parts)
    if env is not None:
        plain["env"] = env
    return environment_facts(msgspec.convert(plain, Machine))


def idle(env: dict[str, str], **parts: Any) -> list[str]:
    found = facts(env, **parts).idle
    assert found is not None
    return [row.variable for row in found]


def test_inventions_are_idle_everywhere() -> None:
    assert idle({"TORCH_LOOP_CORE_PINNING": "1", "PYTORCH_DIRECTML_X": "1"}) == [
        "TORCH_LOOP_CORE_PINNING",
        "PYTORCH_DIRECTML_X",
    ]


def test_every_variable_that_somebody_reads_is_not_idle_on_an_unknown_machine() -> None:
    read = {name: "1" for name, row in env_variables().items() if row.family != "nobody" and not set(name) & set("<*")}
    assert len(read) > 100
    assert idle(read) == []


@pytest.mark.parametrize(
    ("parts", "does_nothing"),
    [
        ({"torch": WHEEL, "libraries": [LIBGOMP]}, True),
        ({"torch": WHEEL, "packages": {"torch": {}}}, True),
        ({"torch": WHEEL}, False),
        ({"torch": WHEEL, "packages": {"torch": {}, "intel-openmp": {}}}, False),
        ({"torch": WHEEL, "libraries": [LIBGOMP, IOMP]}, False),
        ({"torch": {"openmp": "libiomp5"}, "libraries": [IOMP]}, False),
        ({"libraries": [LIBGOMP]}, False),
        ({}, False),
    ],
)
def test_kmp_variables_need_the_runtime_of_intel(parts: dict[str, Any], does_nothing: bool) -> None:
    assert idle({"KMP_AFFINITY": "compact"}, **parts) == (["KMP_AFFINITY"] if does_nothing else [])


def test_a_preloaded_runtime_reads_kmp_variables() -> None:
    env = {"KMP_BLOCKTIME": "1", "LD_PRELOAD": "/opt/lib/libiomp5.so"}
    assert idle(env, torch=WHEEL, libraries=[LIBGOMP]) == []


def test_the_switch_for_duplicates_has_a_rule_of_its_own() -> None:
    assert idle({"KMP_DUPLICATE_LIB_OK": "TRUE"}, torch=WHEEL, libraries=[LIBGOMP]) == []


@pytest.mark.parametrize("name", ["OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OPENBLAS_CORETYPE"])
def test_openblas_variables(name: str) -> None:
    mkl, openblas = {"kind": "blas", "name": "mkl"}, {"kind": "blas", "name": "openblas"}
    numpy = {"numpy": {"installer": "conda"}}
    assert idle({name: "4"}, torch=WHEEL, libraries=[mkl], packages=numpy) == [name]
    assert idle({name: "4"}, torch=WHEEL, libraries=[openblas], packages=numpy) == []
    assert idle({name: "4"}, torch=WHEEL, libraries=[mkl], packages={**numpy, "scipy": {}}) == []
    assert idle({name: "4"}, torch=WHEEL, libraries=[mkl]) == []


@pytest.mark.parametrize(
    ("env", "runtime", "binding"),
    [
        ({}, None, ()),
        ({"OMP_PROC_BIND": "close"}, "libgomp", ("OMP_PROC_BIND",)),
        ({"OMP_PROC_BIND": "TRUE"}, "libgomp", ("OMP_PROC_BIND",)),
        ({"OMP_PROC_BIND": "spread,close"}, "libgomp", ("OMP_PROC_BIND",)),
        ({"OMP_PROC_BIND": "false"}, "libgomp", ()),
        ({"OMP_PLACES": "cores"}, "libgomp", ("OMP_PLACES",)),
        ({"OMP_PLACES": "{0:4}"}, "libgomp", ("OMP_PLACES",)),
        ({"OMP_PLACES": "rubbish"}, "libgomp", ()),
        ({"OMP_PLACES": "cores", "OMP_PROC_BIND": "false"}, "libgomp", ()),
        ({"GOMP_CPU_AFFINITY": "0-3"}, "libgomp", ("GOMP_CPU_AFFINITY",)),
        ({"GOMP_CPU_AFFINITY": "0-3", "OMP_PROC_BIND": "FALSE"}, "libgomp", ()),
        ({"KMP_AFFINITY": "compact"}, "libgomp", ()),
        ({"KMP_AFFINITY": "compact"}, "libiomp5", ("KMP_AFFINITY",)),
        ({"KMP_AFFINITY": "none"}, "libiomp5", ()),
        ({"KMP_AFFINITY": "compact"}, None, None),
    ],
)
def test_binding_variables(env: dict[str, str], runtime: str | None, binding: tuple[str, ...] | None) -> None:
    assert facts(env, torch={"openmp": runtime}).binding_variables == binding


BINDS = {"OMP_PROC_BIND": "close"}


@pytest.mark.parametrize(
    ("env", "runtime", "limits", "narrows"),
    [
        (None, None, {"affinity_cpus": 8, "affinity_cpus_after_torch_import": 1}, True),
        (None, None, {"affinity_cpus": 8, "affinity_cpus_after_torch_import": 8}, False),
        (BINDS, "libgomp", {"affinity_cpus": 8, "affinity_cpus_after_torch_import": 8}, False),
        (BINDS, "libgomp", {"affinity_cpus": 8}, True),
        (BINDS, "libgomp", {"affinity_cpus": 1}, False),
        ({"OMP_PLACES": "cores"}, "libgomp", {"affinity_cpus": 8}, True),
        ({"OMP_PLACES": "sockets"}, "libgomp", {"affinity_cpus": 8}, None),
        ({**BINDS, "OMP_PLACES": "{0:8}"}, "libgomp", {"affinity_cpus": 8}, None),
        (BINDS, "libgomp", {}, None),
        (BINDS, "libiomp5", {"affinity_cpus": 8}, None),
        (BINDS, None, {"affinity_cpus": 8}, None),
        ({}, None, {}, False),
        (None, "libgomp", {"affinity_cpus": 8}, None),
    ],
)
def test_whether_the_import_takes_cpus_away(
    env: dict[str, str] | None, runtime: str | None, limits: dict[str, int], narrows: bool | None
) -> None:
    assert facts(env, torch={"openmp": runtime}, limits=limits).import_narrows is narrows


def mkl(version: str | None) -> dict[str, Any]:
    return {"kind": "blas", "name": "mkl", "version": version}


@pytest.mark.parametrize(
    ("parts", "stale"),
    [
        ({"torch": {"blas": "mkl", "blas_version": "2024.2"}}, True),
        ({"torch": {"blas": "mkl", "blas_version": "2020.1"}}, True),
        ({"torch": {"blas": "mkl", "blas_version": "2020.0"}}, False),
        ({"torch": {"blas": "mkl", "blas_version": "2019.0.5"}}, False),
        ({"torch": {"blas": "mkl"}}, None),
        ({"torch": {"blas": "mkl", "version": "2.9.1"}, "packages": {"torch": {"installer": "pip"}}}, True),
        ({"torch": {"blas": "mkl", "version": "1.12.1"}, "packages": {"torch": {"installer": "pip"}}}, None),
        ({"torch": {"blas": "mkl", "version": "2.9.1"}, "packages": {"torch": {"installer": "conda"}}}, None),
        ({"torch": {"blas": "mkl", "blas_version": "2024.2"}, "libraries": [mkl("2020.0.1")]}, False),
        ({"torch": {"blas": "mkl", "blas_version": "2024.2"}, "libraries": [mkl(None)]}, None),
        ({"torch": {"blas": "mkl", "blas_version": "2024.2"}, "packages": {"mkl": {"version": "2019.4"}}}, False),
        ({"torch": {"blas": "openblas"}, "libraries": [], "packages": {}}, True),
        ({"torch": {"blas": "openblas"}, "libraries": []}, None),
        ({"torch": {"installed": False}, "libraries": [], "packages": {}}, True),
        ({}, None),
    ],
)
def test_the_old_switch_of_mkl(parts: dict[str, Any], stale: bool | None) -> None:
    assert facts({"MKL_DEBUG_CPU_TYPE": "5"}, **parts).mkl_switch_stale is stale


def test_without_an_environment_nothing_is_said() -> None:
    assert facts(None) == EnvironmentFacts()
