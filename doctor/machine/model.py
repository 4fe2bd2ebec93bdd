"""The machine document as frozen structs.

A field that is `None` is unknown. Known absence has its own value: `"none"`, `0`, `False` or an empty tuple.
Units stand in the names. CPU lists are Linux range strings such as `"0-7,16-23"` (`doctor.machine.cpulist`).
Enumerations are plain strings, so that a document of a newer version can still be read; the values known today
stand in the comment beside the field.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA = "amd-doctor/machine/1"

NoneWord = Literal["none"]

#: Why a fact is unknown.
REASONS = ("needs-root", "not-on-this-platform", "not-in-source", "probe-failed", "timed-out", "not-installed")


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Base of every struct of the document: frozen, and an unknown field is left out of the JSON."""


class SourceRow(Fact, frozen=True):
    kind: str | None = None  # live recording document report collect_env … dmidecode cpuinfo tree
    name: str | None = None
    taken_at: str | None = None  # UTC, ISO 8601


class Os(Fact, frozen=True):
    kind: str | None = None  # linux windows macos
    name: str | None = None
    version: str | None = None
    kernel: str | None = None
    wsl: int | None = None  # 0 not WSL, 1, 2
    container: str | None = None  # none docker podman kubernetes lxc other
    hypervisor: str | None = None  # none kvm hyperv vmware virtualbox xen other
    kernel_cmdline: str | None = None
    kernel_modules: tuple[str, ...] | None = None
    modprobe_options: dict[str, str] | None = None
    blacklisted_modules: tuple[str, ...] | None = None
    group_ids: tuple[int, ...] | None = None
    group_names: tuple[str, ...] | None = None
    groups_in_file: tuple[str, ...] | None = None
    is_root: bool | None = None


class Core(Fact, frozen=True):
    cpus: str | None = None
    package: int | None = None
    l3: int | None = None  # index into `l3_groups`
    node: int | None = None
    kind: str | None = None  # performance efficiency
    max_mhz: float | None = None


class L3Group(Fact, frozen=True):
    cpus: str | None = None
    cores: int | None = None
    size_bytes: int | None = None
    kind: str | None = None  # performance efficiency mixed


class NumaNode(Fact, frozen=True):
    id: int | None = None  # the number that numactl takes; `Core.node` is the index of the row
    cpus: str | None = None
    memory_bytes: int | None = None


class Isa(Fact, frozen=True):
    avx: bool | None = None
    avx2: bool | None = None
    fma: bool | None = None
    avx512f: bool | None = None
    avx512bw: bool | None = None
    avx512dq: bool | None = None
    avx512vl: bool | None = None
    avx512cd: bool | None = None
    avx512_bf16: bool | None = None
    avx512_vnni: bool | None = None
    avx_vnni: bool | None = None
    avx512_fp16: bool | None = None
    amx_bf16: bool | None = None


class Cpu(Fact, frozen=True):
    vendor: str | None = None
    name: str | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None
    generation: str | None = None
    codename: str | None = None
    runs_code_for: str | None = None  # archspec name: a lower bound of what the flags allow
    sockets: int | None = None
    physical_cores: int | None = None
    logical_cpus: int | None = None
    smt: bool | None = None
    online: str | None = None
    cores: tuple[Core, ...] | None = None
    l3_groups: tuple[L3Group, ...] | None = None
    numa_nodes: tuple[NumaNode, ...] | None = None
    isa: Isa | None = None
    vector_width_bits: int | None = None  # 128 256 512
    avx512: str | None = None  # absent partial double-pumped full-width
    flags: tuple[str, ...] | None = None
    max_mhz: float | None = None
    governor: str | None = None
    energy_preference: str | None = None
    scaling_driver: str | None = None
    boost: bool | None = None


