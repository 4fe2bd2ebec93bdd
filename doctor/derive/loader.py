"""How many threads run at once while a DataLoader with several workers feeds PyTorch.

PyTorch itself gives each worker one thread. NumPy's BLAS does not: it starts as many there as in the main process.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.derive.pytorch import cpu_backend
from doctor.machine.model import Fact, Machine


class LoaderFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "main_threads": ("torch.num_threads", "intent.backend", "torch.is_available"),
        "running_threads": ("intent.workers", "torch.num_threads", "intent.backend"),
        "pool_threads": ("libraries",),
        "workers": ("limits.cpu_budget",),
    }
    main_threads: int | None = None  # busy in the main process: one where a GPU does the work
    running_threads: int | None = None  # those, and one for each worker
    pool_threads: int | None = None  # of NumPy's BLAS, in each worker that uses it; 1 where none is loaded
    workers: int | None = None  # a good number to start from: half the CPUs


def loader_facts(machine: Machine, today: date | None = None) -> LoaderFacts:
    wanted = machine.intent.workers if machine.intent else None
    budget = machine.limits.cpu_budget if machine.limits else None
    main = _main_threads(machine)
    rows = machine.libraries
    pools = [row.threads for row in rows or () if row.kind == "blas" and row.threads is not None]
    return LoaderFacts(
        main_threads=main,
        running_threads=None if wanted is None or main is None else wanted + main,
        pool_threads=None if rows is None else max(pools, default=1),
        workers=None if budget is None else max(1, budget // 2),
    )


def _main_threads(machine: Machine) -> int | None:
    on_cpu = cpu_backend(machine)
    if on_cpu is False:
        return 1
    return machine.torch.num_threads if on_cpu and machine.torch else None
