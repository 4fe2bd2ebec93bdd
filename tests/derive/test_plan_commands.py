"""Paths and versions of a machine in commands: quoted so that a shell takes them for nothing else, or not there."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.derive.plan_commands import pin, tools_here, tools_of_new, word
from doctor.derive.plan_model import PythonChoice
from doctor.machine.model import Machine, Os, Python


def _machine(kind: str, path: str | None, manager: str = "pip") -> Machine:
    return Machine(os=Os(kind=kind), python=Python(executable=path, manager=manager))


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/opt/env/bin/python", "/opt/env/bin/python"),
        ("~/venv/bin/python", "~/venv/bin/python"),
        ("~/my env/bin/python", "~/'my env/bin/python'"),
        ("/opt/my env/bin/python", "'/opt/my env/bin/python'"),
        ("/opt/$(rm -rf ~)/python", "'/opt/$(rm -rf ~)/python'"),
        ("/opt/it's/python", "'/opt/it'\"'\"'s/python'"),
        ("/opt/umlaut-ü/python", "'/opt/umlaut-ü/python'"),
        ("python", None),
        ("-c/python", None),
        ("~other/bin/python", None),
        ("/opt/two\nlines", None),
        ("/opt/turned\u202e/python", None),
        ("/" + "x" * 500, None),
        (None, None),
    ],
)
def test_a_path_for_a_posix_shell(path: str | None, written: str | None) -> None:
    tools = tools_here(_machine("linux", path))
    assert tools.named is (written is not None)
    assert tools.pip("freeze")["sh"] == (f"{written or 'python3'} -m pip freeze",)


@pytest.mark.parametrize(
    ("path", "cmd", "powershell"),
    [
        (r"C:\envs\ml\python.exe", r"C:\envs\ml\python.exe", r"C:\envs\ml\python.exe"),
        ("C:/envs/ml/python.exe", r"C:\envs\ml\python.exe", r"C:\envs\ml\python.exe"),
        (r"C:\Program Files (x86)\py\python.exe", r'"C:\Program Files (x86)\py\python.exe"', None),
        (r"~\ml\python.exe", r'"%USERPROFILE%\ml\python.exe"', r'& "$env:USERPROFILE\ml\python.exe"'),
        (r"C:\100%\python.exe", "python", "python"),
        (r'C:\a" & calc & "\python.exe', "python", "python"),
        (r"C:\$(calc)\python.exe", "python", "python"),
        (r"C:\`calc`\python.exe", "python", "python"),
        ("python.exe", "python", "python"),
    ],
)
def test_a_path_for_the_shells_of_windows(path: str, cmd: str, powershell: str | None) -> None:
    lines = tools_here(_machine("windows", path)).pip("freeze")
    assert lines["cmd"] == (f"{cmd} -m pip freeze",)
    assert lines["powershell"] == (f"{powershell or '& ' + cmd} -m pip freeze",)


@given(st.text(max_size=40))
def test_a_posix_shell_reads_a_path_as_one_word(text: str) -> None:
    path = f"/{text}"
    tools = tools_here(_machine("linux", path))
    words = shlex.split(tools.pip("freeze")["sh"][0])
    assert words == [path if tools.named else "python3", "-m", "pip", "freeze"]


@given(st.text(alphabet="\\/ :%$`\"'&|<>^!;@(){}~.-abü\n", max_size=30))
def test_windows_reads_a_path_as_one_word_or_not_at_all(text: str) -> None:
    tools = tools_here(_machine("windows", rf"C:\{text}"))
    if tools.named:
        inside = tools.argument["cmd"].strip('"')
        assert not set(inside) & set("%$`\"'&|<>^!;{}\n")
        assert " " not in inside or tools.argument["cmd"].startswith('"')


def test_each_manager_makes_its_own_environment() -> None:
    older = PythonChoice("3.9", False, "3.14", "too old")
    same = PythonChoice("3.12", True, None, "fits")

    def made(kind: str, manager: str, python: PythonChoice) -> tuple[str, ...]:
        path = {"windows": r"C:\py\python.exe"}.get(kind, "/usr/bin/python3")
        return next(iter(tools_of_new(_machine(kind, path, manager), python)[1].values()))

    assert made("linux", "system", same) == ("/usr/bin/python3 -m venv torch-env",)
    assert made("linux", "pip", older) == ("uv venv --python 3.14 torch-env",)
    assert made("linux", "uv", same) == ("uv venv --python /usr/bin/python3 torch-env",)
    assert made("macos", "pip", older) == ("uv venv --python 3.14 torch-env",)
    assert made("windows", "pip", older) == (
        "winget install -e --id Python.Python.3.14",
        "py -3.14 -m venv torch-env",
    )
    assert made("windows", "uv", older) == ("uv venv --python 3.14 torch-env",)
    assert made("windows", "conda", older) == ("conda create -n torch-env python=3.14", "conda activate torch-env")
    assert made("linux", "conda", same) == ("conda create -n torch-env python=3.12", "conda activate torch-env")


def test_uv_asks_no_question_and_takes_no_yes() -> None:
    machine = _machine("linux", "~/.venv/bin/python", "uv")
    assert tools_here(machine).pip("uninstall", "torch")["sh"] == (
        "uv pip uninstall --python ~/.venv/bin/python torch",
    )


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.9.1+rocm6.4", "torch==2.9.1+rocm6.4"),
        ("2.1.0a0+git7ce932a", "torch==2.1.0a0+git7ce932a"),
        ("2.9.1; rm -rf ~", None),
        ("2.9.1 --extra-index-url http://x", None),
        ("-e.", None),
        ("٢.٩", None),
        (None, None),
    ],
)
def test_a_pin_holds_a_version_or_nothing(version: str | None, expected: str | None) -> None:
    assert pin("torch", version) == expected


def test_brackets_are_quoted() -> None:
    assert word("torch[device-gfx1103]") == '"torch[device-gfx1103]"'
    assert word("torch==2.4.1+cpu") == "torch==2.4.1+cpu"
