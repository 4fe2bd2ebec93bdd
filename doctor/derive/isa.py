"""What the CPU can execute: the instruction set, the quality of its AVX-512, the code that it runs.

The feature list beats the table wherever it speaks: a hypervisor, a BIOS or an old kernel may hide what the silicon
has. The table adds two things only: what a chip cannot have, and what stands beside a feature that was seen.
"""

from __future__ import annotations

from collections.abc import Iterable

from doctor.knowledge.microarchitectures import Microarchitecture, microarchitectures
from doctor.knowledge.zen import ZenRow, silicon_has
from doctor.machine.model import Isa
from doctor.texts.flags import isa_of, normalised

#: The feature whose presence shows that nothing hides its group. py-cpuinfo never reads some of the others.
_WITNESS = {"fma": "avx2", "avx_vnni": "avx512f"}

#: What the 512-bit kernels of ATen and oneDNN ask for.
_CORE = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
_AVX512 = tuple(field for field in Isa.__struct_fields__ if field.startswith("avx512"))

#: Features in archspec's table that no instruction of a compiled program needs: MSRs of the kernel.
_NOT_CODE = frozenset({"flushl1d", "tscadjust"})


def completed_isa(isa: Isa | None, flags: Iterable[str] | None, row: ZenRow | None) -> Isa | None:
    """`isa` with its unknown fields filled from the feature list, then from the silicon; None where none is known."""
    listed = isa_of(flags) if flags is not None else Isa()
    stated = isa or Isa()
    known: dict[str, bool | None] = {}
    for field in Isa.__struct_fields__:
        value = getattr(stated, field)
        known[field] = getattr(listed, field) if value is None else value
    if row is not None:
        silicon = silicon_has(row)
        for field in [field for field, value in known.items() if value is None]:
            if field not in silicon:
                known[field] = False
            elif known[_witness(field)]:
                known[field] = True
    return Isa(**known) if any(value is not None for value in known.values()) else None


def _witness(field: str) -> str:
    return _WITNESS.get(field, "avx512f" if field.startswith("avx512") else field)


def avx512_quality(isa: Isa | None, vector_width_bits: int | None) -> str | None:
    """`absent`, `partial`, `double-pumped` or `full-width`; None where flags or datapath are not known.

    Partial: some AVX-512, without all of F, BW, DQ and VL (Knights Landing), or without CD where that is known.
    """
    if isa is None:
        return None
    core = [getattr(isa, field) for field in _CORE]
    if isa.avx512f is False and not any(getattr(isa, field) for field in _AVX512):
        return "absent"
    if False in core or isa.avx512cd is False:
        return "partial"
    if None in core:
        return None
    return {512: "full-width", 256: "double-pumped"}.get(vector_width_bits or 0)


def runs_code_for(vendor: str | None, flags: Iterable[str] | None, isa: Isa | None) -> str | None:
    """archspec's name of the most demanding microarchitecture whose features are all there; None without a list.

    A lower bound of what the CPU is, and what a compiler may be told. As in archspec the vendor's own entries are
    preferred if they descend from the best generic level.
    """
    if flags is None:
        return None
    names = {normalised(flag) for flag in flags} | _NOT_CODE
    names |= {normalised(field) for field in Isa.__struct_fields__ if isa is not None and getattr(isa, field)}
    fitting = [entry for entry in microarchitectures() if {normalised(name) for name in entry.features} <= names]
    generic = [entry for entry in fitting if entry.vendor == "generic"]
    if not generic:
        return None
    best = max(generic, key=_rank)
    own = [entry for entry in fitting if entry.vendor == vendor and best.name in entry.ancestors]
    return max(own, key=_rank, default=best).name


def _rank(entry: Microarchitecture) -> tuple[int, int]:
    return len(entry.ancestors), len(entry.features)
