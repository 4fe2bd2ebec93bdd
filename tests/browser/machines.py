"""The machines whose pages a browser opens: each has what the others lack, and the rules of the project judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date

import msgspec

from doctor.diagnosis.examine import examine
from doctor.diagnosis.rules import load_rules
from doctor.machine.crash import Crash
from doctor.machine.model import (
    Cgroup,
    Contradiction,
    Exercise,
    Gpu,
    Isa,
    Limits,
    Machine,
    Memory,
    MemoryModule,
    MemorySlot,
    Os,
    Power,
    Python,
    SourceRow,
    Torch,
    TorchDevice,
    TorchDirectml,
    UnknownFact,
)
from doctor.present.checked import Checked
from doctor.probes.collect import collect
from doctor.sources.live import LiveSource
from tests.present.pictured import machine as pictured

GIB = 1 << 30
TODAY = date(2026, 11, 30)

#: What somebody could have put into a name that a report shows.
HOSTILE = "<script>alert(1)</script>\"'&</style>"

_ISA = Isa(avx=True, avx2=True, fma=True, avx512f=False)
_NEW_ISA = Isa(
    avx=True, avx2=True, fma=True, avx512f=True, avx512bw=True, avx512dq=True, avx512vl=True, avx512cd=True,
    avx512_bf16=True, avx512_vnni=True,
)  # fmt: skip


def _with(machine: Machine, **changes: object) -> Machine:
    cpu = changes.pop("cpu", {})
    assert machine.cpu is not None and isinstance(cpu, dict)
    return msgspec.structs.replace(machine, cpu=msgspec.structs.replace(machine.cpu, **cpu), **changes)


def virtual_machine() -> Machine:
    """Two CPUs in a container of a virtual machine, no GPU, memory modules hidden: where this project's tests run."""
    return _with(
        pictured("AMD EPYC", [(2, 32)], threads=1, generation="Zen 4"),
        sources=(SourceRow(kind="live", taken_at="2026-11-30T12:00:00Z"),),
        cpu={"family": 25, "model": 17, "codename": "Genoa", "isa": _NEW_ISA, "vector_width_bits": 256,
             "avx512": "double-pumped"},
        os=Os(kind="linux", name="Debian GNU/Linux 12 (bookworm)", kernel="6.18.44", wsl=0, container="docker",
              hypervisor="kvm", is_root=True),
        limits=Limits(affinity_cpus=2, affinity="0-1", cpu_budget=2, cgroup=Cgroup(2, "none", "0-1", "none")),
        memory=Memory(total_bytes=int(23.5 * GIB), available_bytes=int(22.8 * GIB)),
        power=Power(source="ac"),
        python=Python(version="3.11.7", executable="~/venv/bin/python"),
        torch=Torch(installed=True, version="2.13.0+cpu", hip="none", cuda="none", build="cpu", importable=True,
                    import_error="none", import_seconds=1.4, cpu_capability="AVX512", num_threads=2, blas="mkl",
                    blas_version="2024.2", openmp="libgomp", onednn="3.12.0"),
        gpus=(),
        env={},
        exercises=tuple(Exercise(name=name, device="cpu", outcome="ok") for name in ("matmul", "conv", "train-step")),
        unknowns=(UnknownFact("memory.modules", "not-on-this-platform", "virtual machines hide the memory modules"),),
    )  # fmt: skip


