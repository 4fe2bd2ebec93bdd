"""rocminfo, on a small output written by hand and on real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.rocminfo import Agent, gpu_agents, read_rocminfo

#: As ROCm 6 and 7 write it, with an NPU.
PHOENIX = """\
ROCk module is loaded
=====================
HSA System Attributes
=====================
Runtime Version:         1.14
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    AMD Ryzen 7 7840U w/ Radeon 780M Graphics
  Uuid:                    CPU-XX
  Marketing Name:          AMD Ryzen 7 7840U w/ Radeon 780M Graphics
  Vendor Name:             CPU
  Node:                    0
  Device Type:             CPU
  Cache Info:
    L1:                      32768(0x8000) KB
  Chip ID:                 0(0x0)
  BDFID:                   0
  Compute Unit:            16
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: FINE GRAINED
      Size:                    28000000(0x1ab3f00) KB
  ISA Info:
*******
Agent 2
*******
  Name:                    gfx1103
  Uuid:                    GPU-XX
  Marketing Name:          AMD Radeon 780M
  Vendor Name:             AMD
  Node:                    1
  Device Type:             GPU
  Chip ID:                 5567(0x15bf)
  BDFID:                   49408
  Compute Unit:            12
  Memory Properties:       APU
  Packet Processor uCode:: 40
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    14000000(0xd59f80) KB
    Pool 2
      Segment:                 GROUP
      Size:                    64(0x40) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1103
      Workgroup Max Size per Dimension:
        x                        1024(0x400)
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx11-generic
*******
Agent 3
*******
  Name:                    aie2
  Marketing Name:          AIE-ML
  Vendor Name:             AMD
  Node:                    0
  Device Type:             DSP
  Compute Unit:            0
*** Done ***
"""


def test_each_agent_is_what_it_is() -> None:
    processor, gpu, npu = read_rocminfo(PHOENIX)
    assert (processor.device_type, processor.pci_id, processor.apu) == ("CPU", None, None)
    assert (npu.device_type, npu.name, npu.marketing_name) == ("DSP", "aie2", "AIE-ML")
    assert gpu == Agent(
        name="gfx1103",
        marketing_name="AMD Radeon 780M",
        device_type="GPU",
        node=1,
        pci_id="1002:15bf",
        bus="c1:00.0",
        compute_units=12,
        apu=True,
        pools=(14000000 * 1024,),
        isas=("gfx1103", "gfx11-generic"),
    )


def test_the_npu_and_the_processor_are_no_gpus() -> None:
    assert [agent.name for agent in gpu_agents(read_rocminfo(PHOENIX))] == ["gfx1103"]


def test_colours_and_windows_line_ends_do_not_matter() -> None:
    coloured = "\x1b[37mROCk module is loaded\x1b[0m\n" + PHOENIX.replace("\n", "\r\n")
    assert read_rocminfo(coloured) == read_rocminfo(PHOENIX)


def test_a_driver_that_is_not_loaded() -> None:
    assert read_rocminfo("ROCk module is NOT loaded, possibly no GPU devices\n") == ()


@pytest.mark.parametrize(
    ("file", "gfx", "count", "pci_id", "bus"),
    [
        ("rocminfo/ryzen-barcelo-gfx90c-gentoo.rocminfo.txt", "gfx90c", 1, "1002:15e7", "04:00.0"),
        ("rocminfo/ryzen-ai-max-395-gfx1151-strixhalo.rocminfo.txt", "gfx1151", 1, "1002:1586", "c5:00.0"),
        ("rocminfo/epyc-9474f-mi300x-x4.rocminfo.txt", "gfx942", 4, "1002:74a1", "26:00.0"),
        ("rocminfo/epyc-7551p-gfx906-x8.rocminfo.txt", "gfx906", 8, "1002:66a1", "07:00.0"),
        ("rocminfo/threadripper-pro-3955wx-mi25.rocminfo.txt", "gfx900", 7, "1002:6860", "63:00.0"),
        ("rocm-techsupport-epyc7451-mi100-rocm4.1.1/rocminfo.txt", "gfx908", 1, "1002:738c", "65:00.0"),
    ],
)
def test_real_outputs(shared: Path, file: str, gfx: str, count: int, pci_id: str, bus: str) -> None:
    agents = read_rocminfo((shared / "corpus/gpu" / file).read_text(encoding="utf-8", errors="replace"))
    gpus = gpu_agents(agents)
    assert [gpu.name for gpu in gpus] == [gfx] * count
    assert (gpus[0].pci_id, gpus[0].bus) == (pci_id, bus)
    assert all(gpu.compute_units and gpu.pools for gpu in gpus)


def test_the_npu_of_a_real_strix_halo_is_no_gpu(shared: Path) -> None:
    file = shared / "corpus/gpu/rocminfo/ryzen-ai-max-395-gfx1151-strixhalo.rocminfo.txt"
    agents = read_rocminfo(file.read_text(encoding="utf-8"))
    assert [agent.device_type for agent in agents] == ["CPU", "GPU", "DSP"]
    (gpu,) = gpu_agents(agents)
    assert (gpu.apu, gpu.compute_units, gpu.pools) == (True, 40, (64 << 30,))
    assert gpu.isas == ("gfx1151", "gfx11-generic")


@given(st.text() | st.lists(st.sampled_from(PHOENIX.splitlines()) | st.text(max_size=30)).map("\n".join))
def test_never_raises(text: str) -> None:
    assert all(isinstance(agent, Agent) for agent in read_rocminfo(text))
