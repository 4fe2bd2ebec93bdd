"""The whole comparison over devices that are numbers: the right device, the right batch, the right word for an end."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import pytest

from doctor.measure.units import Answer, DeviceCheck, Setting, Unit
from doctor.tune.devices.arms import arms_of, ways_of
from doctor.tune.devices.course import compared
from doctor.tune.devices.device import Device
from doctor.tune.devices.ladder import families, for_backend
from doctor.tune.devices.plan import DevicePlan, DevicesPlan
from doctor.tune.devices.result import DevicesResult
from doctor.tune.meter import Meter
from doctor.tune.plan import Plan
from tests.tune.devices.fake import FakeDevices, Model
from tests.tune.fake import drive

VEGA = Device("privateuseone:0", "AMD Radeon(TM) Graphics", "directml", integrated=True, memory_bytes=4 << 30)
CARD = Device("cuda:0", "Radeon RX 7900 XTX", "rocm", integrated=False, hip_index=0)
IGPU = Device("cuda:1", "Radeon 890M", "rocm", integrated=True, hip_index=1)

#: A CPU of 1000 items a second with a millisecond for every step.
CPU = Model(speed=1000.0, overhead=0.001)
TUNED = Setting({"OMP_NUM_THREADS": "6"}, "0-5", {"batch": "64"})


def jitter(unit: Unit) -> float:
    return math.exp(0.005 * random.Random(unit.number).uniform(-1, 1))


def plan_of(
    *devices: Device, workloads: tuple[str, ...] = ("mlp-train", "conv-train"), mode: str | None = None, **more: Any
) -> DevicesPlan:
    compared_on = families(workloads, mode)
    rows = []
    for device in devices:
        own = for_backend(compared_on, device.backend)
        rows.append(DevicePlan(device, own, arms_of(device, own, {}), ways_of(device, own)))
    return DevicesPlan(tuple(rows), compared_on, **more)


def run(
    plan: DevicesPlan, models: Mapping[str, Model], seconds: float = 400.0, **more: Any
) -> tuple[DevicesResult, FakeDevices]:
    fake = FakeDevices({"cpu": CPU, **models}, noise=jitter, **more)
    meter = Meter(Plan(seed=1, workloads=("mlp-train",), arms=(), budget_seconds=seconds))
    result = drive(compared(meter, plan, TUNED, seconds), fake)  # type: ignore[arg-type]
    assert result.units == len(fake.ran)
    return result, fake


def test_no_device_is_said_and_measures_nothing() -> None:
    result, fake = run(DevicesPlan((), note="The CPU alone is measured."), {})
    assert result.ending == "nothing-to-compare" and result.note and not fake.ran
    assert result.recommended is None and not result.variables


def test_an_integrated_gpu_that_is_faster_up_to_a_batch_is_recommended_with_that_batch() -> None:
    # 1.19 times as fast, and above 256 items no faster than the CPU.
    vega = Model(speed=1190.0, overhead=0.02, knee=256, spill=3.0, fits=1024)
    result, fake = run(plan_of(VEGA), {"privateuseone:0": vega})
    report = result.report("privateuseone:0")
    assert report is not None and report.state == "measured"
    assert report.sizes == {"mlp-train": 256, "conv-train": 256}
    assert result.ending == "confirmed" and result.compared is not None
    assert result.compared.verdict.word == "faster"
    truth = CPU.seconds("mlp-train", 256) / vega.seconds("mlp-train", 256) - 1
    assert result.compared.verdict.gain == pytest.approx(truth, abs=0.01)
    assert result.recommended == "privateuseone:0"
    assert result.variables == {
        "AMD_DOCTOR_DEVICE": "privateuseone:0",
        "AMD_DOCTOR_BATCH_SIZE_PRIVATEUSEONE_0": "256",
    }
    assert [unit.setting.variables for unit in fake.ran] == [TUNED.variables] * len(fake.ran), "under what was tuned"
    assert all("batch" not in unit.setting.options for unit in fake.ran), "but not with its batch"


def test_the_crossover_and_what_does_not_fit_are_told() -> None:
    slow_start = Model(speed=2000.0, overhead=0.03, fits=256)
    result, _ = run(plan_of(VEGA), {"privateuseone:0": slow_start})
    report = result.report("privateuseone:0")
    assert report is not None
    crossing = report.crossovers["mlp-train"]
    assert (crossing.word, crossing.from_size, crossing.too_large) == ("from", 64, 512)
    made = {row.family: row for row in report.accumulated}["mlp-train"]
    assert (made.batch, made.of, made.steps) == (512, 256, 2), "512 came between"
    assert made.items_per_second == pytest.approx(512 / (2 * slow_start.seconds("mlp-train", 256)), rel=0.02)


def test_a_slower_device_leaves_the_cpu_recommended_by_a_verdict() -> None:
    result, _ = run(plan_of(VEGA), {"privateuseone:0": Model(speed=300.0, overhead=0.01)})
    assert result.compared is not None and result.compared.verdict.word == "slower"
    assert result.recommended == "cpu" and not result.variables
    report = result.report("privateuseone:0")
    assert report is not None and report.crossovers["conv-train"].word == "never"


def test_a_device_that_is_slower_on_one_workload_is_not_recommended() -> None:
    mixed = Model(speed=4000.0, factors={"conv-train": 6.0})
    result, _ = run(plan_of(VEGA), {"privateuseone:0": mixed})
    assert result.compared is not None and result.compared.verdict.word == "faster"
    assert result.compared.slower_on == ("conv-train",) and result.recommended == "cpu" and not result.variables


def test_an_equal_device_is_the_same_and_not_recommended() -> None:
    result, _ = run(plan_of(VEGA), {"privateuseone:0": CPU})
    assert result.compared is not None and result.compared.verdict.word == "same"
    assert result.recommended == "cpu"


def test_wrong_numbers_end_it_at_once_however_fast_they_come() -> None:
    broken = Model(speed=1e5, answer=Answer((1.5, 3.0, 4.5), 1e-3))
    result, fake = run(plan_of(VEGA), {"privateuseone:0": broken})
    report = result.report("privateuseone:0")
    assert result.ending == "none-works" and result.recommended == "cpu" and result.compared is None
    assert report is not None and (report.state, report.outcome) == ("failed", "wrong")
    assert "off by" in report.detail
    assert sum(unit.arm == "privateuseone:0" for unit in fake.ran) == 1


def test_small_differences_of_another_device_are_not_wrong() -> None:
    result, _ = run(plan_of(VEGA), {"privateuseone:0": Model(2000.0, answer=Answer((1.0, 2.0, 3.01), 1e-3))})
    assert result.recommended == "privateuseone:0"


def test_a_device_that_hangs_is_given_up_within_its_part_of_the_budget() -> None:
    hanging = Model(speed=1e5, ends={"mlp-train": (0, ("hung", "it did not end in time while mlp-train ran"))})
    result, fake = run(plan_of(VEGA), {"privateuseone:0": hanging}, seconds=200.0)
    report = result.report("privateuseone:0")
    assert report is not None and (report.state, report.outcome, report.failed_on) == ("failed", "hung", "mlp-train")
    assert sum(unit.arm == "privateuseone:0" for unit in fake.ran) == 1
    assert result.spent_seconds <= 200.0 and result.recommended == "cpu"


def test_a_device_that_dies_is_given_up_with_the_name_of_its_death() -> None:
    dead = Model(speed=1e5, ends={"conv-train": (0, ("killed", "SIGSEGV while conv-train ran"))})
    result, _ = run(plan_of(VEGA), {"privateuseone:0": dead})
    report = result.report("privateuseone:0")
    assert report is not None and report.outcome == "killed" and "SIGSEGV" in report.detail
    assert report.of_family("mlp-train")[0].ran, "what ran before it is kept"


def test_a_large_batch_that_ends_the_device_is_a_limit_not_a_verdict() -> None:
    for how in (("hung", "timeout"), ("killed", "DXGI_ERROR_DEVICE_REMOVED"), "out-of-memory: full"):
        lost = Model(speed=3000.0, ends={"conv-train": (256, how)})  # type: ignore[dict-item]
        result, _ = run(plan_of(VEGA), {"privateuseone:0": lost}, hang_seconds=25.0)
        report = result.report("privateuseone:0")
        assert report is not None and report.state == "measured", how
        crossing = report.crossovers["conv-train"]
        assert crossing.too_large == 256 and result.recommended == "privateuseone:0"
        assert report.sizes["mlp-train"] >= report.sizes["conv-train"]


def test_a_missing_operator_takes_the_workload_not_the_device() -> None:
    lacking = Model(speed=3000.0, ends={"conv-train": (0, "rubbish: NotImplementedError: aten::convolution")})
    result, _ = run(plan_of(VEGA), {"privateuseone:0": lacking})
    report = result.report("privateuseone:0")
    assert report is not None and report.state == "measured" and report.log_speed is None
    assert report.sizes == {"mlp-train": 4} and result.ending == "none-works"
    assert result.recommended == "cpu"
    alone, _ = run(plan_of(VEGA, workloads=("mlp-train",)), {"privateuseone:0": lacking})
    assert alone.recommended == "privateuseone:0"


def test_the_faster_of_two_devices_is_compared() -> None:
    models = {"cuda:0": Model(9000.0), "cuda:1": Model(2000.0)}
    result, fake = run(plan_of(IGPU, CARD), models, seconds=600.0)
    assert result.compared is not None and result.compared.device == "cuda:0"
    confirming = {unit.setting.options["device"] for unit in fake.ran[-10:]}
    assert confirming == {"cpu", "cuda:0"}
    assert result.recommended == "cuda:0"


def test_a_broken_device_does_not_keep_another_from_being_recommended() -> None:
    models = {"cuda:0": Model(9000.0, ends={"mlp-train": (0, ("killed", "SIGSEGV"))}), "cuda:1": Model(2000.0)}
    result, _ = run(plan_of(CARD, IGPU), models, seconds=600.0)
    assert result.recommended == "cuda:1"
    assert [report.state for report in result.reports] == ["measured", "failed", "measured"]


def test_a_variable_of_rocm_that_wins_is_confirmed_with_the_device_and_exported() -> None:
    settings = {"TORCH_BLAS_PREFER_HIPBLASLT=1": 0.6, "MIOPEN_FIND_MODE=FAST": 1.3}
    result, fake = run(plan_of(CARD), {"cuda:0": Model(2000.0)}, seconds=500.0, settings=settings)
    found = result.compared
    assert found is not None and found.setting.variables == {**TUNED.variables, "TORCH_BLAS_PREFER_HIPBLASLT": "1"}
    assert found.own is not None and found.own.word == "faster"
    assert found.own.gain == pytest.approx(1 / 0.6 - 1, abs=0.02)
    assert result.variables["TORCH_BLAS_PREFER_HIPBLASLT"] == "1"
    assert "OMP_NUM_THREADS" not in result.variables, "that is the CPU's, and stands for itself"
    arms = {arm.name: arm.log_ratio for arm in result.reports[1].arms}
    assert arms["find-mode-fast"] == pytest.approx(math.log(1.3), abs=0.03)
    groups = [unit.arm for unit in fake.ran[-3 * found.groups :]]
    assert sorted(groups[:3]) == ["cpu", "cuda:0", "cuda:0 + torch_blas_prefer_hipblaslt-1"]


def test_hiding_the_other_gpu_renames_the_device() -> None:
    settings = {"HIP_VISIBLE_DEVICES=1": 0.5}
    models = {"cuda:0": Model(2000.0), "cuda:1": Model(1500.0)}
    result, _ = run(plan_of(IGPU), models, seconds=600.0, settings=settings)
    assert result.variables["HIP_VISIBLE_DEVICES"] == "1"
    assert result.variables["AMD_DOCTOR_DEVICE"] == "cuda:0" == result.recommended
    assert "AMD_DOCTOR_BATCH_SIZE_CUDA_0" in result.variables


def test_ways_to_write_the_code_are_told_as_estimates() -> None:
    options = {"foreach=0": 0.7, "foreach=default": 1.4}
    result, _ = run(plan_of(VEGA), {"privateuseone:0": Model(2000.0)}, options=options)
    (way,) = result.reports[1].ways
    assert way.way.name == "foreach" and way.gain == pytest.approx(1.0, abs=0.05)
    assert result.compared is not None and result.compared.setting.options == {"device": "privateuseone:0"}


def test_what_was_checked_on_the_device_is_kept() -> None:
    check = DeviceCheck(fell_back=("aten::lerp",), gradients_off=0.0, parameters=10, without_gradient=0, still=0)
    result, _ = run(plan_of(VEGA), {"privateuseone:0": Model(2000.0, check=check)})
    assert result.reports[1].checks["mlp-train"] == check
    assert result.reports[1].to_device_bytes_per_second == pytest.approx(1e10)


def test_too_small_a_budget_says_how_much_more_is_needed() -> None:
    result, _ = run(plan_of(VEGA), {"privateuseone:0": Model(2000.0)}, seconds=60.0)
    assert result.ending == "budget-too-small" and result.compared is None
    assert result.needed_seconds is not None and result.needed_seconds > 0
    assert result.recommended is None and not result.variables


def test_a_device_that_had_no_turn_is_not_called_broken() -> None:
    result, fake = run(plan_of(VEGA), {"privateuseone:0": Model(2000.0)}, seconds=20.0, cost_seconds=15.0)
    assert {unit.arm for unit in fake.ran} == {"cpu"}
    assert result.ending == "budget-too-small" and result.needed_seconds == 20.0
    assert [report.state for report in result.reports] == ["measured", "not-tried"]
    assert result.recommended is None


def test_the_memory_of_the_machine_bounds_the_sizes_of_all_devices() -> None:
    result, fake = run(
        plan_of(VEGA, free_bytes=2 << 30), {"privateuseone:0": Model(2000.0)}, bytes_per_item=4 << 20
    )
    largest = max(int(v.options["batch"]) for unit in fake.ran for v in unit.variants if "batch" in v.options)
    assert largest * (4 << 20) < 2 << 30
    assert result.reports[1].crossovers["mlp-train"].too_large is None, "not tried is not refused"


def test_extras_are_looked_at_and_not_claimed() -> None:
    result, _ = run(plan_of(VEGA, mode="train"), {"privateuseone:0": Model(5e7, overhead=0.001)}, seconds=600.0)
    assert result.compared is not None and set(result.compared.by_workload) == {"mlp-train", "conv-train"}
    assert result.reports[1].crossovers["fit"].word != "unknown"


def test_equal_devices_are_never_called_faster() -> None:
    """On the margin of *faster*, the claim is wrong at most as often as it may be."""
    wrong = 0
    for seed in range(60):
        def noise(unit: Unit, seed: int = seed) -> float:
            return math.exp(random.Random(seed * 10_007 + unit.number).gauss(0.0, 0.05))

        fake = FakeDevices({"cpu": CPU, "privateuseone:0": CPU}, noise=noise)
        meter = Meter(Plan(seed=seed, workloads=("mlp-train",), arms=(), budget_seconds=300.0))
        result = drive(compared(meter, plan_of(VEGA, workloads=("mlp-train",)), TUNED, 300.0), fake)  # type: ignore[arg-type]
        wrong += result.compared is not None and result.compared.verdict.word == "faster"
    assert wrong == 0
