from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.core_kinds import with_kinds
from doctor.derive.cpu import CpuFacts, complete_cpu, cpu_facts
from doctor.derive.isa import avx512_quality, completed_isa, runs_code_for
from doctor.knowledge.zen import zen_row
from doctor.machine.model import Core, Cpu, Isa, L3Group, Machine, NumaNode
from doctor.sources.recording import RecordingSource
from tests.machines.compare import known_from
from tests.machines.trees import tree

CORE_AVX512 = {"avx512f": True, "avx512bw": True, "avx512dq": True, "avx512vl": True, "avx512cd": True}
NO_AVX512 = dict.fromkeys(CORE_AVX512, False)


def completed(**fields: Any) -> Cpu:
    cpu = complete_cpu(Machine(cpu=Cpu(**fields))).cpu
    assert cpu is not None
    return cpu


def facts(**fields: Any) -> CpuFacts:
    return cpu_facts(complete_cpu(Machine(cpu=Cpu(**fields))))


def facts_of(name: str) -> CpuFacts:
    return cpu_facts(known_from(RecordingSource({"platform": "linux", "files": tree(name)}, name)))


def groups(*rows: tuple[str, int | None]) -> tuple[L3Group, ...]:
    return tuple(L3Group(cpus=cpus, cores=cores) for cpus, cores in rows)


def test_generation_and_width_from_family_and_model() -> None:
    cpu = completed(vendor="AuthenticAMD", family=26, model=68)
    assert (cpu.generation, cpu.codename, cpu.vector_width_bits) == ("Zen 5", "Granite Ridge", 512)


@pytest.mark.parametrize("model", [0x50, 0x99])
def test_an_unknown_model_of_family_26_is_not_zen_5(model: int) -> None:
    cpu = completed(vendor="AuthenticAMD", family=26, model=model, isa=Isa(**CORE_AVX512))
    assert (cpu.generation, cpu.codename, cpu.vector_width_bits, cpu.avx512) == (None, None, None, None)


def test_a_known_field_is_never_changed() -> None:
    stated = Cpu(
        vendor="AuthenticAMD",
        family=25,
        model=97,
        generation="Zen 9",
        codename="X",
        vector_width_bits=128,
        avx512="partial",
        runs_code_for="k10",
        sockets=3,
        physical_cores=5,
        logical_cpus=7,
        smt=False,
        online="0-1",
        cores=(Core(cpus="0-1", package=0, l3=0),),
        l3_groups=(L3Group(cpus="0-1", cores=9),),
        isa=Isa(**dict.fromkeys(Isa.__struct_fields__, False)),
        flags=("sse2", "pni", "avx512f"),
    )
    assert complete_cpu(Machine(cpu=stated)).cpu == stated


def test_no_cpu_at_all() -> None:
    assert complete_cpu(Machine()) == Machine()
    assert cpu_facts(Machine()) == CpuFacts()


@pytest.mark.parametrize(
    ("flags", "width", "quality"),
    [
        (CORE_AVX512, 512, "full-width"),
        (CORE_AVX512, 256, "double-pumped"),
        (CORE_AVX512, None, None),
        (CORE_AVX512, 128, None),
        ({**CORE_AVX512, "avx512cd": None}, 256, "double-pumped"),
        # Knights Landing: F and CD, without BW, DQ and VL
        ({**NO_AVX512, "avx512f": True, "avx512cd": True}, 512, "partial"),
        ({**CORE_AVX512, "avx512cd": False}, 256, "partial"),
        ({**CORE_AVX512, "avx512dq": False}, 256, "partial"),
        ({**NO_AVX512, "avx512vl": True}, 256, "partial"),
        (NO_AVX512, 256, "absent"),
        ({"avx512f": False}, None, "absent"),
        ({"avx512f": True}, 256, None),
        ({"avx512f": True, "avx512bw": True, "avx512vl": True}, 256, None),
        ({}, 256, None),
        (None, 256, None),
    ],
)
def test_avx512_quality(flags: dict[str, bool | None] | None, width: int | None, quality: str | None) -> None:
    assert avx512_quality(None if flags is None else Isa(**flags), width) == quality


