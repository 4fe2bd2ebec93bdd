"""Which recommendations are measured on which machine, and why the others are not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.machine.model import Cgroup, Limits, Machine, Memory, Os, Torch
from doctor.tune.axes_advice import memory_limit
from doctor.tune.plan import Plan
from doctor.tune.trials import Trial
from tests.tune.test_axes import AVX2, TRAIN, machine, plan, recorded, why

GIB = 1 << 30


def trials(found: Plan) -> dict[str, Trial]:
    return {trial.axis: trial for trial in found.trials}


def with_memory(**facts: Any) -> Machine:
    memory = Memory(available_bytes=24 * GIB, transparent_huge_pages="madvise", **facts)
    return machine(memory=memory)


def test_training_gets_batch_then_dtype_then_what_gains_less() -> None:
    found = plan(with_memory(allocators=("/usr/lib64/libjemalloc.so.2",)))
    assert list(trials(found)) == ["batch", "dtype", "loader", "allocator", "denormals", "interop"]
    assert trials(found)["batch"].workloads == ("mlp-train",), "one number stands in the env file"
    assert trials(found)["dtype"].workloads == TRAIN and trials(found)["dtype"].options == {"autocast": "bfloat16"}
    assert found.memory_bytes == int(0.8 * 24 * GIB) and found.peaks is not None and found.all_cpus == "0-15"


def test_bfloat16_only_where_the_chip_multiplies_it_or_it_is_named() -> None:
    narrow = plan(machine(isa=AVX2))
    assert "dtype" not in trials(narrow) and "5 to 90 times" in why(narrow, "dtype")
    assert "dtype" in trials(plan(machine(isa=AVX2), axes=("dtype",)))
    unknown = plan(machine(isa=None))
    assert "dtype" not in trials(unknown) and "not known to have" in why(unknown, "dtype")


def test_what_changes_numbers_or_pins_is_measured_on_request_only() -> None:
    assert not {"fpmath", "binding"} & set(trials(plan(machine())))
    named = trials(plan(machine(), axes=("fpmath", "binding")))
    assert named["fpmath"].variables == {"ONEDNN_DEFAULT_FPMATH_MODE": "BF16"} and named["fpmath"].changes_numbers
    assert named["binding"].may_pin and named["binding"].variables["OMP_PROC_BIND"] == "close"
    narrow = plan(machine(isa=AVX2), axes=("fpmath",))
    assert trials(narrow) == {} and "pointless" in why(narrow, "fpmath")


@pytest.mark.parametrize(
    ("allocators", "env", "told"),
    [
        (None, {}, "not known"),
        ((), {}, "neither"),
        (("/usr/lib64/libjemalloc.so.2",), {"LD_PRELOAD": "/opt/libtcmalloc.so.4"}, "libtcmalloc.so.4"),
    ],
)
def test_an_allocator_only_where_it_is_installed(
    allocators: tuple[str, ...] | None, env: dict[str, str], told: str
) -> None:
    found = plan(with_memory(allocators=allocators), env=env)
    assert "allocator" not in trials(found) and told in why(found, "allocator")


def test_one_allocator_of_each_kind_and_what_is_preloaded_stays() -> None:
    lib = "/usr/lib/x86_64-linux-gnu"
    paths = (f"{lib}/libtcmalloc_minimal.so.4", f"{lib}/libtcmalloc.so.4", f"{lib}/libjemalloc.so.2")
    found = [
        trial for trial in plan(with_memory(allocators=paths), env={"LD_PRELOAD": "/a.so"}).trials
        if trial.axis == "allocator"
    ]
    assert [trial.title for trial in found] == ["memory from tcmalloc_minimal", "memory from jemalloc"]
    assert found[0].variables == {"LD_PRELOAD": f"{lib}/libtcmalloc_minimal.so.4:/a.so"}
    assert found[0].code[0].startswith("LD_PRELOAD=/usr/lib")


def test_ld_preload_is_never_among_what_can_be_exported() -> None:
    found = plan(with_memory(allocators=("/usr/lib64/libjemalloc.so.2",)))
    exported = [*(arm.setting.variables for arm in found.arms), *(each.variables for each in found.additions)]
    assert not any("LD_PRELOAD" in variables for variables in exported)


def test_the_memory_that_may_be_used_is_the_tightest_bound() -> None:
    base = machine()
    assert memory_limit(base) == int(0.8 * 24 * GIB)
    for limits in (
        Limits(cgroup=Cgroup(memory_bytes=2 * GIB)),
        Limits(cgroup=Cgroup(memory_bytes="none"), address_space_bytes=2 * GIB),
    ):
        assert memory_limit(msgspec.structs.replace(base, limits=limits)) == int(0.8 * 2 * GIB)
    unknown = msgspec.structs.replace(base, memory=Memory(), limits=Limits(cgroup=Cgroup(memory_bytes=2 * GIB)))
    assert memory_limit(unknown) is None
    found = plan(machine(memory=Memory(transparent_huge_pages="never")))
    assert "batch" not in trials(found) and "how much memory is free" in why(found, "batch")


def test_workers_only_where_they_start_quickly_and_have_a_cpu() -> None:
    choices = trials(plan(machine()))["loader"].choices
    assert choices == ({"loader_workers": "1"}, {"loader_workers": "2"}, {"loader_workers": "4"})
    two = machine(limits=Limits(affinity="0,8", affinity_cpus=2, cpu_budget=2))
    assert trials(plan(two))["loader"].choices == ({"loader_workers": "1"},)
    one = machine(limits=Limits(affinity="3", affinity_cpus=1, cpu_budget=1))
    assert "with one CPU" in why(plan(one), "loader")
    windows = machine(os=Os(kind="windows"))
    assert "--axis loader" in why(plan(windows), "loader") and "loader" in trials(plan(windows, axes=("loader",)))


def test_products_and_bandwidth_have_nothing_to_recommend() -> None:
    found = plan(machine(), ("gemm-1024", "triad"))
    assert trials(found) == {}
    assert {row.axis for row in found.skipped} >= {"batch", "dtype", "loader", "denormals", "interop"}


def test_inference_has_a_batch_and_a_dtype_and_no_loader() -> None:
    found = plan(machine(), ("transformer-infer", "gemm-skinny"))
    assert trials(found)["batch"].workloads == ("transformer-infer",) == trials(found)["dtype"].workloads
    assert "loader" not in trials(found)


def test_a_command_of_ones_own_is_run_as_it_is() -> None:
    found = plan(with_memory(allocators=("/usr/lib64/libjemalloc.so.2",)), ("command",), command="abc")
    assert list(trials(found)) == ["allocator"] and found.peaks is None
    assert "as it is" in why(found, "dtype") and "uses none of it" in why(found, "roofline")


def test_numpy_alone_is_no_matter_of_torch() -> None:
    found = plan(machine(), ("numpy-gemm",))
    assert trials(found) == {} and "NumPy alone" in why(found, "dtype")


def test_one_inter_op_thread_is_not_tried_where_there_is_one() -> None:
    torch = Torch(installed=True, version="2.13.0", num_threads=8, interop_threads=1, openmp="libgomp")
    assert "already" in why(plan(machine(torch)), "interop")


def test_without_torch_nothing_of_it_is_planned() -> None:
    found = plan(machine(Torch(installed=False)), ("command",))
    assert found.peaks is None and [trial.axis for trial in found.trials] == []


def test_real_documents_plan_what_their_machine_can_do() -> None:
    windows = plan(recorded("windows-laptop"))
    assert list(trials(windows)) == ["batch", "dtype", "denormals", "interop"]
    zen3 = plan(recorded("healthy-5950x"))
    assert list(trials(zen3)) == ["batch", "loader", "denormals", "interop"]
    container = plan(recorded("container-quota"))
    assert container.memory_bytes is None or container.memory_bytes > 0
