from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.diagnosis.expression import (
    MAX_DEPTH,
    MAX_LENGTH,
    BadExpression,
    Scope,
    compile_expression,
)
from doctor.diagnosis.truth import Unknown
from doctor.machine.model import Cgroup, Cpu, Gpu, Isa, Limits, Machine, Node, Os, Package, Torch

MACHINE = Machine(
    torch=Torch(installed=True, num_threads=192, hip="none"),
    limits=Limits(cpu_budget=8, cgroup=Cgroup(quota_cpus="none")),
    os=Os(kernel_cmdline="quiet amd_iommu=off"),
    cpu=Cpu(flags=("sse2", "avx"), isa=Isa(avx=True)),
    env={"OMP_NUM_THREADS": "8"},
    packages={"torch": Package(version="2.13.0"), "pytorch-triton-rocm": Package(version="3.1.0")},
    gpus=(),
    nodes={"kfd": Node(exists=True)},
)


def judged(text: str, machine: Any = MACHINE, it: Any = None) -> Any:
    return compile_expression(text).judge(Scope(machine, it=it))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.installed", True),
        ("not torch.installed", False),
        ("torch.num_threads >= 1.5 * limits.cpu_budget", True),
        ("torch.num_threads == 192.0", True),
        ("1 < limits.cpu_budget < 100", True),
        ("1 < limits.cpu_budget < 8", False),
        ("limits.cpu_budget - 9 == -1", True),
        ("-limits.cpu_budget < 0", True),
        ('torch.hip == "none"', True),
        ('torch.hip in ["none", "6.0"]', True),
        ('torch.hip not in ["none", "6.0"]', False),
        ('"avx" in cpu.flags', True),
        ('"avx2" in cpu.flags', False),
        ('"amd_iommu=off" in os.kernel_cmdline', True),
        ("gpus == []", True),
        ("gpus != []", False),
        ('"OMP_NUM_THREADS" in env', True),
        ("torch.installed == True", True),
        ("True", True),
    ],
)
def test_known_facts(text: str, expected: bool) -> None:
    assert judged(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "limits.cgroup.quota_cpus < 2",
        "limits.cgroup.quota_cpus >= 2",
        "2 <= limits.cgroup.quota_cpus",
        "limits.cgroup.quota_cpus == 2",
        "2 * limits.cgroup.quota_cpus > 0",
        "torch.hip > limits.cgroup.quota_cpus",
        "limits.cpu_budget / 0 > 1",
        "1e300 * 1e300 > 1",
        "9" * 400 + " / 3 > 1",
        "torch.installed == 1",
        "torch.installed > 0",
        'torch.num_threads in ["192"]',
        "torch.num_threads in os.kernel_cmdline",
    ],
)
def test_words_and_numbers_have_no_order_and_are_never_equal(text: str) -> None:
    assert judged(text) is False
    assert judged(f"not ({text})") is True


def test_arithmetic_without_a_result_is_the_word_none() -> None:
    assert judged('limits.cgroup.quota_cpus * 2 == "none"') is True
    assert judged('limits.cpu_budget / 0 == "none"') is True


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("cpu.family == 23", ("cpu.family",)),
        ("torch.installed and cpu.family == 23", ("cpu.family",)),
        ("cpu.family == 23 and cpu.model == 1", ("cpu.family", "cpu.model")),
        ("cpu.family + cpu.model > 3", ("cpu.family", "cpu.model")),
        ("rocm.version == 'none'", ("rocm.version",)),
        ("not cpu.isa.avx2", ("cpu.isa.avx2",)),
        ("8 in [cpu.family, cpu.model]", ("cpu.family", "cpu.model")),
        ("cpu.family in [1, 2]", ("cpu.family",)),
        ("1 < cpu.family < 100", ("cpu.family",)),
        ("torch.num_threads", ("torch.num_threads",)),  # no yes or no
        ("it.gfx == 'gfx1100'", ("it.gfx",)),
        ("os.modprobe_options.ttm == 'none'", ("os.modprobe_options.ttm",)),
    ],
)
def test_unknown_names_the_facts_it_missed(text: str, facts: tuple[str, ...]) -> None:
    assert judged(text) == Unknown(facts)


