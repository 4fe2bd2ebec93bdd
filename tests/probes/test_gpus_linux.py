"""GPUs, device nodes and ROCm on Linux, on machines written by hand and with real outputs of ROCm's tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.derive.facts import complete
from doctor.machine.model import Gpu, Machine, Node, Rocm
from doctor.probes.collect import Collected, collect
from doctor.sources.recording import RecordingSource
from doctor.sources.redacted import RedactedSource
from doctor.sources.redaction import Redactor
from tests.probes import gpu_machines as machines
from tests.probes.gpu_machines import ABSENT, CLOSED, GIB, MIB, OPEN, machine, pci, replied, wsl


def collected(plain: dict[str, Any]) -> Collected:
    names = ("system", "nodes", "gpus", "rocm")
    found = collect(RecordingSource(plain, "test"), tuple((name, f"doctor.probes.{name}") for name in names))
    assert found.crashed == ()
    return found


def looked_at(plain: dict[str, Any]) -> Machine:
    return complete(collected(plain).machine)


def gpus(plain: dict[str, Any]) -> tuple[Gpu, ...]:
    found = looked_at(plain).gpus
    assert found is not None
    return found


def reasons(plain: dict[str, Any]) -> dict[str, str]:
    return {row.fact: row.reason for row in collected(plain).machine.unknowns or ()}


# GPUs


def test_an_apu_with_its_carve_out_and_shared_memory() -> None:
    assert gpus(machines.CEZANNE) == (
        Gpu(
            vendor="amd",
            pci_id="1002:1638",
            gfx="gfx90c",
            integrated=True,
            vram_total_bytes=512 * MIB,
            gtt_total_bytes=7686 * MIB,
            kernel_driver="amdgpu",
            pci_address="0000:05:00.0",
            kfd_node=1,
            kfd_memory_bytes=7686 * MIB,
            render_node="/dev/dri/renderD128",
            compute_units=7,
        ),
    )


def test_a_card_beside_the_gpu_of_the_processor() -> None:
    card, igpu = gpus(machines.RAPHAEL_AND_CARD)
    assert (card.name, card.gfx, card.integrated, card.kfd_node) == ("AMD Radeon RX 7900 XTX", "gfx1100", False, 1)
    assert (igpu.name, igpu.gfx, igpu.integrated, igpu.kfd_node) == (None, "gfx1036", True, 2)
    assert (card.render_node, igpu.render_node) == ("/dev/dri/renderD128", "/dev/dri/renderD129")
    assert card.hip_index is igpu.hip_index is None  # only HIP itself knows how it counts


def test_a_large_apu_and_the_carve_outs_that_its_board_offers() -> None:
    (gpu,) = gpus(machines.STRIX_HALO)
    assert (gpu.gfx, gpu.integrated, gpu.name) == ("gfx1151", True, "AMD Radeon 8060S Graphics")
    assert (gpu.vram_total_bytes, gpu.kfd_memory_bytes) == (64 * GIB, 64 * GIB)
    assert gpu.carveout_options_bytes == (512 * MIB, 64 * GIB, 96 * GIB)


def test_an_old_card_is_named_as_what_it_is() -> None:
    (gpu,) = gpus(machines.RX_580)
    assert (gpu.gfx, gpu.name, gpu.integrated) == ("gfx803", "AMD Radeon RX 580 Series", False)


def test_a_card_that_belongs_to_a_virtual_machine() -> None:
    card, igpu = gpus(machines.CARD_FOR_A_GUEST)
    assert (card.kernel_driver, card.gfx, card.vram_total_bytes) == ("vfio-pci", "gfx1100", None)  # by its PCI id
    assert (igpu.kernel_driver, igpu.kfd_node) == ("amdgpu", 1)


def test_other_vendors_are_named() -> None:
    intel, nvidia = gpus(machines.NVIDIA)
    assert (nvidia.vendor, nvidia.name, nvidia.kernel_driver) == ("nvidia", "NVIDIA GeForce RTX 3090", "nvidia")
    assert (intel.vendor, intel.kernel_driver) == ("intel", "i915")


def test_neither_an_npu_nor_an_adapter_of_a_virtual_machine_is_a_gpu() -> None:
    assert gpus(machines.NO_GPU) == ()
    assert reasons(machines.NO_GPU) == {}


def test_an_instinct_is_an_accelerator_and_a_gpu() -> None:
    (gpu,) = gpus(machine(pci("0000:26:00.0", "1002:74a1", kind="120000")))
    assert (gpu.gfx, gpu.integrated) == ("gfx942", False)


def test_a_card_without_a_driver_or_with_the_old_one() -> None:
    bare, old = gpus(machine(pci("0000:01:00.0", "1002:7480", None), pci("0000:02:00.0", "1002:6798", "radeon")))
    assert (bare.kernel_driver, bare.gfx) == ("none", "gfx1102")
    assert (old.kernel_driver, old.gfx) == ("radeon", None)  # older than any that ROCm knew


def test_a_target_that_nobody_knows_has_its_reason() -> None:
    unknown_card = pci("0000:01:00.0", "1002:fffe", vram=GIB)
    assert reasons(machine(unknown_card)) == {"gpus.gfx": "probe-failed"}
    assert reasons(machine(pci("0000:01:00.0", "1002:fffe", "vfio-pci"))) == {"gpus.gfx": "not-on-this-platform"}


def test_the_driver_lists_the_graphics_block_where_there_is_no_compute_driver() -> None:
    folder = f"{machines.PCI}/0000:03:00.0/ip_discovery/die/0/GC/0"
    block = {f"{folder}/major": "12\n", f"{folder}/minor": "0\n", f"{folder}/revision": "1\n"}
    (gpu,) = gpus(machine(pci("0000:03:00.0", "1002:fffe"), block))
    assert gpu.gfx == "gfx1201"


def test_a_node_without_a_pci_bus_stands_for_a_card() -> None:
    files = machines.kfd(1, 110000, 0x0300, 128, 0x744C, 96, 24 * GIB)
    (gpu,) = gpus({"platform": "linux", "files": files})
    assert (gpu.gfx, gpu.pci_id, gpu.kernel_driver) == ("gfx1100", "1002:744c", "amdgpu")


def test_partitions_of_one_card_are_devices_of_their_own() -> None:
    card = pci("0000:26:00.0", "1002:74a1", vram=192 * GIB, render=128, kind="120000")
    nodes = [machines.kfd(1 + part, 90402, 0x2600, 128 + part, 0x74A1, 38, 24 * GIB) for part in range(2)]
    assert [gpu.render_node for gpu in gpus(machine(card, *nodes))] == ["/dev/dri/renderD128", "/dev/dri/renderD129"]


def test_partitions_of_a_driver_that_names_no_render_node() -> None:
    card = pci("0000:26:00.0", "1002:74a1", vram=192 * GIB, kind="120000")
    nodes = [machines.kfd(1 + part, 90402, 0x2600, 0, 0x74A1, 38, 24 * GIB) for part in range(2)]
    assert [gpu.kfd_node for gpu in gpus(machine(card, *nodes))] == [1, 2]


def test_a_source_that_shows_neither_bus_nor_driver_claims_nothing() -> None:
    found = collected({"platform": "linux"}).machine
    assert found.gpus is None and found.nodes is None and not found.unknowns


@pytest.mark.parametrize(("kfd", "known"), [(ABSENT, ()), (OPEN, None)])
def test_without_a_pci_bus_the_node_of_the_driver_tells(kfd: dict[str, Any], known: tuple[Gpu, ...] | None) -> None:
    plain = {"platform": "linux", "access": {"/dev/kfd": kfd}, "missing": {"absent": [f"names:{machines.PCI}"]}}
    assert looked_at(plain).gpus == known


# A second source


def test_rocminfo_names_the_card_and_does_not_rename_it() -> None:
    plain = machine(
        pci("0000:03:00.0", "1002:744c", vram=24 * GIB), commands={"rocminfo": replied(machines.ROCMINFO_XTX)}
    )
    (gpu,) = gpus(plain)
    assert (gpu.name, gpu.gfx, gpu.compute_units) == ("AMD Radeon RX 7900 XTX", "gfx1100", 96)
    assert looked_at(plain).rocm == Rocm(rocminfo_gfx=("gfx1100",))


def test_what_the_kernel_says_goes_before_rocminfo() -> None:
    told = machines.ROCMINFO_XTX.replace("gfx1100", "gfx1030")
    (gpu,) = gpus(
        machine(
            pci("0000:03:00.0", "1002:744c", render=128),
            machines.kfd(1, 110000, 0x0300, 128, 0x744C, 96, 24 * GIB),
            commands={"rocminfo": replied(told)},
        )
    )
    assert gpu.gfx == "gfx1100"


def test_a_rocminfo_that_fails_takes_nothing_away() -> None:
    plain = machines.CEZANNE | {"commands": {"rocminfo": replied("ROCk module is NOT loaded\n", 1)}}
    assert looked_at(plain).gpus == gpus(machines.CEZANNE)
    assert looked_at(plain).rocm == Rocm(rocminfo_gfx=())


def test_the_management_tools_are_asked_for_what_is_missing() -> None:
    text = (
        '{"card0": {"PCI Bus": "0000:07:00.0", "Device ID": "0x73df", "GFX Version": "gfx1031", '
        '"VRAM Total Memory (B)": "12868124672", "GTT Total Memory (B)": "16792432640"}}'
    )
    card = pci("0000:07:00.0", "1002:73df")
    (gpu,) = gpus(machine(card, commands={"rocm-smi": replied(text)}))
    assert (gpu.gfx, gpu.vram_total_bytes, gpu.gtt_total_bytes) == ("gfx1031", 12868124672, 16792432640)
    of_another = text.replace("0000:07", "0000:08")
    assert gpus(machine(card, commands={"rocm-smi": replied(of_another)}))[0].vram_total_bytes is None


def test_real_outputs_of_a_barcelo(shared: Path) -> None:
    text = (shared / "corpus/gpu/rocminfo/ryzen-barcelo-gfx90c-gentoo.rocminfo.txt").read_text(encoding="utf-8")
    plain = machine(pci("0000:04:00.0", "1002:15e7", vram=2 * GIB, gtt=6 * GIB), commands={"rocminfo": replied(text)})
    (gpu,) = gpus(plain)
    assert (gpu.gfx, gpu.integrated, gpu.kfd_memory_bytes, gpu.compute_units) == ("gfx90c", True, 2 * GIB, 7)


def test_real_outputs_of_a_strix_halo(shared: Path) -> None:
    file = shared / "corpus/gpu/rocminfo/ryzen-ai-max-395-gfx1151-strixhalo.rocminfo.txt"
    plain = machine(
        pci("0000:c5:00.0", "1002:1586", vram=64 * GIB, kind="38000"),
        commands={"rocminfo": replied(file.read_text(encoding="utf-8"))},
    )
    (gpu,) = gpus(plain)
    assert (gpu.name, gpu.gfx, gpu.integrated) == ("Radeon 8060S Graphics", "gfx1151", True)
    assert looked_at(plain).rocm == Rocm(rocminfo_gfx=("gfx1151",))  # neither the processor nor the NPU


def test_a_real_cezanne_from_libdrm(shared: Path) -> None:
    text = (shared / "corpus/gpu/amdgpu/cezanne-igpu.libdrm_amdgpu_sys.txt").read_text(encoding="utf-8")
    assert "VRAM Usage:\t\t\t138/512 MiB" in text and "GTT Usage:\t\t\t20/7686 MiB" in text
    assert "DeviceID.RevID: 0x1638.0xC9" in text and "CU: 7" in text
    (gpu,) = gpus(machines.CEZANNE)
    assert (gpu.pci_id, gpu.compute_units) == ("1002:1638", 7)
    assert (gpu.vram_total_bytes, gpu.gtt_total_bytes) == (512 * MIB, 7686 * MIB)


# Nodes


def test_nodes_that_are_open() -> None:
    nodes = looked_at(machines.CEZANNE).nodes
    assert nodes is not None and set(nodes) == {"/dev/kfd", "/dev/dri/renderD128"}
    assert nodes["/dev/kfd"] == Node(
        exists=True, readable=True, writable=True, mode="0660", gid=992, group="render", acl=False
    )


def test_nodes_that_a_container_was_not_given() -> None:
    plain = machines.CEZANNE | {
        "access": {"/dev/kfd": ABSENT, "/.dockerenv": {"exists": True}},
        "folders": {},
        "missing": {"absent": ["names:/dev/dri"]},
    }
    found = looked_at(plain)
    assert found.nodes == {"/dev/kfd": Node(exists=False), "/dev/dri": Node(exists=False)}
    assert found.os is not None and found.os.container == "docker"


def test_nodes_of_another_group_with_a_list_of_its_own() -> None:
    access = {"/dev/kfd": CLOSED | {"group": None, "acl": True}, "/dev/dri/renderD128": CLOSED}
    nodes = looked_at(machines.CEZANNE | {"access": access}).nodes
    assert nodes is not None
    assert (nodes["/dev/kfd"].readable, nodes["/dev/kfd"].acl, nodes["/dev/kfd"].group) == (False, True, None)


def test_a_folder_without_render_nodes() -> None:
    nodes = looked_at(machines.NO_GPU | {"folders": {"/dev/dri": ["card0"]}}).nodes
    assert nodes == {"/dev/kfd": Node(exists=False), "/dev/dri/renderD*": Node(exists=False)}


# ROCm and WSL


@pytest.mark.parametrize(
    ("files", "folders", "version"),
    [
        ({"/opt/rocm/.info/version": "6.2.4-139\n"}, {}, "6.2.4"),
        ({"/opt/rocm-7.2.0/.info/version": "7.2.0-43\n"}, {}, "7.2.0"),
        ({}, {"/opt": ["rocm-6.3.1"]}, "6.3.1"),
        ({}, {"/opt": ["rocm-6.3.1", "rocm-6.4.0"]}, None),
        ({}, {"/opt": ["google"]}, "none"),
    ],
)
def test_the_release_of_rocm(files: dict[str, str], folders: dict[str, list[str]], version: str | None) -> None:
    access = {f"{folder}/libhsa-runtime64.so.1": ABSENT for folder in RUNTIME_FOLDERS}
    rocm = looked_at(machine(files, folders=folders, access=access)).rocm
    assert rocm is not None and rocm.version == version


RUNTIME_FOLDERS = ("/opt/rocm/lib", "/opt/rocm/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")


def runtimes(*present: str) -> dict[str, Any]:
    return {
        f"{folder}/libhsa-runtime64.so.1": {"exists": True} if folder in present else ABSENT
        for folder in RUNTIME_FOLDERS
    }


def test_a_distribution_has_a_runtime_and_no_release() -> None:
    rocm = looked_at(machine(folders={"/opt": []}, access=runtimes("/usr/lib64"))).rocm
    assert rocm is not None
    assert (rocm.version, rocm.hsa_runtime) == (None, "/usr/lib64/libhsa-runtime64.so.1")


def mapped(*paths: str) -> dict[str, Any]:
    facts = {"mapped": list(paths), "threadpools": None}
    event = {"event": "end", "name": "libraries", "outcome": "ok", "detail": None, "seconds": 0.1, "facts": facts}
    return {"cpu": {"events": [event]}}


def test_of_two_runtimes_only_a_process_shows_which_is_taken() -> None:
    both = machine(access=runtimes("/opt/rocm/lib", "/usr/lib/x86_64-linux-gnu"))
    rocm = looked_at(both).rocm
    assert rocm is not None and rocm.hsa_runtime is None and len(rocm.hsa_runtimes or ()) == 2
    assert reasons(both)["rocm.hsa_runtime"] == "probe-failed"
    seen = "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1.11.0"
    rocm = looked_at(both | {"exercises": mapped(seen, "/x/torch/lib/librocblas.so.4", "/x/libgomp.so.1")}).rocm
    assert rocm is not None and rocm.hsa_runtime == seen
    assert rocm.loaded == ("libhsa-runtime64.so.1.11.0", "librocblas.so.4")
    # A process that computes on a GPU loads more than one that only imports.
    on_gpu = mapped(seen, "/x/torch/lib/librocblas.so.4", "/usr/lib/librocdxg.so.1")["cpu"]
    rocm = looked_at(both | {"exercises": mapped(seen) | {"rocm": on_gpu}}).rocm
    assert rocm is not None
    assert rocm.loaded == ("libhsa-runtime64.so.1.11.0", "librocblas.so.4", "librocdxg.so.1")


def test_folders_in_the_library_path() -> None:
    rocm = looked_at(machine(api={"library-path": ["/opt/rocm-6.2/lib"]})).rocm
    assert rocm is not None and rocm.library_path == ("/opt/rocm-6.2/lib",)


def test_wsl_hides_the_gpu() -> None:
    plain = wsl(dxg=True)
    found = looked_at(plain)
    assert found.gpus is None
    assert reasons(plain)["gpus"] == "not-on-this-platform"
    assert found.nodes is not None and found.nodes["/dev/dxg"].writable is True
    assert found.rocm is not None and found.rocm.wsl_libraries == ("libd3d12.so", "libd3d12core.so", "libdxcore.so")


def test_rocminfo_sees_through_wsl() -> None:
    found = looked_at(wsl(dxg=True, commands={"rocminfo": replied(machines.ROCMINFO_XTX)}))
    assert found.gpus is not None
    (gpu,) = found.gpus
    assert (gpu.vendor, gpu.name, gpu.gfx, gpu.integrated) == ("amd", "AMD Radeon RX 7900 XTX", "gfx1100", False)


def test_a_runtime_in_wsl_may_have_to_be_told_where_to_look() -> None:
    commands = {
        "rocminfo": replied("ROCk module is NOT loaded\n", 1),
        "rocminfo-wsl": replied(machines.ROCMINFO_XTX),
    }
    found = looked_at(wsl(dxg=True, commands=commands))
    assert found.gpus is not None and [gpu.gfx for gpu in found.gpus] == ["gfx1100"]
    assert looked_at(machines.NO_GPU | {"commands": commands}).gpus == ()  # on bare Linux it is not asked


def test_wsl_without_a_gpu() -> None:
    found = looked_at(wsl(dxg=False, missing={"absent": ["names:/usr/lib/wsl/lib"]}))
    assert found.gpus is None and found.nodes is not None and found.nodes["/dev/dxg"] == Node(exists=False)
    assert found.rocm is not None and found.rocm.wsl_libraries == ()


def test_the_library_for_wsl() -> None:
    folders = RUNTIME_FOLDERS
    dxg = {f"{folder}/librocdxg.so": {"exists": folder == "/opt/rocm/lib"} for folder in folders}
    plain = wsl(dxg=True)
    rocm = looked_at(plain | {"access": plain["access"] | dxg}).rocm
    assert rocm is not None and rocm.dxg_library is True
    rocm = looked_at(plain | {"access": plain["access"] | dict.fromkeys(dxg, ABSENT)}).rocm
    assert rocm is not None and rocm.dxg_library is False


# Personal data


def test_redaction_takes_nothing_that_the_probes_need() -> None:
    names = tuple((name, f"doctor.probes.{name}") for name in ("system", "nodes", "gpus", "rocm"))
    for plain in (machines.RAPHAEL_AND_CARD, machines.STRIX_HALO, machines.NVIDIA, machines.CARD_FOR_A_GUEST):
        source = RecordingSource(plain, "test")
        redacted = RedactedSource(source, Redactor(users=("mario", "amdgpu"), hosts=("render",)))
        assert collect(redacted, names).machine == collect(source, names).machine


# Kernel modules


def test_modules_and_their_options() -> None:
    found = looked_at(
        machine(
            {
                "/etc/modprobe.d/ttm.conf": "options ttm pages_limit=25165824\n",
                "/usr/lib/modprobe.d/ttm.conf": "options ttm pages_limit=1\n",  # the one in /etc takes its place
                "/usr/lib/modprobe.d/blacklist.conf": "blacklist radeon\nblacklist pcspkr\n",
                "/proc/cmdline": "quiet modprobe.blacklist=amdgpu\n",
            },
            folders={"/sys/module": ["amdgpu", "ttm", "ext4"]},
        )
    ).os
    assert found is not None
    assert found.kernel_modules == ("amdgpu", "ttm")
    assert found.modprobe_options == {"ttm": "pages_limit=25165824"}
    assert found.blacklisted_modules == ("radeon", "amdgpu")


def test_modules_by_the_list_of_the_kernel() -> None:
    found = looked_at(machine({"/proc/modules": "amdttm 1 1 amdgpu, Live 0x0\namdgpu 1 0 - Live 0x0\n"})).os
    assert found is not None and found.kernel_modules == ("amdgpu", "amdttm")
    assert found.modprobe_options is None and found.blacklisted_modules is None


def test_a_machine_without_options() -> None:
    plain = machine({"/proc/cmdline": "quiet\n"}, missing={"absent": ["names:/etc/modprobe.d"]})
    found = looked_at(plain).os
    assert found is not None and found.modprobe_options == {} and found.blacklisted_modules == ()