def desktop() -> Machine:
    """A 7950X3D with four slots, two of them filled with memory below its rated speed, and two GPUs."""
    ram = {"type": "DDR5", "size_bytes": 32 * GIB, "speed_mts": 4800, "configured_mts": 4800, "rated_mts": 6000}
    modules = tuple(
        MemoryModule(locator=f"DIMM_{name}2", channel=name, part_number="F5-6000J3038F16G", form_factor="DIMM", **ram)
        for name in "AB"
    )
    return _with(
        pictured("AMD Ryzen 9 7950X3D 16-Core Processor", [(8, 96), (8, 32)], generation="Zen 4"),
        cpu={"family": 25, "model": 97, "codename": "Raphael", "isa": _NEW_ISA, "vector_width_bits": 256,
             "avx512": "double-pumped", "governor": "powersave", "energy_preference": "balance_performance",
             "scaling_driver": "amd-pstate-epp", "boost": True},
        os=Os(kind="linux", name="Ubuntu 24.04.3 LTS", kernel="6.14.0-36-generic", wsl=0, container="none",
              hypervisor="none", is_root=True),
        limits=Limits(affinity_cpus=32, affinity="0-31", cpu_budget=32, cgroup=Cgroup(2, "none", "0-31", "none")),
        memory=Memory(total_bytes=int(62.5 * GIB), available_bytes=int(50.1 * GIB), modules=modules, slots=4,
                      empty_slots=tuple(MemorySlot(f"DIMM_{name}1", channel=name) for name in "AB"), channels=2,
                      bus_width_bits=128, effective_mts=4800, peak_bytes_per_second=76_800_000_000),
        power=Power(source="ac"),
        python=Python(version="3.12.3", executable="~/venv/bin/python", venv=True, manager="pip"),
        torch=Torch(installed=True, version="2.9.1+rocm6.4", hip="6.4.43484", cuda="none", build="rocm",
                    importable=True, import_error="none", import_seconds=2.1, is_available=True, device_count=2,
                    devices=(TorchDevice("AMD Radeon RX 7900 XTX", "gfx1100", 24 * GIB),
                             TorchDevice("AMD Radeon Graphics", "gfx1036", 2 * GIB)),
                    arch_list=("gfx1030", "gfx1100", "gfx1101"), cpu_capability="AVX512", num_threads=16, blas="mkl",
                    openmp="libgomp"),
        gpus=(Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", pci_id="1002:744c", gfx="gfx1100", integrated=False,
                  vram_total_bytes=24 * GIB, kernel_driver="amdgpu", hip_index=0),
              Gpu(vendor="amd", name="AMD Radeon Graphics (Raphael)", pci_id="1002:164e", gfx="gfx1036",
                  integrated=True, vram_total_bytes=GIB // 2, gtt_total_bytes=31 * GIB, kernel_driver="amdgpu",
                  hip_index=1)),
        env={"HSA_OVERRIDE_GFX_VERSION": "11.0.0"},
    )  # fmt: skip


def server() -> Machine:
    """Two EPYC 9654 with 24 memory channels, of which the process may use eight CPUs."""
    modules = tuple(
        MemoryModule(locator=f"P{socket} CHANNEL {name} DIMM 0", channel=f"P{socket}{name}", type="DDR5",
                     size_bytes=64 * GIB, speed_mts=4800, configured_mts=4800)
        for socket in (0, 1) for name in "ABCDEFGHIJKL"
    )  # fmt: skip
    base = pictured("AMD EPYC 9654 96-Core Processor", [(8, 32)] * 24, per_package=12, per_node=12,
                    node_bytes=(755 * GIB, 756 * GIB), generation="Zen 4")  # fmt: skip
    return _with(
        base,
        cpu={"family": 25, "model": 17, "codename": "Genoa", "isa": _NEW_ISA, "avx512": "double-pumped",
             "vector_width_bits": 256},
        os=Os(kind="linux", name="Ubuntu 22.04.5 LTS", kernel="6.8.0-60-generic", wsl=0, container="kubernetes",
              hypervisor="none"),
        limits=Limits(affinity_cpus=384, affinity="0-383", cpu_budget=8,
                      cgroup=Cgroup(2, 8.0, "0-383", 64 * GIB, nr_periods=12000, nr_throttled=4300)),
        memory=Memory(total_bytes=1511 * GIB, available_bytes=1400 * GIB, modules=modules, slots=24, channels=24,
                      bus_width_bits=1536, effective_mts=4800, peak_bytes_per_second=921_600_000_000),
        python=Python(version="3.11.9", executable="/opt/conda/bin/python", manager="conda"),
        torch=Torch(installed=True, version="2.9.1+cpu", hip="none", cuda="none", build="cpu", importable=True,
                    import_error="none", cpu_capability="AVX512", num_threads=192, blas="mkl", openmp="libgomp"),
        gpus=(),
        env={},
    )  # fmt: skip


