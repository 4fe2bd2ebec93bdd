"""What a pasted lscpu proves, and what it does not."""

from __future__ import annotations

import pytest

from doctor.machine.model import Cpu
from doctor.pasted.lscpu import READER, read
from doctor.pasted.parts import Part

MIB = 1 << 20
_FLAGS = "fpu sse2 ht lm constant_tsc rep_good nopl cpuid pni ssse3 fma sse4_2 avx svm abm avx2"


def _text(**changes: str | None) -> str:
    fields: dict[str, str | None] = {
        "Architecture": "x86_64",
        "CPU(s)": "32",
        "On-line CPU(s) list": "0-31",
        "Vendor ID": "AuthenticAMD",
        "Model name": "AMD Ryzen 9 5950X 16-Core Processor",
        "CPU family": "25",
        "Model": "33",
        "Thread(s) per core": "2",
        "Core(s) per socket": "16",
        "Socket(s)": "1",
        "L3 cache": "64 MiB (2 instances)",
        "NUMA node(s)": "1",
        "NUMA node0 CPU(s)": "0-31",
        "Flags": _FLAGS,
        **changes,
    }
    return "".join(f"{label}:   {value}\n" for label, value in fields.items() if value is not None)


def _part(**changes: str | None) -> Part:
    text = _text(**changes)
    assert READER.looks_like(text)
    found = read(text)
    assert found is not None
    return found


def _cpu(**changes: str | None) -> Cpu:
    cpu = _part(**changes).machine.cpu
    assert cpu is not None
    return cpu


