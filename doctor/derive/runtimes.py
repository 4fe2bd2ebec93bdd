"""Which of the runtimes that read variables are there in this target, and so whether anybody reads a variable.

Three-valued: a runtime is called absent only where everything that could bring it in is known not to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from doctor.derive.openblas import anything_uses_openblas
from doctor.knowledge.env_vars import EnvVariable
from doctor.machine.model import Machine
from doctor.machine.unknowns import is_partial

_BRINGS_INTEL_OPENMP = ("intel-openmp", "llvm-openmp", "mkl")


def read_here(variable: EnvVariable, machine: Machine) -> bool | None:
    """Does anything in this target read the variable? False on a system where it does not exist."""
    system = machine.os.kind if machine.os else None
    if system is not None and system not in variable.os:
        return False
    there = [runtime_is_there(runtime, machine) for runtime in variable.read_by]
    return True if True in there else None if None in there else False


def runtime_is_there(runtime: str, machine: Machine) -> bool | None:
    """Is a runtime, by its name in the table of variables, part of this target? None for one that leaves no trace."""
    judge = _JUDGES.get(runtime)
    return None if judge is None else judge(machine)


def _torch(machine: Machine) -> bool | None:
    return machine.torch.installed if machine.torch else None


def _rocm(machine: Machine) -> bool | None:
    torch = machine.torch
    if torch is None or torch.installed is False:
        return None if torch is None else False
    return None if torch.hip is None else torch.hip != "none"


def _directml(machine: Machine) -> bool | None:
    return machine.torch_directml.installed if machine.torch_directml else None


def _numpy(machine: Machine) -> bool | None:
    if machine.packages is None:
        return None
    return "numpy" in machine.packages or (None if is_partial(machine, "packages") else False)


def _libgomp(machine: Machine) -> bool | None:
    if _openmp_of_torch(machine) == "libgomp" or _loaded(machine, "openmp", ("libgomp",)):
        return True
    return None if _openmp_of_torch(machine) is None or machine.libraries is None else False


def _intel_openmp(machine: Machine) -> bool | None:
    """A loaded one is proof; that there is none takes more: torch's own runtime, and either the libraries of the
    process or packages none of which could bring one in."""
    own, packages = _openmp_of_torch(machine), machine.packages
    if own in ("libiomp5", "libomp") or _loaded(machine, "openmp", ("libiomp5", "libomp")):
        return True
    if own is None or (machine.libraries is None and packages is None):
        return None
    brought = any(name in (packages or {}) for name in _BRINGS_INTEL_OPENMP)
    if machine.libraries is None and (brought or is_partial(machine, "packages")):
        return None
    return None if "omp" in (machine.env or {}).get("LD_PRELOAD", "") else False


def _mkl(machine: Machine) -> bool | None:
    blas = machine.torch.blas if machine.torch else None
    if blas == "mkl" or _loaded(machine, "blas", ("mkl",)):
        return True
    return None if blas is None or machine.libraries is None else False


def _blis(machine: Machine) -> bool | None:
    blas = machine.torch.blas if machine.torch else None
    if blas == "blis" or _loaded(machine, "blas", ("blis",)):
        return True
    return None if blas is None or machine.libraries is None else False


def _openmp_of_torch(machine: Machine) -> str | None:
    return machine.torch.openmp if machine.torch else None


def _loaded(machine: Machine, kind: str, names: tuple[str, ...]) -> bool:
    rows = machine.libraries or ()
    return any(row.kind == kind and (row.name or "").lower().startswith(names) for row in rows)


_JUDGES: Mapping[str, Callable[[Machine], bool | None]] = {
    "nobody": lambda machine: False,
    "libgomp": _libgomp,
    "libiomp5": _intel_openmp,
    "openblas": anything_uses_openblas,
    "mkl": _mkl,
    "blis": _blis,
    "numpy": _numpy,
    "aten": _torch,
    "onednn": _torch,
    "torch": _torch,
    "fbgemm": _torch,
    "inductor": _torch,
    "hsa": _rocm,
    "hip": _rocm,
    "miopen": _rocm,
    "directml": _directml,
}
