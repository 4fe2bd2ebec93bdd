"""What each area says of its facts, and what state it is in."""

from __future__ import annotations

import msgspec
import pytest

from doctor.diagnosis.model import Diagnosis, Finding, Fix
from doctor.machine.crash import Crash
from doctor.machine.model import (
    Cgroup,
    Cpu,
    Exercise,
    Gpu,
    Isa,
    L3Group,
    Limits,
    Machine,
    Memory,
    MemoryModule,
    Os,
    Power,
    Python,
    Torch,
    TorchDevice,
    UnknownFact,
)
from doctor.present import status
from doctor.present.areas import areas_of
from doctor.present.checked import Checked
from doctor.present.details import area_details, origin_of
from doctor.present.hardware import isa_text, l3_text, limits_says, memory_says, power_says, short_cpu_name, system_says
from doctor.present.software import directml_says, exercises_text, python_says, pytorch_says, rocm_says

MIB = 1024 * 1024
GIB = 1024 * MIB
AMD = "AuthenticAMD"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("AMD Ryzen 9 7950X3D 16-Core Processor", "AMD Ryzen 9 7950X3D"),
        ("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "AMD Ryzen AI 9 HX 370"),
        ("AMD Ryzen 5 5600G with Radeon Graphics", "AMD Ryzen 5 5600G"),
        ("AMD Ryzen 7 3750H with Radeon Vega Mobile Gfx", "AMD Ryzen 7 3750H"),
        ("AMD Opteron(tm) Processor 6276", "AMD Opteron Processor 6276"),
        ("Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", "Intel Core i7-1165G7 @ 2.80GHz"),
        ("Processor", "Processor"),
    ],
)
def test_short_cpu_name(name: str, short: str) -> None:
    assert short_cpu_name(name) == short


@pytest.mark.parametrize(
    ("cpu", "text"),
    [
        (Cpu(), ""),
        (Cpu(isa=Isa()), ""),
        (Cpu(isa=Isa(avx2=True, avx512f=False), vector_width_bits=256), "AVX2 on 256-bit units, no AVX-512"),
        (Cpu(isa=Isa(avx2=True), vector_width_bits=128), "AVX2 on 128-bit units"),
        (
            Cpu(isa=Isa(avx2=True, avx512f=True), avx512="double-pumped", vector_width_bits=256),
            "AVX2, AVX-512 double-pumped on 256-bit units",
        ),
        (
            Cpu(isa=Isa(avx2=True, avx512f=True), avx512="full-width", vector_width_bits=512),
            "AVX2, AVX-512 at full width on 512-bit units",
        ),
        (Cpu(isa=Isa(avx2=True, avx512f=True), avx512="partial"), "AVX2, AVX-512 only in part"),
        (Cpu(isa=Isa(avx2=True, avx512f=True)), "AVX2, AVX-512"),
        (Cpu(isa=Isa(avx=True, avx2=False)), "AVX without AVX2"),
        (Cpu(isa=Isa(avx=False, avx2=False)), "neither AVX nor AVX2"),
    ],
)
def test_isa_text(cpu: Cpu, text: str) -> None:
    assert isa_text(cpu) == text


def _l3(*groups: tuple[int | None, int | None, str | None]) -> list[L3Group]:
    return [L3Group(cores=cores, size_bytes=mib and mib * MIB, kind=kind) for cores, mib, kind in groups]


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (_l3((8, 32, None)), "1 CCX: 8 cores + 32 MiB L3"),
        (_l3((1, 16, None)), "1 CCX: 1 core + 16 MiB L3"),
        (_l3((8, 96, None), (8, 32, None)), "2 CCX: 8 cores + 96 MiB L3, 8 cores + 32 MiB L3"),
        (_l3(*[(8, 32, None)] * 12), "12 CCX of 8 cores + 32 MiB L3 each"),
        (_l3(*[(6, 32, None)] * 3, (5, 32, None)), "4 CCX: 3 x 6 cores + 32 MiB L3, 5 cores + 32 MiB L3"),
        (
            _l3((4, 16, "performance"), (8, 8, "efficiency")),
            "2 CCX: 4 performance cores + 16 MiB L3, 8 efficiency cores + 8 MiB L3",
        ),
        (_l3((8, None, None)), "1 CCX: 8 cores with one L3"),
    ],
)
def test_l3_text(groups: list[L3Group], text: str) -> None:
    assert l3_text(Cpu(vendor=AMD), groups) == text


