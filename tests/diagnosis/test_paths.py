from __future__ import annotations

import pytest

from doctor.diagnosis.expression import compile_expression
from doctor.diagnosis.paths import UnknownPath, holds, item_of, machine_facts, problems_of
from doctor.machine.model import Cgroup, Gpu, Node, Package


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("torch.installed", {bool}),
        ("limits.cgroup.quota_cpus", {float, str}),
        ("limits.cgroup", {Cgroup}),
        ("cpu.flags", {tuple}),
        ("packages.torch", {Package}),
        ("packages.torch.version", {str}),
        ("env.OMP_NUM_THREADS", {str}),
        ("os.modprobe_options.ttm", {str}),
        ("derived.tables.oldest_days", {int}),
        ("derived.pytorch.bf16_time_ratio", {float, str}),
        ("packages", {dict}),
    ],
)
def test_what_a_fact_holds(path: str, kinds: set[type]) -> None:
    assert holds(path) == kinds


@pytest.mark.parametrize(
    "path",
    [
        "torch.thread_count",
        "torches.installed",
        "torch.version.major",
        "gpus.gfx",
        "derived.nothing",
        "derived.tables.nothing",
        "it.gfx",
        "nodes.kfd.exists",
        "limits.cgroup.quota_cpus.x",
    ],
)
def test_a_fact_that_the_model_does_not_have(path: str) -> None:
    with pytest.raises(UnknownPath, match=path.split(".")[0]):
        holds(path)


def test_items_of_a_list() -> None:
    assert item_of("gpus") is Gpu
    assert holds("it.gfx", item_of("gpus")) == {str}
    assert holds("it", item_of("os.group_names")) == {str}
    with pytest.raises(UnknownPath):
        item_of("cpu.isa")
    with pytest.raises(UnknownPath):
        holds("it.speed", Gpu)
    assert holds("it.exists", Node) == {bool}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("torch.version", "torch.version is not a yes or no"),
        ("not limits.cgroup.quota_cpus", "limits.cgroup.quota_cpus is not a yes or no"),
        ("torch.version > 2", "torch.version is not a number"),
        ("torch.hip * 2 == 4", "torch.hip is not a number"),
        ("1 in torch.num_threads", "nothing can be in torch.num_threads"),
        ("torch.thread_count > 2", "torch.thread_count is not a fact of the machine document"),
    ],
)
def test_facts_used_for_what_they_are_not(text: str, problem: str) -> None:
    assert problems_of(compile_expression(text)) == [problem]


def test_facts_used_for_what_they_are() -> None:
    text = 'torch.installed and limits.cgroup.quota_cpus > 2 and "avx" in cpu.flags and torch.hip == "none"'
    assert problems_of(compile_expression(text)) == []
    assert problems_of(compile_expression("it.integrated"), Gpu) == []


def test_the_machine_facts_behind_a_derived_one() -> None:
    assert machine_facts("derived.openmp.conflict") == ("libraries",)
    assert machine_facts("torch.version") == ("torch.version",)
    assert machine_facts("derived.nothing.conflict") == ("derived.nothing.conflict",)
    assert machine_facts("derived.openmp") == ("derived.openmp",)
