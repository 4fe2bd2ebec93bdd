"""How old are the knowledge tables that a verdict on this machine rests on?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from typing import ClassVar

from doctor.knowledge.location import rules_folder
from doctor.machine.model import Fact, Machine

_DATE = re.compile(r'^date: "(\d{4}-\d{2}-\d{2})"', re.MULTILINE)


def _knows_cpu(machine: Machine) -> bool:
    return machine.cpu is not None and machine.cpu.family is not None


def _knows_environment(machine: Machine) -> bool:
    return bool(machine.env)


def _lacks_torch(machine: Machine) -> bool:
    return machine.python is not None and machine.torch is not None and not machine.torch.installed


def _knows_modules(machine: Machine) -> bool:
    return machine.memory is not None and bool(machine.memory.modules)


def _came_from_lscpu(machine: Machine) -> bool:
    return any(source.kind in ("lscpu", "collect_env") for source in machine.sources or ())


def _has_amd_gpu(machine: Machine) -> bool:
    return any(gpu.vendor == "amd" for gpu in machine.gpus or ())


def _concerns_directml(machine: Machine) -> bool:
    asked = machine.intent is not None and machine.intent.backend == "directml"
    return asked or (machine.torch_directml is not None and bool(machine.torch_directml.installed))


def _has_rocm_torch_on_windows(machine: Machine) -> bool:
    on_windows = machine.os is not None and machine.os.kind == "windows"
    return on_windows and machine.torch is not None and machine.torch.hip not in (None, "none")


def _knows_products(machine: Machine) -> bool:
    return machine.measurements is not None and machine.measurements.gemm is not None


def _never(machine: Machine) -> bool:
    """It is read by people; no verdict rests on it."""
    return False


#: A table's file name without its ending, and on which machines a verdict rests on it. Every table has its line here
#: (a test holds that); one without would never be called old.
USED_WHERE: Mapping[str, Callable[[Machine], bool]] = {
    "directml": _concerns_directml,
    "env_vars": _knows_environment,
    "folk": _never,
    "gfx": _has_amd_gpu,
    "l3_groups": _came_from_lscpu,
    "lscpu_labels": _came_from_lscpu,
    "memory_bus": _knows_modules,
    "official_pages": _lacks_torch,
    "peak_flop": _knows_products,
    "python_support": _lacks_torch,
    "rocm_arch": _has_amd_gpu,
    "rocm_wheels": _has_amd_gpu,
    "windows_drivers": _has_rocm_torch_on_windows,
    "zen": _knows_cpu,
}


class TableFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "oldest": ("cpu.family", "env", "gpus", "memory.modules", "python.version"),
        "oldest_days": ("cpu.family", "env", "gpus", "memory.modules", "python.version"),
    }
    oldest: str | None = None  # the oldest table in use: "zen of 2026-11-30"; "none" where none is
    oldest_days: int | None = None  # its age; 0 where none is in use, unknown without a date of today


def table_facts(machine: Machine, today: date | None = None) -> TableFacts:
    used = {
        name: written for name, written in table_dates().items() if name in USED_WHERE and USED_WHERE[name](machine)
    }
    if not used:
        return TableFacts(oldest="none", oldest_days=0)
    name = min(used, key=lambda name: (used[name], name))
    return TableFacts(
        oldest=f"{name} of {used[name].isoformat()}",
        oldest_days=None if today is None else max(0, (today - used[name]).days),
    )


@cache
def table_dates() -> Mapping[str, date]:
    """The date of every table in `rules/knowledge/`, read from its head alone."""
    dates = {}
    for path in sorted((rules_folder() / "knowledge").glob("*.yaml")):
        found = _DATE.search(path.read_text(encoding="utf-8"))
        if found:
            dates[path.stem] = date.fromisoformat(found[1])
    return dates
