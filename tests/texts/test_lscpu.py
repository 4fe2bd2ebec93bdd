"""lscpu in its dialects: flat and tree, languages, JSON, wrapped flags, and texts that are cut."""

from __future__ import annotations

import json

import pytest

from doctor.texts.lscpu import KIB, MIB, L3Line, Lscpu, looks_like_lscpu, read_lscpu

_FLAGS = (
    "fpu vme de pse tsc msr sse sse2 ht syscall nx rdtscp lm constant_tsc rep_good nopl nonstop_tsc cpuid extd_apicid "
    "aperfmperf pni pclmulqdq monitor ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx f16c rdrand lahf_lm svm "
    "abm sse4a cpb fsgsbase bmi1 avx2 smep bmi2 rdseed adx smap clflushopt sha_ni xsaveopt xsavec xgetbv1 clzero smca"
)

_TREE = """\
Architecture:                x86_64
  CPU op-mode(s):            32-bit, 64-bit
  Address sizes:             48 bits physical, 48 bits virtual
CPU(s):                      32
  On-line CPU(s) list:       0-31
Vendor ID:                   AuthenticAMD
  BIOS Vendor ID:            Advanced Micro Devices, Inc.
  Model name:                AMD Ryzen 9 5950X 16-Core Processor
    BIOS Model name:         AMD Ryzen 9 5950X 16-Core Processor             Unknown CPU @ 3.4GHz
    BIOS CPU family:         107
    CPU family:              25
    Model:                   33
    Thread(s) per core:      2
    Core(s) per socket:      16
    Socket(s):               1
    Stepping:                0
    Frequency boost:         enabled
    CPU(s) scaling MHz:      62%
    CPU max MHz:             5083.3979
    Flags:                   {flags}
Virtualization features:
  Virtualization:            AMD-V
Caches (sum of all):
  L1d:                       512 KiB (16 instances)
  L2:                        8 MiB (16 instances)
  L3:                        64 MiB (2 instances)
NUMA:
  NUMA node(s):              1
  NUMA node0 CPU(s):         0-31
Vulnerabilities:
  Spectre v2:                Mitigation; Retpolines
"""


def _read(text: str) -> Lscpu:
    found = read_lscpu(text)
    assert found is not None
    assert looks_like_lscpu(text)
    return found


def test_a_tree_of_a_terminal() -> None:
    read = _read(_TREE.format(flags=_FLAGS))
    assert (read.name, read.family, read.model, read.stepping) == ("AMD Ryzen 9 5950X 16-Core Processor", 25, 33, 0)
    assert (read.cpus, read.threads_per_core, read.cores_per_socket, read.sockets) == (32, 2, 16, 1)
    assert read.online == frozenset(range(32))
    assert read.l3 == L3Line(instances=2, sum_bytes=64 * MIB)
    assert (read.boost, read.max_mhz, read.hypervisor) == (True, 5083.3979, None)
    assert (read.flags, read.flags_cut) == (tuple(_FLAGS.split()), False)
    assert [(node.id, len(node.cpus)) for node in read.nodes] == [(0, 32)]
    assert (read.first, read.end) == (0, 29)


def _wrapped(text: str, width: int) -> str:
    """The text as lscpu cuts it at the edge of a terminal: at a column, not at a blank."""
    lines = []
    for line in text.split("\n"):
        if "Flags:" not in line:
            lines.append(line)
            continue
        column = line.index(_FLAGS)
        for at in range(0, len(_FLAGS), width - column):
            lines.append((line[:column] if at == 0 else " " * column) + _FLAGS[at : at + width - column])
    return "\n".join(lines)


@pytest.mark.parametrize("width", [72, 80, 81, 97, 100, 120, 133, 140])
def test_flags_that_a_terminal_wrapped(width: int) -> None:
    read = _read(_wrapped(_TREE.format(flags=_FLAGS), width))
    assert not read.flags_cut
    assert read.flags == tuple(_FLAGS.split()) or (read.doubtful and set(read.flags or ()) < set(_FLAGS.split()))


@pytest.mark.parametrize("width", range(70, 130))
def test_wrapped_flags_whose_blanks_were_lost(width: int) -> None:
    """Whoever pastes loses the blanks at the edge: a word that was cut cannot be told from two words."""
    pasted = "\n".join(line.rstrip() for line in _wrapped(_TREE.format(flags=_FLAGS), width).split("\n"))
    read = _read(pasted)
    certain = set(read.flags or ())
    assert certain <= set(_FLAGS.split()) <= certain | set(read.doubtful)
    assert len(certain) > 40 and not read.flags_cut and read.l3 is not None


