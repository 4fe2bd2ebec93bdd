from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.machine.model import Isa
from doctor.texts.flags import isa_of, normalised


def words(text: str) -> list[str]:
    return text.split()


LINUX = words("fpu sse sse2 lm constant_tsc rep_good nopl cpuid pni ssse3 fma avx avx2")
#: The features of a Zen 4 as py-cpuinfo 9 spells them (`_get_cpu_info_from_cpuid`); it reads no leaf 7.1.
PY_CPUINFO = words(
    "3dnowprefetch abm aes avx avx2 avx512bitalg avx512bw avx512cd avx512dq avx512f avx512ifma avx512vbmi "
    "avx512vbmi2 avx512vl avx512vnni avx512vpopcntdq bmi1 bmi2 cx16 f16c fma fpu lm misalignsse movbe osxsave "
    "pclmulqdq pni popcnt rdrnd sha sse sse2 sse4_1 sse4_2 sse4a ssse3 tscdeadline xsave"
)
#: What the Windows registry has of any CPU, whatever it can do.
REGISTRY = words("acpi cmov cx8 fpu fxsr ht mca mmx pge sep sse sse2 tm tsc")


@pytest.mark.parametrize(
    "same",
    [
        ("avx512_vnni", "avx512vnni"),
        ("avx512vbmi", "AVX512VBMI"),
        ("avx512_vbmi2", "avx512vbmi2"),
        ("avx512_bitalg", "avx512bitalg"),
        ("avx512_vpopcntdq", "avx512vpopcntdq"),
        ("sha_ni", "sha"),
        ("rdrand", "rdrnd"),
        ("fma", "fma3"),
        ("pni", "sse3"),
        ("pclmulqdq", "pclmul"),
        ("tsc_deadline_timer", "tscdeadline"),
        ("abm", "lzcnt"),
        ("sse4_1", "sse4.1"),
        ("avx", "avx1.0"),
    ],
)
def test_spellings_of_one_feature(same: tuple[str, str]) -> None:
    assert normalised(same[0]) == normalised(same[1])


@pytest.mark.parametrize(
    "different", [("avx_vnni", "avx512_vnni"), ("fma", "fma4"), ("avx512vbmi", "avx512_vbmi2"), ("avx", "avx2")]
)
def test_different_features_stay_apart(different: tuple[str, str]) -> None:
    assert normalised(different[0]) != normalised(different[1])


def test_a_kernels_list_is_complete() -> None:
    isa = isa_of(LINUX)
    assert (isa.avx, isa.avx2, isa.fma) == (True, True, True)
    assert {getattr(isa, field) for field in Isa.__struct_fields__} == {True, False}


def test_py_cpuinfo_never_reads_leaf_7_1() -> None:
    isa = isa_of(PY_CPUINFO)
    assert (isa.avx512f, isa.avx512bw, isa.avx512dq, isa.avx512vl, isa.avx512cd, isa.avx512_vnni) == (True,) * 6
    assert (isa.avx512_bf16, isa.avx_vnni, isa.avx512_fp16, isa.amx_bf16) == (None,) * 4


def test_what_py_cpuinfo_reads_is_false_where_it_is_missing() -> None:
    isa = isa_of(flag for flag in PY_CPUINFO if not flag.startswith("avx512"))
    assert (isa.avx512f, isa.avx512_vnni, isa.avx512_bf16) == (False, False, None)


def test_the_registry_knows_no_avx() -> None:
    assert isa_of(REGISTRY) == Isa()


def test_a_cut_list_denies_nothing() -> None:
    assert isa_of(LINUX, complete=False) == Isa(avx=True, avx2=True, fma=True)


def test_the_kernel_names_bf16_and_avx_vnni() -> None:
    isa = isa_of([*LINUX, "avx512_bf16", "avx_vnni"])
    assert (isa.avx512_bf16, isa.avx_vnni, isa.avx512_vnni) == (True, True, False)


@given(st.lists(st.text(max_size=30)))
def test_any_names_give_an_isa(names: list[str]) -> None:
    assert isinstance(isa_of(names), Isa)
