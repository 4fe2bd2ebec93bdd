"""Asks every probe and puts what they found into one machine document. A probe that fails takes nobody with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias, get_type_hints

import msgspec

from doctor.machine.crash import Crash
from doctor.machine.model import Fact, Machine, SourceRow, UnknownFact, merged
from doctor.machine.unknowns import without_known_unknowns
from doctor.probes.found import Found
from doctor.sources.base import Source
from doctor.sources.redaction import redacted_error

Probe: TypeAlias = Callable[[Source], Found]

#: Name, and the probe itself or the module that holds `probe`. A module is imported when its turn comes.
PROBES: tuple[tuple[str, str | Probe], ...] = (
    ("system", "doctor.probes.system"),
    ("cpu", "doctor.probes.cpu"),
    ("topology", "doctor.probes.topology"),
    ("limits", "doctor.probes.limits"),
    ("memory", "doctor.probes.memory"),
    ("allocation", "doctor.probes.allocation"),
    ("power", "doctor.probes.power"),
    ("python", "doctor.probes.python"),
    ("torch", "doctor.probes.torch"),
    ("rocm-devices", "doctor.probes.rocm_devices"),
    ("directml", "doctor.probes.directml"),
    ("environment", "doctor.probes.environment"),
    ("nodes", "doctor.probes.nodes"),
    ("gpus", "doctor.probes.gpus"),
    ("rocm", "doctor.probes.rocm"),
)


#: What each area of the document holds; the other three are filled in here.
_AREAS = {name: kind for name, kind in get_type_hints(Machine).items() if name not in ("schema", "sources", "unknowns")}


class Collected(msgspec.Struct, frozen=True):
    """A machine as its source tells it. `origins` maps a dotted fact to what gave it, `seconds` a probe to its time."""

    machine: Machine
    crashed: tuple[Crash, ...] = ()
    origins: Mapping[str, str] = {}
    seconds: Mapping[str, float] = {}


def collect(source: Source, probes: tuple[tuple[str, str | Probe], ...] | None = None) -> Collected:
    """Ask every probe (`PROBES` unless others are given). Never raises for a probe that fails."""
    facts: dict[str, Any] = {}
    unknowns: list[UnknownFact] = []
    crashed: list[Crash] = []
    origins: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for name, probe in PROBES if probes is None else probes:
        began = time.monotonic()
        try:
            found = _loaded(probe)(source)
            facts = _with(facts, found.facts)
        except Exception as error:
            crashed.append(Crash(f"probe:{name}", redacted_error(error)))
        else:
            unknowns += found.unknowns
            origins.update(found.origins)
        seconds[name] = time.monotonic() - began
    origin = source.origin
    row = SourceRow(kind=origin.kind, name=origin.name, taken_at=origin.taken_at)
    machine = Machine(**{**facts, "sources": (row,), "unknowns": tuple(unknowns)})
    return Collected(without_known_unknowns(machine), tuple(crashed), origins, seconds)


def _loaded(probe: str | Probe) -> Probe:
    if not isinstance(probe, str):
        return probe
    loaded: Probe = import_module(probe).probe
    return loaded


def _with(facts: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """`facts` and what a further probe found. Raises where a fact does not fit the document."""
    whole = dict(facts)
    for area, value in found.items():
        if value is None:
            continue
        # A document that a probe filled with something else could be printed, but not read back with `--from`.
        if msgspec.convert(msgspec.to_builtins(value), _AREAS[area]) != value:
            raise TypeError(f"{area} is of another type: {type(value).__name__}")
        before = whole.get(area)
        if isinstance(before, dict):
            value = {**before, **value}
        elif isinstance(before, Fact):
            value = merged(before, value)
        elif before is not None and area == "exercises":  # each device has its own
            value = (*before, *value)
        whole[area] = value
    return whole
