"""What AMD's own tools say about a machine: `rocm examine --json`, `rocminfo`, `rocm-smi`, `amd-smi --json`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from doctor.knowledge.gfx import gfx_of_pci
from doctor.machine.model import Cpu, Gpu, Machine, Node, Os, Rocm, Torch, Windows
from doctor.pasted.parts import Part, PartReader, json_objects, origins_of, span_of
from doctor.texts.amd_smi import read_amd_smi
from doctor.texts.rocm_examine import (
    Examination,
    ExaminedGpu,
    ExaminedNode,
    gpu_target_of,
    looks_like_rocm_examine,
    read_rocm_examine,
)
from doctor.texts.rocm_smi import SmiCard, read_rocm_smi, read_rocm_smi_text
from doctor.texts.rocminfo import Agent, gpu_agents, read_rocminfo
from doctor.texts.torch_version import build_kind

_ROCMINFO_BEGINS = re.compile(r"ROCk module .*|HSA System Attributes\s*|HSA Agents\s*|Agent \d+\s*")
_ROCMINFO_LINE = re.compile(r"\s.*|[=*]+\s*|(?:HSA .*|Agent \d+\s*|[A-Z][\w .()/-]*:+(?: .*)?)?")
_ROCMINFO_ENDS = re.compile(r"\*{3} Done \*{3}\s*")

_SMI_LINE = re.compile(r"\s*(?:=+ .* =+|=+|(?:ERROR: )?GPU\[\d+\].*|GPU +DID .*|\d+ +[0-9a-f]{4} .*)\s*")

_NOT_ALL_AGENTS = "the text of rocminfo has no end: there may be further GPUs"

_VENDORS = {"amd": "AuthenticAMD", "intel": "GenuineIntel"}
_CONTAINERS = ("docker", "podman")
_NOT_AVAILABLE = "torch.cuda.is_available() returned False"
_IMPORT_FAILED = "torch import failed: "
_MODE = re.compile(r"[bc-]([r-][w-][x-])([r-][w-][x-])([r-][w-][x-])")


def read_examine_part(text: str) -> Part | None:
    for block, span in json_objects(text):
        told = read_rocm_examine(block)
        if told is not None and told.os_family in ("linux", "windows"):
            return _examine_part(told, span)
    return None


def _examine_part(told: Examination, span: tuple[int, int]) -> Part:
    windows = told.os_family == "windows"
    driver = told.os_family == "linux" and not told.is_wsl  # in WSL the tool looks for PyTorch only
    machine = Machine(
        os=_os(told, driver),
        cpu=Cpu(vendor=_VENDORS.get(told.cpu_vendor), name=told.cpu_model) if told.cpu_model else None,
        gpus=_gpus(told) if windows or driver else None,
        nodes=_nodes(told) if driver else None,
        rocm=_rocm(told) if driver else None,
        windows=Windows(vc_runtime="none") if windows and told.msvc_redist_present is False else None,
        torch=_torch(told),
        env=told.env if windows or driver else None,
    )
    # It looks at ROCm's own variables only: those of threads and libraries may be set all the same.
    return Part("rocm-examine", machine, origins_of(machine, "rocm examine"), span, partial=("env",))


def _os(told: Examination, driver: bool) -> Os:
    linux = told.os_family == "linux"
    return Os(
        kind=told.os_family,
        name=" ".join(word for word in (told.distro_id, told.distro_version) if word) or None,
        version=told.distro_version or None,
        kernel=told.kernel_release or None,
        wsl=_wsl(told) if linux else 0,
        container=_container(told),
        kernel_cmdline=told.kernel_cmdline or None,
        blacklisted_modules=("amdgpu",) if driver and told.amdgpu_blacklisted_in else None,
        group_names=told.user_groups if driver and told.user_groups else None,
    )


def _wsl(told: Examination) -> int:
    if not told.is_wsl:
        return 0
    return 1 if re.search(r"\b4\.4\.0-\d+-Microsoft\b", told.kernel_release) else 2


def _container(told: Examination) -> str | None:
    if not told.in_container:
        return None
    return told.container_kind if told.container_kind in _CONTAINERS else "other"


def _gpus(told: Examination) -> tuple[Gpu, ...] | None:
    """The tool lists AMD's and Nvidia's. None at all are believed only where every way to look for them worked."""
    if not told.gpus and told.probe_failures:
        return None
    return tuple(_gpu(told, gpu) for gpu in told.gpus)


def _gpu(told: Examination, gpu: ExaminedGpu) -> Gpu:
    only = told.amd_gpus == (gpu,) and told.os_family == "windows"
    return Gpu(
        vendor="amd" if gpu.is_amd else "nvidia",
        name=gpu.name or None,
        pci_id=gpu.device,
        pci_address=gpu.address,
        gfx=gpu_target_of(told, gpu) if gpu.is_amd else None,
        integrated=True if gpu.is_apu else None,
        driver_version=told.adrenalin_version or None if only else None,
    )


def _nodes(told: Examination) -> dict[str, Node] | None:
    found = {node.path: _node(node) for node in (told.kfd, *told.render_devices) if node is not None}
    if told.kfd is not None and not told.render_devices:
        found["/dev/dri/renderD*"] = Node(exists=False)
    return found or None


def _node(node: ExaminedNode) -> Node:
    mode = _mode(node.mode)
    return Node(
        exists=node.exists,
        readable=True if node.user_can_read else None,
        writable=True if node.user_can_write else None,
        mode=mode,
        # `stat` prints UNKNOWN for a group without a name here.
        group=node.owner_group if node.owner_group not in ("", "UNKNOWN") else None,
    )


def _mode(text: str) -> str | None:
    """`0660` of `crw-rw----`."""
    found = _MODE.fullmatch(text)
    if found is None:
        return None
    bits = "".join("0" if sign == "-" else "1" for part in found.groups() for sign in part)
    return f"{int(bits, 2):04o}"


def _rocm(told: Examination) -> Rocm | None:
    """The targets stand in the order of rocminfo, whichever GPU each was given to."""
    names = [gpu.gfx_target.partition(":")[0] for gpu in told.amd_gpus]
    sure = len(names) > 1 or (bool(told.amd_gpus) and gpu_target_of(told, told.amd_gpus[0]) == names[0])
    gfx = tuple(names) if told.rocminfo_status == "ok" and names and all(names) and sure else None
    found = Rocm(version=told.rocm_version or None, rocminfo_gfx=gfx)
    return None if found == Rocm() else found


def _torch(told: Examination) -> Torch | None:
    if told.framework != "pytorch":
        return _failed_import(told.framework_notes)
    kind, _, version = told.framework_rocm_version.partition("=")
    hip = version if kind == "hip" else "none"
    cuda = version if kind == "cuda" else "none"
    available = not any(note.startswith(_NOT_AVAILABLE) for note in told.framework_notes)
    return Torch(
        installed=True,
        version=told.framework_version or None,
        hip=hip,
        cuda=cuda,
        build=build_kind(told.framework_version, cuda, hip),
        importable=True,
        import_error="none",
        is_available=available,
        arch_list=told.framework_arch_list or None,
    )


def _failed_import(notes: Sequence[str]) -> Torch | None:
    error = next((note.removeprefix(_IMPORT_FAILED) for note in notes if note.startswith(_IMPORT_FAILED)), None)
    if error is None:
        return None
    if error == "ModuleNotFoundError: No module named 'torch'":
        return Torch(installed=False)
    return Torch(installed=True, importable=False, import_error=error.splitlines()[-1] if error else None)


def read_rocminfo_part(text: str) -> Part | None:
    """The output of rocminfo: the GPUs that ROCm sees, and the processor's name. Others may be there."""
    agents = read_rocminfo(text[: text.rfind("\n") + 1])
    if not agents:
        return None
    gpus = gpu_agents(agents)
    cpu = next((agent for agent in agents if agent.device_type == "CPU"), None)
    (first, end), whole = _rocminfo_span(text)
    machine = Machine(
        cpu=Cpu(name=cpu.marketing_name or cpu.name) if cpu and (cpu.marketing_name or cpu.name) else None,
        gpus=tuple(_gpu_of_agent(agent) for agent in gpus) or None,
        rocm=Rocm(rocminfo_gfx=tuple(agent.name for agent in gpus if agent.name)) if whole else None,
    )
    if machine == Machine():
        return None
    return Part("rocminfo", machine, origins_of(machine, "rocminfo"), (first, end), None if whole else _NOT_ALL_AGENTS)


