"""The axes that end as recommendations: what is worth comparing on this machine, and why the rest is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from doctor.machine.model import Isa, Limits, Machine, Memory
from doctor.measure.workloads import COMMAND, WORKLOADS
from doctor.tune.axes_variables import Asked
from doctor.tune.layout import layout_of
from doctor.tune.skipped import Skipped
from doctor.tune.trials import MEMORY_SHARE, Trial

Planned = Iterator[Trial | Skipped]

_PRELOAD = "LD_PRELOAD"
_BY_MOST_LOADERS = 4


def dtype(asked: Asked) -> Planned:
    """Autocast pays only where the chip multiplies bfloat16 by itself. Without, it takes 5 to 90 times as long."""
    isa = (asked.machine.cpu.isa if asked.machine.cpu else None) or Isa()
    named = "dtype" in asked.wanted.axes
    workloads = _nets(asked)
    if not workloads:
        yield Skipped("dtype", "none of the workloads is a network that autocast would change")
    elif not named and not (isa.avx512_bf16 or isa.amx_bf16):
        known = "this chip has no" if isa.avx512_bf16 is False else "this chip is not known to have"
        why = f"{known} bfloat16 instructions: emulated it takes 5 to 90 times as long (pytorch#146508); --axis dtype"
        yield Skipped("dtype", f"{why} measures it")
    else:
        yield Trial(
            axis="dtype",
            title="bfloat16 autocast",
            workloads=workloads,
            code=(
                'with torch.autocast("cpu", dtype=torch.bfloat16):',
                "    loss = loss_function(model(inputs), targets)",
            ),
            in_process=True,
            options={"autocast": "bfloat16"},
            changes_numbers=True,
        )


def batch(asked: Asked) -> Planned:
    workload = _batched(asked)
    if workload is None:
        yield Skipped("batch", "none of the workloads has a batch")
        return
    if memory_limit(asked.machine) is None:
        yield Skipped("batch", "how much memory is free is not known, so no batch could be called safe")
        return
    yield Trial(axis="batch", title="batch size", workloads=(workload,), in_process=True)


def loader(asked: Asked) -> Planned:
    """A worker takes a CPU from the threads that compute: both are tried, with as many threads and with fewer."""
    system = asked.machine.os.kind if asked.machine.os else None
    layout = layout_of(asked.machine)
    workload = next((name for name in _nets(asked) if WORKLOADS[name].trains and name != "fit"), None)
    cpus = layout.budget if layout is not None else 1
    if workload is None:
        yield Skipped("loader", "none of the workloads reads its batches through a DataLoader")
    elif cpus < 2:
        yield Skipped("loader", "with one CPU a worker would only take time from the computation")
    elif system != "linux" and "loader" not in asked.wanted.axes:
        yield Skipped("loader", "workers are started anew here, which takes seconds each; --axis loader measures it")
    else:
        counts = [count for count in (1, 2, _BY_MOST_LOADERS) if count <= cpus // 2]
        yield Trial(
            axis="loader",
            title="DataLoader workers",
            workloads=(workload,),
            in_process=True,
            base_options={"loader_workers": "0"},
            choices=tuple({"loader_workers": str(count)} for count in counts),
        )


def denormals(asked: Asked) -> Planned:
    workloads = _nets(asked)
    if not workloads:
        yield Skipped("denormals", "none of the workloads is a network")
        return
    yield Trial(
        axis="denormals",
        title="denormal numbers flushed to zero",
        workloads=workloads,
        code=("import torch", "torch.set_flush_denormal(True)"),
        options={"flush_denormal": "1"},
    )


def interop(asked: Asked) -> Planned:
    workloads = _nets(asked)
    threads = asked.machine.torch.interop_threads if asked.machine.torch else None
    if not workloads:
        yield Skipped("interop", "none of the workloads is a network")
    elif threads == 1:
        yield Skipped("interop", "there is one inter-op thread already")
    else:
        yield Trial(
            axis="interop",
            title="one inter-op thread",
            workloads=workloads,
            code=("import torch", "torch.set_num_interop_threads(1)  # before anything runs in parallel"),
            options={"interop_threads": "1"},
        )


def allocator(asked: Asked) -> Planned:
    """It ends as a line for one command, not in the env file: a shell that sourced LD_PRELOAD would load the library
    into every program it starts, and `amd-doctor run` refuses the name, because it loads code from a file."""
    system = asked.machine.os.kind if asked.machine.os else None
    found = (asked.machine.memory or Memory()).allocators
    before = asked.env.get(_PRELOAD, "")
    if system != "linux":
        yield Skipped("allocator", "another one can be preloaded on Linux only")
    elif found is None:
        yield Skipped("allocator", "whether tcmalloc or jemalloc is installed is not known")
    elif any(name in before for name in ("tcmalloc", "jemalloc")):
        yield Skipped("allocator", f"one is preloaded already: {PurePosixPath(before.split(':')[0]).name}")
    elif not found:
        yield Skipped("allocator", "neither tcmalloc nor jemalloc is installed")
    else:
        for path in _one_of_each(found):
            value = f"{path}:{before}" if before else path
            name = PurePosixPath(path).name
            yield Trial(
                axis="allocator",
                title=f"memory from {name.split('.')[0].removeprefix('lib')}",
                workloads=asked.wanted.workloads,
                code=(f"{_PRELOAD}={path} python train.py",),
                detail="for one command: a shell that has it loads the library into every program",
                variables={_PRELOAD: value},
            )


def binding(asked: Asked) -> Planned:
    openmp = asked.machine.torch.openmp if asked.machine.torch else None
    if openmp is None:
        yield Skipped("binding", "which OpenMP runtime torch loads is not known")
        return
    yield Trial(
        axis="binding",
        title="threads bound to cores by OpenMP",
        workloads=asked.wanted.workloads,
        code=("OMP_PROC_BIND=close OMP_PLACES=cores python train.py",),
        detail="never in a file: import torch then leaves the process, and every DataLoader worker, one place to run",
        variables={"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"},
        may_pin=True,
    )


def fpmath(asked: Asked) -> Planned:
    isa = (asked.machine.cpu.isa if asked.machine.cpu else None) or Isa()
    if not (isa.avx512_bf16 or isa.amx_bf16):
        yield Skipped("fpmath", "pointless without bfloat16 instructions, and this chip is not known to have them")
        return
    yield Trial(
        axis="fpmath",
        title="oneDNN's float32 products in bfloat16",
        workloads=asked.wanted.workloads,
        code=("ONEDNN_DEFAULT_FPMATH_MODE=BF16 python train.py",),
        detail="it changes numbers: look at your own accuracy before you keep it",
        variables={"ONEDNN_DEFAULT_FPMATH_MODE": "BF16"},
        changes_numbers=True,
    )


#: In their order of priority: what a small budget takes first.
ADVICE_AXES: Mapping[str, Callable[[Asked], Planned]] = {
    "batch": batch,
    "dtype": dtype,
    "fpmath": fpmath,
    "binding": binding,
    "loader": loader,
    "allocator": allocator,
    "denormals": denormals,
    "interop": interop,
}

#: What also a user's own command can be measured with: it needs no option of the worker.
FOR_COMMANDS = ("allocator", "binding", "fpmath")


def memory_limit(machine: Machine) -> int | None:
    """The bytes that a process may grow to: a share of what is free, of the cgroup's limit, of the address space."""
    memory, limits = machine.memory or Memory(), machine.limits or Limits()
    bounds = [
        memory.available_bytes,
        limits.cgroup.memory_bytes if limits.cgroup else None,
        limits.address_space_bytes,
    ]
    known = [bound for bound in bounds if isinstance(bound, int)]
    return None if memory.available_bytes is None else int(MEMORY_SHARE * min(known))


def _nets(asked: Asked) -> tuple[str, ...]:
    """The workloads that are networks of layers."""
    return tuple(name for name in asked.wanted.workloads if name in WORKLOADS and WORKLOADS[name].batched)


def _batched(asked: Asked) -> str | None:
    """The one whose batch is looked at: the first that trains, else the first. One number stands in the env file."""
    nets = _nets(asked)
    return next((name for name in nets if WORKLOADS[name].trains), next(iter(nets), None))


def _one_of_each(paths: tuple[str, ...]) -> tuple[str, ...]:
    """One tcmalloc and one jemalloc."""
    kinds: dict[str, str] = {}
    for path in paths:
        kinds.setdefault("tcmalloc" if "tcmalloc" in path else "jemalloc", path)
    return tuple(kinds.values())


def usable(axis: str, asked: Asked) -> str | None:
    """Why an axis cannot be looked at in this run at all; None where it can."""
    if COMMAND in asked.wanted.workloads and axis not in FOR_COMMANDS:
        return "a command of your own is run as it is"
    if asked.wanted.numpy_only and axis != "allocator":
        return "it is a matter of torch, and NumPy alone is measured"
    return None
