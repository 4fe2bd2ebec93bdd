"""Threads that would fit behind one L3 cache, and may all the same run on several dies.

Two L3 groups on one die (Zen to Zen 2, Strix Point) cost nothing that was measured; two dies did (Ryzen 9 9900X: a
quarter of the speed, sqliteai/warp#23; nothing on a Ryzen 7 3700X, sqliteai/warp#44). Inside a virtual machine the
groups may be invented, and the virtual CPUs wander over the real ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from statistics import median
from typing import ClassVar

from doctor.derive.budget import BudgetFacts, allowed_cpus, budget_facts
from doctor.derive.cpu import cpu_facts
from doctor.derive.environment import environment_facts
from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Fact, Machine, NoneWord, Os

_TIMES = ("seconds", "ms", " s")


class PlacementFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "apart": (
            "torch.num_threads",
            "limits.cpu_budget",
            "limits.affinity",
            "cpu.l3_groups",
            "cpu.sockets",
            "cpu.family",
            "cpu.model",
            "env",
        ),
        "one_l3_cpus": ("limits.affinity", "cpu.l3_groups"),
    }
    apart: bool | None = None  # the threads fit into one L3 group, and nothing keeps them there
    one_l3_cpus: str | None = None  # where to keep them: one CPU per core where that is known
    one_l3_mask: str | None = None  # the same as `start /affinity` takes it
    gain_percent: float | NoneWord = "none"  # measured: one group against all of them


def placement_facts(machine: Machine, today: date | None = None) -> PlacementFacts:
    budget = budget_facts(machine)
    where = budget.largest_l3_first_threads or budget.largest_l3_cpus
    gain = _gain_percent(machine)
    return PlacementFacts(
        apart=_apart(machine, budget, gain),
        one_l3_cpus=where,
        one_l3_mask=None if where is None else _mask(where),
        gain_percent=gain,
    )


def _apart(machine: Machine, budget: BudgetFacts, gain: float | NoneWord) -> bool | None:
    """The conditions in turn; one that fails decides, whatever is unknown."""
    system = machine.os or Os()
    threads = machine.torch.num_threads if machine.torch else None
    binding = environment_facts(machine).binding_variables
    cores = budget.largest_l3_cores
    conditions = (
        # In a virtual machine, groups and numbers are not those of the hardware.
        system.hypervisor in (None, "none") and not system.wsl,
        isinstance(gain, str) or gain > 0,
        None if threads is None else threads > 1,
        None if budget.l3_groups is None else budget.l3_groups > 1,
        cpu_facts(machine).multiple_dies,
        None if threads is None or cores is None else threads <= cores,
        _has_cpus_for_itself(machine),
        None if binding is None else not binding,
    )
    return False if False in conditions else None if None in conditions else True


def _has_cpus_for_itself(machine: Machine) -> bool | None:
    """Under a quota the CPUs are shared with others, who would be told to go to the same ones."""
    allowed = allowed_cpus(machine)
    count = machine.limits.cpu_budget if machine.limits else None
    return None if allowed is None or count is None else count >= len(allowed)


def _gain_percent(machine: Machine) -> float | NoneWord:
    """Of one group over all of them, as throughput. A unit that is neither a rate nor a time says nothing."""
    measured = machine.measurements.placement if machine.measurements else None
    if measured is None or not measured.one_l3_group or not measured.spread:
        return "none"
    one, spread = median(measured.one_l3_group), median(measured.spread)
    if (measured.unit or "").endswith(_TIMES):
        one, spread = spread, one
    elif not (measured.unit or "").endswith("/s"):
        return "none"
    return 100 * (one / spread - 1) if spread > 0 else "none"


def _mask(cpus: str) -> str | None:
    """A CPU list as a hexadecimal mask; None beyond the 64 CPUs that a mask of Windows holds."""
    ids = parse_cpulist(cpus)
    return None if max(ids, default=64) > 63 else f"{sum(1 << cpu for cpu in ids):X}"