@pytest.mark.parametrize("unknown", ["cpu.family == 1", "cpu.isa.avx2"])
def test_one_decisive_part_decides_wherever_it_stands(unknown: str) -> None:
    for parts in itertools.permutations([unknown, "not torch.installed", "torch.installed"]):
        assert judged(" and ".join(parts)) is False
        assert judged(" or ".join(parts)) is True
    assert judged("1 < cpu.family < 100 < 2") is False
    assert judged("cpu.family in [1, 2] or 192 in [cpu.family, torch.num_threads]") is True


def test_a_missing_name_in_a_present_map_is_the_word_none() -> None:
    assert judged('env.MKL_NUM_THREADS == "none"') is True
    assert judged('env.OMP_NUM_THREADS != "none"') is True
    assert judged('env.omp_num_threads == "none"') is True
    hidden = Machine(env={"HIP_VISIBLE_DEVICES": ""})
    assert judged('env.HIP_VISIBLE_DEVICES == "" and env.HIP_VISIBLE_DEVICES != "none"', hidden) is True
    assert judged('packages.numpy == "none"') is True
    assert judged('packages.numpy.version == "none"') is True
    assert judged('packages.torch.installer == "pip"') == Unknown(("packages.torch.installer",))
    assert judged('packages.pytorch_triton_rocm.version == "3.1.0"') is True
    assert judged("nodes.dri.exists == True") == Unknown(("nodes.dri.exists",))


def test_a_missing_map_is_unknown() -> None:
    assert judged('env.OMP_NUM_THREADS == "none"', Machine()) == Unknown(("env.OMP_NUM_THREADS",))
    assert judged('packages.numpy == "none"', Machine()) == Unknown(("packages.numpy",))


def test_it_is_the_item() -> None:
    gpu = Gpu(gfx="gfx1100", integrated=False)
    assert judged('it.gfx == "gfx1100" and not it.integrated', it=gpu) is True
    assert judged("it in ['video']", it="video") is True


def test_facts_are_told_apart_by_their_use() -> None:
    found = compile_expression(
        'torch.installed and not cpu.smt and (limits.cpu_budget + 1 > cpu.family) and torch.hip == "none" '
        'and "avx" in cpu.flags and torch.build in ["cpu", os.kind] and torch.installed'
    )
    assert set(found.facts) == {
        "torch.installed",
        "cpu.smt",
        "limits.cpu_budget",
        "cpu.family",
        "torch.hip",
        "cpu.flags",
        "torch.build",
        "os.kind",
    }
    assert len(found.facts) == len(set(found.facts))
    assert found.truths == ("torch.installed", "cpu.smt")
    assert set(found.numbers) == {"limits.cpu_budget", "cpu.family"}
    assert found.collections == ("cpu.flags",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "torch.installed and",
        "torch.num_threads.__class__",
        "__import__",
        "().__class__",
        "[x for x in env]",
        "len(gpus) > 1",
        "gpus[0].gfx",
        "2 ** 99 > 1",
        "7 % 2 == 1",
        "7 // 2 == 3",
        "~limits.cpu_budget == 1",
        "lambda: 1",
        "torch.installed if True else False",
        "f'{torch}' == 'x'",
        "b'a' == b'a'",
        "torch.hip is None",
        "torch.hip == None",
        "torch.hip == ...",
        "1j == 1",
        "{'a': 1} == 1",
        "(1, 2) == (1, 2)",
        "torch.version < '2.10'",
        "'a' > 1",
        "'a' * 3 == 'aaa'",
        "True + 1 == 2",
        "1",
        "'yes'",
        "torch.num_threads + 1",
        "torch.hip in 'none 6.0'",
        "[1] == [1]",
        "1 in [[1]]",
        "1 < (torch.installed and True)",
        "(torch := 1) == 1",
        "torch.installed\nand True",
        "torch.installed; True",
        "a" * (MAX_LENGTH + 1),
        "not " * (MAX_DEPTH + 2) + "torch.installed",
        "-" * (MAX_DEPTH + 2) + "1 > 0",
        "(" * 300 + "1" + ")" * 300,
        "torch.\x00installed",
    ],
)
def test_what_is_not_on_the_list_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        compile_expression(text)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80) | st.text(alphabet="abc.()[]<>=!+-*/'\" 019nottrueandin", max_size=60))
def test_random_text_raises_nothing_else(text: str) -> None:
    with contextlib.suppress(BadExpression):
        compile_expression(text)


