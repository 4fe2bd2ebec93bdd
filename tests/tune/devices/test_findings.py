"""What was wrong with a device, on the screen and as facts for the rules; and that a saved result carries them."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec
import pytest

from doctor.derive.facts import derive
from doctor.diagnosis.engine import diagnose
from doctor.diagnosis.rules import load_rules
from doctor.machine.document import Document, read_document
from doctor.machine.model import Gemm, Machine, Measurements
from doctor.measure.units import Answer, DeviceCheck
from doctor.present.tune_json import tune_document
from doctor.tune.devices.findings import facts_of, problems_of, with_measured_devices
from doctor.tune.devices.result import DevicesResult
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from tests.tune.devices.fake import Model
from tests.tune.devices.test_course import VEGA, plan_of, run

GOOD = DeviceCheck(gradients_off=0.0, parameters=10, without_gradient=0, still=0)


def result_of(model: Model) -> DevicesResult:
    return run(plan_of(VEGA), {"privateuseone:0": model})[0]


def rules_that_fire(result: DevicesResult) -> dict[str, str]:
    """By id, with the severity: from the facts of a saved result alone."""
    machine = with_measured_devices(Machine(), result)
    rules = [rule for rule in load_rules().rules if rule.id.startswith("measured-device-")]
    assert len(rules) == 6
    diagnosis = diagnose(machine, derive(machine), tuple(rules))
    assert not diagnosis.crashed
    return {finding.rule: finding.severity for finding in diagnosis.findings}


def test_a_healthy_device_has_no_problem_and_no_finding() -> None:
    result = result_of(Model(2000.0, check=GOOD))
    assert problems_of(result.reports[1]) == () and rules_that_fire(result) == {}
    (facts,) = facts_of(result)
    assert (facts.outcome, facts.verdict, facts.still, facts.fell_back) == ("ok", "faster", (), ())


@pytest.mark.parametrize(
    ("model", "rule", "severity", "words"),
    [
        (Model(1e5, answer=Answer((9.0, 2.0, 3.0), 1e-3)), "measured-device-wrong", "error", "else than the CPU"),
        (
            Model(1e5, ends={"mlp-train": (0, "wrong: it answered with a number that is not finite")}),
            "measured-device-wrong",
            "error",
            "not finite",
        ),
        (Model(1e5, ends={"conv-train": (0, ("hung", "timeout"))}), "measured-device-fails", "error", "hangs on conv"),
        (Model(1e5, ends={"mlp-train": (0, ("killed", "SIGSEGV"))}), "measured-device-fails", "error", "SIGSEGV"),
        (
            Model(1e5, check=msgspec.structs.replace(GOOD, gradients_off=0.4)),
            "measured-device-gradients",
            "error",
            "gradients are off by 0.4",
        ),
        (
            Model(1e5, check=msgspec.structs.replace(GOOD, without_gradient=2, still=None)),
            "measured-device-gradients",
            "error",
            "2 of 10 weights get no gradient",
        ),
        (
            Model(1e5, check=msgspec.structs.replace(GOOD, still=10)),
            "measured-device-weights-still",
            "error",
            "leaves 10 of 10 weights",
        ),
        (
            Model(2000.0, check=msgspec.structs.replace(GOOD, fell_back=("aten::lerp.Scalar_out",))),
            "measured-device-fallbacks",
            "warning",
            "the CPU does for it: aten::lerp.Scalar_out",
        ),
        (Model(300.0, check=GOOD), "measured-device-slower", "warning", ""),
    ],
)
def test_each_kind_of_trouble_has_its_finding_and_its_words(model: Model, rule: str, severity: str, words: str) -> None:
    result = result_of(model)
    fired = rules_that_fire(result)
    assert fired.get(rule) == severity
    assert words in " ".join(problem.words for problem in problems_of(result.reports[1]))
    if severity == "error":
        assert result.recommended == "cpu" and result.compared is None
        assert problems_of(result.reports[1])[0].breaks


def test_a_saved_result_carries_the_facts_to_check() -> None:
    devices = result_of(Model(300.0, check=GOOD))
    machine = with_measured_devices(Machine(measurements=Measurements(gemm=Gemm(sgemm_gflops=100.0))), devices)
    result = TuneResult(Plan(1, ("mlp-train",), ()), "nothing-to-try", 3, 9.0, devices=devices)
    document = tune_document(result, (), Document(machine).to_builtins(), datetime.now(timezone.utc))
    read = read_document(msgspec.json.decode(msgspec.json.encode(document))).machine
    assert read.measurements is not None and read.measurements.devices == machine.measurements.devices  # type: ignore[union-attr]
    assert read.measurements.gemm == Gemm(sgemm_gflops=100.0), "what was known before stays"


def test_without_devices_the_document_stays_as_it_is() -> None:
    assert with_measured_devices(Machine(), None) == Machine()
    assert with_measured_devices(Machine(), DevicesResult("no-device")) == Machine()
