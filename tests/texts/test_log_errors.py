from __future__ import annotations

import pytest

from doctor.texts.log_errors import LONGEST_LINE, read_log_errors

FOUND = [
    ("ERROR: No matching distribution found for torch-directml", "pip-no-distribution", "torch-directml"),
    ("ERROR: could not find a version that satisfies the requirement torch==2.4 (from versions: 2.5.0)",
     "pip-no-distribution", "torch"),
    ("  × No solution found when resolving dependencies:", "pip-no-distribution", None),
    ("ModuleNotFoundError: No module named 'torch_directml'", "import-error", "torch_directml"),
    ("E ImportError: libcudart.so.12: cannot open shared object file: No such file", "import-error", "libcudart.so.12"),
    ("ImportError: /x/torch/lib/libtorch_hip.so: undefined symbol: foo", "import-error", "libtorch_hip.so"),
    ("ImportError: DLL load failed while importing _C: The specified module", "import-error", "_C"),
    ('OSError: [WinError 1114] A DLL failed. Error loading "C:\\v\\torch\\lib\\c10.dll" or', "import-error", "c10.dll"),
    ("ImportError: cannot import name 'amp' from 'torch'", "import-error", "amp"),
    ("RuntimeError: HIP error: invalid device function", "invalid-device-function", None),
    ("torch.AcceleratorError: HIP error: Invalid device function", "invalid-device-function", None),
    ('"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!" gfx1032',
     "invalid-device-function", "gfx1032"),
    ("Could not allocate tensor with 4915840 bytes. There is not enough", "out-of-device-memory", "4915840 bytes"),
    ("HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has", "out-of-device-memory", "2.00 GiB"),
    ("torch.cuda.OutOfMemoryError: CUDA out of memory.", "out-of-device-memory", None),
    ("OMP: Error #15: Initializing libomp.so, but found libiomp5.so already", "omp-duplicate", "libomp.so"),
    ("UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding", "hipblaslt", None),
    ("Attempting to use hipBLASLt on a unsupported architecture!", "hipblaslt", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "kind", "about"), FOUND, ids=[row[0][:30] for row in FOUND])
def test_families(line: str, kind: str, about: str | None) -> None:
    (error,) = read_log_errors(f"before\n{line}\nbehind\n")
    assert (error.kind, error.about, error.line) == (kind, about, 1)
    assert error.text == line.strip()


@pytest.mark.parametrize(
    "line",
    [
        "If you see `ImportError: libamdhip64.so` then ...",
        "`HIP error: invalid device function` means that the wheel has no code",
        "the memory is out of memory slots",
        "pip said nothing",
        "HIP error: unspecified launch failure",
        "OMP: Error #13: Assertion failure",
        "we could not find a version that you like",
    ],
)
def test_prose_and_other_errors(line: str) -> None:
    assert read_log_errors(line) == ()


def test_the_same_error_counts_once_with_its_number() -> None:
    line = "RuntimeError: HIP error: invalid device function\n"
    other = "ModuleNotFoundError: No module named 'triton'\n"
    errors = read_log_errors(line * 40 + other + line)
    assert [(error.kind, error.times) for error in errors] == [("invalid-device-function", 41), ("import-error", 1)]


def test_a_long_line_is_shortened() -> None:
    (error,) = read_log_errors("x" * 5000 + " RuntimeError: HIP error: invalid device function " + "y" * 5000)
    assert len(error.text) == LONGEST_LINE and "invalid device function" in error.text


def test_letters_whose_lower_case_is_longer_do_not_move_the_place() -> None:
    (error,) = read_log_errors("İ" * 300 + "\nModuleNotFoundError: No module named 'torch'\n")
    assert error.about == "torch" and error.line == 1


@pytest.mark.parametrize("piece", ["importerror:", "out of memory\n", "error #15: initializing ", "\n"])
def test_a_large_text_is_scanned_once(piece: str) -> None:
    assert len(read_log_errors(piece * (2_000_000 // len(piece)))) <= 1