# Small expressions over facts with small domains; an unknown fact stands for every value of its domain.

BOOLS = {"cpu.isa.avx": "avx", "cpu.isa.avx2": "avx2", "cpu.isa.fma": "fma"}
NUMBERS = ("limits.cpu_budget", "limits.affinity_cpus")
NUMBER_VALUES = (0, 1, 2)


def atoms() -> st.SearchStrategy[str]:
    number = st.sampled_from([*NUMBERS, "0", "1", "2"])
    value = number | st.tuples(number, st.sampled_from("+-*/"), number).map(lambda parts: "({} {} {})".format(*parts))
    order = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    return (
        st.sampled_from(list(BOOLS))
        | st.tuples(value, order, value).map(" ".join)
        | st.tuples(value, order, value, order, value).map(" ".join)
        | st.tuples(number, st.sampled_from(["in", "not in"]), st.lists(number, max_size=3)).map(
            lambda parts: f"{parts[0]} {parts[1]} [{', '.join(parts[2])}]"
        )
    )


def expressions() -> st.SearchStrategy[str]:
    return st.recursive(
        atoms(),
        lambda inner: (
            inner.map("not ({})".format)
            | st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: "({} {} {})".format(*parts))
        ),
        max_leaves=5,
    )


def machine_of(values: dict[str, Any]) -> Machine:
    isa = Isa(**{short: values.get(path) for path, short in BOOLS.items()})
    budget, affinity = (values.get(path) for path in NUMBERS)
    return Machine(cpu=Cpu(isa=isa), limits=Limits(cpu_budget=budget, affinity_cpus=affinity))


partial_machines = st.fixed_dictionaries(
    {
        **{path: st.sampled_from([None, True, False]) for path in BOOLS},
        **{path: st.sampled_from([None, *NUMBER_VALUES]) for path in NUMBERS},
    }
)


def completions(values: dict[str, Any]) -> list[dict[str, Any]]:
    domains = [
        [value] if value is not None else [True, False] if path in BOOLS else list(NUMBER_VALUES)
        for path, value in values.items()
    ]
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*domains)]


@settings(max_examples=300, deadline=None)
@given(expressions(), partial_machines)
def test_a_verdict_holds_for_every_value_that_an_unknown_fact_may_have(text: str, values: dict[str, Any]) -> None:
    expression = compile_expression(text)
    verdict = expression.judge(Scope(machine_of(values)))
    table = {expression.judge(Scope(machine_of(whole))) for whole in completions(values)}
    assert table <= {True, False}, "with every fact known there is a verdict"
    if isinstance(verdict, Unknown):
        assert set(verdict.facts) <= {path for path, value in values.items() if value is None}
        assert verdict.facts
    else:
        assert table == {verdict}


@settings(max_examples=200, deadline=None)
@given(st.permutations(list(BOOLS)), st.lists(st.sampled_from(["and", "or"]), min_size=2, max_size=2), partial_machines)
def test_where_no_fact_stands_twice_unknown_means_both_are_possible(
    paths: list[str], words: list[str], values: dict[str, Any]
) -> None:
    expression = compile_expression(f"({paths[0]} {words[0]} not {paths[1]}) {words[1]} {paths[2]}")
    table = {expression.judge(Scope(machine_of(whole))) for whole in completions(values)}
    verdict = expression.judge(Scope(machine_of(values)))
    assert isinstance(verdict, Unknown) == (table == {True, False})


anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("none")


@settings(max_examples=300, deadline=None)
@given(expressions(), st.lists(anything, min_size=5, max_size=5))
def test_evaluation_never_raises(text: str, values: list[Any]) -> None:
    """Also on a machine whose fields hold what their types forbid."""
    verdict = compile_expression(text).judge(Scope(machine_of(dict(zip([*BOOLS, *NUMBERS], values, strict=True)))))
    assert isinstance(verdict, bool | Unknown)
