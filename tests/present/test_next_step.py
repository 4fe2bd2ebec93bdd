"""The line before the last: one command, or a sentence where nothing has to be done."""

from __future__ import annotations

import msgspec
import pytest

from doctor.diagnosis.model import Diagnosis, Finding, Fix, Needed, Undecided
from doctor.machine.model import Gpu, Intent, Machine, Os, Python, SourceRow, Torch
from doctor.present.ask import COMMAND
from doctor.present.checked import Checked
from doctor.present.install import CHOOSE_PAGE, CPU_INDEX, cpu_only, install
from doctor.present.next_step import next_step

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


def test_a_missing_torch_is_installed_unless_something_stands_in_the_way() -> None:
    machine = Machine(os=LINUX, torch=Torch(installed=False), python=Python(executable="~/venv/bin/python"))
    assert next_step(_checked(machine)).text == f"~/venv/bin/python -m pip install torch --index-url {CPU_INDEX}"
    elsewhere = Diagnosis(findings=(_finding("warning"),))
    assert "pip install torch" in next_step(_checked(machine, elsewhere)).text
    in_the_way = Diagnosis(findings=(_finding("error", area="python"),))
    assert next_step(_checked(machine, in_the_way)).text == "export A=1"


@pytest.mark.parametrize(
    ("python", "command"),
    [
        (Python(executable="/opt/env/bin/python", venv=True), "/opt/env/bin/python -m pip install torch"),
        (Python(executable="/opt/env/bin/python", manager="uv"), "uv pip install --python /opt/env/bin/python torch"),
        (
            Python(executable="/usr/bin/python3", manager="system", venv=False),
            "/usr/bin/python3 -m venv torch-env && torch-env/bin/python -m pip install torch",
        ),
        (Python(executable="/opt/my env/bin/python; rm -rf ~"), "python3 -m pip install torch"),
        (None, "python3 -m pip install torch"),
    ],
)
def test_the_install_line_is_for_this_python(python: Python | None, command: str) -> None:
    assert install(Machine(os=LINUX, python=python)).command == f"{command} --index-url {CPU_INDEX}"


def test_windows_paths_are_typed_as_they_are_where_they_need_no_quotes() -> None:
    def command(path: str) -> str:
        return install(Machine(os=Os(kind="windows"), python=Python(executable=path))).command

    assert command(r"C:\envs\ml\python.exe").startswith(r"C:\envs\ml\python.exe -m pip")
    assert command(r"~\ml\Scripts\python.exe").startswith("python -m pip"), "cmd.exe does not know ~"


def test_a_gpu_that_may_be_there_is_not_decided_away() -> None:
    unknown, none, amd = Machine(os=LINUX), Machine(os=LINUX, gpus=()), Machine(os=LINUX, gpus=(Gpu(vendor="amd"),))
    assert [cpu_only(machine) for machine in (unknown, none, amd)] == [False, True, False]
    assert cpu_only(msgspec.structs.replace(amd, intent=Intent(backend="cpu")))
    assert any(CHOOSE_PAGE in text for text in install(unknown).lines)
    assert not any(CHOOSE_PAGE in text for text in install(none).lines)


def test_a_mac_has_one_build() -> None:
    assert install(Machine(os=Os(kind="macos"))).command == "python3 -m pip install torch"