def _rocminfo_span(text: str) -> tuple[tuple[int, int], bool]:
    """(its lines, whether the last is its last word). Without that they end before the first line of something else."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if _ROCMINFO_BEGINS.fullmatch(line)), 0)
    end = first + 1
    while end < len(lines) and _ROCMINFO_LINE.fullmatch(lines[end]):
        end += 1
    whole = end < len(lines) and _ROCMINFO_ENDS.fullmatch(lines[end]) is not None
    return (first, end + whole), whole


def _gpu_of_agent(agent: Agent) -> Gpu:
    """The target that rocminfo shows is what HSA_OVERRIDE_GFX_VERSION made of it; the real one is the PCI id's."""
    name = agent.marketing_name
    shown = agent.name if (agent.name or "").startswith("gfx") else None
    return Gpu(
        vendor="amd",
        name=None if name is None or name.startswith("Device ") else name,
        pci_id=agent.pci_id,
        gfx=gfx_of_pci(agent.pci_id) or shown,
        integrated=agent.apu or None,
        kfd_memory_bytes=max(agent.pools, default=None),
        compute_units=agent.compute_units or None,
    )


def read_rocm_smi_part(text: str) -> Part | None:
    return _cards("rocm-smi", text, read_rocm_smi) or _cards_for_people(text)