def _sizes(cpu: Cpu) -> list[int | None]:
    return [None if group.size_bytes is None else group.size_bytes // MIB for group in cpu.l3_groups or ()]


def _cores(cpu: Cpu) -> list[int | None]:
    return [group.cores for group in cpu.l3_groups or ()]


def test_two_dies_that_lscpu_counted() -> None:
    part = _part()
    cpu = _cpu()
    assert (cpu.physical_cores, cpu.logical_cpus, cpu.sockets, cpu.online) == (16, 32, 1, "0-31")
    assert (_sizes(cpu), _cores(cpu)) == ([32, 32], [8, 8])
    assert [group.cpus for group in cpu.l3_groups or ()] == [None, None]  # which CPUs, it does not tell
    assert part.origins["cpu.l3_groups"] == "lscpu: L3 cache"
    assert part.origins["cpu.name"] == "lscpu: Model name"
    assert (part.kind, part.span, part.note) == ("lscpu", (0, 14), None)
    assert part.machine.os is not None and (part.machine.os.kind, part.machine.os.hypervisor) == ("linux", None)
    assert (cpu.cores, part.machine.sources, part.machine.unknowns) == (None, None, None)


def test_the_two_older_dialects() -> None:
    for value in ("32768K", "64 MiB"):
        cpu = _cpu(**{"L3 cache": value})
        assert (_sizes(cpu), _cores(cpu)) == ([32, 32], [8, 8])
    assert _part(**{"L3 cache": "64 MiB"}).origins["cpu.l3_groups"] == "family, model, name and cores in lscpu"


def test_one_group_has_all_cpus() -> None:
    cpu = _cpu(**{"L3 cache": "32 MiB (1 instance)", "Core(s) per socket": "8", "CPU(s)": "16",
                  "On-line CPU(s) list": "0-15", "Model name": "AMD Ryzen 7 5800X 8-Core Processor"})  # fmt: skip
    assert cpu.l3_groups is not None
    assert [(group.cpus, group.cores, group.size_bytes) for group in cpu.l3_groups] == [("0-15", 8, 32 * MIB)]


def test_one_die_with_the_larger_cache() -> None:
    """A 7950X3D has 96 and 32 MiB: the sum, and what CPU 0 has, tell that there are two, and not which is which."""
    x3d: dict[str, str | None] = {"Model name": "AMD Ryzen 9 7950X3D 16-Core Processor", "Model": "97"}
    assert _sizes(_cpu(**x3d, **{"L3 cache": "128 MiB (2 instances)"})) == [None, None]
    assert _sizes(_cpu(**x3d, **{"L3 cache": "192 MiB"})) == [None, None]  # 2.34 to 2.36 multiply what CPU 0 has
    assert _sizes(_cpu(**x3d, **{"L3 cache": "98304K"})) == [96, None]
    assert _cores(_cpu(**x3d, **{"L3 cache": "128 MiB (2 instances)"})) == [8, 8]


def test_two_kinds_of_cores() -> None:
    """The HX 370 has 4 cores with 16 MiB and 8 with 8 MiB."""
    cpu = _cpu(**{"Model name": "AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "CPU family": "26", "Model": "36",
                  "CPU(s)": "24", "On-line CPU(s) list": "0-23", "Core(s) per socket": "12",
                  "L3 cache": "24 MiB (2 instances)"})  # fmt: skip
    assert (_sizes(cpu), _cores(cpu)) == ([None, None], [None, None])


def test_a_hypervisor_may_show_any_cache() -> None:
    """On a guest nothing is concluded from the product; what lscpu itself counted is what the guest has."""
    guest: dict[str, str | None] = {"Hypervisor vendor": "KVM", "Flags": _FLAGS + " hypervisor"}
    part = _part(**guest)
    assert part.machine.os is not None and part.machine.os.hypervisor == "kvm"
    assert len(_cpu(**guest).l3_groups or ()) == 2
    assert (_sizes(_cpu(**guest)), _cores(_cpu(**guest))) == ([None, None], [None, None])
    assert _cpu(**guest, **{"L3 cache": "64 MiB"}).l3_groups is None
    assert _cpu(**{"L3 cache": "64 MiB", "Flags": _FLAGS + " hypervisor"}).l3_groups is None
    assert _cpu(**{"L3 cache": "64 MiB", "Flags": None}).l3_groups is None


@pytest.mark.parametrize(
    "vendor, kind", [("Microsoft", "hyperv"), ("VMware", "vmware"), ("Oracle", "virtualbox"), ("Parallels", "other")]
)
def test_hypervisors(vendor: str, kind: str) -> None:
    system = _part(**{"Hypervisor vendor": vendor}).machine.os
    assert system is not None and system.hypervisor == kind
    flagged = _part(Flags=_FLAGS + " hypervisor").machine.os
    assert flagged is not None and flagged.hypervisor == "other"


def test_as_many_nodes_as_groups() -> None:
    """With "L3 as NUMA domain" each node is a group, so its CPUs are known."""
    nodes = {f"NUMA node{at} CPU(s)": f"{at * 8}-{at * 8 + 7},{at * 8 + 16}-{at * 8 + 23}" for at in range(2)}
    cpu = _cpu(**{"NUMA node(s)": "2", **nodes})
    assert [group.cpus for group in cpu.l3_groups or ()] == ["0-7,16-23", "8-15,24-31"]
    guest = _cpu(**{"NUMA node(s)": "2", "Hypervisor vendor": "KVM", **nodes})
    assert [group.cpus for group in guest.l3_groups or ()] == [None, None]


def test_two_sockets() -> None:
    cpu = _cpu(**{"Model name": "AMD EPYC 7763 64-Core Processor", "Model": "1", "CPU(s)": "256", "Socket(s)": "2",
                  "On-line CPU(s) list": "0-255", "Core(s) per socket": "64", "L3 cache": "512 MiB"})  # fmt: skip
    assert (cpu.physical_cores, cpu.sockets, len(cpu.l3_groups or ())) == (128, 2, 16)
    assert (set(_sizes(cpu)), set(_cores(cpu))) == ({32}, {8})


def test_cpus_that_are_switched_off() -> None:
    """What lscpu then says of cores and threads is nonsense: one thread per core and 3 cores, of a 3550H with four."""
    part = _part(**{"CPU(s)": "8", "On-line CPU(s) list": "0,5-7", "Off-line CPU(s) list": "1-4",
                    "Thread(s) per core": "1", "Core(s) per socket": "3", "L3 cache": "4096K"})  # fmt: skip
    cpu = part.machine.cpu
    assert cpu is not None and part.note is not None and "switched off" in part.note
    assert (cpu.physical_cores, cpu.sockets, cpu.l3_groups) == (None, None, None)
    assert (cpu.logical_cpus, cpu.online) == (4, "0,5-7")


def test_counts_that_do_not_add_up() -> None:
    """An Intel processor with two kinds of cores: 2 threads times 14 cores are not 20 CPUs."""
    part = _part(**{"CPU(s)": "20", "On-line CPU(s) list": "0-19", "Core(s) per socket": "14"})
    cpu = part.machine.cpu
    assert cpu is not None and (cpu.physical_cores, cpu.logical_cpus, cpu.l3_groups) == (None, 20, None)
    assert part.note is not None and "add up" in part.note


def test_a_count_that_is_missing_is_not_made_up() -> None:
    for label in ("CPU(s)", "Thread(s) per core", "Core(s) per socket", "Socket(s)"):
        cpu = _cpu(**{label: None})
        assert (cpu.physical_cores, cpu.sockets, cpu.l3_groups, cpu.logical_cpus) == (None, None, None, 32)
    cpu = _cpu(**{"On-line CPU(s) list": None})
    assert (cpu.physical_cores, cpu.logical_cpus, cpu.online) == (16, 32, None)
    assert _cpu(**{"On-line CPU(s) list": None, "Socket(s)": None}).logical_cpus is None


def test_nodes_of_which_a_line_is_missing() -> None:
    assert _cpu(**{"NUMA node(s)": "4"}).numa_nodes is None
    assert _cpu(**{"NUMA node(s)": None}).numa_nodes is None


def test_no_flags_no_instruction_set() -> None:
    cpu = _cpu(Flags=None)
    assert (cpu.isa, cpu.flags) == (None, None)


def test_flags_cut_at_the_edge_of_a_terminal() -> None:
    """`avx2` may be cut in two there; `avx512f` is in no reading of it."""
    lines = ["fpu sse2 pni lm cpuid constant_tsc fma av", "x2 svm abm avx512_bf1", "6 clzero avx"]
    text = _text(Flags=("\n" + " " * 15).join(lines)) + "Virtualization:  AMD-V\n"
    part = read(text)
    assert part is not None and part.machine.cpu is not None
    isa = part.machine.cpu.isa
    assert isa is not None and part.machine.cpu.flags is None
    assert (isa.fma, isa.avx, isa.avx2, isa.avx512_bf16, isa.avx512f) == (True, True, None, None, False)
