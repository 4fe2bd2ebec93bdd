"""OpenBLAS: is it in use here, how many threads does it start, and how many would fit.

Torch's official wheels do not use it; NumPy's and SciPy's wheels bring it along.
"""

from __future__ import annotations

from doctor.derive.thread_variables import count_in
from doctor.machine.model import Limits, Machine
from doctor.machine.unknowns import is_partial

#: Wheels from PyPI that carry an OpenBLAS of their own on Linux and Windows.
_CARRIERS = ("numpy", "scipy")
_WHEEL_INSTALLERS = ("pip", "uv")

#: OpenBLAS reads its own variables before OMP_NUM_THREADS (driver/others/memory.c).
_OPENBLAS_COUNTS = ("OPENBLAS_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
#: The OpenBLAS of NumPy's wheels starts no more threads than this, whatever the machine has.
_OPENBLAS_IN_WHEELS = 64
#: What glibc gives a thread where the stack has no limit (x86-64).
_UNLIMITED_STACK_BYTES = 2 * 1024 * 1024


def numpy_uses_openblas(machine: Machine) -> bool | None:
    """True where OpenBLAS was seen in a process with torch and NumPy, or where NumPy came as a wheel."""
    loaded = _loaded(machine)
    if loaded:
        return True
    packages = machine.packages
    if packages is None:
        return None
    numpy = packages.get("numpy")
    if numpy is None:
        return False if loaded is False else None
    if loaded is None and numpy.installer in _WHEEL_INSTALLERS and _has_wheels_with_openblas(machine):
        return True
    return loaded


def anything_uses_openblas(machine: Machine) -> bool | None:
    """As `numpy_uses_openblas`, and also what only a program that imports more than NumPy would load."""
    if machine.torch is not None and machine.torch.blas == "openblas":
        return True
    loaded, packages = _loaded(machine), machine.packages
    if loaded or packages is None or machine.torch is None or machine.torch.blas is None:
        return True if loaded else None
    if any(name in packages and name != "numpy" for name in _CARRIERS):
        return None
    return loaded if "numpy" in packages or is_partial(machine, "packages") else False


def _loaded(machine: Machine) -> bool | None:
    if machine.libraries is None:
        return None
    return any(row.kind == "blas" and "openblas" in (row.name or "").lower() for row in machine.libraries)


def _has_wheels_with_openblas(machine: Machine) -> bool:
    return machine.os is not None and machine.os.kind in ("linux", "windows")


def openblas_threads(machine: Machine) -> int | None:
    """Counted where it was seen to run, else what its variables ask for, else one for each CPU of the mask."""
    seen = [row.threads for row in machine.libraries or () if row.kind == "blas" and "openblas" in (row.name or "")]
    counted = [threads for threads in seen if threads is not None]
    if counted:
        return max(counted)
    if machine.env is None:
        return None
    asked = next((count for name in _OPENBLAS_COUNTS if (count := count_in(machine.env, name))), None)
    if asked is None and is_partial(machine, "env"):
        return None
    allowed = machine.limits.affinity_cpus if machine.limits else None
    wanted = asked or allowed
    return None if wanted is None else min(wanted, _OPENBLAS_IN_WHEELS)


def thread_stack_bytes(limits: Limits | None) -> int | None:
    """The address space that each new thread's stack takes."""
    stack = limits.stack_bytes if limits else None
    return stack if stack is None or isinstance(stack, int) else _UNLIMITED_STACK_BYTES


def fitting_threads(machine: Machine, stack_bytes: int | None) -> int | None:
    """The budget where it fits; else half of the tightest limit, which leaves room for everything else. A limit that
    is unknown, or does not bind, takes no part."""
    limits = machine.limits or Limits()
    space = limits.address_space_bytes
    halves = [
        limits.cgroup.pids_max if limits.cgroup else None,
        None if machine.os is None or machine.os.is_root is not False else limits.max_processes,
        space // stack_bytes if isinstance(space, int) and stack_bytes else None,
    ]
    bounds = [limits.cpu_budget, *(half // 2 for half in halves if isinstance(half, int))]
    known = [bound for bound in bounds if bound is not None]
    return max(1, min(known)) if known else None
