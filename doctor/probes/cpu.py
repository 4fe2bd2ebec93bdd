"""Who the CPU is and what its feature list promises. Linux: /proc/cpuinfo. Windows: `cpu_windows`."""

from __future__ import annotations

from typing import Any

from doctor.machine.model import Cpu
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source
from doctor.texts.cpuinfo import read_cpuinfo
from doctor.texts.flags import isa_of

_CPUINFO = "/proc/cpuinfo"
_FACTS = ("vendor", "name", "family", "model", "stepping", "flags", "isa")


def probe(source: Source) -> Found:
    if source.origin.platform == "windows":
        from doctor.probes import cpu_windows

        return cpu_windows.probe(source)
    text = source.text(_CPUINFO)
    if isinstance(text, Missing):
        return _from_py_cpuinfo(source, text)
    return _found(read_cpuinfo(text).cpu, _CPUINFO, Missing("probe-failed", f"{_CPUINFO} does not say"))


def _from_py_cpuinfo(source: Source, why: Missing) -> Found:
    """The last resort where there is no /proc: brand, numbers and feature list of py-cpuinfo."""
    answer = source.api("cpuinfo")
    if isinstance(answer, Missing) or not isinstance(answer, dict):
        return _found(Cpu(), _CPUINFO, why)
    flags = answer.get("flags")
    names = tuple(flag for flag in flags if isinstance(flag, str)) if isinstance(flags, list) else ()
    return _found(
        Cpu(
            vendor=_text(answer.get("vendor_id_raw")),
            name=_text(answer.get("brand_raw")),
            family=_number(answer.get("family")),
            model=_number(answer.get("model")),
            stepping=_number(answer.get("stepping")),
            flags=names or None,
            isa=isa_of(names) if names else None,
        ),
        "py-cpuinfo",
        Missing("probe-failed", "py-cpuinfo does not say"),
    )


def _found(cpu: Cpu, origin: str, why: Missing) -> Found:
    known = [fact for fact in _FACTS if getattr(cpu, fact) is not None]
    return Found(
        facts={"cpu": cpu} if known else {},
        unknowns=tuple(unknown(f"cpu.{fact}", why) for fact in ("name", "isa") if fact not in known),
        origins={f"cpu.{fact}": origin for fact in known},
    )


def _text(value: Any) -> str | None:
    return " ".join(value.split()) or None if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
