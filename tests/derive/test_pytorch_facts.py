from __future__ import annotations

import pytest

from doctor.derive.pytorch import cpu_backend, pytorch_facts
from doctor.machine.model import (
    DtypeTimes,
    Exercise,
    Intent,
    Machine,
    Measurements,
    Os,
    Package,
    Torch,
    TorchDirectml,
)

LINUX, WINDOWS = Os(kind="linux", wsl=0), Os(kind="windows", wsl=0)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (Machine(intent=Intent(backend="cpu")), True),
        (Machine(intent=Intent(backend="directml"), torch=Torch(build="cpu")), False),
        (Machine(intent=Intent(backend="rocm")), False),
        (Machine(os=LINUX, torch=Torch(build="cpu")), True),
        (Machine(os=LINUX, intent=Intent(backend="auto"), torch=Torch(build="cpu")), True),
        (Machine(os=LINUX, torch=Torch(build="rocm", is_available=True)), False),
        (Machine(os=LINUX, torch=Torch(build="rocm", is_available=False)), True),
        (Machine(os=LINUX, torch=Torch(build="rocm")), None),
        (Machine(os=WINDOWS, torch=Torch(build="cpu")), None),
        (Machine(os=WINDOWS, torch=Torch(build="cpu"), torch_directml=TorchDirectml(installed=False)), True),
        (Machine(os=WINDOWS, torch=Torch(build="cpu"), torch_directml=TorchDirectml(installed=True)), None),
        (Machine(os=Os(kind="linux", wsl=2), torch=Torch(build="cpu")), None),
        (Machine(torch=Torch(build="cpu")), None),
        (Machine(), None),
    ],
)
def test_is_it_the_cpu_that_works(machine: Machine, expected: bool | None) -> None:
    assert cpu_backend(machine) is expected


def numpy_beside(torch: str | None, numpy: str | None, os: Os | None = LINUX, **package: str) -> Machine:
    return Machine(
        os=os,
        torch=Torch(installed=True, version=torch),
        packages={"numpy": Package(version=numpy), "torch": Package(version=torch, **package)},
    )


@pytest.mark.parametrize(
    ("machine", "too_new"),
    [
        (numpy_beside("2.2.2+cpu", "2.1.3"), True),
        (numpy_beside("2.2.2+cpu", "2.1.3", installer="pip"), True),
        (numpy_beside("2.3.0", "2.1.3"), False),
        (numpy_beside("2.3.0", "2.1.3", WINDOWS), True),
        (numpy_beside("2.4.0", "2.0.0", WINDOWS), True),
        (numpy_beside("2.4.1", "2.0.0", WINDOWS), False),
        (numpy_beside("2.3.0", "2.1.3", None), None),
        (numpy_beside("2.4.1", "2.1.3", None), False),
        (numpy_beside("2.2.2", "2.1.3", None), True),
        (numpy_beside("2.2.2", "1.26.4"), False),
        (numpy_beside("2.2.2", None), None),
        (numpy_beside(None, "2.1.3"), None),
        (numpy_beside("2.2.2", "2.1.3", installer="conda"), False),
        (numpy_beside("2.2.2", "2.1.3", installer="distro"), False),
        (Machine(torch=Torch(version="2.2.2"), packages={"torch": Package(version="2.2.2")}), False),
        (Machine(torch=Torch(version="2.2.2")), None),
    ],
)
def test_numpy_2_beside_a_wheel_for_numpy_1(machine: Machine, too_new: bool | None) -> None:
    assert pytorch_facts(machine).numpy_too_new is too_new


def test_a_bridge_that_was_seen_to_work_beats_the_versions() -> None:
    machine = numpy_beside("2.2.2", "2.1.3")
    works = Machine(
        torch=machine.torch, packages=machine.packages, exercises=(Exercise(name="numpy-bridge", outcome="ok"),)
    )
    assert pytorch_facts(works).numpy_too_new is False


