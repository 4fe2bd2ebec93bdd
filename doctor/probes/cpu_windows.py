"""Who the CPU of a Windows machine is (registry), and what it can do (CPUID through py-cpuinfo, then torch itself).

The registry's FeatureSet is not read: it has no bit for AVX or anything newer. What py-cpuinfo never reads stays
unknown; what torch says counts for more, because it also asks whether Windows saves the wide registers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.machine.model import Cpu, Isa, UnknownFact, merged
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source
from doctor.texts.flags import isa_of, normalised

KEY = r"HKLM\HARDWARE\DESCRIPTION\System\CentralProcessor\0"

#: py-cpuinfo 9 adds what it makes of FeatureSet, whose bits mean something else: `3dnow` and `ia64` on an EPYC 9004
#: (seen 2026-11-30). None of these says anything that is asked for.
_MADE_UP = frozenset({"3dnow", "acpi", "dts", "ia64", "sepamd", "serial", "ss", "tm"})

_IDENTIFIER = re.compile(r"\bFamily (\d{1,4}) Model (\d{1,4}) Stepping (\d{1,4})\b", re.ASCII)


def probe(source: Source) -> Found:
    identity, unknowns = _identity(source)
    flags = _flags(source)
    capabilities = _capabilities(source)
    isa: Isa | None = None
    origins = {f"cpu.{fact}": KEY for fact in ("vendor", "name", "family", "model", "stepping")}
    if not isinstance(flags, Missing):
        isa = isa_of(flags)
        origins["cpu.flags"] = origins["cpu.isa"] = "CPUID, read by py-cpuinfo"
    if capabilities is not None:
        isa = merged(isa, isa_from_capabilities(capabilities))
        origins["cpu.isa"] = "torch.cpu.get_capabilities()"
    if isa is None and isinstance(flags, Missing):
        unknowns.append(unknown("cpu.isa", flags))
    known = None if isinstance(flags, Missing) else flags
    return Found(
        facts={"cpu": merged(identity, Cpu(flags=known, isa=isa))}, unknowns=tuple(unknowns), origins=origins
    )


def _identity(source: Source) -> tuple[Cpu, list[UnknownFact]]:
    name, vendor, identifier = (
        source.registry(KEY, value) for value in ("ProcessorNameString", "VendorIdentifier", "Identifier")
    )
    unknowns = [
        unknown(fact, answer)
        for fact, answer in (("cpu.name", name), ("cpu.vendor", vendor), ("cpu.family", identifier))
        if isinstance(answer, Missing)
    ]
    found = _IDENTIFIER.search(identifier) if isinstance(identifier, str) else None
    family, model, stepping = (int(number) for number in found.groups()) if found else (None, None, None)
    return (
        Cpu(vendor=_words(vendor), name=_words(name), family=family, model=model, stepping=stepping),
        unknowns,
    )


def _words(answer: str | int | Missing) -> str | None:
    """The text with single blanks: the name is padded to 48 characters."""
    return " ".join(answer.split()) or None if isinstance(answer, str) else None


def _flags(source: Source) -> tuple[str, ...] | Missing:
    """What py-cpuinfo read by CPUID. Where CPUID failed it still gives the flags of the registry, which know no SSE3:
    those are no answer."""
    answer = source.api("cpuinfo")
    if isinstance(answer, Missing):
        return answer
    flags = answer.get("flags") if isinstance(answer, dict) else None
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        return Missing("probe-failed", "py-cpuinfo gave no flags")
    if not {normalised(flag) for flag in flags} >= {"sse2", "pni"}:
        return Missing("probe-failed", "py-cpuinfo could not read CPUID")
    return tuple(flag for flag in flags if flag not in _MADE_UP)


def _capabilities(source: Source) -> Mapping[str, Any] | None:
    """What torch.cpu.get_capabilities() said in the target, where the exercise ran and this torch has it."""
    answer = source.exercise("cpu")
    events = answer.get("events") if isinstance(answer, dict) else None
    for event in events if isinstance(events, list) else ():
        facts = event.get("facts") if isinstance(event, dict) and event.get("name") == "cpu-capability" else None
        found = facts.get("capabilities") if isinstance(facts, dict) else None
        if isinstance(found, dict) and found:
            return found
    return None


def isa_from_capabilities(capabilities: Mapping[str, Any]) -> Isa:
    """The instruction set as torch found it enabled: `{"avx2": True, "avx512_f": False, …}`. What it does not name is
    unknown."""
    named = {normalised(name): enabled for name, enabled in capabilities.items() if isinstance(enabled, bool)}
    return Isa(**{field: named.get(normalised(field)) for field in Isa.__struct_fields__})