def test_other_vendors_have_no_ccx() -> None:
    assert l3_text(Cpu(vendor="GenuineIntel"), _l3((4, 8, None), (4, 8, None))).startswith("2 L3 groups of")


def test_memory_tells_modules_speed_and_channels() -> None:
    modules = (MemoryModule(size_bytes=16 * GIB, type="DDR5"),) * 2
    memory = Memory(total_bytes=31 * GIB, modules=modules, channels=2, effective_mts=6000)
    memory = msgspec.structs.replace(memory, peak_bytes_per_second=96 * 10**9)
    says = memory_says(Machine(memory=memory))
    assert says.facts == ("31 GiB", "2 x 16 GiB DDR5 at 6000 MT/s in 2 channels, 96 GB/s at most")
    assert not says.missing


def test_memory_says_why_the_modules_are_not_known() -> None:
    rows = (UnknownFact("memory.modules", "needs-root"),)
    says = memory_says(Machine(memory=Memory(total_bytes=8 * GIB), unknowns=rows))
    assert says.missing == ("module speed and channels: not readable without root",)


@pytest.mark.parametrize(
    ("limits", "total", "text"),
    [
        (Limits(cpu_budget=32), 32, "all 32 CPUs may be used"),
        (Limits(cpu_budget=1), 1, "the only CPU may be used"),
        (Limits(cpu_budget=8), None, "8 CPUs may be used"),
        (
            Limits(cpu_budget=8, cgroup=Cgroup(quota_cpus=8.5, memory_bytes="none")),
            128,
            "8 of 128 CPUs may be used (cgroup quota 8.5 CPUs), no memory limit",
        ),
        (
            Limits(cpu_budget=2, affinity="0-3", affinity_cpus=4, cgroup=Cgroup(quota_cpus=2, memory_bytes=GIB)),
            8,
            "2 of 8 CPUs may be used (affinity mask 0-3 and cgroup quota 2 CPUs), memory limit 1 GiB",
        ),
        (
            Limits(cpu_budget=4, affinity="0-7", affinity_cpus=8, cgroup=Cgroup(quota_cpus="none", cpuset_cpus="0-3")),
            8,
            "4 of 8 CPUs may be used (cpuset 0-3)",
        ),
    ],
)
def test_limits(limits: Limits, total: int | None, text: str) -> None:
    assert limits_says(Machine(limits=limits, cpu=Cpu(logical_cpus=total))).facts == (text,)


def test_power_of_a_guest_is_decided_elsewhere() -> None:
    assert power_says(Machine(os=Os(hypervisor="kvm"))).not_applicable
    assert power_says(Machine(os=Os(hypervisor="none"))).missing
    battery = Machine(os=Os(hypervisor="kvm"), power=Power(source="battery"))
    assert power_says(battery).facts == ("on battery",)


@pytest.mark.parametrize(
    ("system", "text"),
    [
        (Os(kind="linux"), "Linux"),
        (Os(kind="linux", name="Ubuntu", kernel="6.8", wsl=2, hypervisor="hyperv"), "Ubuntu, kernel 6.8, WSL 2"),
        (Os(kind="windows", name="Windows 11 Pro", version="10.0.26100"), "Windows 11 Pro, version 10.0.26100"),
        (Os(kind="linux", container="other", hypervisor="other"), "Linux, in a container, in a virtual machine"),
        (Os(kind="linux", container="lxc", hypervisor="xen"), "Linux, in an LXC container, in a Xen virtual machine"),
    ],
)
def test_system(system: Os, text: str) -> None:
    assert system_says(Machine(os=system)).facts == (text,)


def test_python_tells_why_it_was_chosen_and_which_others_hold_torch() -> None:
    python = Python(
        version="3.12.3", bits=32, free_threaded=True, executable="~/venv/bin/python",
        chosen_by="--python", others_with_torch=("/usr/bin/python3", "/opt/python"),
    )  # fmt: skip
    assert python_says(Machine(python=python)).facts == (
        "3.12.3, 32-bit, free-threaded: ~/venv/bin/python",
        "chosen: --python",
        "PyTorch is also in: /usr/bin/python3 and /opt/python",
    )
    without = Machine(python=python, torch=Torch(installed=False))
    assert python_says(without).facts[-1].startswith("PyTorch is in:")


