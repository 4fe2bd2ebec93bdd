"""Which axes appear on which machine: only where the document allows it; what was left out is told with a reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.derive.facts import complete
from doctor.machine.document import read_document
from doctor.machine.model import Core, Cpu, Isa, L3Group, Library, Limits, Machine, Memory, Os, Package, Torch
from doctor.tune.arms import Arm, between
from doctor.tune.axes import plan_for
from doctor.tune.plan import Plan
from doctor.tune.wanted import AXES, ON_REQUEST, Wanted, axes_named

MACHINES = Path(__file__).resolve().parents[1] / "machines"
AVX2 = Isa(avx=True, avx2=True, fma=True, avx512f=False, avx512bw=False, avx512dq=False, avx512vl=False)
AVX512 = Isa(
    avx=True, avx2=True, fma=True, avx512f=True, avx512bw=True, avx512dq=True, avx512vl=True, avx512_bf16=True
)
TORCH = Torch(
    installed=True, version="2.13.0+cpu", cpu_capability="AVX512", num_threads=8, blas="mkl", openmp="libgomp"
)
TRAIN = ("mlp-train", "conv-train")


def machine(torch: Torch | None = TORCH, isa: Isa | None = AVX512, **more: Any) -> Machine:
    """Eight cores with SMT behind one L3 cache, on Linux with huge pages for those who ask."""
    cores = tuple(Core(cpus=f"{at},{at + 8}", package=0, l3=0) for at in range(8))
    parts: dict[str, Any] = {
        "os": Os(kind="linux"),
        "cpu": Cpu(
            name="small", cores=cores, l3_groups=(L3Group(cpus="0-15", cores=8),), logical_cpus=16, online="0-15",
            isa=isa,
        ),
        "limits": Limits(affinity="0-15", affinity_cpus=16, cpu_budget=16),
        "memory": Memory(total_bytes=32 << 30, available_bytes=24 << 30, transparent_huge_pages="madvise"),
        "packages": {"numpy": Package(version="2.3.4", installer="pip")},
        "torch": torch,
        "env": {},
    }
    return complete(Machine(**{**parts, **more}))


def recorded(name: str) -> Machine:
    return complete(read_document(json.loads((MACHINES / f"{name}.json").read_text())).machine)


def plan(
    given: Machine, workloads: tuple[str, ...] = TRAIN, env: Mapping[str, str] | None = None, **more: Any
) -> Plan:
    return plan_for(given, Wanted(workloads, seed=1, **more), env or {})


def added(found: Plan) -> dict[str, dict[str, str | None]]:
    return {addition.name: addition.variables for addition in found.additions}


def why(found: Plan, axis: str) -> str:
    return " / ".join(row.why for row in found.skipped if row.axis == axis)


def variables(found: Plan) -> set[str]:
    """Every variable that the run would ever set or take out."""
    arms = [arm.setting.variables for arm in found.arms]
    return {name for each in (*arms, *added(found).values()) for name in each}


def torch_with(**changes: Any) -> Torch:
    return msgspec.structs.replace(TORCH, **changes)


def test_libgomp_gets_a_wait_policy_and_never_a_kmp_variable() -> None:
    found = plan(machine())
    assert added(found)["wait-passive"] == {"OMP_WAIT_POLICY": "PASSIVE"}
    assert added(found)["wait-active"] == {"OMP_WAIT_POLICY": "ACTIVE"}
    assert not any(name.startswith("KMP_") for name in variables(found))


@pytest.mark.parametrize("openmp", ["libiomp5", "libomp"])
def test_intels_and_llvms_runtimes_get_a_blocktime(openmp: str) -> None:
    found = plan(machine(torch_with(openmp=openmp)))
    assert [values for name, values in added(found).items() if name.startswith("wait-")] == [
        {"KMP_BLOCKTIME": "1"}, {"KMP_BLOCKTIME": "infinite"}
    ]
    assert "GOMP_SPINCOUNT" not in variables(found) and "OMP_WAIT_POLICY" not in variables(found)


def test_an_unknown_runtime_gets_neither() -> None:
    found = plan(machine(torch_with(openmp=None)))
    assert not [name for name in added(found) if name.startswith("wait-")]
    assert "not known" in why(found, "wait-policy")


def test_what_the_user_set_is_not_tried_again_and_what_beats_it_is_taken_out() -> None:
    set_already = plan(machine(), env={"OMP_WAIT_POLICY": "active"})
    assert "wait-active" not in added(set_already) and "wait-passive" in added(set_already)
    counted = plan(machine(), env={"GOMP_SPINCOUNT": "1000"})
    assert added(counted)["wait-active"] == {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": None}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"os": Os(kind="windows")}, "on Linux only"),
        ({"memory": Memory(transparent_huge_pages="never")}, "switched off"),
        ({"memory": Memory()}, "not known"),
        ({"torch": torch_with(version="2.1.2")}, "this torch does not read"),
        ({"torch": torch_with(version=None)}, "unknown version"),
    ],
)
def test_huge_pages_only_where_torch_and_kernel_have_them(changes: dict[str, Any], told: str) -> None:
    found = plan(machine(**changes))
    assert "THP_MEM_ALLOC_ENABLE" not in variables(found) and told in why(found, "huge-pages")


def test_huge_pages_are_tried_on_and_where_they_are_on_off() -> None:
    assert added(plan(machine()))["huge-pages"] == {"THP_MEM_ALLOC_ENABLE": "1"}
    assert added(plan(machine(torch_with(version="2.2.0"))))["huge-pages"] == {"THP_MEM_ALLOC_ENABLE": "1"}
    on = plan(machine(), env={"THP_MEM_ALLOC_ENABLE": "1"})
    assert added(on)["without-huge-pages"] == {"THP_MEM_ALLOC_ENABLE": None}


def test_kernel_paths_only_go_down_and_only_where_the_chip_can_run_them() -> None:
    wide = plan(machine())
    assert added(wide)["aten-avx2"] == {"ATEN_CPU_CAPABILITY": "avx2"}
    assert added(wide)["onednn-avx2"] == {"ONEDNN_MAX_CPU_ISA": "AVX2"}
    narrow = plan(machine(torch_with(cpu_capability="AVX2"), isa=AVX2))
    assert not {"ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA"} & variables(narrow)
    assert "AVX2 here" in why(narrow, "kernel-path") and "no AVX-512" in why(narrow, "kernel-path")
    for unknown in (machine(torch_with(cpu_capability=None), isa=None), machine(isa=Isa(avx512f=True))):
        assert not {"ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA"} & variables(plan(unknown))


def test_nothing_ever_sets_avx512_by_force() -> None:
    """ATEN_CPU_CAPABILITY=avx512 is not checked against the hardware: SIGILL on Zen 1 to 3."""
    for isa in (AVX2, AVX512):
        for env in ({}, {"ATEN_CPU_CAPABILITY": "avx2"}, {"ATEN_CPU_CAPABILITY": "default"}):
            values = added(plan(machine(isa=isa), env=env)).values()
            assert "avx512" not in [each.get("ATEN_CPU_CAPABILITY") for each in values]


def test_a_cap_in_the_environment_is_tried_without() -> None:
    found = plan(machine(), env={"ATEN_CPU_CAPABILITY": "default", "DNNL_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "AVX2"})
    assert added(found)["aten-own-choice"] == {"ATEN_CPU_CAPABILITY": None}
    assert added(found)["onednn-uncapped"] == {"DNNL_MAX_CPU_ISA": None}
    assert "MKL_CBWR" not in variables(found) and "MKL_CBWR is set and stays" in why(found, "kernel-path")


def test_products_alone_read_no_capability_and_without_convolutions_onednn_has_nothing_to_do() -> None:
    found = plan(machine(), ("gemm-512", "gemm-1024"))
    assert not {"ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA"} & variables(found)
    assert "aten-avx2" in added(plan(machine(), ("mlp-train",))) and "onednn-avx2" not in added(
        plan(machine(), ("mlp-train",))
    )


def openblas(architecture: str | None = "Haswell") -> tuple[Library, ...]:
    return (Library(kind="blas", name="openblas", threads=16, architecture=architecture),)


def test_openblas_is_for_numpy_alone_and_numpy_is_for_openblas_alone() -> None:
    found = plan(machine(libraries=openblas()), ("numpy-gemm",))
    assert {name for arm in found.arms for name in arm.setting.variables} == {"OPENBLAS_NUM_THREADS"}
    assert found.default_threads == 16
    assert added(found) == {
        "openblas-cooperlake": {"OPENBLAS_CORETYPE": "Cooperlake"},
        "openblas-skylakex": {"OPENBLAS_CORETYPE": "SkylakeX"},
        "openblas-zen": {"OPENBLAS_CORETYPE": "Zen"},
    }
    assert all("NumPy does not read" in why(found, axis) for axis in ("wait-policy", "huge-pages", "kernel-path"))
    for workloads in (TRAIN, ("gemm-512", "numpy-gemm")):
        both = plan(machine(libraries=openblas()), workloads)
        assert not any(name.startswith("OPENBLAS_") for name in variables(both))
    assert "numpy-gemm measures NumPy alone" in why(both, "openblas")


def test_openblas_kernels_only_where_known_and_only_what_the_chip_runs() -> None:
    zen3 = machine(isa=AVX2, libraries=openblas("Zen"))
    assert list(added(plan(zen3, ("numpy-gemm",)))) == ["openblas-haswell"]
    unknown = plan(machine(libraries=openblas(None)), ("numpy-gemm",))
    assert added(unknown) == {} and "not an OpenBLAS whose kernels are known" in why(unknown, "openblas")
    forced = plan(machine(libraries=openblas()), ("numpy-gemm",), env={"OPENBLAS_CORETYPE": "Prescott"})
    assert added(forced) == {"openblas-own-choice": {"OPENBLAS_CORETYPE": None}}
    mkl = plan(machine(libraries=(Library(kind="blas", name="mkl"),), packages={}), ("numpy-gemm",))
    assert {name for arm in mkl.arms for name in arm.setting.variables} == {"OMP_NUM_THREADS"}


def test_more_threads_than_cores_need_a_word_to_mkl() -> None:
    """Measured with torch 2.13: OMP_NUM_THREADS=4 on two cores gives 2 threads, and 4 with MKL_DYNAMIC=FALSE."""
    by_count = {arm.setting.variables["OMP_NUM_THREADS"]: arm.setting.variables for arm in plan(machine()).arms}
    assert by_count["16"] == {"OMP_NUM_THREADS": "16", "MKL_DYNAMIC": "FALSE"}
    assert by_count["12"]["MKL_DYNAMIC"] == "FALSE" and "MKL_DYNAMIC" not in by_count["4"]
    other = plan(machine(torch_with(blas="openblas")))
    assert "MKL_DYNAMIC" not in variables(other)
    eight, all_cpus = Arm("threads-8", plan(machine()).arms[1].setting), plan(machine()).arms[0]
    assert all_cpus.setting.variables["OMP_NUM_THREADS"] == "16"
    (middle,) = between(all_cpus, [all_cpus], 8)
    assert middle.setting.variables == {"OMP_NUM_THREADS": "11", "MKL_DYNAMIC": "FALSE"}
    low = msgspec.structs.replace(eight, setting=msgspec.structs.replace(eight.setting, variables={
        "OMP_NUM_THREADS": "8"
    }))
    counts = {arm.setting.variables["OMP_NUM_THREADS"]: arm for arm in between(low, [low, all_cpus], 4)}
    assert counts["11"].setting.variables["MKL_DYNAMIC"] == "FALSE"
    assert "MKL_DYNAMIC" not in counts["6"].setting.variables


def test_a_windows_laptop_without_a_list_of_cores_still_knows_how_many_there_are() -> None:
    by_name = {arm.name: arm.setting.variables for arm in plan(recorded("windows-laptop")).arms}
    assert by_name["threads-24"]["MKL_DYNAMIC"] == "FALSE" and "MKL_DYNAMIC" not in by_name["threads-6"]


def test_only_named_axes_are_looked_at() -> None:
    found = plan(machine(), axes=("wait-policy",))
    assert found.arms == () and set(added(found)) == {"wait-passive", "wait-active"}
    assert all(row.axis == "wait-policy" for row in found.skipped)
    threads = plan(machine(), axes=("threads",))
    assert threads.arms and threads.additions == () and threads.skipped == ()


def test_binding_variables_are_never_exported() -> None:
    pinning = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}
    for given in (machine(), recorded("windows-laptop"), recorded("healthy-5950x"), recorded("container-quota")):
        for axes in ((), ("binding", "threads", "wait-policy")):
            assert not pinning & variables(plan(given, axes=axes))


def test_binding_variables_of_the_environment_are_tried_without() -> None:
    env = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
    assert added(plan(machine(), env=env))["unbound"] == {"OMP_PROC_BIND": None, "OMP_PLACES": None}
    assert "unbound" not in added(plan(machine()))


def test_without_torch_only_threads_are_left() -> None:
    found = plan(machine(Torch(installed=False)), ("command",))
    assert found.additions == () and found.arms and "no torch" in why(found, "wait-policy")
    assert found.default_threads is None, "a command may start any number of threads"


def test_one_cpu_and_nothing_known_leave_nothing_but_say_so() -> None:
    one = machine(limits=Limits(affinity="3", affinity_cpus=1, cpu_budget=1), torch=torch_with(num_threads=1))
    found = plan(one, axes=("threads",))
    assert found.arms == () and "one CPU" in why(found, "threads")
    nothing = plan(Machine(), axes=("threads",))
    assert nothing.arms == () and "not known" in why(nothing, "threads")


def test_the_subject_changes_with_hardware_and_software_and_with_nothing_else() -> None:
    base = plan(machine()).subject
    assert set(base) == {"cpu", "cpus", "torch", "python", "driver", "hardware"}
    assert base["cpus"] == "0-15" and base["driver"] == "none" and len(base["hardware"]) == 12
    more = msgspec.structs.replace(machine().memory, total_bytes=(32 << 30) - 30_000_000)  # type: ignore[type-var]
    assert plan(machine(memory=more)).subject["hardware"] == base["hardware"]
    more = msgspec.structs.replace(machine().memory, total_bytes=64 << 30)  # type: ignore[type-var]
    assert plan(machine(memory=more)).subject["hardware"] != base["hardware"]
    assert plan(machine(torch_with(version="2.14.1"))).subject["torch"] == "2.14.1"
    assert plan(machine(), ("command",), command="abc").subject["command"] == "abc"


def test_axes_are_named_in_their_order_and_a_slip_is_answered() -> None:
    assert axes_named(["dtype", "threads", "dtype"]) == ("threads", "dtype")
    with pytest.raises(ValueError, match="did you mean wait-policy"):
        axes_named(["wait-polcy"])
    with pytest.raises(ValueError, match="there are threads, inherited, wait-policy"):
        axes_named(["x"])
    assert set(ON_REQUEST) < set(AXES)
    assert not Wanted(TRAIN, 1).asks_for("binding") and Wanted(TRAIN, 1, axes=("binding",)).asks_for("binding")