def test_flags_beat_the_table_when_a_hypervisor_hides_avx512() -> None:
    machine = known_from(RecordingSource({"platform": "linux", "files": tree("vm-no-l3")}, "vm"))
    assert machine.cpu is not None
    assert (machine.cpu.generation, machine.cpu.vector_width_bits, machine.cpu.avx512) == ("Zen 4", 256, "absent")
    assert machine.cpu.isa is not None
    assert machine.cpu.isa.avx512_bf16 is False
    assert cpu_facts(machine).silicon_avx512 is True


def test_flags_of_a_document_fill_its_isa() -> None:
    cpu = completed(flags=("sse2", "pni", "constant_tsc", "avx", "avx2", "fma"))
    assert cpu.isa is not None
    assert (cpu.isa.avx2, cpu.isa.avx512f, cpu.isa.avx512_bf16) == (True, False, False)


def test_what_silicon_lacks_is_false_without_any_flags() -> None:
    isa = completed_isa(None, None, zen_row("AuthenticAMD", 25, 33))
    assert isa is not None
    assert (isa.avx, isa.avx512f, isa.avx512_bf16, isa.amx_bf16) == (None, False, False, False)
    assert completed(vendor="AuthenticAMD", family=25, model=33).avx512 == "absent"


def test_what_silicon_has_is_unknown_until_its_witness_is_seen() -> None:
    zen4 = zen_row("AuthenticAMD", 25, 97)
    hidden, seen = completed_isa(None, None, zen4), completed_isa(Isa(avx512f=True), None, zen4)
    assert hidden is not None
    assert seen is not None
    assert (hidden.avx512f, hidden.avx512_bf16, hidden.avx512_fp16) == (None, None, False)
    assert (seen.avx512bw, seen.avx512_bf16, seen.avx_vnni, seen.avx512_fp16) == (True, True, False, False)


