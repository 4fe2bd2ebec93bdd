"""A run with devices: the CPU is tuned first, one budget holds it all, and it goes on where it was cut off."""

from __future__ import annotations

import math
import random
from collections.abc import Generator
from typing import Any

import msgspec
import pytest

from doctor.measure.units import DeviceCheck, Grown, Measured, Setting, Unit, UnitResult
from doctor.tune.arms import Arm
from doctor.tune.devices.beside import with_devices
from doctor.tune.devices.confirm import DEVICES_ALPHA, Sides
from doctor.tune.devices.memory import IgpuFacts
from doctor.tune.log import first_line, next_line, read_log
from doctor.tune.meter import Meter, Step
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from doctor.tune.run import Experiment, events
from doctor.tune.trials import FAMILY_ALPHA, Trial
from tests.tune.devices.fake import FakeDevices, Model
from tests.tune.devices.test_course import CARD, CPU, VEGA, plan_of
from tests.tune.fake import Slowing, drive, threads

GIB = 1 << 30
FACTS = IgpuFacts("AMD Radeon(TM) Graphics", "windows", 2 * GIB, 7 * GIB, 14 * GIB, "both")
GROWN = (Grown(0, free_bytes=10 * GIB), Grown(4 * GIB, free_bytes=8 * GIB))


def jitter(unit: Unit) -> float:
    return math.exp(0.005 * random.Random(unit.number).uniform(-1, 1))


def plan(budget_seconds: float = 420.0, **devices: Any) -> Plan:
    compared = plan_of(VEGA, **devices)
    rows = tuple(msgspec.structs.replace(row, fill_bytes=8 * GIB) for row in compared.devices)
    compared = msgspec.structs.replace(compared, devices=rows, igpu=FACTS)
    return Plan(1, ("mlp-train", "conv-train"), threads(4, 8), budget_seconds=budget_seconds, devices=compared)


def fake(vega: Model, **more: Any) -> FakeDevices:
    """The settings stage has no device in its options: it is the CPU's."""
    models = {"cpu": CPU, "privateuseone:0": vega}
    return FakeDevices(models, noise=jitter, settings={"cpu: OMP_NUM_THREADS=4": 0.8}, grown=GROWN, **more)


def run(plan: Plan, worker: Experiment) -> tuple[TuneResult, list[Measured]]:
    measured, steps = [], []
    for event in events(plan, worker):
        if isinstance(event, TuneResult):
            assert all(step.budget_seconds == plan.budget_seconds for step in steps)
            return event, measured
        (steps if isinstance(event, Step) else measured).append(event)  # type: ignore[arg-type]
    raise AssertionError("a run ends with a result")


def test_the_device_is_compared_with_the_tuned_cpu_within_the_budget() -> None:
    worker = fake(Model(speed=1900.0, overhead=0.005))
    result, _ = run(plan(), worker)
    assert result.export is not None and result.export.setting.variables == {"OMP_NUM_THREADS": "4"}
    assert result.devices is not None and result.devices.compared is not None
    cpu = result.devices.compared.cpu_setting
    assert cpu.variables == {"OMP_NUM_THREADS": "4"} and cpu.options == {"device": "cpu"}
    # The CPU was made 1.25 times as fast; against that the device is measured, not against the default.
    size = int(result.devices.compared.rungs[0].options["batch"])
    truth = 0.8 * CPU.seconds("mlp-train", size) / Model(1900.0, 0.005).seconds("mlp-train", size) - 1
    assert result.devices.compared.verdict.gain == pytest.approx(truth, abs=0.03)
    assert result.devices.recommended == "privateuseone:0"
    assert result.spent_seconds <= 420.0 and result.units == len(worker.ran)
    assert result.plan.devices is not None and result.plan.budget_seconds == 420.0


def test_a_machine_that_becomes_slow_ends_the_comparison_with_the_budget() -> None:
    calm, _ = run(plan(), fake(Model(speed=1900.0)))
    assert calm.devices is not None and calm.devices.compared is not None
    begins = calm.units - 1 - 2 * calm.devices.compared.groups
    slow, _ = run(plan(), Slowing(fake(Model(speed=1900.0)), begins, 3.0))
    assert slow.devices is not None and slow.devices.compared is not None
    compared = slow.devices.compared
    assert 9 <= compared.groups < calm.devices.compared.groups, "the least that can prove anything"
    assert compared.verdict.pairs == compared.groups and compared.verdict.word == "faster"
    assert slow.spent_seconds <= 1.5 * 420.0


