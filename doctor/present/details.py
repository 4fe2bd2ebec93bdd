"""What `-v` adds: every fact of an area with its value and where it came from, and how long each part took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from doctor.present.checked import Checked
from doctor.present.gpu_memory import memory_view
from doctor.present.language import joined, say
from doctor.present.terminal import Line, Look, line
from doctor.present.text import seconds_text, wrap

#: Which parts of the document belong to an area of the screen.
_PARTS = {
    "cpu": ("cpu",),
    "topology": ("cpu.sockets", "cpu.online", "cpu.cores", "cpu.l3_groups", "cpu.numa_nodes"),
    "memory": ("memory",),
    "limits": ("limits",),
    "power": ("power", "cpu.governor", "cpu.energy_preference", "cpu.scaling_driver", "cpu.boost", "cpu.max_mhz"),
    "system": ("os", "windows"),
    "python": ("python", "packages"),
    "pytorch": ("torch", "libraries", "exercises"),
    "environment": ("env",),
    "gpu": ("gpus", "nodes"),
    "rocm": ("rocm",),
    "directml": ("torch_directml",),
}
_ELSEWHERE = {fact for area in ("topology", "power") for fact in _PARTS[area] if fact.startswith("cpu.")}
_INDENT = 6
_VALUE_LIMIT = 300


def area_details(area: str, checked: Checked) -> list[Line]:
    """`cpu.family = 25  (/proc/cpuinfo)` for every known fact of the area; of an integrated GPU first its memory."""
    lines = [line(" " * _INDENT + text) for text in (memory_view(checked.machine) if area == "gpu" else ())]
    for part in _PARTS[area]:
        for fact, value in _facts(part, checked):
            if area == "cpu" and fact in _ELSEWHERE:
                continue
            origin = origin_of(fact, checked.origins)
            lines.append(line(f"{' ' * _INDENT}{fact} = {value}{f'  ({origin})' if origin else ''}", "dim"))
    return lines


def _facts(part: str, checked: Checked) -> Iterator[tuple[str, str]]:
    value: Any = msgspec.to_builtins(checked.machine)
    for name in part.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    yield from _rows(part, value)


def _rows(fact: str, value: Any) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if isinstance(value, dict) and not value:
        yield fact, "none"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _rows(f"{fact}.{name}", inner)
    elif isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        for at, inner in enumerate(value):
            yield f"{fact}[{at}]", _short(", ".join(f"{name} {item}" for name, item in inner.items()))
    elif isinstance(value, list | tuple):
        yield fact, _short(" ".join(str(item) for item in value) or "none")
    else:
        yield fact, _short(str(value).lower() if isinstance(value, bool) else str(value))


def _short(text: str) -> str:
    if len(text) <= _VALUE_LIMIT:
        return text
    return say("{text}… ({count} characters)", text=text[:_VALUE_LIMIT], count=len(text))


def origin_of(fact: str, origins: Mapping[str, str]) -> str:
    """Where a fact came from: its own entry, else that of the nearest thing that holds it."""
    name = fact.partition("[")[0]
    while name:
        if name in origins:
            return origins[name]
        name = name.rpartition(".")[0]
    return ""


def timing_lines(checked: Checked, look: Look) -> list[Line]:
    """How long each part of the doctor took, longest first."""
    timed = sorted(checked.seconds.items(), key=lambda item: -item[1])
    if not timed:
        return []
    text = say("Time: {parts}", parts=joined(f"{name} {seconds_text(seconds)}" for name, seconds in timed))
    return [line(part) for part in wrap(text, look.columns, hang=2)]
