"""The GPUs as a ROCm build of PyTorch sees them: in HIP's order, and what the exercises on each came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doctor.machine.model import Exercise, Torch, TorchDevice, UnknownFact
from doctor.probes.exercised import Exercised, Step, exercised
from doctor.probes.found import Found, unknown
from doctor.probes.interpreter import Interpreter, interpreter
from doctor.sources.base import Missing, Source
from doctor.texts.torch_config import read_torch_config
from doctor.texts.torch_version import NO_HIP, read_torch_version

ORIGIN = "exercise:rocm"
_LISTING = "list-devices"

#: Steps that calculate on a GPU, or find that it cannot be used.
_ON_THE_GPU = ("open-device", "matmul", "dtype-fp16", "conv", "train-step")

#: What is told beside the GPUs although it happens elsewhere: the step, and how it is called there.
_ON_THE_CPU = {"train-step-on-cpu": "train-step"}

#: What only the counting of the GPUs tells.
_COUNTED = ("torch.is_available", "torch.device_count", "torch.devices")
_TARGETS = "torch.arch_list"


def probe(source: Source) -> Found:
    """`torch` as far as it concerns GPUs, and the rows of its `exercises`. Nothing for a build without ROCm."""
    told = interpreter(source)
    if isinstance(told, Missing) or not built_for_rocm(told):
        return Found()
    cpu, ran = exercised(source, "cpu"), exercised(source, "rocm")
    targets = _targets(cpu)
    facts: dict[str, Any] = {"torch": Torch(arch_list=targets)}
    unknowns = [unknown(_TARGETS, _why_no_targets(cpu))] if targets is None else []
    origins = {_TARGETS: "exercise:cpu"}
    if isinstance(ran, Missing):
        return Found(facts, (*unknowns, *(unknown(fact, ran) for fact in _COUNTED)), origins)
    facts = {"torch": _torch(ran, targets), "exercises": _rows(ran)}
    origins |= dict.fromkeys(_COUNTED, ORIGIN)
    return Found(facts, (*unknowns, *_uncounted(ran, facts["torch"])), origins)


def built_for_rocm(told: Interpreter) -> bool:
    read = read_torch_version(told.torch.version_file or "") if told.torch else None
    return read is not None and read.hip not in ("none", NO_HIP)


def _targets(cpu: Exercised | Missing) -> tuple[str, ...] | None:
    """What the build has code for; it was asked on the CPU, where no GPU is woken for it. An empty list is no answer:
    a build for ROCm has code for something."""
    told = None if isinstance(cpu, Missing) else cpu.fact("build", "targets")
    return tuple(map(str, told)) if isinstance(told, list) and told else None


def _why_no_targets(cpu: Exercised | Missing) -> Missing:
    return cpu if isinstance(cpu, Missing) else Missing("probe-failed", "this PyTorch did not tell")


def _torch(ran: Exercised, targets: tuple[str, ...] | None) -> Torch:
    config = read_torch_config(str(ran.fact("config", "config") or ""))
    listed = ran.fact(_LISTING, "devices")
    count = ran.fact(_LISTING, "count")
    devices = _devices(listed) if isinstance(listed, list) else _seen_alone(ran)
    return Torch(
        arch_list=targets,
        is_available=ran.fact(_LISTING, "is_available"),
        device_count=count if isinstance(count, int) else None,
        devices=None if devices is None else _with_free_memory(devices, ran),
        blas=config.blas,
        blas_version=config.blas_version,
        onednn=config.onednn,
    )


def _devices(listed: Sequence[Any]) -> tuple[TorchDevice, ...]:
    return tuple(_device(told if isinstance(told, Mapping) else {}) for told in listed)


def _device(told: Mapping[str, Any]) -> TorchDevice:
    """Its place in the list is its number for HIP, whatever it tells of itself."""
    gfx = told.get("gfx")
    return TorchDevice(
        name=told.get("name"),
        gfx=gfx.partition(":")[0] if isinstance(gfx, str) else None,
        total_memory_bytes=told.get("total_memory_bytes"),
        pci_address=told.get("pci_address"),
    )


def _with_free_memory(devices: Sequence[TorchDevice], ran: Exercised) -> tuple[TorchDevice, ...]:
    """What was free when each was opened. Old stacks tell more than there is, which is no answer."""
    free = {step.device: step.facts.get("free_bytes") for step in ran.steps if step.name == "open-device"}
    found = []
    for index, device in enumerate(devices):
        told, total = free.get(f"cuda:{index}"), device.total_memory_bytes
        fits = isinstance(told, int) and total is not None and told <= total
        found.append(msgspec.structs.replace(device, free_memory_bytes=told) if fits else device)
    return tuple(found)


def _seen_alone(ran: Exercised) -> tuple[TorchDevice, ...] | None:
    """Where HIP died of counting them together: the GPUs as each was listed while it was the only one, if that went on
    until there was no further one."""
    alone = [step for step in ran.steps if step.name == _LISTING and step.with_mask]
    listed = [step.facts.get("devices") for step in alone if step.outcome == "ok"]
    if not alone or len(listed) < len(alone) or listed[-1] != []:
        return None
    if any(not isinstance(devices, list) or len(devices) != 1 for devices in listed[:-1]):
        return None
    return _devices([device for devices in listed[:-1] for device in devices or ()]) or None


def _rows(ran: Exercised) -> tuple[Exercise, ...]:
    """What was tried on the GPUs, and of the rest what failed. A listing that went well is a row where it warns."""
    rows = ran.rows(None)
    kept = (row for step, row in zip(ran.steps, rows, strict=True) if _counts(step))
    return tuple(msgspec.structs.replace(row, name=_ON_THE_CPU.get(row.name or "", row.name)) for row in kept)


def _counts(step: Step) -> bool:
    if step.outcome == "skipped" or step.name == "import-torch":
        return False
    if step.name in _ON_THE_GPU or step.name in _ON_THE_CPU:
        return True
    if step.name == _LISTING:
        return step.outcome != "ok" or bool(step.facts.get("warnings"))
    return step.died


def _uncounted(ran: Exercised, torch: Torch) -> tuple[UnknownFact, ...]:
    """Why it is not known which GPUs PyTorch sees, where counting them failed."""
    step = ran.step(_LISTING)
    if step is not None and step.outcome == "ok":
        return ()
    detail = f"counting the GPUs ended in: {step.detail if step is not None else 'nothing'}"
    hung = step is not None and step.outcome == "timeout"
    missing = Missing("timed-out", detail) if hung else Missing("probe-failed", detail)
    return tuple(unknown(fact, missing) for fact in _COUNTED if getattr(torch, fact.removeprefix("torch.")) is None)
