"""How likely a changed fact matters to a PyTorch that works no more, and which facts change by themselves.

The order is that of causes: the wheel first, then what it runs on and with; hardware hardly changes without its owner
knowing; what PyTorch did is an effect and comes behind what may have caused it. Names are those of the machine
document, without the keys of list items (`gpus.gfx`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.machine.model import Machine

#: The weight classes, likeliest cause first, and the facts of each, in the order in which they are told. A fact
#: belongs where its longest name stands.
CLASSES: Mapping[str, tuple[str, ...]] = {
    "pytorch": (
        "torch.installed",
        "torch.version",
        "torch.build",
        "torch.hip",
        "torch.cuda",
        "torch_directml",
        "torch",
    ),
    "python": ("python",),
    "gpu": (
        "gpus",
        "os.kernel_modules",
        "os.modprobe_options",
        "os.blacklisted_modules",
        "windows.adrenalin",
        "windows.gpu_scheduling",
        "rocm",
        "nodes",
        "os.group_names",
        "os.groups_in_file",
        "os.group_ids",
    ),
    "environment": ("env",),
    "libraries": ("libraries",),
    "limits": ("limits", "os.container", "os.hypervisor", "os.wsl", "os.is_root"),
    "power": (
        "power",
        "cpu.governor",
        "cpu.energy_preference",
        "cpu.scaling_driver",
        "cpu.boost",
        "cpu.max_mhz",
        "memory.modules",
        "memory.effective_mts",
        "memory.channels",
        "memory.peak_bytes_per_second",
    ),
    "system": ("os", "windows"),
    "hardware": ("cpu", "memory"),
    "effects": (
        "torch.importable",
        "torch.import_error",
        "exercises",
        "torch.is_available",
        "torch.device_count",
        "torch.devices",
        "torch.cpu_capability",
        "torch.num_threads",
        "torch.default_num_threads",
        "torch.interop_threads",
        "limits.affinity_cpus_after_torch_import",
        "torch_directml.cpu_fallbacks",
        "log",
    ),
    "packages": ("packages",),
    "intent": ("intent",),
}

WEIGHTS = tuple(CLASSES)

_RANKS = {
    name: (weight, at) for at, (weight, name) in enumerate((w, n) for w, names in CLASSES.items() for n in names)
}

#: Facts that differ between two looks at one machine, or that say how it was looked at.
LEFT_OUT = frozenset(
    {
        "schema",
        "sources",
        "unknowns",
        "contradictions",
        "packages_left_out",
        "measurements",
        "memory.available_bytes",
        "memory.empty_slots",  # follows from the modules and the slots
        "torch.import_seconds",
        "torch.devices.free_memory_bytes",
        "exercises.seconds",
        "libraries.path",  # moves with the environment
        "limits.cgroup.nr_periods",
        "limits.cgroup.nr_throttled",
        "python.chosen_by",
        "log.text",
        "log.times",
    }
)

#: Amounts that the kernel reckons anew at each start: a hundredth is no change.
ABOUT = frozenset(
    {
        "memory.total_bytes",
        "cpu.numa_nodes.memory_bytes",
        "cpu.max_mhz",
        "gpus.gtt_total_bytes",
        "gpus.shared_bytes",
        "gpus.kfd_memory_bytes",
        "torch.devices.total_memory_bytes",
        "limits.max_processes",
    }
)
ABOUT_SHARE = 0.01

_VERSIONS = re.compile(
    r"packages\..+(?<!\.installer)|(?:.*[._])?(?:version|kernel|adrenalin|vc_runtime|onednn|hip|cuda|mes_firmware)"
)

#: Packages of the PyTorch family: their wheels must fit each other.
_FAMILY = re.compile(
    r"torch|torch-directml|torchvision|torchaudio|triton|pytorch-triton.*|triton-(?:rocm|windows)|torch-.*|rocm|rocm-.*"
    r"|amd-torch.*|pytorch|pytorch-.*|nvidia-.*|intel-extension-for-pytorch|zentorch|onnxruntime-directml"
)
#: What brings a BLAS or an OpenMP runtime into the process, or speaks with PyTorch through a C interface.
_NEIGHBOURS = frozenset(
    {"numpy", "scipy", "mkl", "intel-openmp", "llvm-openmp", "libopenblas", "blas", "tbb", "libgomp"}
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_version(name: str) -> bool:
    """Does this fact hold a version? `packages.numpy` stands for the version of numpy."""
    return _VERSIONS.fullmatch(name) is not None


def weight_of(name: str, near: frozenset[str]) -> tuple[str, tuple[int, int]]:
    """The class of a fact without keys, and where it stands: by class, then inside it. `near`: see `near_pytorch`."""
    part = name
    while part and part not in _RANKS:
        part = part.rpartition(".")[0]
    weight, at = _RANKS.get(part, ("intent", len(_RANKS)))
    if weight == "packages":
        package = name.removeprefix("packages.").removesuffix(".installer")
        if _FAMILY.fullmatch(package):
            weight = "pytorch"
        elif package in near:
            weight = "libraries"
    return weight, (WEIGHTS.index(weight), at)


def near_pytorch(*machines: Machine) -> frozenset[str]:
    """The packages that a torch of these machines asks for, and those that load its libraries a second time."""
    names = set(_NEIGHBOURS)
    for machine in machines:
        for name, package in (machine.packages or {}).items():
            if _FAMILY.fullmatch(name):
                found = (_NAME.match(wish) for wish in package.requires or () if "extra ==" not in wish)
                names |= {match[0].lower() for match in found if match}
    return frozenset(names)
