"""The target Python as it told itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.machine.model import Package, UnknownFact
from doctor.probes.python import probe
from doctor.sources.recording import RecordingSource

TOLD: dict[str, Any] = {
    "answer": "amd-doctor/interpreter/1",
    "version": "3.12.3",
    "implementation": "cpython",
    "bits": 64,
    "machine": "x86_64",
    "platform": "linux",
    "free_threaded": False,
    "cache_tag": "cpython-312",
    "extension_suffix": ".cpython-312-x86_64-linux-gnu.so",
    "libc": "glibc 2.39",
    "executable": "~/venv/bin/python3",
    "prefix": "~/venv",
    "base_prefix": "/usr",
    "venv": True,
    "pyvenv": {"home": "/usr/bin", "version": "3.12.3"},
    "externally_managed": True,
    "sys_path": ["/usr/lib/python312.zip", "~/venv/lib/python3.12/site-packages"],
    "torch": None,
    "packages": [{"name": "tqdm", "version": "4.66.1", "location": "~/venv/lib/python3.12/site-packages"}],
    "conda": None,
    "path": "~/venv/bin/python",
    "chosen_by": "the active virtual environment (VIRTUAL_ENV)",
    "others_with_torch": ["/usr/bin/python3"],
    "dropped_pythonpath": ["."],
    "passed_over": [],
}


def found(**changes: Any):
    return probe(RecordingSource({"exercises": {"interpreter": {**TOLD, **changes}}}, "test"))


def test_what_it_is() -> None:
    assert msgspec.to_builtins(found().facts["python"]) == {
        "version": "3.12.3",
        "implementation": "cpython",
        "bits": 64,
        "machine": "x86_64",
        "free_threaded": False,
        "venv": True,
        "manager": "pip",
        "executable": "~/venv/bin/python",
        "chosen_by": "the active virtual environment (VIRTUAL_ENV)",
        "others_with_torch": ("/usr/bin/python3",),
    }
    assert found().unknowns == ()


@pytest.mark.parametrize(
    ("changes", "manager"),
    [
        ({"pyvenv": {"home": "/usr/bin", "uv": "0.9.1"}}, "uv"),
        ({"venv": False, "pyvenv": None, "prefix": "/opt/conda", "externally_managed": False, "conda": []}, "conda"),
        ({"prefix": "~/.cache/pypoetry/virtualenvs/a-x-py3.12"}, "poetry"),
        ({"venv": False, "pyvenv": None, "prefix": "/usr"}, "system"),
        ({"venv": False, "pyvenv": None, "prefix": "/usr", "externally_managed": False}, "system"),
        ({"venv": False, "pyvenv": None, "prefix": "/opt/homebrew/opt/python@3.12"}, "system"),
        ({"venv": False, "pyvenv": None, "prefix": "~/.local/share/uv/python/cpython-3.12"}, "uv"),
        ({"venv": False, "pyvenv": None, "prefix": "~/.pyenv/versions/3.12.3", "externally_managed": False}, "pip"),
        (
            {"venv": False, "pyvenv": None, "prefix": r"C:\Python312", "externally_managed": False},
            "pip",
        ),
        ({"prefix": None}, None),
    ],
)
def test_who_installs_its_packages(changes: dict[str, Any], manager: str | None) -> None:
    assert found(**changes).facts["python"].manager == manager


def test_packages_keep_what_is_told_of_them() -> None:
    packages = [
        {
            "name": "pytorch-triton-rocm",
            "version": "3.1.0",
            "location": "~/x",
            "installer": "pip",
            "installed_at": "2024-12-01T09:00:00Z",
            "requires": [],
            "direct_url": None,
        },
        {"name": "lion-pytorch", "version": "0.2.2", "location": "~/x", "requires": ["torch>=1.6"]},
        {"name": "half", "version": None, "location": "~/x", "broken": "ValueError"},
    ]
    assert found(packages=packages).facts["packages"] == {
        "half": Package(),
        "lion-pytorch": Package(version="0.2.2", requires=("torch>=1.6",)),
        "pytorch-triton-rocm": Package(
            version="3.1.0", installer="pip", requires=(), installed_at="2024-12-01T09:00:00Z"
        ),
    }


@pytest.mark.parametrize(
    ("package", "installer"),
    [
        ({"installer": "uv"}, "uv"),
        ({"installer": "poetry 1.8.2"}, "poetry"),
        ({"installer": "conda"}, "conda"),
        ({"installer": "debian"}, "distro"),
        ({"installer": "rpm"}, "distro"),
        ({"installer": None, "location": "/usr/lib/python3/dist-packages"}, "distro"),
        ({"installer": "pip", "location": "/usr/lib/python3/dist-packages"}, "pip"),
        ({"installer": None, "location": "~/lib"}, None),
    ],
)
def test_who_installed_a_package(package: dict[str, Any], installer: str | None) -> None:
    row = {"name": "numpy", "version": "1.26.4", "location": "~/lib", **package}
    assert found(packages=[row]).facts["packages"]["numpy"].installer == installer


def test_conda_signs_for_packages_of_its_own_and_brings_libraries() -> None:
    conda = [
        {"name": "mkl", "version": "2023.1.0", "build": "h213fc3f_46344"},
        {"name": "numpy", "version": "1.26.4", "build": "py311h08b1b3b_0"},
        {"name": "pytorch", "version": "2.2.2", "build": "py3.11_cpu_0"},
        {"name": "scipy", "version": "1.11.0", "build": "py311_0"},
    ]
    packages = [
        {"name": "numpy", "version": "1.26.4"},
        {"name": "scipy", "version": "1.13.0"},  # pip put another one over conda's
        {"name": "torch", "version": "2.2.2"},
        {"name": "mkl", "version": "2021.4.0", "installer": "pip"},
    ]
    facts = found(conda=conda, packages=packages).facts["packages"]
    assert {name: (package.version, package.installer) for name, package in facts.items()} == {
        "mkl": ("2021.4.0", "pip"),
        "numpy": ("1.26.4", "conda"),
        "pytorch": ("2.2.2", "conda"),
        "scipy": ("1.13.0", None),
        "torch": ("2.2.2", "conda"),
    }


def test_a_script_of_another_version_is_read_as_far_as_it_goes() -> None:
    source = RecordingSource({"exercises": {"interpreter": {"version": "3.14.0", "brand_new": {"x": 1}}}}, "test")
    facts = probe(source).facts
    assert facts["python"].version == "3.14.0"
    assert facts["packages"] is None


def test_without_an_answer_both_are_unknown() -> None:
    told = probe(RecordingSource({"missing": {"timed-out": ["exercise:interpreter"]}}, "test"))
    assert told.facts == {}
    assert told.unknowns == (UnknownFact("python", "timed-out"), UnknownFact("packages", "timed-out"))