def test_the_memory_of_the_integrated_gpu_is_filled_last() -> None:
    worker = fake(Model(speed=1900.0))
    result, _ = run(plan(), worker)
    assert worker.ran[-1].workloads == ("device-memory",)
    assert worker.ran[-1].setting.options == {"device": "privateuseone:0", "fill_bytes": str(8 * GIB)}
    memory = result.igpu_memory
    assert memory is not None and memory.ended == "refused" and memory.held_bytes == 4 * GIB
    assert (memory.from_dedicated_bytes, memory.from_shared_bytes) == (2 * GIB, 2 * GIB)
    assert memory.needed_is_estimate and memory.carve_out_bytes == 512 << 20


def test_what_pytorch_tells_of_a_batch_goes_before_what_the_cpu_took() -> None:
    check = DeviceCheck(device_bytes=GIB)
    result, _ = run(plan(), fake(Model(speed=1900.0, check=check)))
    assert result.igpu_memory is not None
    assert (result.igpu_memory.needed_bytes, result.igpu_memory.needed_is_estimate) == (GIB, False)


def test_a_broken_device_is_not_filled() -> None:
    worker = fake(Model(speed=1900.0, ends={"mlp-train": (0, ("killed", "SIGSEGV"))}))
    result, _ = run(plan(), worker)
    assert result.igpu_memory is None and result.export is not None, "the CPU's settings stand for themselves"
    assert result.devices is not None and result.devices.ending == "none-works"


def test_without_a_device_the_cpu_has_the_whole_budget() -> None:
    alone = msgspec.structs.replace(plan(200.0), devices=msgspec.structs.replace(plan_of(), note="The CPU alone."))
    worker = fake(Model(1.0))
    result, _ = run(alone, worker)
    assert result.devices is not None and result.devices.ending == "no-device" and result.devices.note
    assert 170 < result.spent_seconds <= 200.0


def test_too_small_a_budget_says_what_the_whole_run_needs() -> None:
    result, _ = run(plan(30.0), fake(Model(1900.0)))
    assert result.ending == "budget-too-small" and result.needed_seconds is not None
    again, _ = run(plan(result.needed_seconds + 1), fake(Model(1900.0)))
    assert again.ending != "budget-too-small"


def test_a_run_goes_on_where_it_was_cut_off() -> None:
    whole, measured = run(plan(), fake(Model(1900.0)))
    cut = read_log(first_line(plan()) + b"".join(map(next_line, measured[: len(measured) // 2])))
    worker = fake(Model(1900.0))
    *_, result = events(cut.plan, worker, cut.events)
    assert result == whole and len(worker.ran) == len(measured) - len(measured) // 2


def test_a_result_is_read_back_as_it_was_written() -> None:
    result, _ = run(plan(), fake(Model(1900.0)))
    assert msgspec.json.decode(msgspec.json.encode(result), type=TuneResult) == result


def test_a_card_is_not_filled() -> None:
    compared = plan_of(CARD)
    only = Plan(1, ("mlp-train", "conv-train"), threads(4), budget_seconds=400.0, devices=compared)
    worker = FakeDevices({"cpu": CPU, "cuda:0": Model(5000.0)}, noise=jitter)
    result, _ = run(only, worker)
    assert result.igpu_memory is None and result.devices is not None and result.devices.recommended == "cuda:0"


def test_what_a_run_may_claim_wrongly_is_shared_out_not_raised() -> None:
    asked: list[Plan] = []

    def course(own: Plan, meter: Meter) -> Generator[Step, UnitResult, TuneResult]:
        asked.append(own)
        yield from ()
        return TuneResult(own, "nothing-to-try", 0, 0.0)

    trial = Trial("dtype", "bfloat16 autocast", ("mlp-train",), in_process=True)
    whole = msgspec.structs.replace(plan(), trials=(trial,))
    drive(with_devices(whole, course), fake(Model(1900.0)))  # type: ignore[arg-type]
    (own,) = asked
    assert own.trials[0].family_alpha + DEVICES_ALPHA == pytest.approx(FAMILY_ALPHA)
    assert own.devices is None and own.budget_seconds < whole.budget_seconds / 2
    sides = [Sides(Arm("cpu", Setting()), Arm("a", Setting()), plain) for plain in (None, Arm("b", Setting()))]
    assert [side.claim_alpha * (len(side.arms) - 1) for side in sides] == pytest.approx([DEVICES_ALPHA] * 2)
    assert [side.least_groups for side in sides] == [9, 10]
