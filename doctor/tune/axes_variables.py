"""The axes that end as variables and are tried on top of the leading thread count: what fits this machine, what not.

A variable is tried only where something in the target reads it and the chip can run what it asks for. What was left
out is told with its reason. Where the user's own environment already sets such a variable, taking it out is tried:
his environment is the default that everything is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from doctor.derive.blas import blas_facts
from doctor.derive.versions import release_below
from doctor.machine.model import Isa, Machine
from doctor.measure.workloads import COMMAND
from doctor.tune.arms import Addition
from doctor.tune.skipped import Skipped
from doctor.tune.wanted import NUMPY, Wanted


class Asked(msgspec.Struct, frozen=True):
    """What the axes look at: the completed document, the environment of the target, and what the user asked for."""

    machine: Machine
    env: Mapping[str, str]
    wanted: Wanted


Tried = Iterator[Addition | Skipped]

#: The first torch that reads THP_MEM_ALLOC_ENABLE (pytorch#115990, the pick into release/2.2 of #107697).
_HUGE_PAGES_SINCE = (2, 2)
_INTEL_OPENMP = ("libiomp5", "libomp")
#: Workloads whose time goes into MKL's products, which do not look at ATen's capability.
_PRODUCTS_ONLY = ("gemm-", "numpy-")
#: What goes through oneDNN in float32: convolutions. A user's own command may.
_THROUGH_ONEDNN = ("conv-train", COMMAND)
_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
_ONEDNN_CAPS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKLDNN_MAX_CPU_ISA")
#: What the 512-bit kernels of ATen, oneDNN and OpenBLAS ask for.
_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
#: OpenBLAS' kernel families for AMD's chips, and what each needs.
_CORETYPES = {
    "Cooperlake": (*_AVX512, "avx512_bf16"),
    "SkylakeX": _AVX512,
    "Zen": ("avx2", "fma"),
    "Haswell": ("avx2", "fma"),
}


def wait_policy(asked: Asked) -> Tried:
    """libgomp spins for a while before an idle thread sleeps; Intel's and LLVM's runtimes for 200 ms."""
    openmp, env = asked.machine.torch.openmp if asked.machine.torch else None, asked.env
    if openmp == "libgomp":
        yield from _spinning_of_libgomp(env)
    elif openmp in _INTEL_OPENMP:
        for name, value, title in (("short", "1", "idle threads sleep after 1 ms"), ("spin", "infinite", _SPINNING)):
            if env.get("KMP_BLOCKTIME", "").strip().lower() != value:
                yield Addition(f"wait-{name}", {"KMP_BLOCKTIME": value}, title, for_threads=True)
    else:
        yield Skipped("wait-policy", "which OpenMP runtime torch loads is not known, so nor is who would read it")


_SPINNING = "idle threads spin"


def _spinning_of_libgomp(env: Mapping[str, str]) -> Tried:
    # GOMP_SPINCOUNT beats OMP_WAIT_POLICY.
    without: dict[str, str | None] = {"GOMP_SPINCOUNT": None} if "GOMP_SPINCOUNT" in env else {}
    for value, title in (("PASSIVE", "idle threads sleep"), ("ACTIVE", _SPINNING)):
        if without or env.get("OMP_WAIT_POLICY", "").strip().upper() != value:
            variables: dict[str, str | None] = {"OMP_WAIT_POLICY": value, **without}
            yield Addition(f"wait-{value.lower()}", variables, title, for_threads=True)


def inherited(asked: Asked) -> Tried:
    """Variables of the user's environment that bind threads: import torch then pins the process and its children."""
    bound = [name for name in _BINDING if name in asked.env]
    if bound:
        yield Addition("unbound", dict.fromkeys(bound), "threads not bound", for_threads=True)


def huge_pages(asked: Asked) -> Tried:
    """THP_MEM_ALLOC_ENABLE makes torch ask for huge pages for tensors of 2 MiB and more."""
    machine, name = asked.machine, "THP_MEM_ALLOC_ENABLE"
    torch, system = machine.torch, machine.os
    older = release_below(torch.version if torch else None, _HUGE_PAGES_SINCE)
    mode = machine.memory.transparent_huge_pages if machine.memory else None
    if system is None or system.kind != "linux":
        yield Skipped("huge-pages", "torch asks for them on Linux only")
    elif older is not False:
        release = "this torch" if older else "a torch of unknown version"
        yield Skipped("huge-pages", f"{release} does not read {name}: 2.2 was the first")
    elif mode == "never":
        yield Skipped("huge-pages", "this kernel has them switched off (transparent_hugepage is never)")
    elif mode is None:
        yield Skipped("huge-pages", "whether this kernel gives them is not known")
    elif asked.env.get(name) == "1":
        yield Addition("without-huge-pages", {name: None}, "no huge pages for tensors")
    else:
        yield Addition("huge-pages", {name: "1"}, "huge pages for large tensors")


