from __future__ import annotations

import pytest

from doctor.derive import python
from doctor.derive.python import PythonFacts, python_facts
from doctor.machine.model import Machine, Os, Python


def facts(os: str | None, machine: str | None, version: str | None, **more: object) -> PythonFacts:
    found = Python(machine=machine, version=version, **more)  # type: ignore[arg-type]
    return python_facts(Machine(os=None if os is None else Os(kind=os), python=found))


@pytest.mark.parametrize(
    ("os", "machine", "version", "more", "has_wheels"),
    [
        ("linux", "x86_64", "3.12.3", {}, True),
        ("linux", "x86_64", "3.8.10", {}, True),
        ("linux", "x86_64", "3.16.0", {}, False),
        ("linux", "x86_64", "3.4.1", {}, False),
        ("linux", "aarch64", "3.5.2", {}, False),
        ("windows", "AMD64", "3.15.0", {}, True),
        ("windows", "AMD64", "3.12.1", {"bits": 32}, False),
        ("windows", "x86", "3.12.1", {"bits": 32}, False),
        ("windows", "ARM64", "3.12.1", {}, None),
        ("macos", "x86_64", "3.13.1", {"free_threaded": False}, False),
        ("macos", "x86_64", "3.12.1", {}, True),
        ("linux", "x86_64", "3.13.1", {"free_threaded": True}, True),
        ("linux", "x86_64", "3.13.1", {}, True),
        ("linux", "x86_64", "3.12.1", {"free_threaded": True}, False),
        ("linux", "x86_64", "3.10.14", {"implementation": "pypy"}, False),
        ("linux", "x86_64", "3.12.1", {"implementation": "cpython", "bits": 64}, True),
        ("linux", "x86_64", None, {}, None),
        ("linux", "x86_64", "3", {}, None),
        ("linux", "x86_64", "three", {}, None),
        ("linux", None, "3.16.0", {}, None),
        (None, "x86_64", "3.16.0", {}, None),
        (None, "x86_64", "3.12.1", {"implementation": "pypy"}, False),
    ],
)
def test_has_this_python_any_wheel_of_torch(
    os: str | None, machine: str | None, version: str | None, more: dict[str, object], has_wheels: bool | None
) -> None:
    assert facts(os, machine, version, **more).has_wheels is has_wheels


@pytest.mark.parametrize(
    ("os", "machine", "newest"),
    [
        ("linux", "x86_64", "3.15"),
        ("windows", "AMD64", "3.15"),
        ("macos", "x86_64", "3.12"),
        ("linux", "riscv64", None),
    ],
)
def test_the_newest_python_with_a_wheel(os: str, machine: str, newest: str | None) -> None:
    assert facts(os, machine, "3.16.0").newest_version == newest


def test_where_only_one_of_two_kinds_of_a_version_has_wheels_the_kind_must_be_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(python, "wheels_for", lambda os, machine: {"cp313": ("2.5.0", "2.15.0")})
    assert facts("linux", "x86_64", "3.13.1").has_wheels is None
    assert facts("linux", "x86_64", "3.13.1", free_threaded=False).has_wheels is True


def test_nothing_is_known() -> None:
    assert python_facts(Machine()) == PythonFacts()
