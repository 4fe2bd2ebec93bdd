"""`torch/version.py` as wheels and source builds write it, and what it says of the build."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.torch_version import TorchVersion, build_kind, read_torch_version

CPU_2_13 = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.13.0+cpu'
debug = False
cuda: Optional[str] = None
git_version = 'cf30153c4c131c8164ee7798e5022d810682e2cb'
hip: Optional[str] = None
rocm: Optional[str] = None
xpu: Optional[str] = None
"""

# the older form, which has neither annotations nor a line for hip
OLD = "__version__ = '1.6.0'\ndebug = False\ncuda = '10.2'\ngit_version = 'b31f58de6fa8bbda5353b3c77d9be4914399724d'\n"


def test_a_wheel_for_the_cpu() -> None:
    assert read_torch_version(CPU_2_13) == TorchVersion(
        version="2.13.0+cpu", git_version="cf30153c4c131c8164ee7798e5022d810682e2cb", debug=False
    )


def test_an_old_release_without_a_line_for_hip() -> None:
    told = read_torch_version(OLD)
    assert told is not None
    assert (told.version, told.cuda, told.hip, told.xpu) == ("1.6.0", "10.2", "none", "none")


@pytest.mark.parametrize("text", ["", "# empty\n", "__version__ = 5\n", "__version__ = 'x", "\0", "(" * 5000, "x = 1"])
def test_a_file_without_a_version_is_none(text: str) -> None:
    assert read_torch_version(text) is None


def test_nothing_in_the_file_is_run() -> None:
    told = read_torch_version("import os; os._exit(1)\n__version__ = '2.1'\ncuda = os.environ['X']\n")
    assert told == TorchVersion(version="2.1")


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert read_torch_version(text) is None or isinstance(read_torch_version(text), TorchVersion)


CPU_LIBS = ("libtorch_cpu.so", "libgomp.so.1")
CUDA_LIBS = (*CPU_LIBS, "libtorch_cuda.so", "libtorch_cuda_linalg.so")


@pytest.mark.parametrize(
    ("version", "cuda", "hip", "libraries", "kind"),
    [
        ("2.13.0+cpu", "none", "none", CPU_LIBS, "cpu"),
        ("2.5.1+cu124", "12.4", "none", CUDA_LIBS, "cuda"),
        ("2.5.1", "12.4", "none", None, "cuda"),
        ("2.5.1", None, None, CUDA_LIBS, "cuda"),  # from PyPI for Linux, its version file gone
        ("2.5.1", None, None, CPU_LIBS, "cpu"),  # from PyPI for macOS, its version file gone
        ("2.5.1", None, None, None, None),  # only a name in a list of packages
        ("2.2.2", "none", "none", None, "cpu"),  # conda
        ("2.4.1+rocm6.1", "none", "6.1.40091-a8dbc0c19", None, "rocm"),
        ("2.4.1+rocm6.1", None, None, None, "rocm"),
        ("2.9.0+rocmsdk20251116", None, None, None, "rocm"),
        ("2.8.0a0+gitfc14c65", "none", "6.4.50101", None, "rocm"),  # AMD's own wheel for Windows
        ("2.1.0a0+git7ce932a", "none", "0.0.0", None, "source"),  # configured for ROCm, which was not found
        ("2.1.0a0+git7ce932a", "none", "none", CPU_LIBS, "source"),
        ("2.1.0", "none", "0.0.0", None, "source"),
        ("2.11.0.dev20260215+cpu", "none", "none", None, "cpu"),
        ("2.8.0+xpu", "none", "none", None, "xpu"),
        ("2.5.1", "none", "none", ("torch_hip.dll", "torch_cpu.dll"), "rocm"),
        ("2.5.1", None, None, ("libshm.so",), None),  # half of an installation
        ("", None, None, None, None),
    ],
)
def test_what_a_build_is_for(
    version: str, cuda: str | None, hip: str | None, libraries: tuple[str, ...] | None, kind: str | None
) -> None:
    assert build_kind(version, cuda, hip, libraries) == kind
