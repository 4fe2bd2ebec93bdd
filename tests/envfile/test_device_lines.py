"""The device that won, its batch size and its variables in an env file; nothing of it where nothing won."""

from __future__ import annotations

import pytest

from doctor.envfile.allowed import is_allowed, wrong_value
from doctor.envfile.content import EnvContent
from doctor.envfile.from_result import Provenance, content_of
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from tests.tune.devices.fake import Model
from tests.tune.devices.test_course import CARD, plan_of, run

PROVENANCE = Provenance("2026-11-30", "linux")


def written(model: Model, **settings: float) -> EnvContent:
    plan = plan_of(CARD)
    factors = {name.replace("__", "="): factor for name, factor in settings.items()}
    devices, _ = run(plan, {"cuda:0": model}, 500.0, settings=factors)
    result = TuneResult(Plan(1, ("mlp-train",), (), devices=plan), "nothing-to-try", 9, 99.0, devices=devices)
    return content_of(result, {}, PROVENANCE)


def content(model: Model, **settings: float) -> dict[str, tuple[str | None, bool]]:
    return {line.name: (line.value, line.confirmed) for line in written(model, **settings).lines}


def test_the_device_is_confirmed_its_batch_is_an_estimate() -> None:
    found = content(Model(2000.0, overhead=0.02))
    assert found["AMD_DOCTOR_DEVICE"] == ("cuda:0", True)
    value, confirmed = found["AMD_DOCTOR_BATCH_SIZE_CUDA_0"]
    assert value is not None and int(value) >= 64 and not confirmed
    assert set(found) == {"AMD_DOCTOR_DEVICE", "AMD_DOCTOR_BATCH_SIZE_CUDA_0"}


def test_the_head_says_what_the_device_gives_or_that_nothing_was_faster() -> None:
    head = " ".join(written(Model(2000.0)).head)
    assert "On cuda:0 against the CPU, tuned: +" in head and "keep them" not in head
    assert "keep them" in " ".join(written(Model(300.0)).head)


def test_a_variable_that_won_on_it_is_confirmed_by_its_own_pairs() -> None:
    found = content(Model(2000.0), TORCH_BLAS_PREFER_HIPBLASLT__1=0.6)
    assert found["TORCH_BLAS_PREFER_HIPBLASLT"] == ("1", True)


def test_a_device_that_is_not_faster_is_in_no_file() -> None:
    assert content(Model(300.0)) == {}
    assert content(Model(2000.0, ends={"mlp-train": (0, ("killed", "SIGSEGV"))})) == {}


def test_amd_doctor_run_sets_them_and_refuses_values_that_cannot_be() -> None:
    for name in ("AMD_DOCTOR_DEVICE", "AMD_DOCTOR_BATCH_SIZE_CUDA_0", "HIP_VISIBLE_DEVICES"):
        assert is_allowed(name), name
    assert wrong_value("AMD_DOCTOR_DEVICE", "privateuseone:0") is None
    assert wrong_value("AMD_DOCTOR_DEVICE", "cuda") is not None


@pytest.mark.parametrize("name", ["TORCH_BLAS_PREFER_HIPBLASLT", "MIOPEN_FIND_MODE"])
def test_what_is_tried_on_rocm_may_be_written(name: str) -> None:
    assert is_allowed(name)
