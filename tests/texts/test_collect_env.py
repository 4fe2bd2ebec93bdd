from __future__ import annotations

import pytest

from doctor.machine.model import Cpu
from doctor.texts.collect_env import read_collect_env
from doctor.texts.collect_env_cpu import read_macos_cpu, read_windows_cpu
from doctor.texts.package_row import ListedPackage

SHORT = """\
Collecting environment information...
PyTorch version: 2.6.0+cu124
Is debug build: False
OS: Ubuntu 24.04 LTS (x86_64)
GPU models and configuration: \n
GPU 0: NVIDIA GeForce RTX 3090
GPU 1: NVIDIA GeForce RTX 3090

Nvidia driver version: 550.90

CPU:
Architecture:   x86_64
CPU(s):         12

Versions of relevant libraries:
[pip3] numpy==2.2.3
[pip3] torch==2.6.0
[conda] pytorch   2.2.2   py3.11_cpu_0    pytorch
"""


def test_keys_lists_and_blocks() -> None:
    read = read_collect_env(SHORT)
    assert read.value("pytorch version") == "2.6.0+cu124"
    assert read.value("os") == "Ubuntu 24.04 LTS (x86_64)"
    assert read.gpus == ("GPU 0: NVIDIA GeForce RTX 3090", "GPU 1: NVIDIA GeForce RTX 3090")
    assert read.cpu == "Architecture:   x86_64\nCPU(s):         12\n\n"
    assert read.pip == (ListedPackage("numpy", "2.2.3"), ListedPackage("torch", "2.6.0"))
    assert read.conda == (ListedPackage("pytorch", "2.2.2", "py3.11_cpu_0", "pytorch"),)
    assert read.pip_ended and read.variables is None


def test_the_form_of_vllm() -> None:
    read = read_collect_env(
        "==============================\n        System Info\n==============================\n"
        "OS                           : Ubuntu 24.04\n"
        "==============================\n          CPU Info\n==============================\nCPU(s):   8\n\n"
        "==============================\nVersions of relevant libraries\n==============================\n"
        "[pip3] torch==2.7.0\n\n"
        "==============================\n     Environment Variables\n==============================\n"
        "OMP_NUM_THREADS=8\nPYTORCH_HIP_ALLOC_CONF=a=b\n"
    )
    assert read.value("os") == "Ubuntu 24.04"
    assert read.cpu == "CPU(s):   8\n\n"
    assert read.variables == {"OMP_NUM_THREADS": "8", "PYTORCH_HIP_ALLOC_CONF": "a=b"}
    assert read.pip_ended


@pytest.mark.parametrize(
    ("row", "package"),
    [
        ("[pip3] torch==2.1.0a0+git7ce932a", ListedPackage("torch", "2.1.0a0+git7ce932a")),
        ("[pip] numpy (1.13.3)", ListedPackage("numpy", "1.13.3")),
        ("[pip3] torch==", None),
        ("[pip3] tor", None),
    ],
)
def test_rows_of_pip(row: str, package: ListedPackage | None) -> None:
    assert read_collect_env(row + "\n").pip == ((package,) if package else ())


@pytest.mark.parametrize("row", ["Could not collect", "N/A", ""])
def test_a_list_that_could_not_be_collected_is_unknown(row: str) -> None:
    assert read_collect_env(f"[pip3] {row}\n[conda] Could not collect\n").pip is None
    assert read_collect_env("[pip3] No relevant packages\n[conda] x\n").pip == ()


def test_what_no_newline_ends_is_not_read() -> None:
    assert read_collect_env("Is debug build: False\nPyTorch version: 2.1").value("pytorch version") is None
    cut = read_collect_env("[pip3] numpy==1.26.4\n[pip3] torch==2.1")
    assert cut.pip == (ListedPackage("numpy", "1.26.4"),) and not cut.pip_ended
    assert read_collect_env("[pip3] torch==2.1.0\n[conda] Could not coll").pip_ended


def test_the_first_value_of_a_key_counts() -> None:
    assert read_collect_env("OS: Ubuntu\nOS: Debian\n").value("os") == "Ubuntu"


WMIC = (
    "\n\nArchitecture=9\n\nFamily=107\n\nManufacturer=AuthenticAMD\n\n"
    "Name=AMD Ryzen 7 5800X 8-Core Processor  \n\nRevision=8448\n\n"
)
POWERSHELL = "Name: AMD Ryzen 7 5800X 8-Core Processor  \nManufacturer: AuthenticAMD\nFamily: 107\nRevision: 8448\n"
RYZEN = Cpu(vendor="AuthenticAMD", name="AMD Ryzen 7 5800X 8-Core Processor", model=33, stepping=0)


@pytest.mark.parametrize("block", [WMIC, POWERSHELL, f"----------------------\n{POWERSHELL}" * 2])
def test_the_processor_of_windows(block: str) -> None:
    assert read_windows_cpu(block) == RYZEN


@pytest.mark.parametrize(
    "block",
    [
        "",
        "Name: AMD Ryzen\nManufacturer: AuthenticAMD\n",
        "'wmic' is not recognized as an internal or external command,\noperable program or batch file.\n",
        "Architecture:  x86_64\nCPU(s):   8\nVendor ID: AuthenticAMD\n",
    ],
)
def test_other_blocks_are_no_processor_of_windows(block: str) -> None:
    assert read_windows_cpu(block) is None


def test_the_revision_of_another_maker_is_not_split() -> None:
    intel = "Name=Intel(R) Xeon(R)\nManufacturer=GenuineIntel\nFamily=179\nRevision=27142\n"
    assert read_windows_cpu(intel) == Cpu(vendor="GenuineIntel", name="Intel(R) Xeon(R)")


def test_the_processor_of_macos() -> None:
    assert read_macos_cpu("Apple M2 Pro\n") == Cpu(name="Apple M2 Pro")
    assert read_macos_cpu("lscpu: not found\n") is None
    assert read_macos_cpu("Apple M2\nand more\n") is None