def test_the_table_fills_what_py_cpuinfo_never_reads() -> None:
    listed = ("sse2", "pni", "osxsave", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd")
    zen5 = completed(vendor="AuthenticAMD", family=26, model=68, flags=(*listed, "avx512vnni"))
    assert zen5.isa is not None
    assert (zen5.isa.avx512_bf16, zen5.isa.avx_vnni, zen5.isa.amx_bf16) == (True, True, False)
    assert zen5.avx512 == "full-width"
    unknown = completed(vendor="AuthenticAMD", family=26, model=0x50, flags=(*listed, "avx512vnni"))
    assert unknown.isa is not None
    assert (unknown.isa.avx512_bf16, unknown.isa.avx_vnni, unknown.isa.amx_bf16) == (None, None, None)


def test_no_flags_and_no_row_is_no_isa() -> None:
    assert completed_isa(None, None, None) is None
    assert completed(name="AMD something").isa is None


def words(text: str) -> list[str]:
    return text.split()


V3 = words("mmx sse sse2 pni ssse3 sse4_1 sse4_2 cx16 lahf_lm popcnt avx avx2 bmi1 bmi2 f16c fma abm movbe xsave")
ZEN = [*V3, *words("fsgsbase rdseed clzero aes pclmulqdq sse4a xsavec xsaveopt clflushopt")]


@pytest.mark.parametrize(
    ("vendor", "flags", "name"),
    [
        ("AuthenticAMD", V3, "x86_64_v3"),
        ("AuthenticAMD", ZEN, "zen"),
        ("HygonGenuine", ZEN, "x86_64_v3"),
        (None, V3, "x86_64_v3"),
        # archspec's k10 is no descendant of the generic level that was found
        ("AuthenticAMD", [*V3, "sse4a", "3dnow", "3dnowext"], "x86_64_v3"),
        ("AuthenticAMD", ["sse2"], "x86_64"),
        ("AuthenticAMD", [], "x86_64"),
        ("AuthenticAMD", None, None),
    ],
)
def test_runs_code_for(vendor: str | None, flags: list[str] | None, name: str | None) -> None:
    assert runs_code_for(vendor, flags, None) == name


def test_code_for_zen_4_needs_no_kernel_msr() -> None:
    """archspec's zen4 lists flush_l1d, an MSR that old kernels, guests and Windows do not name."""
    flags = next(line for line in tree("x3d")["/proc/cpuinfo"].splitlines() if line.startswith("flags")).split()
    assert "flush_l1d" not in flags
    assert runs_code_for("AuthenticAMD", flags, None) == "zen4"


def test_counts_from_cores() -> None:
    cores = (Core(cpus="0,2", package=0, l3=0), Core(cpus="1,3", package=1, l3=1))
    cpu = completed(online="0-3", cores=cores, l3_groups=groups(("0,2", None), ("1,3", None)))
    assert (cpu.physical_cores, cpu.logical_cpus, cpu.sockets, cpu.smt) == (2, 4, 2, True)
    assert [group.cores for group in cpu.l3_groups or ()] == [1, 1]


@pytest.mark.parametrize(
    ("physical", "logical", "smt"), [(8, 16, True), (8, 8, False), (None, 16, None), (8, None, None)]
)
def test_smt_from_counts(physical: int | None, logical: int | None, smt: bool | None) -> None:
    assert completed(physical_cores=physical, logical_cpus=logical).smt is smt


def test_a_list_that_is_none_counts_nothing() -> None:
    cpu = completed(online="0-x", cores=(Core(cpus="?"),))
    assert (cpu.logical_cpus, cpu.smt) == (None, None)


def kinds(
    row: tuple[int, int], mhz: list[float | None], l3: list[int | None], sizes: list[int | None]
) -> list[str | None]:
    cores = tuple(Core(cpus=str(at), max_mhz=clock, l3=l3[at]) for at, clock in enumerate(mhz))
    shared = tuple(L3Group(cpus="0", size_bytes=size) for size in sizes)
    return [core.kind for core in with_kinds(cores, shared, zen_row("AuthenticAMD", *row))]


STRIX, KRACKAN, GRANITE = (26, 36), (26, 96), (26, 68)
P, E = "performance", "efficiency"


@pytest.mark.parametrize(
    ("row", "mhz", "l3", "sizes", "expected"),
    [
        (STRIX, [None] * 3, [0, 1, 1], [16, 8], [P, E, E]),
        (STRIX, [None] * 3, [0, 1, 1], [8, 16], [E, P, P]),
        (STRIX, [None] * 3, [0, 1, 1], [16, 16], [None] * 3),
        (STRIX, [None] * 3, [0, 1, 1], [16, None], [None] * 3),
        (STRIX, [None] * 3, [0, 1, None], [16, 8], [None] * 3),
        (STRIX, [None] * 3, [0, 0, 0], [16], [None] * 3),
        (KRACKAN, [5090, 4990, 3500], [0, 0, 0], [16], [P, P, E]),
        (KRACKAN, [5090, 5090, 5090], [0, 0, 0], [16], [None] * 3),
        (KRACKAN, [5090, 5000, 4950], [0, 0, 0], [16], [None] * 3),
        (KRACKAN, [5090, 4500, 3500], [0, 0, 0], [16], [None] * 3),
        (KRACKAN, [5090, 4700, 3500], [0, 0, 0], [16], [None] * 3),
        (KRACKAN, [5090, None, 3500], [0, 0, 0], [16], [None] * 3),
        (GRANITE, [5700, 5700, 3500], [0, 1, 1], [96, 32], [None] * 3),
    ],
)
def test_core_kinds(row: Any, mhz: Any, l3: Any, sizes: Any, expected: list[str | None]) -> None:
    assert kinds(row, mhz, l3, sizes) == expected


def test_kinds_that_a_source_stated_are_kept() -> None:
    cores = (Core(cpus="0", l3=0, kind=E), Core(cpus="1", l3=1))
    assert with_kinds(cores, (L3Group(size_bytes=16), L3Group(size_bytes=8)), zen_row("AuthenticAMD", *STRIX)) == cores


def test_kinds_of_l3_groups() -> None:
    for name, expected in (("strix-two-l3", [P, E]), ("krackan-one-l3", ["mixed"]), ("x3d", [None, None])):
        machine = known_from(RecordingSource({"platform": "linux", "files": tree(name)}, name))
        assert machine.cpu is not None
        assert [group.kind for group in machine.cpu.l3_groups or ()] == expected


def test_facts_of_an_x3d() -> None:
    assert facts_of("x3d") == CpuFacts(
        in_table=True,
        hybrid=False,
        silicon_avx512=True,
        l3_group_count=2,
        largest_l3_cores=2,
        l3_sizes_differ=True,
        l3_cores_differ=False,
        multiple_dies=True,
        numa_node_count=1,
    )


def test_facts_of_a_hybrid() -> None:
    found = facts_of("strix-two-l3")
    assert (found.hybrid, found.multiple_dies, found.l3_cores_differ, found.largest_l3_cores) == (True, False, True, 2)


def test_nodes_with_memory_only_do_not_count() -> None:
    assert facts_of("sparse-ids").numa_node_count == 4
    assert facts(numa_nodes=(NumaNode(cpus=""),)).numa_node_count is None
    assert facts(numa_nodes=(NumaNode(cpus="0"), NumaNode())).numa_node_count is None


def test_no_l3_and_unknown_l3() -> None:
    none, unknown = facts(l3_groups=()), facts()
    assert (none.l3_group_count, none.largest_l3_cores) == (0, None)
    assert (unknown.l3_group_count, unknown.l3_sizes_differ) == (None, None)


def test_groups_without_sizes() -> None:
    found = facts(l3_groups=groups(("0-2", 3), ("3-7", 5)))
    assert (found.l3_sizes_differ, found.l3_cores_differ, found.largest_l3_cores) == (None, True, 5)
    assert facts(l3_groups=groups(("0-2", 3), ("3-7", None))).largest_l3_cores is None


@pytest.mark.parametrize(
    ("name", "model", "count", "sockets", "expected"),
    [
        ("AMD Ryzen 9 9900X 12-Core Processor", (26, 68), 2, 1, True),
        ("AMD Ryzen 7 5800X 8-Core Processor", (25, 33), 1, 1, False),
        # Zen 2: two groups are one die, four are two
        ("AMD Ryzen 5 3600 6-Core Processor", (23, 113), 2, 1, False),
        ("AMD Ryzen 9 3900X 12-Core Processor", (23, 113), 4, 1, True),
        # Threadripper 1900X: two dies with one group each, or one die with two?
        ("AMD Ryzen Threadripper 1900X 8-Core Processor", (23, 1), 2, 1, None),
        ("AMD EPYC 7251 8-Core Processor", (23, 1), 2, 1, None),
        ("AMD Ryzen 7 4800H with Radeon Graphics", (23, 96), 2, 1, False),
        ("AMD EPYC 9754 128-Core Processor", (25, 160), 16, 1, True),
        ("AMD EPYC 9754 128-Core Processor", (25, 160), 1, 2, True),
        ("AMD future", (26, 0x50), 2, 1, None),
        ("AMD future", (26, 0x50), 1, 1, False),
        ("AMD Ryzen 7 5800X 8-Core Processor", (25, 33), 0, 1, None),
        ("AMD Ryzen 7 5800X 8-Core Processor", (25, 33), 2, None, None),
    ],
)
def test_multiple_dies(
    name: str, model: tuple[int, int], count: int, sockets: int | None, expected: bool | None
) -> None:
    shared = tuple(L3Group(cpus=str(at), cores=1) for at in range(count))
    found = facts(
        vendor="AuthenticAMD", name=name, family=model[0], model=model[1], sockets=sockets, l3_groups=shared
    )
    assert found.multiple_dies is expected


def test_whether_the_table_knows_the_model() -> None:
    assert facts(vendor="AuthenticAMD", family=26, model=0x50).in_table is False
    assert facts(vendor="AuthenticAMD", family=26, model=0x44).in_table is True
    assert facts(vendor="AuthenticAMD").in_table is None
    assert facts().in_table is None


def test_every_fact_says_what_it_reads() -> None:
    names = set(CpuFacts.__struct_fields__)
    assert set(CpuFacts.READS) == names
    known = set(Cpu.__struct_fields__)
    assert {path.removeprefix("cpu.") for paths in CpuFacts.READS.values() for path in paths} <= known
    assert msgspec.to_builtins(CpuFacts()) == {}
