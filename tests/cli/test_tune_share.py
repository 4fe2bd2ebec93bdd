"""What `tune --share` leaves out of a result: names of people, hosts and of the programs they run."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from doctor.cli.tune_share import shared_document
from doctor.machine.document import Document
from doctor.machine.model import Machine
from doctor.measure.units import Measured, Readings, Setting, Timing, Unit, UnitResult
from doctor.present.tune_json import tune_document
from doctor.sources.redaction import Redactor
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult, read_saved_result

UNIT = Unit(0, "devices", 0, "cuda:0", Setting(options={"device": "cuda:0"}), ("fit",), 7, 60.0)


def document() -> dict[str, object]:
    readings = Readings(other_load_share=0.4, other_processes=("secret-game", "my-employers-vpn"))
    detail = "OSError: /home/amina/venv/lib/libhip.so on workstation-7 (amina@example.org)"
    rows = (Timing("fit", (0.1,), failed="rubbish: /home/amina/x"),)
    sample = Measured(UNIT, UnitResult("rubbish", 3.0, rows, readings, detail=detail))
    plan = Plan(1, ("fit",), (), subject={"cpu": "AMD Ryzen 5 5600G", "torch": "2.4.1"})
    result = TuneResult(plan, "default-failed", 1, 3.0, detail=detail,
                        disturbances=("other processes used 40 % of the CPUs: secret-game, my-employers-vpn",))
    machine = Document(Machine()).to_builtins()
    return tune_document(result, (sample,), machine, datetime(2026, 11, 30, tzinfo=timezone.utc))


def test_nothing_of_a_person_or_a_program_is_left_and_the_rest_is() -> None:
    redactor = Redactor(users=["amina"], hosts=["workstation-7"], homes=["/home/amina"])
    shared = shared_document(document(), redactor)
    text = json.dumps(shared)
    for word in ("amina", "workstation-7", "example.org", "secret-game", "employers"):
        assert word not in text
    assert "other processes used 40 % of the CPUs" in text and "AMD Ryzen 5 5600G" in text
    assert "~/venv/lib/libhip.so" in text


def test_it_is_a_result_still() -> None:
    shared = shared_document(document(), Redactor(users=["amina", "fit", "cuda"]))
    saved = read_saved_result(json.dumps(shared).encode())
    assert saved.result.plan.workloads == ("fit",) and saved.samples[0].unit.setting.options == {"device": "cuda:0"}
    assert saved.samples[0].result.readings.other_load_share == 0.4
    assert saved.samples[0].result.readings.other_processes == ()
