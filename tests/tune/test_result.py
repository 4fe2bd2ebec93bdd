"""A result read back from its document, and what a machine document takes over from it."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.derive.facts import complete, derive
from doctor.machine.model import Machine, Measurements
from doctor.measure.units import DEFAULT, Measured, Setting
from doctor.present.tune_json import tune_document
from doctor.tune.arms import Arm
from doctor.tune.measurements import measurements_of
from doctor.tune.peaks import Peaks
from doctor.tune.plan import Plan
from doctor.tune.result import BadResult, SavedResult, TuneResult, read_result, read_saved_result
from doctor.tune.run import events
from tests.tune.fake import FakeWorker, Net
from tests.tune.test_advise import BATCH, DENORMALS, DTYPE, GIB, MLP, jitter

ONE_GROUP = Arm("threads-4-ccx0", Setting({"OMP_NUM_THREADS": "4"}, "0-3"))
SPREAD = Arm("threads-4-spread4", Setting({"OMP_NUM_THREADS": "4"}, "0,2,4,6"))


def run() -> tuple[TuneResult, list[Measured]]:
    plan = Plan(
        seed=3, workloads=(MLP,), arms=(ONE_GROUP, SPREAD), budget_seconds=400.0, trials=(BATCH, DTYPE, DENORMALS),
        memory_bytes=8 * GIB, peaks=Peaks(cores=4, flop_per_cycle=32, generation="Zen 3"),
    )
    net = Net(speed=lambda options: 2000.0 if "autocast" in options else 1000.0)
    fake = FakeWorker(
        {DEFAULT: {MLP: 1.0}, ONE_GROUP.name: {MLP: 0.7}, SPREAD.name: {MLP: 0.9}}, nets={MLP: net}, noise=jitter,
        variant_noise=jitter, flop={"gemm-1024": 2.0**31}, moved_bytes={"triad": 8e8},
    )
    found = list(events(plan, fake))
    assert isinstance(found[-1], TuneResult)
    return found[-1], [event for event in found if isinstance(event, Measured)]


RESULT, SAMPLES = run()
MACHINE = {"schema": "amd-doctor/machine/1", "os": {"kind": "linux"}}
DOCUMENT = json.dumps(
    tune_document(RESULT, SAMPLES, MACHINE, datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc))
).encode()


def test_a_result_survives_its_document_with_every_sample() -> None:
    saved = read_saved_result(DOCUMENT)
    assert saved == SavedResult(RESULT, tuple(SAMPLES), MACHINE, "2026-11-30T12:00:00Z")
    assert read_result(DOCUMENT) == RESULT
    assert RESULT.recommendations and RESULT.roofline, "all parts were there to be lost"


def changed(**changes: Any) -> bytes:
    return json.dumps({**json.loads(DOCUMENT), **changes}).encode()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b"{}", "its schema is ''"),
        (b"\xff\xfe", "malformed"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (changed(schema="amd-doctor/machine/1"), "its schema is 'amd-doctor/machine/1'"),
        (changed(schema="amd-doctor/tune/2"), "newer than this version reads"),
        (changed(units="many"), "Expected `int`"),
        (changed(units=True), "Expected `int`"),
        (changed(ending="never"), "Invalid enum value"),
        (changed(plan={}), "missing required field"),
        (changed(samples=[{"unit": 1}]), "Expected `object`"),
        (changed(recommendations=[{"axis": "batch"}]), "missing required field"),
    ],
)
def test_what_is_no_result_is_told_in_a_sentence(data: bytes, told: str) -> None:
    with pytest.raises(BadResult) as error:
        read_result(data)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_a_field_of_a_newer_release_does_no_harm() -> None:
    assert read_result(changed(something_new={"a": 1})) == RESULT


def test_a_plan_that_could_not_have_been_run_is_no_result() -> None:
    plan = {**json.loads(DOCUMENT)["plan"], "workloads": []}
    with pytest.raises(BadResult, match="a plan needs workloads"):
        read_result(changed(plan=plan))


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, len(DOCUMENT)))
def test_no_bytes_do_more_than_a_bad_result(data: bytes, cut: int) -> None:
    for text in (data, DOCUMENT[:cut] + data):
        try:
            read_result(text)
        except BadResult:
            continue


def measured() -> Measurements:
    found = measurements_of(read_saved_result(DOCUMENT))
    assert found is not None
    return found


def test_products_types_and_placement_are_handed_to_the_rules() -> None:
    found = measured()
    assert found.gemm is not None and found.gemm.sgemm_gflops == pytest.approx(2.0**31 / 1e9)
    assert found.gemm.peak_sgemm_gflops is None, "no clock was read: no peak is known"
    assert found.dtype is not None
    assert found.dtype.float32_seconds == pytest.approx(0.001, rel=0.02)
    assert found.dtype.bfloat16_seconds == pytest.approx(0.0005, rel=0.02)
    assert found.denormals is not None and found.denormals.kept_seconds == pytest.approx(0.001, rel=0.02)
    assert found.placement is not None and found.placement.unit == "seconds"
    assert len(found.placement.one_l3_group or ()) >= 2 and len(found.placement.spread or ()) >= 2


def test_the_facts_that_rules_read_come_out_of_them() -> None:
    derived = derive(complete(Machine(measurements=measured())))
    assert derived.placement is not None and isinstance(derived.placement.gain_percent, float)
    assert derived.placement.gain_percent == pytest.approx(100 * (0.9 / 0.7 - 1), abs=2)
    assert derived.pytorch is not None and derived.pytorch.bf16_time_ratio == pytest.approx(0.5, rel=0.02)


def test_what_was_not_measured_stays_unknown() -> None:
    bare = msgspec.structs.replace(RESULT, recommendations=(), roofline=())
    assert measurements_of(SavedResult(bare)) is None
    wrong = [msgspec.structs.replace(row, fate="failed") for row in RESULT.recommendations]
    failed = msgspec.structs.replace(RESULT, recommendations=tuple(wrong), roofline=())
    assert measurements_of(SavedResult(failed)) is None
