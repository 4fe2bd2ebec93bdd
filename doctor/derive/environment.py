"""What the variables that are set do in this very target: read by nobody, binding threads, or out of date.

Three-valued throughout: a variable is called idle only where every runtime that would read it is known to be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from doctor.derive.runtimes import read_here
from doctor.derive.versions import release_below
from doctor.knowledge.env_vars import env_variable
from doctor.machine.model import Fact, Machine
from doctor.machine.unknowns import is_partial

#: The first MKL that no longer reads MKL_DEBUG_CPU_TYPE, and the first torch wheel whose MKL is that new.
_MKL_WITHOUT_SWITCH = (2020, 1)
_TORCH_WITHOUT_SWITCH = (1, 13, 1)

#: Families whose variables are named, and the field of `IdleVariable` that tells why.
_IN_VAIN = {"nobody": "nobody_reads", "kmp": "only_intel_openmp_reads", "openblas": "only_openblas_reads"}
#: Spoken of by the rule on duplicate OpenMP runtimes.
_SPOKEN_OF = ("KMP_DUPLICATE_LIB_OK",)

#: What the OpenMP runtimes take for "bind", and the names of places that switch binding on by themselves.
_BIND = ("true", "close", "spread", "master", "primary")
_PLACES = ("threads", "cores", "sockets", "ll_caches", "numa_domains", "{")
#: Places that may hold every CPU: binding to one of them may take nothing away.
_WIDE_PLACES = ("sockets", "ll_caches", "numa_domains", "{")


class IdleVariable(Fact, frozen=True):
    """A variable that is set and does nothing here. One of the others repeats its name and so tells why."""

    variable: str
    nobody_reads: str | None = None
    only_intel_openmp_reads: str | None = None
    only_openblas_reads: str | None = None


class EnvironmentFacts(Fact, frozen=True):
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "idle": ("env",),
        "binding_variables": ("env", "torch.openmp"),
        "import_narrows": ("limits.affinity_cpus", "limits.affinity_cpus_after_torch_import", "env", "torch.openmp"),
        "mkl_switch_set": ("env",),
        "mkl_switch_stale": ("env", "torch.blas_version", "libraries", "packages"),
    }
    idle: tuple[IdleVariable, ...] | None = None
    binding_variables: tuple[str, ...] | None = None  # set, and bind threads in torch's OpenMP runtime
    import_narrows: bool | None = None  # `import torch` takes CPUs away from the process and from all its children
    mkl_switch_set: bool | None = None
    mkl_switch_stale: bool | None = None  # no MKL here still reads MKL_DEBUG_CPU_TYPE


def environment_facts(machine: Machine, today: date | None = None) -> EnvironmentFacts:
    env = machine.env
    if env is None:
        return EnvironmentFacts(import_narrows=_measured_narrowing(machine))
    binding = _binding_variables(env, machine)
    return EnvironmentFacts(
        idle=_idle(env, machine),
        binding_variables=binding,
        import_narrows=_import_narrows(machine, binding),
        mkl_switch_set="MKL_DEBUG_CPU_TYPE" in env or (None if is_partial(machine, "env") else False),
        mkl_switch_stale=_mkl_switch_stale(machine),
    )


def _idle(env: Mapping[str, str], machine: Machine) -> tuple[IdleVariable, ...]:
    """Of the families that people set in vain. A variable of ROCm beside a CPU wheel is meant for something else."""
    found = []
    for name in env:
        row = env_variable(name)
        if row is None or row.family not in _IN_VAIN or name in _SPOKEN_OF or read_here(row, machine) is not False:
            continue
        found.append(IdleVariable(variable=name, **{_IN_VAIN[row.family]: name}))
    return tuple(found)


def _binding_variables(env: Mapping[str, str], machine: Machine) -> tuple[str, ...] | None:
    """Where the runtime is unknown, only that there is none of these variables can be known."""
    bind = env.get("OMP_PROC_BIND", "").partition(",")[0].strip().lower()
    found = ["OMP_PROC_BIND"] if bind in _BIND else []
    if bind not in ("false", "0"):
        found += [name for name in ("GOMP_CPU_AFFINITY",) if name in env]
        found += [name for name in ("OMP_PLACES",) if env.get(name, "").strip().lower().startswith(_PLACES)]
    kmp = env.get("KMP_AFFINITY", "").strip().lower()
    asked_of_kmp = kmp not in ("", "none", "disabled")
    runtime = machine.torch.openmp if machine.torch else None
    if asked_of_kmp and runtime is None:
        return None if not found else tuple(found)
    if asked_of_kmp and runtime != "libgomp":
        found.append("KMP_AFFINITY")
    return tuple(found) if found or not is_partial(machine, "env") else None


def _measured_narrowing(machine: Machine) -> bool | None:
    limits = machine.limits
    before = limits.affinity_cpus if limits else None
    after = limits.affinity_cpus_after_torch_import if limits else None
    return None if before is None or after is None else after < before


def _import_narrows(machine: Machine, binding: tuple[str, ...] | None) -> bool | None:
    """Measured, else known of libgomp: each of its binding variables leaves the importing thread on one place."""
    measured = _measured_narrowing(machine)
    if measured is not None:
        return measured
    if binding is None:
        return None
    if not binding:
        return False
    runtime = machine.torch.openmp if machine.torch else None
    places = (machine.env or {}).get("OMP_PLACES", "").strip().lower()
    if runtime != "libgomp" or places.startswith(_WIDE_PLACES):
        return None
    before = machine.limits.affinity_cpus if machine.limits else None
    return False if before == 1 else True if before is not None else None


def _mkl_switch_stale(machine: Machine) -> bool | None:
    """None where an MKL of unknown version may be there."""
    verdicts = [release_below(version, _MKL_WITHOUT_SWITCH) for version in _mkl_versions(machine)]
    if True in verdicts:
        return False
    if None in verdicts:
        return None
    return True if verdicts or _no_mkl(machine) else None


def _mkl_versions(machine: Machine) -> list[str | None]:
    """The version of each MKL that is known to be there, None for one without. An MKL of torch's official wheels is
    new enough from 1.13.1 on."""
    torch = machine.torch
    found = [row.version for row in machine.libraries or () if row.kind == "blas" and "mkl" in (row.name or "").lower()]
    package = (machine.packages or {}).get("mkl")
    if package is not None:
        found.append(package.version)
    if torch is not None and torch.blas == "mkl":
        wheel = (machine.packages or {}).get("torch")
        by_pip = wheel is not None and wheel.installer in ("pip", "uv")
        new_wheel = by_pip and release_below(torch.version, _TORCH_WITHOUT_SWITCH) is False
        if torch.blas_version is not None or not new_wheel:
            found.append(torch.blas_version)
        else:
            found.append("2020.1")
    return found


def _no_mkl(machine: Machine) -> bool:
    torch = machine.torch
    elsewhere = torch is not None and (torch.installed is False or torch.blas not in (None, "mkl"))
    listed = machine.packages is not None and not is_partial(machine, "packages")
    return elsewhere and machine.libraries is not None and listed