class Cgroup(Fact, frozen=True):
    version: int | None = None  # 1 2
    quota_cpus: float | NoneWord | None = None
    cpuset_cpus: str | None = None
    memory_bytes: int | NoneWord | None = None
    nr_periods: int | None = None
    nr_throttled: int | None = None
    pids_max: int | NoneWord | None = None


class Limits(Fact, frozen=True):
    affinity_cpus: int | None = None
    affinity: str | None = None  # the mask itself, as a CPU list
    affinity_cpus_after_torch_import: int | None = None
    cgroup: Cgroup | None = None
    cpu_budget: int | None = None
    max_processes: int | NoneWord | None = None
    address_space_bytes: int | NoneWord | None = None
    stack_bytes: int | NoneWord | None = None


class MemoryModule(Fact, frozen=True):
    locator: str | None = None
    bank: str | None = None
    channel: str | None = None
    size_bytes: int | None = None
    type: str | None = None
    form_factor: str | None = None
    width_bits: int | None = None
    speed_mts: int | None = None
    configured_mts: int | None = None
    rated_mts: int | None = None
    part_number: str | None = None
    manufacturer: str | None = None
    soldered: bool | None = None


class MemorySlot(Fact, frozen=True):
    """A slot without a module."""

    locator: str | None = None
    bank: str | None = None
    channel: str | None = None


class Memory(Fact, frozen=True):
    total_bytes: int | None = None
    available_bytes: int | None = None
    modules: tuple[MemoryModule, ...] | None = None
    slots: int | None = None
    empty_slots: tuple[MemorySlot, ...] | None = None
    channels: int | None = None
    bus_width_bits: int | None = None
    effective_mts: int | None = None
    peak_bytes_per_second: int | None = None
    transparent_huge_pages: str | None = None  # always madvise never
    allocators: tuple[str, ...] | None = None  # installed, to be preloaded: paths of tcmalloc and jemalloc


class Power(Fact, frozen=True):
    source: str | None = None  # ac battery
    plan: str | None = None  # balanced high-performance power-saver ultimate other
    platform_profile: str | None = None
    mode: str | None = None  # Windows, the slider over the plan: efficiency balanced performance


class Python(Fact, frozen=True):
    version: str | None = None
    implementation: str | None = None
    bits: int | None = None
    machine: str | None = None
    free_threaded: bool | None = None
    venv: bool | None = None
    manager: str | None = None  # pip uv conda poetry system
    executable: str | None = None
    chosen_by: str | None = None  # how the target was found, in words
    others_with_torch: tuple[str, ...] | None = None


class Package(Fact, frozen=True):
    version: str | None = None
    installer: str | None = None  # pip conda uv distro
    requires: tuple[str, ...] | None = None
    installed_at: str | None = None


class TorchDevice(Fact, frozen=True):
    """A GPU as PyTorch lists it: its place in the list is its number for HIP."""

    name: str | None = None
    gfx: str | None = None
    total_memory_bytes: int | None = None
    free_memory_bytes: int | None = None  # when the exercises began
    pci_address: str | None = None  # 0000:03:00.0


class Torch(Fact, frozen=True):
    installed: bool | None = None
    version: str | None = None
    hip: str | None = None
    cuda: str | None = None
    build: str | None = None  # cpu cuda rocm xpu source
    importable: bool | None = None
    import_error: str | None = None  # "none", or the last line of the error
    import_seconds: float | None = None
    is_available: bool | None = None
    device_count: int | None = None
    devices: tuple[TorchDevice, ...] | None = None
    arch_list: tuple[str, ...] | None = None
    cpu_capability: str | None = None  # DEFAULT AVX2 AVX512
    num_threads: int | None = None
    interop_threads: int | None = None
    default_num_threads: int | None = None
    blas: str | None = None  # mkl openblas blis accelerate generic
    blas_version: str | None = None
    openmp: str | None = None  # libgomp libiomp5 libomp
    onednn: str | None = None
    bundles: tuple[str, ...] | None = None


