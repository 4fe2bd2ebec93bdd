"""The names of what can be timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.measure import workloads
from doctor.measure.workloads import COMMAND, FAMILIES, MODES, OF_DEVICES, WORKLOADS, expand

FILES = Path(workloads.__file__).resolve().parents[1] / "inside" / "workloads"


def test_every_workload_has_its_file_and_every_file_its_workload() -> None:
    modules = {workload.module for workload in (*WORKLOADS.values(), *OF_DEVICES.values())}
    files = {path.stem for path in FILES.glob("*.py")} - {"__init__"}
    # What fills a device's memory is timed by nobody, and lies beside the worker.
    assert modules == files | {"device_memory"} and (FILES.parent / "device_memory.py").is_file()
    assert not OF_DEVICES.keys() & WORKLOADS.keys()


def test_names_are_those_of_the_contract() -> None:
    sizes = ("512", "1024", "4096", "skinny")
    gemms = [f"gemm-{size}" for size in sizes] + [f"gemm-bf16-{size}" for size in sizes]
    rest = ["triad", "small-ops", "mlp-train", "conv-train", "transformer-infer", "fit", "numpy-gemm"]
    assert [*WORKLOADS] == gemms + rest
    assert all(workload.name == name and workload.title for name, workload in WORKLOADS.items())
    assert COMMAND not in WORKLOADS
    assert {name for name, workload in WORKLOADS.items() if workload.needs == "numpy"} == {"numpy-gemm"}


def test_modes_are_sets_of_workloads_of_their_kind() -> None:
    assert all(WORKLOADS[name].trains for name in MODES["train"])
    assert not any(WORKLOADS[name].trains for name in MODES["infer"])


def test_a_family_stands_for_its_members_and_each_comes_once() -> None:
    assert expand(["gemm"]) == FAMILIES["gemm"] == tuple(name for name in WORKLOADS if name.startswith("gemm-"))
    assert expand(["triad", "gemm-1024", "gemm", "triad"])[:3] == ("triad", "gemm-1024", "gemm-512")
    assert len(expand(["gemm", "gemm"])) == 8
    assert expand([]) == ()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mlp_train", "no workload is called 'mlp_train'; did you mean mlp-train?"),
        ("gem", "no workload is called 'gem'; did you mean gemm?"),
        ("", "no workload is called ''; there are gemm-512, "),
        ("x" * 500, f"no workload is called {'x' * 40!r}; there are "),
        ("command", "no workload is called 'command'"),
    ],
)
def test_a_name_that_stands_for_nothing(name: str, told: str) -> None:
    with pytest.raises(ValueError) as caught:
        expand(["triad", name])
    assert str(caught.value).startswith(told)
