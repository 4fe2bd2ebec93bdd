"""The GPU area of the screen, and the view of an integrated GPU's memory that `-v` adds."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.derive.facts import complete
from doctor.diagnosis.model import Diagnosis
from doctor.machine.model import Gpu, Machine, Node, Os, Rocm, Torch
from doctor.present.checked import Checked
from doctor.present.details import area_details
from doctor.present.gpu import gpu_says, gpu_text
from doctor.present.gpu_memory import memory_view
from doctor.present.says import Says
from doctor.present.software import rocm_says
from doctor.probes.collect import collect
from doctor.sources.recording import RecordingSource
from tests.probes import gpu_machines as machines
from tests.probes.gpu_machines import ABSENT, CLOSED

GIB = 1 << 30


def machine_of(plain: dict[str, Any], kernel: str | None = None, ram_kib: int | None = None) -> Machine:
    files = plain["files"] | ({} if ram_kib is None else {"/proc/meminfo": f"MemTotal: {ram_kib} kB\n"})
    uname = {"system": "Linux", "release": kernel, "version": "#1", "machine": "x86_64"}
    api = {} if kernel is None else {"uname": uname}
    found = collect(RecordingSource(plain | {"files": files, "api": api}, "test"))
    assert found.crashed == ()
    return complete(found.machine)


def facts(plain: dict[str, Any]) -> tuple[str, ...]:
    says = gpu_says(machine_of(plain))
    assert says.missing == ()
    return says.facts


def test_a_card_beside_the_gpu_of_the_processor() -> None:
    assert facts(machines.RAPHAEL_AND_CARD) == (
        "AMD Radeon RX 7900 XTX (gfx1100, 24 GiB, driver amdgpu)",
        "AMD RDNA 2 GPU (gfx1036, part of the processor, 0.5 GiB carved out + 31.0 GiB shared, driver amdgpu)",
        "open to this user: /dev/kfd and 2 render nodes",
    )


def test_a_target_without_any_wheel_is_said_to_be_so() -> None:
    assert facts(machines.RX_580) == (
        "AMD Radeon RX 580 Series (gfx803, 8 GiB, driver amdgpu)",
        "no ROCm wheel for this system has code for gfx803",
        "open to this user: /dev/kfd and 1 render node",
    )


def test_nodes_that_are_closed_name_their_owner() -> None:
    closed = machines.STRIX_HALO | {"access": {"/dev/kfd": CLOSED, "/dev/dri/renderD128": CLOSED | {"acl": True}}}
    assert facts(closed)[-1] == "this user may not open /dev/kfd and /dev/dri/renderD128 (group render, 992, mode 0660)"
    nameless = machines.STRIX_HALO | {"access": {"/dev/kfd": CLOSED | {"group": None, "acl": True}}}
    assert facts(nameless)[-1] == "this user may not open /dev/kfd (group 992, mode 0660, an access list decides)"


def test_nodes_that_a_container_was_not_given() -> None:
    container = machines.STRIX_HALO | {
        "access": {"/dev/kfd": ABSENT, "/.dockerenv": {"exists": True}},
        "folders": {},
        "missing": {"absent": ["names:/dev/dri"]},
    }
    assert facts(container)[-1] == "/dev/kfd and /dev/dri/renderD* do not exist in this container"
    assert facts(machines.STRIX_HALO | {"access": {"/dev/kfd": ABSENT}})[-1] == "/dev/kfd does not exist"


def test_drivers_that_leave_nothing_to_rocm() -> None:
    assert facts(machines.CARD_FOR_A_GUEST)[0] == "AMD RDNA 3 GPU (gfx1100, kept for a virtual machine by vfio-pci)"
    assert gpu_text(Gpu(vendor="amd", pci_id="1002:6798", kernel_driver="radeon")) == (
        "AMD GPU 1002:6798 (driver radeon, which knows no ROCm)"
    )
    assert gpu_text(Gpu(vendor="amd", gfx="gfx1100", kernel_driver="none")).endswith("(gfx1100, no driver has it)")


def test_other_vendors_and_none() -> None:
    assert facts(machines.NVIDIA) == ("Intel GPU 8086:4680 (driver i915)", "NVIDIA GeForce RTX 3090 (driver nvidia)")
    assert facts(machines.NO_GPU) == ("none found",)
    assert gpu_says(Machine()).missing == ("whether there is a GPU: not known",)


def test_the_number_for_hip_matters_where_there_are_several() -> None:
    gpu = Gpu(vendor="amd", name="A", gfx="gfx1100", hip_index=1)
    assert gpu_says(Machine(gpus=(gpu,))).facts == ("A (gfx1100)",)
    assert gpu_says(Machine(gpus=(gpu, gpu))).facts[0] == "A (gfx1100, device 1 for HIP)"


def test_wsl() -> None:
    says = gpu_says(machine_of(machines.wsl(dxg=True)))
    assert says.facts == ("/dev/dxg is there: Windows lends a GPU",)
    assert says.missing[0].startswith("which GPU Windows lends: WSL shows /dev/dxg only")
    assert facts(machines.wsl(dxg=False)) == ("/dev/dxg is missing: Windows lends no GPU",)


# The view of the memory


def test_a_cezanne_in_one_view() -> None:
    view = memory_view(machine_of(machines.CEZANNE, "6.12.74", 15_700_000))
    assert view == [
        "Memory of AMD Vega GPU",
        "  carve-out (VRAM)              0.5 GiB   taken from the RAM by the firmware",
        "  shared (GTT)                  7.5 GiB   lent by the RAM while it is needed",
        "  RAM                          15.0 GiB   what the system has, the shared part included",
        "  reached by ROCm               7.5 GiB   the shared part alone",
        "  reached by Vulkan             8.0 GiB   both parts",
        "  reached by the CPU           15.0 GiB",
        "  Up to 11 GiB can be shared, a quarter left to the system. Start the",
        "    kernel with",
        "    ttm.pages_limit=2883584 ttm.page_pool_size=2883584",
    ]


def test_a_strix_halo_with_a_large_carve_out() -> None:
    text = "\n".join(memory_view(machine_of(machines.STRIX_HALO, "6.18.4", 64_400_000)))
    assert "reached by ROCm              64.0 GiB   the carve-out alone" in text
    assert "(uma/carveout): 0.5 GiB, 64.0 GiB and 96.0 GiB." in text
    assert "With the smallest UMA, up to 93 GiB can be shared" in text


def old(**more: Any) -> Machine:
    gpu = Gpu(vendor="amd", gfx="gfx1035", kernel_driver="amdgpu", vram_total_bytes=GIB // 2, gtt_total_bytes=3 * GIB)
    return complete(Machine(os=Os(**{"kind": "linux", "wsl": 0, "kernel": "5.19.0", **more}), gpus=(gpu,), env={}))


def test_an_old_kernel_is_named_before_any_setting() -> None:
    text = "\n".join(memory_view(old()))
    assert "reached by ROCm               0.5 GiB   the carve-out alone" in text
    assert "Before Linux 6.9.9 ROCm has the carve-out alone" in text
    assert "pages_limit" not in text


def test_settings_that_do_not_work_are_named() -> None:
    both = old(kernel="6.12.0", kernel_cmdline="amdgpu.gttsize=8192 ttm.pages_limit=100", modprobe_options={})
    assert any("both set" in line for line in memory_view(both))
    foreign = old(kernel_cmdline="ttm.pages_limit=100", modprobe_options={}, kernel_modules=("amdttm",))
    assert any("Options for ttm do nothing here: the module is amdttm." in line for line in memory_view(foreign))


def test_windows_has_a_control_for_it() -> None:
    gpu = Gpu(vendor="amd", name="X", gfx="gfx1150", dedicated_bytes=GIB // 2, shared_bytes=15 * GIB)
    view = memory_view(complete(Machine(os=Os(kind="windows"), gpus=(gpu,), env={})))
    assert "  dedicated                     0.5 GiB   taken from the RAM by the firmware" in view
    assert any("Variable Graphics Memory" in line for line in view)
    assert not any("ROCm" in line or "pages_limit" in line for line in view)


@pytest.mark.parametrize("plain", [machines.RAPHAEL_AND_CARD, machines.RX_580, machines.NVIDIA, machines.NO_GPU])
def test_no_view_where_no_integrated_gpu_computes(plain: dict[str, Any]) -> None:
    assert memory_view(machine_of(plain)) == []


def test_the_view_stands_in_the_details_of_the_area() -> None:
    machine = machine_of(machines.CEZANNE)
    checked = Checked(machine=machine, document={}, diagnosis=Diagnosis())
    lines = ["".join(span.text for span in spans) for spans in area_details("gpu", checked)]
    assert lines[0] == "      Memory of AMD Vega GPU"
    assert not any("Memory of" in span.text for spans in area_details("memory", checked) for span in spans)


# ROCm


def test_what_lies_around_rocm() -> None:
    rocm = Rocm(
        version="6.2.4",
        library_path=("/opt/rocm-6.2/lib",),
        hsa_runtimes=("/opt/rocm/lib/a", "/usr/lib/a"),
        dxg_library=False,
    )
    assert rocm_says(Machine(rocm=rocm)).facts == (
        "ROCm 6.2.4",
        "LD_LIBRARY_PATH names /opt/rocm-6.2/lib",
        "several HSA runtimes are installed: /opt/rocm/lib/a and /usr/lib/a",
        "librocdxg, the bridge to /dev/dxg, is not installed",
    )


def test_a_system_without_rocm_may_still_have_it_in_the_wheel() -> None:
    machine = Machine(rocm=Rocm(version="none"), gpus=(Gpu(vendor="amd", gfx="gfx1100"),))
    assert rocm_says(machine) == Says(facts=("no ROCm is installed on this system; a PyTorch wheel brings its own",))
    without = Machine(rocm=Rocm(version="none"), gpus=machine.gpus, torch=Torch(installed=True, hip="none"))
    assert rocm_says(without).not_applicable == "this PyTorch is not built for ROCm"


def test_a_node_alone_says_nothing_of_a_gpu() -> None:
    machine = Machine(os=Os(kind="linux", wsl=0), gpus=(), nodes={"/dev/kfd": Node(exists=False)})
    assert gpu_says(machine).facts == ("none found",)
