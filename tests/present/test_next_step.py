"""The line before the last: one command, or a sentence where nothing has to be done."""

from __future__ import annotations

import msgspec
import pytest

from doctor.derive.facts import complete, derive
from doctor.derive.plan import plan
from doctor.diagnosis.model import Diagnosis, Finding, Fix, Needed, Undecided
from doctor.diagnosis.rules import load_rules
from doctor.machine.model import Gpu, Machine, Os, Package, Python, SourceRow, Torch
from doctor.present.ask import COMMAND
from doctor.present.checked import Checked
from doctor.present.next_step import PLANNED_RULES, needs_plan, next_step

LINUX = Os(kind="linux")
WITH_TORCH = Machine(os=LINUX, torch=Torch(installed=True))
UNDECIDED = (Undecided("some-rule", (Needed("env", "not-in-source"),)),)


def _checked(machine: Machine, diagnosis: Diagnosis | None = None, **more: str) -> Checked:
    return Checked(machine=machine, document={}, diagnosis=diagnosis or Diagnosis(), **more)  # type: ignore[arg-type]


def _finding(severity: str, area: str = "limits", commands: tuple[str, ...] = ("export A=1", "export B=2")) -> Finding:
    return Finding(f"{severity}-rule", severity, area, None, "t", "e", "w", Fix("Do it.", commands))


def test_the_first_command_of_the_first_finding() -> None:
    diagnosis = Diagnosis(findings=(_finding("warning"), _finding("error", commands=("export C=3",))))
    step = next_step(_checked(WITH_TORCH, diagnosis))
    assert (step.text, step.intro) == ("export A=1", ("Next:",))


def test_a_fix_without_a_command_is_explained() -> None:
    step = next_step(_checked(WITH_TORCH, Diagnosis(findings=(_finding("error", commands=()),))))
    assert step.text == "amd-doctor rules error-rule"


def test_infos_and_hints_ask_for_nothing() -> None:
    step = next_step(_checked(WITH_TORCH, Diagnosis(findings=(_finding("info"), _finding("hint")))))
    assert (step.text, step.intro) == ("Nothing to fix was found.", ())


def test_root_is_asked_for_when_all_else_is_well() -> None:
    assert next_step(_checked(WITH_TORCH, with_root="sudo x check")).text == "sudo x check"
    diagnosis = Diagnosis(findings=(_finding("error"),))
    assert next_step(_checked(WITH_TORCH, diagnosis, with_root="sudo x check")).text == "export A=1"


def test_what_is_not_known_is_not_called_healthy() -> None:
    assert next_step(_checked(WITH_TORCH, Diagnosis(undecided=UNDECIDED))).text == (
        "Nothing to fix was found in what is known."
    )
    assert "nothing is known" in next_step(_checked(Machine())).text


@pytest.mark.parametrize(("kind", "asks"), [("collect_env", True), ("live", False), ("recording", False)])
def test_a_pasted_text_is_answered_with_what_to_ask_for(kind: str, asks: bool) -> None:
    machine = msgspec.structs.replace(WITH_TORCH, sources=(SourceRow(kind=kind),))
    step = next_step(_checked(machine, Diagnosis(undecided=UNDECIDED), given="ticket.txt"))
    assert (step.text == COMMAND) is asks


def _with_plan(machine: Machine, diagnosis: Diagnosis | None = None, given: str | None = None) -> Checked:
    machine = complete(machine)
    made = plan(machine, machine.intent, derive(machine))
    return Checked(machine=machine, document={}, diagnosis=diagnosis or Diagnosis(), given=given, plan=made)


LACKS_TORCH = Machine(
    os=LINUX,
    gpus=(),
    torch=Torch(installed=False),
    python=Python(version="3.12.3", executable="~/venv/bin/python", machine="x86_64", venv=True),
)
INSTALL = "~/venv/bin/python -m pip install torch --index-url https://download.pytorch.org/whl/cpu"


def test_a_missing_torch_is_the_first_step_of_the_plan_unless_something_stands_in_the_way() -> None:
    step = next_step(_with_plan(LACKS_TORCH))
    assert step.text == INSTALL
    assert "step 1 of 3" in step.intro[0] and "amd-doctor plan" in step.intro[0]
    elsewhere = Diagnosis(findings=(_finding("warning"),))
    assert next_step(_with_plan(LACKS_TORCH, elsewhere)).text == INSTALL
    in_the_way = Diagnosis(findings=(_finding("error", area="python"),))
    assert next_step(_with_plan(LACKS_TORCH, in_the_way)).text == "export A=1"


def test_a_plan_of_another_machine_says_so() -> None:
    assert next_step(_with_plan(LACKS_TORCH, given="ticket.txt")).intro[0].startswith("Next on that machine")


WRONG_BUILD = Machine(
    os=Os(kind="linux", wsl=0, container="none"),
    python=LACKS_TORCH.python,
    torch=Torch(installed=True, version="2.9.1", build="cuda", hip="none"),
    packages={"torch": Package(version="2.9.1", installer="pip")},
    gpus=(Gpu(vendor="amd", gfx="gfx1100", integrated=False, kernel_driver="amdgpu"),),
)


def test_a_wrong_build_is_the_first_step_of_the_plan_where_nothing_worse_is_to_fix() -> None:
    fix = Fix("Do it.", ("pip uninstall torch",))
    wrong = Finding("wrong-torch-build", "error", "pytorch", None, "t", "e", "w", fix)
    assert wrong.rule in PLANNED_RULES
    step = next_step(_with_plan(WRONG_BUILD, Diagnosis(findings=(wrong, _finding("warning")))))
    assert step.text == "~/venv/bin/python -m pip freeze > packages-before.txt", "the way back comes first"
    worse_first = Diagnosis(findings=(_finding("error"), wrong))
    assert next_step(_with_plan(WRONG_BUILD, worse_first)).text == "export A=1"


def test_a_plan_that_leaves_things_as_they_are_has_no_step_to_offer() -> None:
    fits = msgspec.structs.replace(WRONG_BUILD, gpus=())
    wrong = Finding("wrong-torch-build", "error", "pytorch", None, "t", "e", "w", Fix("Do it.", ("export B=2",)))
    checked = _with_plan(fits, Diagnosis(findings=(wrong,)))
    assert checked.plan is not None and checked.plan.action == "keep"
    assert next_step(checked).text == "export B=2"


def test_a_step_without_a_command_leads_to_the_plan() -> None:
    wsl = msgspec.structs.replace(
        WRONG_BUILD, os=Os(kind="linux", wsl=2, container="none"), torch=Torch(installed=False), packages={}
    )
    step = next_step(_with_plan(wsl))
    assert step.text == "amd-doctor plan" and "https://rocm.docs.amd.com/" in step.intro[0]


def test_the_plan_is_made_only_where_its_step_may_come_next() -> None:
    assert needs_plan(LACKS_TORCH, Diagnosis())
    assert not needs_plan(WITH_TORCH, Diagnosis(findings=(_finding("error"),)))
    assert not needs_plan(Machine(), Diagnosis())


def test_every_planned_rule_exists() -> None:
    assert set(PLANNED_RULES) <= {rule.id for rule in load_rules().rules}
