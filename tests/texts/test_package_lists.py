from __future__ import annotations

import pytest

from doctor.texts.conda_list import build_of, by_pip, pip_name, read_conda_list, read_conda_row
from doctor.texts.package_row import ListedPackage, normalised, sorted_far_enough
from doctor.texts.pip_list import is_pip_headline, read_pip_freeze, read_pip_list

TABLE = ["Package    Version", "---------- ----------", "numpy      1.26.4", "torch      2.6.0+cpu"]
FROZEN = [f"{name}==1.0" for name in ("a", "b", "c", "d", "e", "numpy", "torch", "tyro", "urllib3")]


def names(packages: tuple[ListedPackage, ...]) -> list[str]:
    return [package.name for package in packages]


def test_a_table_of_pip() -> None:
    read = read_pip_list([*TABLE, "", "more text 1.0"])
    assert read is not None
    assert read.packages == (ListedPackage("numpy", "1.26.4"), ListedPackage("torch", "2.6.0+cpu"))
    assert read.end == 4 and not read.whole


def test_an_editable_package_has_a_place() -> None:
    read = read_pip_list(["Package Version Editable project location", "- ---", "mine 0.1 /home/me/mine"])
    assert read is None, "a rule has dashes"
    read = read_pip_list(["Package Version Editable project location", "------- ---", "mine 0.1 /home/me/mine"])
    assert read is not None and names(read.packages) == ["mine"]


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("Package            Version", True),
        ("$ pip list", True),
        ("(venv) C:\\Users\\x>pip list | findstr torch", True),
        ("python3 -m pip list", True),
        ("uv pip list", True),
        ("I ran pip list and saw:", False),
        ("Package versions are below", False),
    ],
)
def test_headlines_of_pip(line: str, is_one: bool) -> None:
    assert is_pip_headline(line) is is_one


def test_prose_behind_the_command_is_no_list() -> None:
    assert read_pip_list(["$ pip list", "Python 3.11 is what I use"]) is None


def test_a_list_is_whole_where_it_goes_on_beyond_what_is_asked_for() -> None:
    rows = [f"{name} 1.0" for name in ("a", "b", "c", "d", "numpy", "pip", "torch", "triton", "zipp")]
    head = ["Package Version", "------- -------"]
    assert read_pip_list([*head, *rows]).whole  # type: ignore[union-attr]
    for lines in (
        [*head, *rows[:-1]],  # may have been cut behind triton
        [*head, *reversed(rows)],
        [*head, *rows[-3:]],
        ["$ pip list | grep -v nvidia", *head, *rows],
        ["$ pip list --outdated", "Package Version Latest Type", head[1], *rows],
    ):
        at = next(number for number, line in enumerate(lines) if line.startswith("Package"))
        assert not read_pip_list(lines, at).whole  # type: ignore[union-attr]


def test_a_freeze() -> None:
    read = read_pip_freeze(["$ pip freeze", "numpy @ file:///x/work", "-e git+https://a/b@c#egg=b", "torch==2.6.0"], 1)
    assert read is not None and read.packages == (ListedPackage("torch", "2.6.0"),) and read.end == 4
    whole = read_pip_freeze(["$ pip freeze", *FROZEN], 1)
    assert whole is not None and whole.whole
    unannounced = read_pip_freeze(FROZEN)
    assert unannounced is not None and not unannounced.whole


@pytest.mark.parametrize(
    "lines",
    [
        FROZEN[:5],
        [*FROZEN, "requests>=2.31"],
        [*FROZEN, "--extra-index-url https://download.pytorch.org/whl/cpu"],
        [*FROZEN, "torch==2.4.1 ; python_version < '3.13'"],
        [*FROZEN, "somepackage[extra]==1.0"],
    ],
)
def test_a_requirements_file_is_no_freeze(lines: list[str]) -> None:
    assert read_pip_freeze(lines) is None


def test_rows_behind_a_wish_are_wishes() -> None:
    assert read_pip_freeze(["requests>=2.31", *FROZEN], 1) is None
    assert read_pip_freeze(["from requirements.txt:", *FROZEN], 1) is None


CONDA = [
    "# packages in environment at /opt/conda:",
    "#",
    "# Name                    Version                   Build  Channel",
    "_libgcc_mutex             0.1                        main  ",
    "openssl                   3.0.13               h7f8727e_0  ",
    "pytorch                   2.2.2              py3.11_cpu_0    pytorch",
    "torch-ema                 0.3                      pypi_0    pypi",
    "tzdata                    2024a                h04d1e81_0  ",
]
MICROMAMBA = ['List of packages in environment: "/opt/x"', "", "  Name   Version  Build   Channel    ", "─" * 40]


def test_a_list_of_conda() -> None:
    read = read_conda_list([*CONDA, "", "text"])
    assert read is not None and read.end == 8
    assert names(read.packages) == ["_libgcc_mutex", "openssl", "pytorch", "torch-ema", "tzdata"]
    assert read.packages[2] == ListedPackage("pytorch", "2.2.2", "py3.11_cpu_0", "pytorch")
    assert read_conda_list([*MICROMAMBA, "  numpy  1.26.4   py311_0  conda-forge"]) is not None
    assert read_conda_list(CONDA[:3]) is None


def test_who_installed_what_and_what_for() -> None:
    pytorch, ema = (read_conda_row(CONDA[at]) for at in (5, 6))
    assert pytorch is not None and ema is not None
    assert (pip_name(pytorch), by_pip(pytorch), by_pip(ema)) == ("torch", False, True)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        ("py3.11_cpu_0", ("cpu", "none")),
        ("cpu_mkl_py312h12a0b3c_100", ("cpu", "none")),
        ("py3.11_cuda12.1_cudnn8.9.2_0", ("cuda", "12.1")),
        ("cuda126_mkl_py312h30b5a27_300", ("cuda", "12.6")),
        ("py311h08b1b3b_0", None),
        ("pypi_0", None),
    ],
)
def test_what_a_build_of_conda_says(build: str, told: tuple[str, str] | None) -> None:
    assert build_of(ListedPackage("pytorch", "2.2.2", build)) == told


@pytest.mark.parametrize("line", ["", "text", "numpy 1.26.4", "Name Version Build", "numpy main py311_0", "a b c d e"])
def test_other_lines_are_no_rows(line: str) -> None:
    assert read_conda_row(line) is None


def test_names_in_one_spelling() -> None:
    assert normalised("PyTorch_Triton.ROCm") == "pytorch-triton-rocm"
    assert normalised("_libgcc_mutex") == "_libgcc_mutex"


def test_far_enough_is_beyond_triton() -> None:
    rows = [ListedPackage(name, "1") for name in ("a", "b", "c", "d", "e", "f", "torch", "triton-rocm")]
    assert not sorted_far_enough(rows)
    assert sorted_far_enough([*rows, ListedPackage("typing_extensions", "1")])
    assert not sorted_far_enough([*rows, ListedPackage("zipp", "1"), ListedPackage("a", "1")])


@pytest.mark.parametrize("piece", ["a", "1", "a-", " ", "pip ", "="])
def test_long_lines_are_scanned_once(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    assert read_conda_row(text) is None
    assert not is_pip_headline(text)
    assert read_pip_freeze([text]) is None