@pytest.mark.parametrize(
    "said",
    [
        "UserWarning: Failed to initialize NumPy: _ARRAY_API not found (Triggered internally at …)",
        "RuntimeError: Numpy is not available",
        "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.3",
    ],
)
def test_what_torch_says_of_it(said: str) -> None:
    rows = (Exercise(name="import-torch", outcome="ok", detail=said),)
    assert pytorch_facts(Machine(exercises=rows)).numpy_complaint
    assert pytorch_facts(Machine(torch=Torch(import_error=said))).numpy_complaint
    assert not pytorch_facts(Machine(exercises=(Exercise(detail="No module named 'numpy'"),))).numpy_complaint


@pytest.mark.parametrize(
    ("packages", "torch", "complaint"),
    [
        (None, None, True),
        ({"numpy": "2.1.3"}, "2.2.2", True),
        ({"numpy": "1.26.4"}, "2.2.2", False),
        ({}, "2.2.2", False),
        ({"numpy": "2.1.3"}, "2.4.1", False),
        ({}, "2.13.0+cpu", False),
    ],
)
def test_what_torch_says_without_any_numpy_as_well(
    packages: dict[str, str] | None, torch: str | None, complaint: bool
) -> None:
    machine = Machine(
        torch=Torch(version=torch),
        packages=None if packages is None else {name: Package(version=each) for name, each in packages.items()},
        exercises=(Exercise(name="numpy-bridge", outcome="exception", detail="RuntimeError: Numpy is not available"),),
    )
    assert pytorch_facts(machine).numpy_complaint is complaint


def test_a_torch_without_numpy_beside_it_is_no_mismatch() -> None:
    said = "Failed to initialize NumPy: No module named 'numpy' (Triggered internally at …)"
    rows = (Exercise(name="import-torch", outcome="ok", detail=said),)
    for packages in (None, {"torch": Package(version="2.2.2")}):
        assert not pytorch_facts(Machine(exercises=rows, packages=packages)).numpy_complaint


def test_numpy_is_unused_only_where_that_is_certain() -> None:
    def unused(**requires: tuple[str, ...] | None) -> bool:
        packages = {name: Package(requires=lines) for name, lines in requires.items()}
        return pytorch_facts(Machine(packages=packages)).numpy_unused

    assert unused(numpy=(), torch=("sympy", 'numpy>=1.21; extra == "opt"'))
    assert not unused(numpy=(), torch=None)
    assert not unused(numpy=(), scipy=("numpy<2.4,>=1.23.5",))
    assert not unused(numpy=(), odd=("NumPy (>=1,<2)",))
    assert unused(numpy=(), stl=("numpy-stl", "numpy.ext", "numpydoc>1"))
    assert not unused(torch=())
    assert not pytorch_facts(Machine()).numpy_unused


def test_the_measured_price_of_bfloat16() -> None:
    def ratio(float32: float | None, bfloat16: float | None) -> object:
        times = DtypeTimes(float32_seconds=float32, bfloat16_seconds=bfloat16)
        return pytorch_facts(Machine(measurements=Measurements(dtype=times))).bf16_time_ratio

    assert ratio(0.8, 30.0) == pytest.approx(37.5)
    assert ratio(None, 30.0) == ratio(0.8, None) == ratio(0.0, 30.0) == "none"


@pytest.mark.parametrize(
    ("version", "hip", "installer", "url"),
    [
        ("2.13.0+cpu", "none", "pip", "https://download.pytorch.org/whl/cpu"),
        ("2.6.0+cu124", "none", "uv", "https://download.pytorch.org/whl/cu124"),
        ("2.0.0+rocm5.4.2", "5.4.2", "pip", "https://download.pytorch.org/whl/rocm5.4.2"),
        ("2.5.1", "none", "pip", "https://pypi.org/simple"),
        ("2.2.0", "6.0.32830", "pip", None),  # a distribution's own
        ("2.10.0+rocm7.13.0a20260508", "7.13", "pip", None),  # AMD's own index
        ("2.11.0.dev20260215+cpu", "none", "pip", None),  # a nightly
        ("2.13.0+cpu", "none", "conda", None),
        ("2.13.0+cpu", "none", None, None),
        ("2.1.0a0+git7ce932a", "none", "pip", None),
    ],
)
def test_where_a_wheel_comes_from(version: str, hip: str, installer: str | None, url: str | None) -> None:
    machine = Machine(torch=Torch(version=version, hip=hip), packages={"torch": Package(installer=installer)})
    assert pytorch_facts(machine).reinstall_index_url == url