def laptop() -> Machine:
    """A laptop with Windows on battery, two kinds of cores, soldered memory and a GPU that shares it."""
    modules = tuple(
        MemoryModule(locator="DIMM 0", bank=f"P0 CHANNEL {name}", channel=name, type="LPDDR5", size_bytes=8 * GIB,
                     speed_mts=7500, configured_mts=7500, soldered=True)
        for name in "ABCD"
    )  # fmt: skip
    return _with(
        pictured("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", [(4, 16), (8, 8)], generation="Zen 5 + Zen 5c",
                 kinds=["performance"] * 4 + ["efficiency"] * 8),
        cpu={"family": 26, "model": 36, "codename": "Strix Point", "isa": _NEW_ISA, "avx512": "double-pumped",
             "vector_width_bits": 256},
        os=Os(kind="windows", name="Windows 11 Pro", version="10.0.26100", wsl=0, container="none", hypervisor="none"),
        limits=Limits(affinity_cpus=24, affinity="0-23", cpu_budget=24),
        memory=Memory(total_bytes=int(31.3 * GIB), available_bytes=17 * GIB, modules=modules, channels=4,
                      bus_width_bits=128, effective_mts=7500, peak_bytes_per_second=120_000_000_000),
        power=Power(source="battery", plan="balanced"),
        python=Python(version="3.12.10", executable="~\\ml\\.venv\\Scripts\\python.exe", venv=True, manager="pip"),
        torch=Torch(installed=True, version="2.4.1+cpu", hip="none", cuda="none", build="cpu", importable=True,
                    import_error="none", cpu_capability="AVX512", num_threads=12, blas="mkl", openmp="libiomp5"),
        torch_directml=TorchDirectml(installed=True, version="0.2.5.dev240914", requires_torch="2.4.1",
                                     device_names=("AMD Radeon(TM) 890M Graphics",), default_device=0),
        gpus=(Gpu(vendor="amd", name="AMD Radeon(TM) 890M Graphics", gfx="gfx1150", integrated=True,
                  dedicated_bytes=GIB // 2, shared_bytes=int(15.6 * GIB), adapter_index=0,
                  driver_version="32.0.21025.1024"),),
        env={"OMP_NUM_THREADS": "24"},
        exercises=(Exercise(name="matmul", device="privateuseone:0", outcome="ok"),
                   Exercise(name="optimizer", device="privateuseone:0", outcome="exception",
                            detail="NotImplementedError")),
    )  # fmt: skip


def broken() -> Machine:
    """Where much is wrong, and every text that a machine can choose tries to leave its place."""
    base = pictured("AMD Ryzen 7 5800X 8-Core Processor", [(8, 32)], generation="Zen 3")
    return _with(
        base,
        cpu={"name": f"AMD Ryzen 7 {HOSTILE}", "governor": 'power"save\' onload="x', "isa": _ISA},
        sources=(SourceRow(kind="collect_env", name=HOSTILE, taken_at="2026-11-30"),),
        os=Os(kind="linux", name=f"Linux {HOSTILE}", kernel="6.8.0\u202e-gpj", wsl=0, container="docker",
              hypervisor="none"),
        limits=Limits(affinity_cpus=4, affinity="0-3", cpu_budget=4, cgroup=Cgroup(2, "none", "0-3", 8 * GIB)),
        memory=Memory(total_bytes=32 * GIB, modules=(
            MemoryModule(locator=HOSTILE, channel=HOSTILE[:20], size_bytes=16 * GIB, type=HOSTILE, configured_mts=2133),
        )),
        python=Python(version="3.12.3", executable=f"/opt/{'very-long-folder/' * 12}{HOSTILE}/bin/python"),
        torch=Torch(installed=True, version="2.9.1+rocm6.4", hip="6.4.43484", cuda="none", build="rocm",
                    importable=False, import_error=f"ImportError: libamdhip64.so.6: {HOSTILE}", num_threads=64),
        gpus=(Gpu(vendor="amd", name=HOSTILE, gfx="gfx1030", integrated=False, vram_total_bytes=16 * GIB,
                  kernel_driver="amdgpu"),
              Gpu(vendor="amd", name="x" * 180, integrated=True, vram_total_bytes=GIB // 2, gtt_total_bytes=8 * GIB)),
        env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0", "OMP_NUM_THREADS": "64", "GOMP_CPU_AFFINITY": HOSTILE},
        contradictions=(Contradiction("torch.version", HOSTILE, "collect_env, line 3", "2.6.0", "pip-list, line 60"),),
        unknowns=(UnknownFact("cpu.l3_groups", "probe-failed", HOSTILE), UnknownFact("memory.modules", "needs-root")),
    )  # fmt: skip


MACHINES: Mapping[str, Callable[[], Machine]] = {
    "virtual-machine": virtual_machine,
    "desktop-7950x3d": desktop,
    "dual-epyc-9654": server,
    "laptop": laptop,
    "broken": broken,
}


#: The machine that runs the tests, as its files tell it. Its page differs from run to run.
THIS_MACHINE = "this-machine"


def checked(name: str) -> Checked:
    """The machine as `check` would judge it."""
    found = collect(LiveSource()).machine if name == THIS_MACHINE else MACHINES[name]()
    machine, diagnosis = examine(found, (), TODAY, load_rules())
    given = None
    if name == "broken":
        diagnosis = msgspec.structs.replace(diagnosis, crashed=(Crash("probe:memory", f"KeyError: {HOSTILE}"),))
        given = f"{HOSTILE}.txt"
    return Checked(machine, msgspec.to_builtins(machine), diagnosis, given=given)
