"""Thread counts in the environment, as the OpenMP runtimes and MKL read them.

torch takes MKL_NUM_THREADS before OMP_NUM_THREADS where MKL is linked (measured with torch 2.13.0+cpu on Linux). A
count above the physical cores of the affinity mask has no effect there, unless MKL_DYNAMIC is false: OMP_NUM_THREADS=16
on two cores leaves torch at 2. So a variable proves a small count, and never a large one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.knowledge.env_vars import env_variable
from doctor.machine.model import Fact, Machine
from doctor.machine.unknowns import is_partial

MKL, OMP = "MKL_NUM_THREADS", "OMP_NUM_THREADS"


class ThreadFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "one_variables": ("env", "torch.blas", "torch.num_threads"),
        "one_variable": ("env", "torch.blas", "torch.num_threads"),
        "from_default": ("torch.default_num_threads", "env"),
        "by_launcher": ("env",),
    }
    one_variables: tuple[str, ...] | None = None  # those that hold torch at one thread
    one_variable: str | None = None  # the first of them, which decides; "none" where there is none
    from_default: bool | None = None  # torch's count is its own default
    by_launcher: bool | None = None  # torchrun, MPI or Slurm started this process


def thread_facts(machine: Machine, today: date | None = None) -> ThreadFacts:
    ones = _one_variables(machine)
    return ThreadFacts(
        one_variables=ones,
        one_variable=None if ones is None else next(iter(ones), "none"),
        from_default=_from_default(machine),
        by_launcher=_by_launcher(machine),
    )


def count_in(env: Mapping[str, str], name: str) -> int | None:
    """The number of threads that a variable asks for. A list of counts is one per nesting level: the first counts.
    None where the variable is unset, or where a runtime would not take its value."""
    word = env.get(name, "").partition(",")[0].strip()
    count = int(word) if word.isascii() and word.isdigit() and len(word) <= 6 else 0
    return count or None


def _one_variables(machine: Machine) -> tuple[str, ...] | None:
    env, torch = machine.env, machine.torch
    if env is None:
        return None
    if is_partial(machine, "env") and MKL not in env and OMP not in env:
        return None
    mkl, omp = count_in(env, MKL), count_in(env, OMP)
    ones = tuple(name for name, count in ((MKL, mkl), (OMP, omp)) if count == 1)
    threads = torch.num_threads if torch else None
    if not ones or threads is not None:
        return ones if threads == 1 else ()
    reads_mkl = None if torch is None or torch.blas is None else torch.blas == "mkl"
    if mkl is None or reads_mkl is False:
        return (OMP,) if omp == 1 else ()
    if mkl == omp == 1:
        return ones
    # One of the two says 1 and the other more: which one counts depends on the BLAS.
    return None if reads_mkl is None else (MKL,) if mkl == 1 else ()


def _from_default(machine: Machine) -> bool | None:
    env, torch = machine.env, machine.torch
    if torch is not None and None not in (torch.num_threads, torch.default_num_threads):
        return torch.num_threads == torch.default_num_threads
    if env is None or (is_partial(machine, "env") and MKL not in env and OMP not in env):
        return None
    return count_in(env, MKL) is None and count_in(env, OMP) is None


def _by_launcher(machine: Machine) -> bool | None:
    if machine.env is None:
        return None
    return any(_is_launchers(name) for name in machine.env) or (None if is_partial(machine, "env") else False)


def _is_launchers(name: str) -> bool:
    row = env_variable(name)
    return row is not None and row.family == "launcher"
