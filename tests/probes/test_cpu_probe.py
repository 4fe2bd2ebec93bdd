from __future__ import annotations

from typing import Any

import pytest

from doctor.machine.model import Cpu, Isa
from doctor.probes import cpu
from doctor.sources.recording import RecordingSource
from tests.machines.trees import tree


def cpu_of(plain: dict[str, Any]) -> Cpu:
    found = cpu.probe(RecordingSource(plain, "test")).facts["cpu"]
    assert isinstance(found, Cpu)
    return found


def test_identity_and_flags_of_linux() -> None:
    found = cpu.probe(RecordingSource({"platform": "linux", "files": tree("x3d")}, "test"))
    known = found.facts["cpu"]
    assert (known.vendor, known.family, known.model, known.stepping) == ("AuthenticAMD", 25, 97, 2)
    assert known.name == "AMD Ryzen 9 7900X3D 12-Core Processor"
    assert "avx512_bf16" in known.flags
    assert (known.isa.avx512f, known.isa.avx512_bf16) == (True, True)
    assert (known.isa.avx_vnni, known.isa.amx_bf16) == (False, False)
    assert found.origins["cpu.isa"] == "/proc/cpuinfo"
    assert found.unknowns == ()


def test_the_probe_does_not_judge() -> None:
    known = cpu_of({"platform": "linux", "files": tree("x3d")})
    assert (known.generation, known.vector_width_bits, known.avx512, known.runs_code_for) == (None, None, None, None)


def test_a_cut_feature_list_is_not_handed_on() -> None:
    text = "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu sse2 constant_tsc pni avx av"
    known = cpu_of({"platform": "linux", "files": {"/proc/cpuinfo": text}})
    assert known.flags is None
    assert known.isa == Isa(avx=True)


def test_nothing_to_read() -> None:
    found = cpu.probe(RecordingSource({"platform": "linux"}, "test"))
    assert found.facts == {}
    assert [(row.fact, row.reason) for row in found.unknowns] == [
        ("cpu.name", "not-in-source"),
        ("cpu.isa", "not-in-source"),
    ]


def test_a_text_that_says_nothing() -> None:
    found = cpu.probe(RecordingSource({"platform": "linux", "files": {"/proc/cpuinfo": "processor\t: 0\n"}}, "test"))
    assert found.facts == {}
    assert {row.reason for row in found.unknowns} == {"probe-failed"}


PY_CPUINFO = {
    "brand_raw": "AMD Ryzen 7 5800X  8-Core Processor",
    "vendor_id_raw": "AuthenticAMD",
    "family": 25,
    "model": 33,
    "stepping": 0,
    "flags": ["avx", "avx2", "fma", "osxsave", "pni", "sse2"],
}


@pytest.mark.parametrize("platform", ["linux", "macos"])
def test_py_cpuinfo_where_there_is_no_proc(platform: str) -> None:
    known = cpu_of({"platform": platform, "api": {"cpuinfo": PY_CPUINFO}})
    assert (known.name, known.vendor, known.family, known.model, known.stepping) == (
        "AMD Ryzen 7 5800X 8-Core Processor",
        "AuthenticAMD",
        25,
        33,
        0,
    )
    assert known.isa is not None
    assert (known.isa.avx2, known.isa.avx512f, known.isa.avx512_bf16) == (True, False, None)


@pytest.mark.parametrize(
    "answer",
    ["text", ["list"], {}, {"flags": "avx", "family": True, "model": -1, "brand_raw": 5}, {"flags": [1, None]}],
)
def test_py_cpuinfo_of_another_shape(answer: Any) -> None:
    found = cpu.probe(RecordingSource({"platform": "macos", "api": {"cpuinfo": answer}}, "test"))
    assert found.facts == {}
    assert {row.fact for row in found.unknowns} == {"cpu.name", "cpu.isa"}