def kernel_path(asked: Asked) -> Tried:
    """Narrower vectors can be faster where wide ones lower the clock; a cap that is set can be the brake."""
    yield from _aten_path(asked)
    yield from _onednn_path(asked)
    if asked.machine.torch is not None and asked.machine.torch.blas == "mkl":
        why = "MKL or oneDNN: no variable of torch chooses on x86; the type and the operator decide"
        yield Skipped("kernel-path", why)
    if "MKL_CBWR" in asked.env:
        yield Skipped("kernel-path", "MKL_CBWR is set and stays: it is there for numbers that repeat")


def _aten_path(asked: Asked) -> Tried:
    machine, name = asked.machine, "ATEN_CPU_CAPABILITY"
    workloads = asked.wanted.workloads
    capability = machine.torch.cpu_capability if machine.torch else None
    if name in asked.env:
        yield Addition("aten-own-choice", {name: None}, "ATen chooses its kernels itself")
    elif all(workload.startswith(_PRODUCTS_ONLY) for workload in workloads):
        yield Skipped("kernel-path", f"{name}: matrix products do not read it")
    elif capability is None:
        yield Skipped("kernel-path", f"{name}: which kernels ATen takes here is not known")
    elif capability == "AVX512" and _has(machine, ("avx2", "fma")):
        yield Addition("aten-avx2", {name: "avx2"}, "ATen's kernels for AVX2")
    else:
        yield Skipped("kernel-path", f"{name}: ATen takes {capability} here, there is no narrower path worth a try")


def _onednn_path(asked: Asked) -> Tried:
    name = _ONEDNN_CAPS[0]
    caps = [cap for cap in _ONEDNN_CAPS if cap in asked.env]
    if caps:
        yield Addition("onednn-uncapped", dict.fromkeys(caps), "oneDNN chooses its kernels itself")
    elif not any(workload in _THROUGH_ONEDNN for workload in asked.wanted.workloads):
        yield Skipped("kernel-path", f"{name}: none of the workloads is a convolution, and float32 products use MKL")
    elif _has(asked.machine, _AVX512):
        yield Addition("onednn-avx2", {name: "AVX2"}, "oneDNN's kernels for AVX2")
    else:
        yield Skipped("kernel-path", f"{name}: this chip has no AVX-512 to cap, or it is not known to have it")


def openblas(asked: Asked) -> Tried:
    """Torch's wheels do not use it: only where NumPy alone is measured."""
    name, machine = "OPENBLAS_CORETYPE", asked.machine
    if not asked.wanted.numpy_only:
        if "openblas" in asked.wanted.axes or NUMPY in asked.wanted.workloads:
            yield Skipped("openblas", "torch does not use OpenBLAS; --workload numpy-gemm measures NumPy alone")
        return
    facts = blas_facts(machine)
    if not facts.openblas_loaded or facts.openblas_kernel is None:
        yield Skipped("openblas", "NumPy's BLAS here is not an OpenBLAS whose kernels are known")
        return
    if name in asked.env:
        yield Addition("openblas-own-choice", {name: None}, "OpenBLAS chooses its kernels itself")
        return
    own = facts.openblas_kernel.lower()
    for coretype, needs in _CORETYPES.items():
        if coretype.lower() != own and _has(machine, needs):
            yield Addition(f"openblas-{coretype.lower()}", {name: coretype}, f"OpenBLAS' kernels for {coretype}")


def _has(machine: Machine, fields: tuple[str, ...]) -> bool:
    """Whether the chip is known to have all of them. What is not known is never tried: it may end in SIGILL."""
    isa = (machine.cpu.isa if machine.cpu else None) or Isa()
    return all(getattr(isa, field) is True for field in fields)


#: In their order of priority: what gains most, on most machines, first.
VARIABLE_AXES: Mapping[str, Callable[[Asked], Tried]] = {
    "inherited": inherited,
    "huge-pages": huge_pages,
    "wait-policy": wait_policy,
    "kernel-path": kernel_path,
    "openblas": openblas,
}