def _cards_for_people(text: str) -> Part | None:
    gpus = tuple(_gpu_of_card(card) for card in read_rocm_smi_text(text) if card != SmiCard())
    if not gpus:
        return None
    machine = Machine(gpus=gpus)
    return Part("rocm-smi", machine, origins_of(machine, "rocm-smi"), span_of(text, _SMI_LINE))


def read_amd_smi_part(text: str) -> Part | None:
    return _cards("amd-smi", text, read_amd_smi)


def _cards(tool: str, text: str, read: Callable[[str], tuple[SmiCard, ...]]) -> Part | None:
    """The cards of a management tool. It lists AMD's only."""
    for block, span in json_objects(text):
        gpus = tuple(_gpu_of_card(card) for card in read(block) if card != SmiCard())
        if gpus:
            machine = Machine(gpus=gpus)
            return Part(tool, machine, origins_of(machine, tool), span)
    return None


def _gpu_of_card(card: SmiCard) -> Gpu:
    return Gpu(
        vendor="amd",
        name=card.name,
        pci_id=card.pci_id,
        pci_address=card.pci_address,
        gfx=card.gfx,
        vram_total_bytes=card.vram_total_bytes,
        gtt_total_bytes=card.gtt_total_bytes,
        compute_units=card.compute_units,
    )


def _looks_like_rocminfo(text: str) -> bool:
    return "HSA Agents" in text or re.search(r"^Agent \d+\s*$", text, re.MULTILINE) is not None


def _looks_like_rocm_smi(text: str) -> bool:
    return any(mark in text for mark in ('"card', "GPU[", "GPU  DID"))


EXAMINE = PartReader("rocm-examine", looks_like_rocm_examine, read_examine_part)
ROCMINFO = PartReader("rocminfo", _looks_like_rocminfo, read_rocminfo_part)
ROCM_SMI = PartReader("rocm-smi", _looks_like_rocm_smi, read_rocm_smi_part)
AMD_SMI = PartReader("amd-smi", lambda text: '"asic"' in text or '"bus"' in text, read_amd_smi_part)
