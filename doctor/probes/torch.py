"""PyTorch in the target: what its files say it is, and what its exercises on the CPU say it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import (
    DtypeTimes,
    Exercise,
    Limits,
    Measurements,
    Torch,
    UnknownFact,
)
from doctor.probes.exercised import Exercised, exercised
from doctor.probes.found import Found, unknown
from doctor.probes.interpreter import ORIGIN, Interpreter, interpreter
from doctor.probes.libraries import libraries, openmp_of_torch
from doctor.sources.base import Missing, Source
from doctor.texts.torch_config import TorchConfig, capability_name, read_torch_config
from doctor.texts.torch_version import TorchVersion, build_kind, read_torch_version

_CPU_ORIGIN = "exercise:cpu"

#: What only the exercises tell; each is a row in `unknowns` where they do not.
_EXERCISED_FACTS = (
    "torch.importable",
    "torch.num_threads",
    "torch.interop_threads",
    "torch.cpu_capability",
    "torch.blas",
    "torch.openmp",
    "torch.onednn",
    "torch.is_available",
    "libraries",
    "limits.affinity_cpus_after_torch_import",
    "measurements.dtype",
)

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def probe(source: Source) -> Found:
    """`torch`, `libraries`, `exercises`, and what the exercises say of limits and data types."""
    told = interpreter(source)
    if isinstance(told, Missing):
        return Found(unknowns=(unknown("torch", told),))
    if told.torch is None and told.package("torch") is None:
        return Found({"torch": Torch(installed=False), "exercises": ()}, origins={"torch": ORIGIN})
    files = _of_files(told)
    ran = exercised(source, "cpu")
    if isinstance(ran, Missing):
        unknowns = tuple(unknown(fact, ran) for fact in (*_EXERCISED_FACTS, "exercises"))
        return Found({"torch": files}, unknowns, {"torch": ORIGIN})
    facts = _of_exercises(files, ran, source)
    origins = dict.fromkeys((*_EXERCISED_FACTS, "exercises"), _CPU_ORIGIN)
    return Found(facts, _still_unknown(facts, ran), {"torch": ORIGIN, **origins})


def _of_files(told: Interpreter) -> Torch:
    """What version, build and libraries say; nothing of it needs a working PyTorch."""
    package = told.package("torch")
    read = read_torch_version(told.torch.version_file or "") if told.torch else None
    names = told.torch.libraries if told.torch else None
    said = read or TorchVersion((package.version if package else None) or "")
    return Torch(
        installed=True,
        version=said.version or None,
        cuda=read.cuda if read else None,
        hip=read.hip if read else None,
        build=build_kind(said.version, read.cuda if read else None, read.hip if read else None, names),
        bundles=None if names is None else tuple(name for name in names if not _is_its_own(name)),
    )


def _is_its_own(name: str) -> bool:
    return name.removeprefix("lib").startswith(("torch", "c10"))


def _of_exercises(files: Torch, ran: Exercised, source: Source) -> dict[str, Any]:
    config = read_torch_config(
        "\n".join(str(ran.fact("build", text) or "") for text in ("config", "parallel_info"))
    )
    rows = libraries(ran)
    return {
        "torch": _with_exercises(files, ran, config, source.environment(), openmp_of_torch(rows or ())),
        "libraries": rows,
        "exercises": tuple(row for row in ran.rows() if not _is_done_with_the_gpu(row, ran)),
        "limits": _limits(ran),
        "measurements": _measurements(ran),
    }


def _is_done_with_the_gpu(row: Exercise, ran: Exercised) -> bool:
    """Of a ROCm build the training step on the CPU is told together with the GPUs: it wakes them."""
    return row.name == "train-step" and row.outcome == "skipped" and ran.fact("build", "hip") is not None


def _with_exercises(
    files: Torch,
    ran: Exercised,
    config: TorchConfig,
    environment: Mapping[str, str] | Missing,
    openmp: str | None,
) -> Torch:
    step = ran.step("import-torch")
    importable = step.outcome == "ok" if step is not None and step.outcome != "skipped" else None
    capability = ran.fact("cpu-capability", "capability")
    threads = ran.fact("threads", "num_threads") or config.num_threads
    version, cuda, hip = _of_running(files, ran)
    return msgspec.structs.replace(
        files,
        version=version,
        cuda=cuda,
        hip=hip,
        build=files.build or build_kind(version or "", cuda, hip),
        importable=importable,
        import_error=("none" if importable else step.detail or "unknown") if step and importable is not None else None,
        import_seconds=ran.fact("import-torch", "import_seconds"),
        is_available=ran.fact("is-available", "is_available"),
        cpu_capability=capability_name(capability) if capability else config.cpu_capability,
        num_threads=threads,
        interop_threads=ran.fact("threads", "interop_threads") or config.interop_threads,
        default_num_threads=threads if _threads_are_default(environment) else None,
        blas=config.blas,
        blas_version=config.blas_version,
        openmp="none" if config.openmp == "none" else openmp,
        onednn=config.onednn,
    )


def _of_running(files: Torch, ran: Exercised) -> tuple[str | None, str | None, str | None]:
    """Version, CUDA and HIP: of the files, else of the running PyTorch (its version file may be gone)."""
    running = ran.fact("build", "version") is not None
    told = [ran.fact("build", name) or ("none" if running else None) for name in ("cuda", "hip")]
    version = files.version or ran.fact("build", "version") or ran.fact("import-torch", "version")
    return version, files.cuda or told[0], files.hip or told[1]


def _threads_are_default(environment: Mapping[str, str] | Missing) -> bool:
    return not isinstance(environment, Missing) and not any(environment.get(name) for name in _THREAD_VARIABLES)


def _limits(ran: Exercised) -> Limits | None:
    cpus = ran.fact("affinity-after-import", "cpus")
    return Limits(affinity_cpus_after_torch_import=len(parse_cpulist(cpus))) if cpus else None


def _measurements(ran: Exercised) -> Measurements | None:
    times = [ran.fact("dtype-bf16", f"{dtype}_seconds") for dtype in ("float32", "bfloat16")]
    if None in times:
        return None
    return Measurements(dtype=DtypeTimes(float32_seconds=times[0], bfloat16_seconds=times[1]))


#: Steps that do not concern every machine, and the fact that they then leave unknown: no user could help that.
_NOT_HERE = {
    "affinity-after-import": "limits.affinity_cpus_after_torch_import",
    "is-available": "torch.is_available",
}


def _still_unknown(facts: Mapping[str, Any], ran: Exercised) -> tuple[UnknownFact, ...]:
    """A row for each fact that the exercises were to tell and did not."""
    torch = facts["torch"]
    known = {
        "libraries": facts["libraries"],
        "limits.affinity_cpus_after_torch_import": facts["limits"],
        "measurements.dtype": facts["measurements"],
    }
    left_out: set[str] = set()
    missing = Missing("probe-failed", "the exercise that tells it did not end well")
    if torch.importable:
        skipped = {step.name for step in ran.steps if step.outcome == "skipped"}
        left_out = {fact for step, fact in _NOT_HERE.items() if step in skipped}
    elif torch.importable is False:
        missing = Missing("probe-failed", f"PyTorch does not import: {torch.import_error}")
    return tuple(
        unknown(fact, missing)
        for fact in _EXERCISED_FACTS
        if fact not in left_out
        if (known[fact] if fact in known else getattr(torch, fact.removeprefix("torch."))) is None
    )