def test_wrapped_flags_whose_blanks_are_there_to_see() -> None:
    texts = [_wrapped(_TREE.format(flags=_FLAGS), width) for width in range(70, 130)]
    seen = [text for text in texts if any(line.endswith(" ") for line in text.split("\n"))]
    assert len(seen) > 20
    for text in seen:
        read = _read(text)
        assert (read.flags, read.doubtful) == (tuple(_FLAGS.split()), ())


def test_wrapped_flags_that_end_the_text() -> None:
    wrapped = _wrapped(_TREE.format(flags=_FLAGS), 80)
    cut = wrapped[: wrapped.index("Virtualization features")]
    for text in (cut, cut[:-100]):
        read = _read(text)
        assert read.flags_cut and set(read.flags or ()) <= set(_FLAGS.split())


def test_flags_that_somebody_shortened() -> None:
    read = _read(_TREE.format(flags="fpu vme de ... avx avx2 [...]"))
    assert (read.flags, read.flags_cut) == (("fpu", "vme", "de", "avx", "avx2"), True)


@pytest.mark.parametrize(
    "value, line",
    [
        ("8192K", L3Line(one_bytes=8 * MIB)),
        ("512 KiB", L3Line(product_bytes=512 * KIB)),
        ("16 MiB", L3Line(product_bytes=16 * MIB)),
        ("1.5 GiB", L3Line()),
        ("16 MiB (2 instances)", L3Line(instances=2, sum_bytes=16 * MIB)),
        ("16 MiB (1 instance)", L3Line(instances=1, sum_bytes=16 * MIB)),
        ("1,1 GiB (24 Instanzen)", L3Line(instances=24)),
        ("37.5 MiB (3 instances)", L3Line(instances=3)),
        ("16777216 (2 instances)", L3Line(instances=2, sum_bytes=16 * MIB)),
        ("16777216", None),
        ("16 MB", None),
        ("unknown", None),
    ],
)
def test_the_third_level_cache(value: str, line: L3Line | None) -> None:
    read = _read(f"CPU(s): 8\nThread(s) per core: 2\nCore(s) per socket: 4\nSocket(s): 1\nL3 cache: {value}\n")
    assert read.l3 == line


_GERMAN = """\
Architektur:                   x86_64
CPU Operationsmodus:           32-bit, 64-bit
CPU(s):                        16
Liste der Online-CPU(s):       0-7
Liste der Offline-CPU(s):      8-15
Anbieterkennung:               AuthenticAMD
Modellname:                    AMD Ryzen 7 2700X Eight-Core Processor
Prozessorfamilie:              23
Modell:                        8
Thread(s) pro Kern:            1
Kern(e) pro Sockel:            8
Sockel:                        1
Stepping:                      2
Übertaktung:                   aktiviert
Maximale Taktfrequenz der CPU: 3700,0000
L3 Cache:                      16 MiB (2 Instanzen)
NUMA-Knoten:                   1
NUMA-Knoten0 CPU(s):           0-7
"""

_FRENCH = """\
Architecture\xa0:                          x86_64
Processeur(s)\xa0:                         12
Liste de processeur(s) en ligne\xa0:       0-11
Identifiant constructeur\xa0:              AuthenticAMD
Nom de modèle\xa0:                         AMD Ryzen 5 3600 6-Core Processor
Famille de processeur\xa0:                 23
Modèle\xa0:                                113
Thread(s) par cœur\xa0:                    2
Cœur(s) par socket\xa0:                    6
Socket(s)\xa0:                             1
Cache L3\xa0:                              32 MiB
Nœud(s) NUMA\xa0:                          1
Nœud NUMA\xa00 de processeur(s)\xa0:       0-11
"""

_CHINESE = """\
架构：                              x86_64
CPU:                                8
在线 CPU 列表：                     0-7
每个核的线程数：                    2
每个座的核数：                      4
座：                                1
厂商 ID：                           AuthenticAMD
型号名称：                          AMD Ryzen 5 3500U with Radeon Vega Mobile Gfx
CPU 系列：                          23
型号：                              24
L3 缓存：                           4 MiB
"""


def test_german() -> None:
    read = _read(_GERMAN)
    assert (read.vendor, read.family, read.model, read.stepping) == ("AuthenticAMD", 23, 8, 2)
    assert (read.cpus, read.offline, len(read.online or ())) == (16, True, 8)
    assert (read.threads_per_core, read.cores_per_socket, read.sockets, read.max_mhz) == (1, 8, 1, 3700.0)
    assert read.l3 == L3Line(instances=2, sum_bytes=16 * MIB)
    assert (read.boost, read.numa_nodes, [node.id for node in read.nodes]) == (True, 1, [0])