class TorchDirectml(Fact, frozen=True):
    installed: bool | None = None
    version: str | None = None
    requires_torch: str | None = None
    requires_torchvision: str | None = None
    device_names: tuple[str, ...] | None = None
    default_device: int | None = None
    cpu_fallbacks: tuple[str, ...] | None = None  # operators that the exercises saw handed to the CPU


class Library(Fact, frozen=True):
    kind: str | None = None  # openmp blas
    name: str | None = None
    path: str | None = None
    version: str | None = None
    threads: int | None = None
    architecture: str | None = None
    threading: str | None = None
    package: str | None = None


class Gpu(Fact, frozen=True):
    vendor: str | None = None  # amd nvidia intel other
    name: str | None = None
    pci_id: str | None = None
    gfx: str | None = None
    integrated: bool | None = None
    vram_total_bytes: int | None = None
    gtt_total_bytes: int | None = None
    dedicated_bytes: int | None = None
    shared_bytes: int | None = None
    adapter_index: int | None = None
    driver_version: str | None = None
    driver_date: str | None = None
    kernel_driver: str | None = None  # amdgpu radeon vfio-pci none
    hip_index: int | None = None
    pci_address: str | None = None  # 0000:03:00.0
    kfd_node: int | None = None  # the number that HSA_OVERRIDE_GFX_VERSION_<n> takes
    kfd_memory_bytes: int | None = None  # what the compute driver offers to programs: carve-out or GTT, not both
    render_node: str | None = None  # /dev/dri/renderD128
    compute_units: int | None = None
    carveout_options_bytes: tuple[int, ...] | None = None  # what the kernel itself can set on this board
    mes_firmware: str | None = None  # version of its scheduler's firmware, as the driver writes it: 0x83


class Node(Fact, frozen=True):
    exists: bool | None = None
    readable: bool | None = None
    writable: bool | None = None
    mode: str | None = None
    group: str | None = None
    gid: int | None = None
    acl: bool | None = None


class Rocm(Fact, frozen=True):
    version: str | None = None
    rocminfo_gfx: tuple[str, ...] | None = None
    library_path: tuple[str, ...] | None = None
    loaded: tuple[str, ...] | None = None
    hsa_runtime: str | None = None  # the one that a program takes
    hsa_runtimes: tuple[str, ...] | None = None  # all that lie where the system looks
    dxg_library: bool | None = None
    wsl_libraries: tuple[str, ...] | None = None  # WSL: what the Windows driver put into /usr/lib/wsl/lib


class Windows(Fact, frozen=True):
    build: int | None = None
    game_mode: bool | None = None
    gpu_scheduling: bool | None = None
    vc_runtime: str | None = None
    smart_app_control: bool | None = None
    adrenalin: str | None = None
    long_paths: bool | None = None  # programs may open paths of more than 260 characters


class Exercise(Fact, frozen=True):
    name: str | None = None
    device: str | None = None
    outcome: str | None = None  # ok wrong exception signal timeout skipped
    detail: str | None = None
    seconds: float | None = None
    with_mask: bool | None = None


class Gemm(Fact, frozen=True):
    sgemm_gflops: float | None = None
    dgemm_gflops: float | None = None
    peak_sgemm_gflops: float | None = None


class DtypeTimes(Fact, frozen=True):
    float32_seconds: float | None = None
    bfloat16_seconds: float | None = None


class DenormalTimes(Fact, frozen=True):
    """One workload late in its run, as it is and with torch.set_flush_denormal(True)."""

    kept_seconds: float | None = None
    flushed_seconds: float | None = None


class Placement(Fact, frozen=True):
    unit: str | None = None
    one_l3_group: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None


