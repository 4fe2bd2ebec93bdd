"""Importing torch may bind the process to one CPU: that is found, told, and never exported."""

from __future__ import annotations

from doctor.measure.units import DEFAULT, Setting, Unit
from doctor.tune.arms import Arm
from doctor.tune.result import TuneResult
from doctor.tune.run import course
from tests.tune.fake import FakeWorker, drive, gemm, plan_of, threads

PINNING = Arm("bound", Setting({"OMP_PROC_BIND": "close"}))
MASKED = Arm("threads-4-ccx0", Setting({"OMP_NUM_THREADS": "4"}, "0-3"))


def run(cpus: object, *arms: Arm) -> TuneResult:
    fake = FakeWorker(gemm(default=1.0, threads_4=0.8, bound=0.3), cpus=cpus)  # type: ignore[arg-type]
    return drive(course(plan_of(arms, all_cpus="0-7")), fake)


def test_a_setting_that_pins_is_out_however_fast() -> None:
    result = run(lambda unit: "0" if unit.arm == "bound" else "0-7", PINNING, *threads(4))
    (bound,) = [report for report in result.arms if report.name == "bound"]
    assert bound.fate == "failed" and "leaves the process 1 of 8 CPUs" in bound.detail
    assert result.export is not None and result.export.name == "threads-4" and result.findings == ()


def test_a_mask_of_its_own_is_no_pinning() -> None:
    result = run(lambda unit: unit.setting.cpus or "0-7", MASKED, *threads(4))
    assert all(report.fate != "failed" for report in result.arms)
    fewer = run(lambda unit: "0" if unit.setting.cpus else "0-7", MASKED, *threads(4))
    assert [report.fate for report in fewer.arms if report.name == MASKED.name] == ["failed"]


def test_an_environment_that_pins_already_is_a_finding_and_hides_nothing() -> None:
    result = run(lambda unit: "0", *threads(4, 8))
    (finding,) = result.findings
    assert finding.kind == "import-pins" and "1 of 8 CPUs" in finding.evidence and "OMP_PROC_BIND" in finding.advice
    assert result.export is not None, "the number of threads is not to blame for it"


def test_where_no_mask_can_be_read_nothing_is_said() -> None:
    def unknown(unit: Unit) -> str | None:
        return None

    result = run(unknown, *threads(4))
    assert result.findings == () and result.export is not None
    assert DEFAULT not in {report.name for report in result.arms}
