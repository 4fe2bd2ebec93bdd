"""What a dry run says, over the project's own machines."""

from __future__ import annotations

import json

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from doctor.derive.facts import complete
from doctor.machine.document import parse_json, read_document
from doctor.machine.model import Machine
from doctor.measure.workloads import MODES
from doctor.present.terminal import Look, plain
from doctor.present.tune_json import plan_document
from doctor.present.tune_plan import plan_lines, summary_line
from doctor.tune.arms import Addition
from doctor.tune.axes import plan_for
from doctor.tune.plan import Plan
from doctor.tune.skipped import Skipped
from doctor.tune.trials import Trial
from doctor.tune.wanted import Wanted
from tests.cli.running import MACHINES
from tests.present.tune_results import CHIP

NAMES = ("healthy-5950x.json", "container-quota.json", "nothing-known.json")


def _plan(name: str) -> Plan:
    machine: Machine = complete(read_document(parse_json((MACHINES / name).read_bytes())).machine)
    return plan_for(machine, Wanted(MODES["train"], seed=7), {})


def _text(name: str, look: Look | None = None) -> str:
    look = look or Look()
    return plain(plan_lines(_plan(name), look), look)


@pytest.fixture(autouse=True)
def _fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.present.tune_plan.__version__", "1.2.3")


def test_screen(screen_file: SnapshotAssertion) -> None:
    plan = Plan(
        seed=7,
        workloads=("mlp-train", "conv-train"),
        arms=CHIP,
        additions=(
            Addition("wait-passive", {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": None}, "idle threads sleep"),
            Addition("huge-pages", {"THP_MEM_ALLOC_ENABLE": "1"}, "huge pages for large tensors"),
        ),
        default_threads=12,
        trials=(Trial("batch", "batch size", ("mlp-train",)), Trial("dtype", "bfloat16 autocast", ("mlp-train",))),
        skipped=(Skipped("allocator", "neither tcmalloc nor jemalloc is installed: there is nothing to preload here"),),
    )
    assert plain(plan_lines(plan, Look()), Look()) == screen_file
    nothing = Plan(seed=7, workloads=("command",), arms=())
    assert plain(plan_lines(nothing, Look()), Look()).splitlines()[-1] == (
        "amd-doctor: would try 0 settings, 0 additions, 0 recommendations; seed 7"
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_and_every_reason_stands_in_it(name: str) -> None:
    plan, text = _plan(name), " ".join(_text(name).split())
    for arm in plan.arms:
        assert all(f"{variable}={value}" in text for variable, value in arm.setting.variables.items())
        assert arm.setting.cpus is None or f"CPUs {arm.setting.cpus}" in text
    for addition in plan.additions:
        assert addition.title in text
    for row in plan.skipped:
        assert f"{row.axis}: {row.why}" in text
    assert _text(name).splitlines()[-1] == summary_line(plan)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("columns", [60, 80, 100])
def test_it_keeps_to_the_terminal(name: str, columns: int) -> None:
    assert all(len(line) <= columns for line in _text(name, Look(columns=columns)).splitlines()[:-1])
    assert _text(name, Look(ascii=True)).isascii()


def test_the_document_holds_the_plan() -> None:
    document = plan_document(_plan(NAMES[0]))
    assert document["schema"] == "amd-doctor/tune-plan/1"
    assert msgspec.convert(json.loads(json.dumps(document["plan"])), Plan) == _plan(NAMES[0])
