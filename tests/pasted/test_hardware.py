"""The readers of hardware texts: what each puts into the document, and where in a longer text it found it."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.machine.model import Gpu, Machine, Memory, Node
from doctor.pasted.hardware import READERS
from doctor.pasted.parts import Part
from doctor.probes.collect import collect
from doctor.sources.recording import RecordingSource
from tests.texts.memory_corpus import memory_cases

MIB = 1 << 20
_BY_KIND = {reader.kind: reader for reader in READERS}


def _part(kind: str, text: str) -> Part:
    assert _BY_KIND[kind].looks_like(text)
    part = _BY_KIND[kind].read(text)
    assert part is not None and part.kind == kind
    return part


def _machine(kind: str, text: str) -> Machine:
    return _part(kind, text).machine


def test_the_kinds() -> None:
    kinds = {"rocm-examine", "rocm-smi", "amd-smi", "dmidecode", "cpuinfo", "lscpu", "rocminfo", "systeminfo", "dxdiag"}
    assert set(_BY_KIND) == kinds and len(READERS) == len(kinds)


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "{", "[1]", "a: b\n", "Flags: fpu\n", "\0", "{}\n" * 30])
def test_texts_of_something_else(text: str) -> None:
    assert [reader.read(text) for reader in READERS] == [None] * len(READERS)


# cpuinfo and dmidecode: one reader, whichever way a text comes in


def _probed(**parts: Any) -> Machine:
    return collect(RecordingSource({"platform": "linux", **parts}, "test")).machine


def test_cpuinfo_says_what_the_probes_say_of_it(shared: Path) -> None:
    paths = sorted((shared / "corpus" / "cpuinfo").glob("*.txt"))
    counted = {}
    for path in paths:
        text = path.read_text()
        machine, probed = _machine("cpuinfo", text), _probed(files={"/proc/cpuinfo": text})
        cpu = machine.cpu
        assert (machine.os, cpu) == (probed.os, probed.cpu), path.name
        assert cpu is not None and cpu.l3_groups is None
        counted[path.name.removesuffix(".cpuinfo.txt")] = (len(cpu.online or ""), len(cpu.cores or ()))
    assert {name: cores for name, (_, cores) in counted.items()} == {
        "intel-core-i7-1370p": 14,
        "ollama-5554-docker-ollama-container-inside-the-lxc": 8,
        "ollama-5554-lxc-direct-output": 8,
        "ollama-5554-lxc-docker-container-output": 29,
        "ollama-5554-lxc-docker-output": 8,
        "ollama-7287-hyperv-2-socket-exposed-to-vm": 4,
        "ollama-7359-vmware-multi-core-core-vm": 8,
        "ryzen-ai-9-hx-pro-370": 12,
    }
    assert all(online for online, _ in counted.values())


def test_dmidecode_says_what_the_probes_say_of_it(shared: Path) -> None:
    for case in memory_cases(shared):
        machine = _machine("dmidecode", case.text)
        probed = _probed(commands={"dmidecode": {"status": 0, "stdout": case.text}})
        cpu = probed.cpu
        if cpu is not None and "End Of Table" not in case.text:
            cpu = msgspec.structs.replace(cpu, sockets=None)  # a text without an end may lack some
        assert (machine.memory, machine.cpu) == (probed.memory, cpu), case.name


def test_a_dmidecode_that_ends_early(shared: Path) -> None:
    """Half a list of modules would look like a machine with one channel."""
    case = next(case for case in memory_cases(shared) if case.text.count("\nMemory Device\n") >= 4)
    last = case.text.rindex("\nMemory Device\n")
    cut = case.text[: case.text.rindex("\n", 0, last) + 1]
    part = _part("dmidecode", cut)
    assert part.machine.memory is None
    assert part.note is not None and "ends before the last memory device" in part.note


def test_one_block_of_cpuinfo() -> None:
    block = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 33\nsiblings\t: 32\n"
    part = _part("cpuinfo", block)
    assert part.machine.cpu is not None
    assert (part.machine.cpu.family, part.machine.cpu.online, part.machine.cpu.cores) == (25, None, None)
    assert part.note is not None and "one block" in part.note


def test_where_in_a_longer_text_it_was_found(shared: Path) -> None:
    """Each text keeps its own lines, so that one does not swallow another."""
    lscpu = next((shared / "corpus" / "lscpu" / "linuxhw").glob("Ryzen-9-5950X*")).read_text()
    cpuinfo = (shared / "corpus" / "cpuinfo" / "ryzen-ai-9-hx-pro-370.cpuinfo.txt").read_text()
    dmidecode = memory_cases(shared)[0].text
    rocminfo = (shared / "corpus" / "gpu" / "rocminfo" / "epyc-9474f-mi300x-x4.rocminfo.txt").read_text()
    smi = (shared / "corpus" / "gpu" / "rocm-smi-json" / "rx6700xt_rocm602.json").read_text()
    pieces = {"lscpu": lscpu, "cpuinfo": cpuinfo, "dmidecode": dmidecode, "rocminfo": rocminfo, "rocm-smi": smi}
    text = "".join(f"This is {kind}:\n\n{piece.rstrip()}\n\n" for kind, piece in pieces.items())
    spans = {}
    for kind, piece in pieces.items():
        part = _part(kind, text)
        assert part.machine == _machine(kind, piece), kind
        spans[kind] = part.span
    ordered = sorted(spans.values())
    assert list(spans.values()) == ordered
    assert all(before[1] < behind[0] for before, behind in itertools.pairwise(ordered))


# AMD's tools


def test_rocminfo(shared: Path) -> None:
    folder = shared / "corpus" / "gpu" / "rocminfo"
    machine = _machine("rocminfo", (folder / "epyc-9474f-mi300x-x4.rocminfo.txt").read_text())
    assert machine.cpu is not None and machine.cpu.name == "AMD EPYC 9474F 48-Core Processor"
    assert machine.gpus is not None and len(machine.gpus) == 4
    assert {(gpu.vendor, gpu.name, gpu.gfx, gpu.pci_id) for gpu in machine.gpus} == {
        ("amd", "AMD Instinct MI300X", "gfx942", "1002:74a1")
    }
    assert machine.rocm is not None and machine.rocm.rocminfo_gfx == ("gfx942",) * 4
    halo = _machine("rocminfo", (folder / "ryzen-ai-max-395-gfx1151-strixhalo.rocminfo.txt").read_text())
    assert [(gpu.gfx, gpu.integrated, gpu.compute_units) for gpu in halo.gpus or ()] == [("gfx1151", True, 40)]


def test_an_override_is_not_the_target(shared: Path) -> None:
    """rocminfo shows what HSA_OVERRIDE_GFX_VERSION made of it; the PCI id tells the real one."""
    path = shared / "corpus" / "gpu" / "rocminfo" / "ryzen-barcelo-gfx90c-gentoo.rocminfo.txt"
    machine = _machine("rocminfo", path.read_text().replace("gfx90c", "gfx900"))
    assert [gpu.gfx for gpu in machine.gpus or ()] == ["gfx90c"]
    assert machine.rocm is not None and machine.rocm.rocminfo_gfx == ("gfx900",)


def test_rocm_smi(shared: Path) -> None:
    folder = shared / "corpus" / "gpu" / "rocm-smi-json"
    seen = {path.name: _machine("rocm-smi", path.read_text()).gpus or () for path in sorted(folder.glob("*.json"))}
    cards = {path.name: len(re.findall(r'"card\d+": ', path.read_text())) for path in folder.glob("*.json")}
    assert {name: len(gpus) for name, gpus in seen.items()} == cards
    assert seen["rx6700xt_rocm612.json"] == (
        Gpu(
            vendor="amd", name="Navi 22 [Radeon RX 6700/6700 XT / 6800M]", pci_id="1002:73df", gfx="gfx1031",
            vram_total_bytes=12868124672, gtt_total_bytes=16792432640, pci_address="0000:07:00.0",
        ),
    )  # fmt: skip


def test_rocm_smi_for_people(shared: Path) -> None:
    folder = shared / "corpus/gpu"
    barcelo = (folder / "rocminfo/ryzen-barcelo-gfx90c-gentoo.rocm-smi.txt").read_text(encoding="utf-8")
    (gpu,) = _machine("rocm-smi", barcelo).gpus or ()
    assert (gpu.vendor, gpu.pci_id, gpu.pci_address, gpu.name) == ("amd", "1002:15e7", "0000:04:00.0", "Barcelo")
    showhw = (folder / "rocm-techsupport-epyc7451-mi100-rocm4.1.1/rocm-smi.txt").read_text(encoding="utf-8")
    assert [gpu.pci_id for gpu in _machine("rocm-smi", showhw).gpus or ()] == ["1002:738c"]


def test_amd_smi_behind_a_warning() -> None:
    card = {"gpu": 0, "asic": {"market_name": "Radeon RX 7900 XTX", "device_id": "0x744c",
                               "target_graphics_version": "gfx1100", "num_compute_units": 96},
            "bus": {"bdf": "0000:03:00.0"}, "vram": {"size": {"value": 24560, "unit": "MB"}}}  # fmt: skip
    part = _part("amd-smi", f"WARNING: User is missing a group\n{json.dumps([card], indent=4)}\n$ \n")
    assert part.machine.gpus is not None
    gpu = part.machine.gpus[0]
    assert (gpu.name, gpu.gfx, gpu.pci_id, gpu.vram_total_bytes) == (
        "Radeon RX 7900 XTX", "gfx1100", "1002:744c", 24560 * MIB
    )  # fmt: skip
    assert part.span[0] == 1


_NODE = {"path": "/dev/kfd", "exists": True, "mode": "crw-rw----", "owner_user": "root", "owner_group": "render",
         "user_can_read": False, "user_can_write": False}  # fmt: skip
_EXAMINED: dict[str, Any] = {
    "os_family": "linux",
    "os_version": "#17~24.04.2-Ubuntu SMP",
    "distro_id": "ubuntu",
    "distro_version": "24.04",
    "kernel_release": "6.14.0-37-generic",
    "kernel_cmdline": "quiet splash iommu=pt",
    "is_wsl": False,
    "cpu_vendor": "amd",
    "cpu_model": "AMD Ryzen 9 7950X 16-Core Processor",
    "gpus": [{"name": "Advanced Micro Devices, Inc. [AMD/ATI] Navi 32", "gfx_target": "gfx1101",
              "pci_id": "0000:03:00.0", "is_apu": False, "is_amd": True}],
    "amdgpu_loaded": False,
    "amdgpu_blacklisted_in": ["/etc/modprobe.d/blacklist.conf"],
    "kfd": _NODE,
    "render_devices": [],
    "user_name": "jane",
    "user_groups": ["jane", "sudo"],
    "in_render_group": False,
    "rocm_version": "7.2.0",
    "rocminfo_status": "ok",
    "adrenalin_version": "",
    "msvc_redist_present": None,
    "framework": "pytorch",
    "framework_version": "2.9.1+rocm6.4",
    "framework_rocm_version": "hip=6.4.43484-123eb5128",
    "framework_arch_list": [],
    "framework_notes": ["torch.cuda.is_available() returned False -- runtime can't see a GPU."],
    "env": {"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "PATH": "/home/jane/bin:/usr/bin"},
    "in_container": False,
    "container_kind": "",
    "probe_failures": [],
    "status": "ok",
}  # fmt: skip


def _examined(**changes: Any) -> Part:
    return _part("rocm-examine", json.dumps({**_EXAMINED, **changes}, indent=2) + "\n")


def test_rocm_examine_on_linux() -> None:
    part = _examined()
    machine = part.machine
    system, gpu = machine.os, (machine.gpus or ())[0]
    assert system is not None
    assert (system.kind, system.name, system.kernel, system.wsl) == ("linux", "ubuntu 24.04", "6.14.0-37-generic", 0)
    assert (system.container, system.kernel_modules) == (None, None)  # neither is proven by a "false"
    assert (system.blacklisted_modules, system.group_names) == (("amdgpu",), ("jane", "sudo"))
    assert machine.cpu is not None and machine.cpu.vendor == "AuthenticAMD"
    assert (gpu.vendor, gpu.gfx, gpu.pci_address, gpu.pci_id, gpu.integrated) == (
        "amd", "gfx1101", "0000:03:00.0", None, None
    )  # fmt: skip
    # Access was computed from the mode: an access control list may open the node all the same.
    assert machine.nodes == {
        "/dev/kfd": Node(exists=True, mode="0660", group="render"),
        "/dev/dri/renderD*": Node(exists=False),
    }
    assert machine.rocm is not None
    assert (machine.rocm.version, machine.rocm.rocminfo_gfx) == ("7.2.0", ("gfx1101",))
    torch = machine.torch
    assert torch is not None
    assert (torch.installed, torch.version, torch.hip, torch.cuda) == (
        True, "2.9.1+rocm6.4", "6.4.43484-123eb5128", "none"
    )  # fmt: skip
    assert (torch.build, torch.is_available, torch.arch_list) == ("rocm", False, None)
    assert (machine.env, part.partial) == ({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, ("env",))
    assert "/home/jane" not in repr(part)
    assert part.span == (0, json.dumps(_EXAMINED, indent=2).count("\n") + 1)


def test_rocm_examine_of_a_cuda_and_of_a_cpu_build() -> None:
    cuda = _examined(framework_version="2.9.1+cu128", framework_rocm_version="cuda=12.8").machine.torch
    assert cuda is not None and (cuda.build, cuda.cuda, cuda.hip) == ("cuda", "12.8", "none")
    cpu = _examined(framework_version="2.9.1+cpu", framework_rocm_version="").machine.torch
    assert cpu is not None and (cpu.build, cpu.cuda, cpu.hip) == ("cpu", "none", "none")


def test_rocm_examine_without_torch() -> None:
    missing = "torch import failed: ModuleNotFoundError: No module named 'torch'"
    torch = _examined(framework="unknown", framework_notes=[missing]).machine.torch
    assert torch is not None and (torch.installed, torch.importable) == (False, None)
    broken = "torch import failed: ImportError: libhipblas.so.2: cannot open shared object file"
    torch = _examined(framework="unknown", framework_notes=[broken]).machine.torch
    assert torch is not None and (torch.installed, torch.importable) == (True, False)
    assert torch.import_error == "ImportError: libhipblas.so.2: cannot open shared object file"
    assert _examined(framework="unknown", framework_notes=["No python interpreter found."]).machine.torch is None
    assert _examined(framework="llama-cpp", framework_notes=[]).machine.torch is None


def test_rocm_examine_in_wsl_looked_for_pytorch_only() -> None:
    part = _examined(is_wsl=True, kernel_release="5.15.167.4-microsoft-standard-WSL2", gpus=[], kfd=None, status="wsl",
                     rocm_version="", user_groups=[], env={}, cpu_model="", cpu_vendor="unknown")  # fmt: skip
    machine = part.machine
    assert machine.os is not None and (machine.os.wsl, machine.os.group_names) == (2, None)
    assert (machine.gpus, machine.nodes, machine.rocm, machine.env, machine.cpu) == (None,) * 5
    assert machine.torch is not None and machine.torch.version == "2.9.1+rocm6.4"


def test_rocm_examine_on_windows() -> None:
    gpu = {"name": "AMD Radeon RX 7900 XTX", "gfx_target": "", "is_apu": False, "is_amd": True,
           "pci_id": "PCI\\VEN_1002&DEV_744C&SUBSYS_0E3B1002&REV_C8\\6&1A2B3C4D&0&00000019"}  # fmt: skip
    machine = _examined(os_family="windows", distro_id="", distro_version="", kernel_release="", kernel_cmdline="",
                        gpus=[gpu], kfd=None, user_groups=[], adrenalin_version="32.0.21025.27003",
                        msvc_redist_present=False).machine  # fmt: skip
    assert machine.gpus == (
        Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", pci_id="1002:744c", driver_version="32.0.21025.27003"),
    )
    assert machine.windows is not None and (machine.windows.vc_runtime, machine.windows.adrenalin) == ("none", None)
    assert machine.nodes is None and machine.os is not None and machine.os.wsl == 0


def test_rocm_examine_that_could_not_look_for_gpus() -> None:
    assert _examined(gpus=[], probe_failures=["lspci not found; cannot enumerate PCI GPUs"]).machine.gpus is None
    assert _examined(gpus=[]).machine.gpus == ()


def test_rocm_examine_names_a_container_it_found() -> None:
    kinds = {kind: _examined(in_container=True, container_kind=kind).machine.os for kind in ("docker", "container")}
    assert {kind: system and system.container for kind, system in kinds.items()} == {
        "docker": "docker", "container": "other"
    }  # fmt: skip


# Windows


def test_systeminfo() -> None:
    text = (
        "Host Name: PC-OF-JANE\nOS Name: Microsoft Windows 11 Pro\nOS Version: 10.0.26100 N/A Build 26100\n"
        "Registered Owner: jane\nProcessor(s): 1 Processor(s) Installed.\n"
        "   [01]: AMD64 Family 25 Model 97 Stepping 2 AuthenticAMD ~4501 Mhz\n"
        "Total Physical Memory: 65,190 MB\nAvailable Physical Memory: 48,377 MB\n"
    )
    part = _part("systeminfo", text)
    machine = part.machine
    assert machine.os is not None and machine.windows is not None and machine.cpu is not None
    assert (machine.os.kind, machine.os.name, machine.os.kernel) == ("windows", "Windows 11 Pro", "10.0.26100")
    assert machine.windows.build == 26100
    assert (machine.cpu.family, machine.cpu.model, machine.cpu.sockets, machine.cpu.name) == (25, 97, 1, None)
    assert machine.memory == Memory(total_bytes=65190 * MIB, available_bytes=48377 * MIB)
    assert part.origins["windows.build"] == "systeminfo"
    assert "jane" not in repr(part).lower()


def test_dxdiag() -> None:
    device = (
        "           Card name: AMD Radeon(TM) 890M Graphics\n"
        "          Device Key: Enum\\PCI\\VEN_1002&DEV_150E&SUBSYS_1E131043&REV_C1\n"
        "    Dedicated Memory: 284 MB\n       Shared Memory: 15932 MB\n"
        "      Driver Version: 32.0.12033.1030\n Hardware Scheduling: Supported:True Enabled:False\n"
    )
    text = (
        "Machine name: PC-OF-JANE\nOperating System: Windows 11 Home 64-bit (10.0, Build 26100) (26100.ge)\n"
        "Processor: AMD Ryzen AI 9 HX 370 w/ Radeon 890M             (24 CPUs), ~2.0GHz\n"
        f"Available OS Memory: 31864MB RAM\n{device}{device}"
    )
    part = _part("dxdiag", text)
    machine = part.machine
    assert machine.cpu is not None and machine.windows is not None and machine.memory is not None
    assert (machine.cpu.name, machine.cpu.logical_cpus) == ("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", 24)
    assert (machine.windows.build, machine.windows.gpu_scheduling) == (26100, False)
    assert machine.memory.total_bytes == 31864 * MIB
    assert machine.gpus == (
        Gpu(vendor="amd", name="AMD Radeon(TM) 890M Graphics", pci_id="1002:150e", dedicated_bytes=284 * MIB,
            shared_bytes=15932 * MIB, driver_version="32.0.12033.1030"),
    )  # fmt: skip
    assert part.note is not None and "once per screen" in part.note
    assert "JANE" not in repr(part)


@pytest.mark.parametrize(
    "name, vendor", [("AMD Radeon RX 580", "amd"), ("NVIDIA GeForce GTX 1050", "nvidia"), ("Intel(R) UHD", "intel"),
                     ("Parsec Virtual Display Adapter", "other")]
)  # fmt: skip
def test_a_card_without_its_pci_id(name: str, vendor: str) -> None:
    gpus = _machine("dxdiag", f"Card name: {name}\nDedicated Memory: 1024 MB\n").gpus
    assert gpus is not None and (gpus[0].name, gpus[0].vendor) == (name, vendor)
