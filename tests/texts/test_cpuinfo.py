from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.machine.cpulist import format_cpulist
from doctor.texts.cpuinfo import Cpuinfo, CpuinfoRow, read_cpuinfo

BLOCK = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 36
model name\t: AMD Ryzen AI 9 HX PRO 370 w/ Radeon 890M  \x20
stepping\t: 0
cpu MHz\t\t: 3572.716
cache size\t: 1024 KB
physical id\t: 0
siblings\t: 24
core id\t\t: 3
cpu cores\t: 12
flags\t\t: fpu sse sse2 pni avx avx2
vmx flags\t: nothing of ours
bugs\t\t: spectre_v1
power management: ts ttp tm
"""


def test_a_block() -> None:
    assert read_cpuinfo(BLOCK) == Cpuinfo(
        rows=(CpuinfoRow(processor=0, package=0, core_id=3, siblings=24),),
        vendor="AuthenticAMD",
        name="AMD Ryzen AI 9 HX PRO 370 w/ Radeon 890M",
        family=26,
        model=36,
        stepping=0,
        flags=("fpu", "sse", "sse2", "pni", "avx", "avx2"),
    )


def test_a_lone_block_of_a_larger_machine_is_an_excerpt() -> None:
    assert read_cpuinfo(BLOCK).is_excerpt
    assert not read_cpuinfo(BLOCK + "\n" + BLOCK.replace(": 0", ": 1", 1)).is_excerpt
    assert not read_cpuinfo(BLOCK.replace(": 24", ": 1")).is_excerpt


def test_blank_lines_may_be_lost_and_a_text_may_be_pasted_twice() -> None:
    two = BLOCK + BLOCK.replace(": 0", ": 1", 1)
    assert [row.processor for row in read_cpuinfo(two + two).rows] == [0, 1]


@pytest.mark.parametrize(
    ("ending", "flags", "complete"),
    [
        ("fpu sse2 avx avx5", ("fpu", "sse2", "avx"), False),
        ("fpu sse2 avx avx512f\n", ("fpu", "sse2", "avx", "avx512f"), True),
    ],
)
def test_a_text_that_ends_inside_the_flags(ending: str, flags: tuple[str, ...], complete: bool) -> None:
    cpuinfo = read_cpuinfo(BLOCK[: BLOCK.index("fpu sse")] + ending)
    assert (cpuinfo.flags, cpuinfo.flags_complete) == (flags, complete)


def test_a_processor_number_that_is_cut_is_dropped() -> None:
    assert [row.processor for row in read_cpuinfo(BLOCK + "\nprocessor\t: 38").rows] == [0]


@pytest.mark.parametrize("number", ["99999999999", "65536", "-1", "x", "", "١"])
def test_processor_numbers_are_bounded(number: str) -> None:
    assert read_cpuinfo(f"processor\t: {number}\n").rows == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no such file",
        "Processor\t: AArch64 Processor rev 4 (aarch64)\nFeatures\t: fp asimd\nCPU implementer : 0x41\n",
        "CPU(s):  24\nModel name:  AMD Ryzen 9 9900X\nModel: 68\n",
    ],
)
def test_other_texts_are_empty(text: str) -> None:
    assert read_cpuinfo(text) == Cpuinfo()


@pytest.mark.parametrize("number", ["9" * 5000, "0x19", "25 (Zen)"])
def test_a_family_that_is_no_plain_number_is_unknown(number: str) -> None:
    cpuinfo = read_cpuinfo(f"processor\t: 0\ncpu family\t: {number}\nmodel\t\t: 97\n")
    assert (cpuinfo.family, cpuinfo.model) == (None, 97)


def test_a_name_that_a_hypervisor_leaves_out_is_unknown() -> None:
    assert read_cpuinfo("processor\t: 0\nmodel name\t: unknown\n").name is None


@pytest.mark.parametrize(
    ("stem", "rows", "model"),
    [
        ("intel-core-i7-1370p", "0-19", 186),
        ("ollama-5554-docker-ollama-container-inside-the-lxc", "0-7", 160),
        ("ollama-5554-lxc-docker-container-output", "483-511", 160),
        ("ollama-7287-hyperv-2-socket-exposed-to-vm", "0-7", 96),
        ("ryzen-ai-9-hx-pro-370", "0-23", 36),
    ],
)
def test_recorded_texts(shared: Path, stem: str, rows: str, model: int) -> None:
    cpuinfo = read_cpuinfo((shared / "corpus" / "cpuinfo" / f"{stem}.cpuinfo.txt").read_text())
    assert (format_cpulist(row.processor for row in cpuinfo.rows), cpuinfo.model) == (rows, model)
    assert cpuinfo.flags is not None
    assert cpuinfo.flags_complete
    assert "avx2" in cpuinfo.flags


@given(st.text(alphabet=st.sampled_from("processor:flagsmdeluvni_\n\t 0123456789"), max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(read_cpuinfo(text), Cpuinfo)


_BLOCK = (
    "processor\t: {at}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nphysical id\t: 0\ncore id\t: {core}\nwp\t: yes\n\n"
)


def _blocks(count: int) -> str:
    return "".join(_BLOCK.format(at=at, core=at % (count // 2)) for at in range(count))


def test_cores_and_processors() -> None:
    read = read_cpuinfo(_blocks(8))
    assert read.online == frozenset(range(8))
    assert [sorted(core.cpus) for core in read.cores] == [[0, 4], [1, 5], [2, 6], [3, 7]]


@pytest.mark.parametrize("lines", [1, 2, 3, 4, 5])
def test_a_text_that_ends_inside_a_block_counts_nothing(lines: int) -> None:
    """Half of the processors would look like half of the machine."""
    piece = "".join(_BLOCK.format(at=5, core=1).splitlines(keepends=True)[:lines])
    read = read_cpuinfo(_blocks(8)[: len(_blocks(8)) * 5 // 8] + piece)
    assert (read.blocks_alike, read.online, read.cores) == (False, frozenset(), ())
    assert (len(read.rows), read.family) == (6, 25)


def test_a_value_that_was_cut_is_not_believed() -> None:
    assert read_cpuinfo("processor\t: 0\nmodel\t\t: 11").model is None
    assert read_cpuinfo("processor\t: 0\nmodel name\t: AMD Ryzen 5 56").name is None


def test_one_block_without_siblings_may_be_of_a_larger_machine() -> None:
    assert read_cpuinfo("processor\t: 0\nvendor_id\t: AuthenticAMD\n").online == frozenset()
    assert read_cpuinfo("processor\t: 0\nsiblings\t: 1\n").online == frozenset({0})