class MeasuredDevice(Fact, frozen=True):
    """A GPU as `amd-doctor tune --device` measured it beside the CPU. The lists hold names of workloads."""

    device: str | None = None  # cuda:0 privateuseone:0
    name: str | None = None
    backend: str | None = None  # rocm directml
    outcome: str | None = None  # ok wrong hung killed out-of-memory rubbish
    detail: str | None = None
    workload: str | None = None  # the one it failed on
    not_finite: tuple[str, ...] | None = None  # answered with a number that is not finite
    gradients_off: tuple[str, ...] | None = None  # other gradients than the CPU's
    without_gradient: tuple[str, ...] | None = None  # weights that got none
    still: tuple[str, ...] | None = None  # weights that a step did not move
    fell_back: tuple[str, ...] | None = None  # operators that the CPU did instead
    lacking: tuple[str, ...] | None = None  # of which no size ran
    verdict: str | None = None  # against the tuned CPU: faster slower same undecided
    gain: float | None = None  # of throughput against the tuned CPU: -0.4 is 40 % less


class Measurements(Fact, frozen=True):
    gemm: Gemm | None = None
    dtype: DtypeTimes | None = None
    placement: Placement | None = None
    denormals: DenormalTimes | None = None
    devices: tuple[MeasuredDevice, ...] | None = None


class Intent(Fact, frozen=True):
    backend: str | None = None  # auto cpu rocm directml cuda
    dtype: str | None = None  # float32 bfloat16 float16
    workers: int | None = None


class LogLine(Fact, frozen=True):
    """A line of a pasted log that belongs to a well-known family of errors. What it names is not proven by it."""

    #: pip-no-distribution import-error invalid-device-function out-of-device-memory omp-duplicate hipblaslt
    kind: str | None = None
    text: str | None = None  # the line, shortened
    about: str | None = None  # the package, library, module or target that it names, else what the family is about
    times: int | None = None  # how often it stands there


class Contradiction(Fact, frozen=True):
    """Two sources that disagree on a fact, and which of them was believed."""

    fact: str | None = None
    kept: str | None = None
    kept_from: str | None = None  # "pip-list, line 12 of ticket.md"
    dropped: str | None = None
    dropped_from: str | None = None


class UnknownFact(Fact, frozen=True):
    """A fact that a user could do something about, and why it is not known.

    A row for `env` or `packages` beside a present `env` or `packages` means that only some of their names were told:
    a name that is missing there is unknown (see `doctor.machine.unknowns`).
    """

    fact: str
    reason: str  # one of REASONS
    detail: str | None = None


class Machine(Fact, frozen=True):
    """The whole document."""

    schema: str = SCHEMA
    sources: tuple[SourceRow, ...] | None = None
    os: Os | None = None
    cpu: Cpu | None = None
    limits: Limits | None = None
    memory: Memory | None = None
    power: Power | None = None
    python: Python | None = None
    packages: dict[str, Package] | None = None
    packages_left_out: int | None = None  # a report keeps those that a rule asks for, and counts the others
    torch: Torch | None = None
    torch_directml: TorchDirectml | None = None
    libraries: tuple[Library, ...] | None = None
    gpus: tuple[Gpu, ...] | None = None
    nodes: dict[str, Node] | None = None
    rocm: Rocm | None = None
    windows: Windows | None = None
    env: dict[str, str] | None = None
    exercises: tuple[Exercise, ...] | None = None
    measurements: Measurements | None = None
    intent: Intent | None = None
    log: tuple[LogLine, ...] | None = None  # known errors in a pasted text; None where no text was looked through
    contradictions: tuple[Contradiction, ...] | None = None
    unknowns: tuple[UnknownFact, ...] | None = None


def merged(older: Fact | None, newer: Fact | None) -> Any:
    """Two structs of one type as one: what `newer` knows wins, what it does not know stays. Structs merge deeply."""
    if older is None or newer is None:
        return older if newer is None else newer
    changes = {}
    for name in newer.__struct_fields__:
        value = getattr(newer, name)
        if value is None:
            continue
        before = getattr(older, name)
        changes[name] = merged(before, value) if isinstance(value, Fact) and isinstance(before, Fact) else value
    return msgspec.structs.replace(older, **changes)