@pytest.mark.parametrize("text", [_FRENCH, _FRENCH.replace("\xa0", " ")])
def test_french(text: str) -> None:
    read = _read(text)
    assert (read.name, read.family, read.model) == ("AMD Ryzen 5 3600 6-Core Processor", 23, 113)
    assert (read.cpus, read.threads_per_core, read.cores_per_socket, read.sockets) == (12, 2, 6, 1)
    assert (read.l3, len(read.nodes)) == (L3Line(product_bytes=32 * MIB), 1)


def test_chinese() -> None:
    read = _read(_CHINESE)
    assert (read.cpus, read.threads_per_core, read.cores_per_socket, read.sockets) == (8, 2, 4, 1)
    assert (read.family, read.model, read.l3) == (23, 24, L3Line(product_bytes=4 * MIB))


def test_a_label_that_a_translation_left_without_its_colon() -> None:
    text = "CPU(-a)          8\nDretvi po jezgri:   2\nThread(s) per core:  2\nSocket(s): 1\n"
    assert _read(text).cpus == 8


def test_json() -> None:
    rows = [
        {"field": "Architecture:", "data": "x86_64", "children": [{"field": "CPU op-mode(s):", "data": "64-bit"}]},
        {"field": "CPU(s):", "data": "16", "children": [{"field": "On-line CPU(s) list:", "data": "0-15"}]},
        {"field": "Thread(s) per core:", "data": "2"},
        {"field": "Core(s) per socket:", "data": "8"},
        {"field": "Socket(s):", "data": "1"},
        {"field": "Caches (sum of all):", "data": None, "children": [{"field": "L3:", "data": "32 MiB (1 instance)"}]},
    ]
    text = json.dumps({"lscpu": rows}, indent=3) + "\n"
    read = _read(text)
    assert (read.cpus, read.cores_per_socket, read.l3) == (16, 8, L3Line(instances=1, sum_bytes=32 * MIB))
    assert (read.first, read.end) == (0, text.count("\n") + 1)
    assert read_lscpu('{"lscpu": [') is None
    assert read_lscpu('{"lscpu": 3}') is None


def test_it_is_found_among_other_lines() -> None:
    text = f"I get an error on this machine:\n\n$ lscpu\n{_TREE.format(flags=_FLAGS)}\nAny idea?\n"
    read = _read(text)
    assert (read.cpus, read.first, read.end) == (32, 3, 32)


def test_lines_of_another_program_right_before_it() -> None:
    """hostnamectl writes an architecture, too, and a model that is none."""
    other = "   Model: B550 Gaming\nArchitecture: x86-64\n"
    read = _read(other + _TREE.format(flags=_FLAGS))
    assert (read.model, read.family, read.cpus) == (33, 25, 32)


def test_the_second_of_two_outputs_is_not_mixed_in() -> None:
    small = "Architecture: x86_64\nCPU(s): 2\nThread(s) per core: 1\nCore(s) per socket: 2\nSocket(s): 1\n"
    read = _read(small + _TREE.format(flags=_FLAGS))
    assert (read.cpus, read.name, read.l3, read.end) == (2, None, None, 5)


def test_the_four_lines_that_people_grep_for() -> None:
    text = "CPU(s):              16\nThread(s) per core:  2\nCore(s) per socket:  8\nSocket(s):           1\n"
    read = _read(text)
    assert (read.cpus, read.online, read.flags) == (16, None, None)


def test_a_line_without_its_newline_is_not_believed() -> None:
    text = "CPU(s): 16\nThread(s) per core: 2\nSocket(s): 1\nCore(s) per socket: 8"
    assert _read(text).cores_per_socket is None
    assert _read(text + "\n").cores_per_socket == 8


@pytest.mark.parametrize("value", ["", "0-", "5-3", "0-99999", "0-65535,0-65535", "a", "0x3f", "1" * 400])
def test_a_list_that_is_none(value: str) -> None:
    text = f"CPU(s): 6\nThread(s) per core: 1\nSocket(s): 1\nOn-line CPU(s) list: {value}\n"
    assert _read(text).online is None


def test_texts_of_something_else() -> None:
    for text in ("", "\n\n", "CPU(s): 8\n", "Model: A320\nStepping: 2\nFlags: x\n", "a: b\n" * 50, "{}"):
        assert read_lscpu(text) is None
