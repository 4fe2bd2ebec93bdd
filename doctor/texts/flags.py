"""CPU feature names as kernels, py-cpuinfo, gcc and libcpuid spell them, and what they say about the instruction set.

Linux writes `avx512_vnni`, `sha_ni`, `pni`; py-cpuinfo's CPUID path writes `avx512vnni`, `sha`, `osxsave`; libcpuid
writes `fma3`, `pclmul`. Names are compared without underscores, after the aliases below.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from doctor.machine.model import Isa

_SAME = {
    "sse3": "pni",
    "pclmul": "pclmulqdq",
    "sha": "shani",
    "rdrnd": "rdrand",
    "fma3": "fma",
    "lzcnt": "abm",
    "tscdeadline": "tscdeadlinetimer",
}

#: Names that only a Linux kernel makes up. A list with one of them is filtered by the operating system and complete.
_LINUX_ONLY = frozenset({"constanttsc", "repgood", "nopl", "cpuid"})

#: What every list of a 64-bit CPU with SSE3 holds. One without them stops early: the Windows registry, msys2.
_NEVER_ABSENT = frozenset({"sse2", "pni"})

#: CPUID leaf 7.1 and the AMX and FP16 bits of leaf 7: py-cpuinfo 9 does not read them.
_UNREAD_BY_PY_CPUINFO = frozenset({"avx512_bf16", "avx_vnni", "avx512_fp16", "amx_bf16"})


@lru_cache(maxsize=2000)  # a table of some thirty microarchitectures is compared with each CPU
def normalised(flag: str) -> str:
    """One feature name in the spelling that all sources share: `avx512_vnni` and `avx512vnni` as `avx512vnni`."""
    if flag == "avx1.0":  # macOS
        return "avx"
    bare = flag.lower().replace("_", "").replace(".", "")
    return _SAME.get(bare, bare)


def isa_of(flags: Iterable[str], *, complete: bool = True) -> Isa:
    """The instruction set that a feature list promises.

    A name in the list is True. A name that is missing is False only where the list is complete, else None (unknown):
    not `complete` means that the text was cut; a list without SSE2 and SSE3 stops early; and one that no Linux kernel
    made is py-cpuinfo's, which leaves BF16, FP16, AMX and AVX-VNNI unread.
    """
    names = {normalised(flag) for flag in flags}
    complete = complete and names >= _NEVER_ABSENT
    by_linux = bool(names & _LINUX_ONLY)
    known: dict[str, bool | None] = {}
    for field in Isa.__struct_fields__:
        unread = not complete or (field in _UNREAD_BY_PY_CPUINFO and not by_linux)
        known[field] = True if normalised(field) in names else None if unread else False
    return Isa(**known)
