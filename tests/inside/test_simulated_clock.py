"""The clock of simulated devices, through the worker that is told to time them: what it says follows from the shapes,
and only a measurement that waits for the device comes out right."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import pytest

from doctor.measure.units import Setting, Timing, Unit, Variant
from doctor.measure.worker import WorkerExperiment
from tests.inside.directml_environment import (
    clocked,
    environment_with_directml,
    skip_where_torch_cannot_host_a_device,
    told,
)

#: A machine so slow that one step is a block: what runs is quick all the same.
CPU = {"overhead": 1e-4, "bytes_per_second": 1e9, "flop_per_second": 1e9}
TWICE = {"overhead": 5e-5, "bytes_per_second": 2e9, "flop_per_second": 2e9, "read_back": 0.005}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skip_where_torch_cannot_host_a_device()
    return environment_with_directml(tmp_path_factory.mktemp("directml"))


def timings(python: Path, device: str, environ: Mapping[str, str], variants: tuple[Variant, ...]) -> list[Timing]:
    unit = Unit(0, "devices", 0, device, Setting(options={"device": device}), ("mlp-train",), 7, 120.0, variants)
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0)))) if hasattr(os, "sched_getaffinity") else "0"
    result = WorkerExperiment(str(python), {**os.environ, **environ}, all_cpus=cpus).measure(unit)
    assert result.outcome == "ok", result.detail
    return list(result.timings)


def at(batch: int) -> Variant:
    return Variant(f"batch {batch}", {"batch": str(batch)}, ("mlp-train",))


def test_a_device_is_as_many_times_as_fast_as_it_was_told_to_be(python: Path) -> None:
    environ = {**told(), **clocked(cpu=CPU, adapters=[TWICE])}
    (here,) = timings(python, "cpu", environ, (at(8),))
    (there,) = timings(python, "privateuseone:0", environ, (at(8),))
    # The reading of the result is taken off; launches overlap with the work of the device.
    assert median(here.seconds) / median(there.seconds) == pytest.approx(2.0, rel=0.02)


def test_large_batches_cost_more_where_the_caches_are_small(python: Path) -> None:
    small = {**TWICE, "rows": 1024, "factor": 4.0}
    environ = {**told(), **clocked(cpu=CPU, adapters=[small])}
    half, twice = timings(python, "privateuseone:0", environ, (at(1024), at(2048)))
    assert median(twice.seconds) / median(half.seconds) > 4.0


def test_the_same_unit_is_as_fast_each_time_and_noise_is_told(python: Path) -> None:
    environ = {**told(), **clocked(cpu=CPU, adapters=[TWICE], noise=0.05)}
    (first,), (second,) = (timings(python, "cpu", environ, (at(8),)) for _ in range(2))
    (quiet,) = timings(python, "cpu", {**told(), **clocked(cpu=CPU, adapters=[TWICE])}, (at(8),))
    assert median(first.seconds) == pytest.approx(median(second.seconds), rel=1e-3)
    assert median(first.seconds) != pytest.approx(median(quiet.seconds), rel=1e-3)