def test_a_torch_that_cannot_be_imported_is_not_ok() -> None:
    torch = Torch(installed=True, version="2.9.0", importable=False, import_error="OSError: [WinError 126]")
    assert pytorch_says(Machine(torch=torch)).missing == ("cannot be imported: OSError: [WinError 126]",)


def test_exercises_that_went_wrong_are_named() -> None:
    rows = [
        Exercise(name="matmul", device="cpu", outcome="ok"),
        Exercise(name="conv", device="cpu", outcome="signal", detail="SIGFPE"),
        Exercise(name="optimizer", device="cuda:0", outcome="wrong"),
        Exercise(name="dtype-bf16", outcome="skipped"),
    ]
    assert exercises_text(rows) == (
        "1 of 3 exercises are right",
        "not right: conv (SIGFPE) and optimizer on cuda:0 (a wrong result)",
    )
    assert exercises_text([]) == ("", "")


def test_a_rocm_build_that_sees_no_gpu_is_not_ok() -> None:
    torch = Torch(installed=True, hip="6.4", is_available=False)
    assert rocm_says(Machine(torch=torch)).missing == ("PyTorch sees no GPU",)
    seen = Torch(installed=True, hip="6.4", is_available=True, devices=(TorchDevice(gfx="gfx1100"),))
    assert rocm_says(Machine(torch=seen)).facts == ("PyTorch is built for ROCm 6.4, PyTorch sees gfx1100",)
    assert rocm_says(Machine(gpus=(Gpu(vendor="nvidia"),))).not_applicable == "no AMD GPU"
    assert rocm_says(Machine()).missing


def test_directml_is_a_matter_of_windows_and_wsl() -> None:
    assert directml_says(Machine(os=Os(kind="linux", wsl=0))).not_applicable
    assert directml_says(Machine(os=Os(kind="linux", wsl=2))).missing
    without = Machine(os=Os(kind="windows"), packages={})
    assert directml_says(without).not_applicable == "torch-directml is not installed"


def _finding(severity: str) -> Finding:
    return Finding("some-rule", severity, "power", None, "t", "e", "w", Fix("f"))


@pytest.mark.parametrize(
    ("diagnosis", "state"),
    [
        (Diagnosis(), status.OK),
        (Diagnosis(findings=(_finding("hint"),)), status.OK),
        (Diagnosis(findings=(_finding("info"), _finding("warning"))), status.WARNING),
        (Diagnosis(findings=(_finding("warning"), _finding("error"))), status.ERROR),
        (Diagnosis(crashed=(Crash("probe:power", "x"),)), status.CRASHED),
        (Diagnosis(crashed=(Crash("rule:power-plan-slow", "x"),)), status.OK),
    ],
)
def test_the_state_of_an_area(diagnosis: Diagnosis, state: status.Status) -> None:
    machine = Machine(power=Power(source="ac"))
    areas = {area.name: area for area in areas_of(machine, diagnosis)}
    assert areas["power"].status == state
    assert areas["memory"].status == status.UNKNOWN


def test_details_name_the_nearest_origin() -> None:
    origins = {"cpu": "/proc/cpuinfo", "cpu.l3_groups": "/sys"}
    assert origin_of("cpu.family", origins) == "/proc/cpuinfo"
    assert origin_of("cpu.l3_groups[3]", origins) == "/sys"
    assert origin_of("memory.total_bytes", origins) == ""


def test_details_shorten_what_nobody_reads_to_the_end() -> None:
    machine = Machine(cpu=Cpu(name="x", flags=tuple(f"flag{at}" for at in range(500))))
    lines = area_details("cpu", Checked(machine=machine, document={}, diagnosis=Diagnosis()))
    texts = ["".join(span.text for span in line) for line in lines]
    assert any(text.startswith("      cpu.flags = flag0 flag1") and text.endswith("characters)") for text in texts)
    assert all(len(text) < 400 for text in texts)
