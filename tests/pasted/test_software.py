"""What each dialect of the small pastes in tests/pastes says of a machine, and what it leaves unknown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.machine.model import Machine, Package, Rocm, Torch, TorchDevice, TorchDirectml
from doctor.machine.unknowns import is_partial
from doctor.pasted.parts import Part
from doctor.pasted.software import read_environment
from tests.pasted.judging import PASTES, machine_of, parts, paste


def known(machine: Machine, *facts: str) -> dict[str, Any]:
    plain = msgspec.json.decode(msgspec.json.encode(machine))
    found = {}
    for fact in facts:
        value: Any = plain
        for name in fact.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        found[fact] = value
    return found


EXPECTED: dict[str, dict[str, Any]] = {
    "torch-1.6-yes-no.txt": {
        "torch.version": "1.6.0", "torch.cuda": "10.2", "torch.hip": None, "torch.is_available": False,
        "python.version": "3.8", "python.bits": None, "os.kind": "linux", "cpu": None,
    },
    "torch-1.8-rocm.txt": {
        "torch.build": "rocm", "torch.hip": "4.0.20496-4f163c68", "torch.cuda": "none", "torch.is_available": True,
        "torch.devices": [{"name": "Vega 20"}], "python.version": "3.8", "python.bits": 64, "os.kernel": None,
    },
    "torch-2.0-old-name.txt": {
        "torch.devices": [{"name": "AMD Radeon RX 6800"}], "os.kernel": "6.3.8-200.fc38.x86_64", "os.wsl": 0,
        "cpu.family": 23, "cpu.physical_cores": 8, "python.machine": "x86_64", "gpus": None,
    },
    "windows-wmic.txt": {
        "os.kind": "windows", "os.name": "Windows 10 Pro", "windows.build": 19045, "cpu.model": 33, "cpu.stepping": 2,
        "cpu.family": None, "torch_directml.installed": True, "torch_directml.version": "0.2.5.dev240914",
        "torch.cuda": "none", "torch.build": "cpu", "python.machine": "AMD64",
    },
    "windows-powershell.txt": {
        "os.name": "Windows Server 2022 Standard", "windows.build": 20348, "cpu.model": 1, "python.manager": "conda",
        "packages.numpy.installer": "conda", "packages.torch.installer": "pip", "torch_directml.installed": False,
    },
    "macos.txt": {
        "os.kind": "macos", "os.name": "macOS 14.5", "cpu.name": "Apple M2 Pro", "python.machine": "arm64",
    },
    "torch-broken.txt": {
        "torch.installed": True, "torch.version": "2.6.0+rocm6.2.4", "torch.importable": False,
        "torch.import_error": None, "torch.is_available": None, "python.version": "3.11.2",
    },
    "vllm-2024-rocm.txt": {
        "torch.build": "rocm", "torch.devices": [{"name": "AMD Instinct MI300X", "gfx": "gfx942:sramecc+:xnack-"}],
        "rocm.version": "6.2", "rocm.library_path": ["/opt/rocm-6.1/lib"], "env": {"OMP_NUM_THREADS": "8"},
    },
    "vllm-2025-cpu.txt": {
        "os.wsl": 2, "torch.version": "2.7.0+cpu", "torch.is_available": None, "cpu.physical_cores": 16,
        "env": {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "KMP_AFFINITY": "granularity=fine,compact,1,0"},
    },
    "pip-list.txt": {
        "torch.installed": True, "torch.version": "2.4.1", "torch_directml.installed": True, "os": None,
        "packages.jinja2.version": "3.1.4",
    },
    "pip-list-filtered.txt": {"torch.version": "2.6.0+rocm6.2.4", "torch_directml": None},
    "pip-freeze.txt": {"torch.version": "2.6.0+cpu", "torch_directml.installed": False, "packages.numpy": None},
    "conda-list.txt": {
        "torch.version": "2.2.2", "torch.build": "cuda", "torch.cuda": "12.1", "torch.hip": "none",
        "packages.torch.installer": "conda", "packages.torch-ema.installer": "pip", "python.version": "3.11.8",
    },
    "torch-config.txt": {
        "torch.version": "2.3.1", "torch.hip": "5.7.31921", "torch.build": "rocm", "torch.blas": "mkl",
        "torch.num_threads": 6, "torch.interop_threads": 12, "torch.cpu_capability": "AVX2",
        "torch.default_num_threads": None, "env": {"OMP_NUM_THREADS": "6"},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_paste_says(name: str) -> None:
    machine = machine_of(paste(name))
    assert known(machine, *EXPECTED[name]) == EXPECTED[name]


def test_every_paste_is_looked_at() -> None:
    elsewhere = {"errors.log", "requirements.txt", "ticket.md"}
    assert {path.name for path in PASTES.iterdir()} == {*EXPECTED, *elsewhere}


@pytest.mark.parametrize(
    ("name", "partial"),
    [
        ("torch-2.0-old-name.txt", {"packages"}),
        ("vllm-2024-rocm.txt", {"packages", "env"}),
        ("torch-config.txt", {"env"}),
        ("pip-list-filtered.txt", {"packages"}),
        ("pip-list.txt", set()),
        ("pip-freeze.txt", set()),
        ("conda-list.txt", set()),
    ],
)
def test_lists_that_are_not_whole_are_marked(name: str, partial: set[str]) -> None:
    machine = machine_of(paste(name))
    assert {fact for fact in ("packages", "env") if is_partial(machine, fact)} == partial


@pytest.mark.parametrize("prefix", ["> ", "> > ", "# ", "    "])
@pytest.mark.parametrize("name", ["torch-2.0-old-name.txt", "windows-wmic.txt", "vllm-2025-cpu.txt"])
def test_a_quoted_text_says_the_same(name: str, prefix: str) -> None:
    quoted = "".join(f"{prefix}{line}\n" for line in paste(name).splitlines())
    plain = msgspec.structs.replace(machine_of(paste(name)), sources=None)
    assert msgspec.structs.replace(machine_of(f"Hello,\n\n{quoted}\n"), sources=None) == plain


@pytest.mark.parametrize("wrap", ["```\n{}```\n", "~~~text\n{}~~~", "<details>\n\n```shell\n{}```\n</details>"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_fenced_text_says_the_same(wrap: str, end: str) -> None:
    text = wrap.format(paste("torch-2.0-old-name.txt")).replace("\n", end)
    plain = msgspec.structs.replace(machine_of(paste("torch-2.0-old-name.txt")), sources=None)
    assert msgspec.structs.replace(machine_of(text), sources=None) == plain


def test_what_is_not_in_a_text_is_a_row_of_unknowns() -> None:
    rows = {row.fact: row.reason for row in machine_of(paste("torch-2.0-old-name.txt")).unknowns or ()}
    assert {"gpus", "env", "limits", "memory", "nodes", "exercises"} <= set(rows)
    assert set(rows.values()) == {"not-in-source"} and "torch" not in rows


def test_a_config_that_was_not_printed_is_one_line() -> None:
    text = paste("torch-config.txt").partition("\nATen")[0].replace("\n", "\\n")
    machine = machine_of(f">>> torch.__config__.show()\n'{text}'\n")
    assert machine.torch is not None and (machine.torch.blas, machine.torch.hip) == ("mkl", "5.7.31921")


def test_personal_data_is_taken_out() -> None:
    for name in (path.name for path in PASTES.iterdir()):
        told = repr(msgspec.to_builtins(machine_of(paste(name))))
        assert not [word for word in ("Erika", "Mustermann", "/home/jan", "alice", "hf_abcdef") if word in told], name


# Single facts of collect_env


def environment(*lines: str) -> Part:
    part = read_environment("\n".join(["PyTorch version: 2.6.0", "Is debug build: False", *lines, "", ""]))
    assert part is not None
    return part


def torch_with(*lines: str, version: str = "2.6.0") -> Torch:
    part = read_environment("\n".join([f"PyTorch version: {version}", "Is debug build: False", *lines, "", ""]))
    assert part is not None and part.machine.torch is not None
    return part.machine.torch


@pytest.mark.parametrize(
    ("cuda", "rocm", "build"),
    [
        ("12.4", "N/A", "cuda"),
        ("None", "N/A", "cpu"),
        ("Could not collect", "N/A", "cpu"),
        ("N/A", "6.2.41133-dd7f95766", "rocm"),
        ("N/A", "6.0.32830-", "rocm"),
        ("N/A", "0.0.0", "source"),
    ],
)
def test_the_build(cuda: str, rocm: str, build: str) -> None:
    torch = torch_with(f"CUDA used to build PyTorch: {cuda}", f"ROCM used to build PyTorch: {rocm}")
    assert torch.build == build


def test_a_build_that_was_cut_off_is_unknown() -> None:
    assert torch_with("CUDA used to build PyTorch: None").build is None
    assert torch_with("ROCM used to build PyTorch: something odd").hip is None
    assert torch_with().is_available is None


def test_a_version_is_a_version() -> None:
    for told in ("2.6", "2.6.0 (torchvision: 0.21.0)", "2.1.0a0+32f93b1"):
        assert torch_with(version=told).version == told.partition(" ")[0]
    part = read_environment("PyTorch version: 2.1s debug build: False\nIs debug build: False\nOS: x\n")
    assert part is not None and part.machine.torch is None


ROCM = ("CUDA used to build PyTorch: N/A", "ROCM used to build PyTorch: 6.2.41133", "Is CUDA available: True")


def test_a_gpu_is_what_pytorch_sees_not_what_is_there() -> None:
    part = environment(*ROCM, "GPU models and configuration: AMD Radeon RX 6600 (gfx1032)")
    assert part.machine.torch is not None and part.machine.gpus is None
    assert part.machine.torch.devices == (TorchDevice(name="AMD Radeon RX 6600", gfx="gfx1032"),)


@pytest.mark.parametrize("gpu", ["Could not collect", "No CUDA", "N/A", ""])
def test_no_gpu_line_is_no_device(gpu: str) -> None:
    assert torch_with(*ROCM, f"GPU models and configuration: {gpu}").devices is None


def test_cards_of_nvidia_smi_are_no_devices_of_pytorch() -> None:
    lines = ("CUDA used to build PyTorch: 12.4", "ROCM used to build PyTorch: N/A", "Is CUDA available: True")
    assert torch_with(*lines, "GPU models and configuration: GPU 0: NVIDIA GeForce RTX 3090").devices is None


@pytest.mark.parametrize(
    ("told", "version", "implementation", "free_threaded"),
    [
        ("3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0] (64-bit runtime)", "3.12.3", "cpython", False),
        ("3.13.1 experimental free-threading build (main) [Clang 18.1.8 ] (64-bit runtime)", "3.13.1", "cpython", True),
        ("3.10.14 (39dc8d3c85a7, Aug 27 2024) [PyPy 7.3.17 with GCC 10.2.1] (64-bit runtime)", "3.10.14", "pypy", None),
        ("3.8 (64-bit runtime)", "3.8", None, None),
        ("3.14.0rc2 (main) [GCC 13.3.0] (64-bit runtime)", "3.14.0rc2", "cpython", False),
    ],
)
def test_the_python(told: str, version: str, implementation: str | None, free_threaded: bool | None) -> None:
    python = environment(f"Python version: {told}").machine.python
    assert python is not None
    assert (python.version, python.implementation, python.free_threaded) == (version, implementation, free_threaded)


@pytest.mark.parametrize(
    ("platform", "kernel", "wsl"),
    [
        ("Linux-6.11.0-17-generic-x86_64-with-glibc2.39", "6.11.0-17-generic", 0),
        ("Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35", "5.15.153.1-microsoft-standard-WSL2", 2),
        ("Linux-4.4.0-19041-Microsoft-x86_64-with-glibc2.29", "4.4.0-19041-Microsoft", 1),
        ("Linux-6.1.128-136.201.amzn2023.x86_64-x86_64-with-glibc2.36", "6.1.128-136.201.amzn2023.x86_64", 0),
        ("Linux-6.8.0-1017-raspi-aarch64-with-glibc2.39", "6.8.0-1017-raspi", 0),
    ],
)
def test_the_kernel(platform: str, kernel: str, wsl: int) -> None:
    system = environment(f"Python platform: {platform}").machine.os
    assert system is not None and (system.kind, system.kernel, system.wsl) == ("linux", kernel, wsl)


def test_windows_11_calls_itself_10() -> None:
    part = environment("OS: Microsoft Windows 11 Pro", "Python platform: Windows-10-10.0.22631-SP0")
    assert part.machine.os is not None and part.machine.os.name == "Windows 11 Pro"
    assert part.machine.windows is not None and part.machine.windows.build == 22631


def test_directml_is_missing_only_where_the_list_goes_on() -> None:
    rows = ("Versions of relevant libraries:", "[pip3] numpy==1.26.4", "[pip3] torch==2.4.1")
    assert environment(*rows).machine.torch_directml is None
    assert environment(*rows, "[conda] Could not collect").machine.torch_directml == TorchDirectml(installed=False)


def test_a_torch_that_only_another_pip_may_list_is_not_called_broken() -> None:
    head = "PyTorch version: N/A\nIs debug build: N/A\n"
    rows = "Versions of relevant libraries:\n[pip3] torch==1.7.0\n[conda] Could not collect\n"
    old = read_environment(head + rows)
    assert old is not None and old.machine.torch == Torch(installed=True, version="1.7.0")
    new = read_environment(head + "CPU:\nCPU(s):  8\n\n" + rows)
    assert new is not None and new.machine.torch == Torch(installed=True, version="1.7.0", importable=False)


def test_a_torch_that_is_not_listed_is_not_installed() -> None:
    text = "PyTorch version: N/A\nIs debug build: N/A\nCPU:\nCPU(s):  8\n\n[pip3] numpy==1.26.4\n[conda] N/A\n"
    part = read_environment(text)
    assert part is not None and part.machine.torch == Torch(installed=False)
    partner = read_environment(text.replace("[pip3] numpy", "[pip3] torchvision==0.21.0\n[pip3] numpy"))
    assert partner is not None and partner.machine.torch is None


def test_one_version_line_is_no_collect_env() -> None:
    assert read_environment("- PyTorch version: 2.6.0\n- OS: Ubuntu\n") is None
    assert read_environment("PyTorch version: 2.6.0\n") is None


def test_conda_and_pip_may_each_have_one() -> None:
    part = environment("[pip3] mkl==2021.4.0", "[conda] mkl   2023.1.0   h6b88ed4_46358  ")
    assert part.machine.packages == {"mkl": Package(version="2021.4.0")}


def test_vllm_without_rocm_says_nothing_of_it() -> None:
    assert environment("ROCM Version: Could not collect").machine.rocm is None
    assert environment("ROCM Version: 6.2.41133-dd7f95766").machine.rocm == Rocm(version="6.2")


def test_two_runs_are_two_parts() -> None:
    text = paste("torch-2.0-old-name.txt")
    found = parts(f"{text}\nafter an update:\n\n{text.replace('2.0.1', '2.2.2')}")
    assert [part.kind for part in found] == ["collect_env", "collect_env"]
    versions = [part.machine.torch.version for part in found if part.machine.torch]
    assert versions == ["2.0.1+rocm5.4.2", "2.2.2+rocm5.4.2"]


def test_the_lines_of_a_part_are_those_of_the_text() -> None:
    text = paste("ticket.md")
    lines = text.split("\n")
    spans = {part.kind: part.span for part in parts(text)}
    assert lines[spans["collect_env"][0]].startswith("Collecting environment")
    assert lines[spans["collect_env"][1] - 1].startswith("[conda]")
    assert lines[spans["pip-list"][0]].startswith("$ pip list")
