"""Which build of PyTorch it is, where only its version tells."""

from __future__ import annotations

import re

import msgspec

from doctor.machine.model import Machine, Torch
from doctor.texts.torch_version import build_kind

_NO_GPU = re.compile(r"cpu(\.cxx11\.abi)?")
_CUDA = re.compile(r"cu\d{2,4}")


def complete_torch_build(machine: Machine) -> Machine:
    """`torch.build` from the version and the two others, and `"none"` for what the local part of the version excludes:
    a `+cpu` wheel has neither CUDA nor HIP. A version without a local part tells nothing."""
    torch = machine.torch
    if torch is None or not torch.version:
        return machine
    cuda, hip = _excluded(torch)
    told = "+" in torch.version or (cuda is not None and hip is not None)
    build = torch.build or (build_kind(torch.version, cuda, hip) if told else None)
    return msgspec.structs.replace(machine, torch=msgspec.structs.replace(torch, build=build, cuda=cuda, hip=hip))


def _excluded(torch: Torch) -> tuple[str | None, str | None]:
    """`torch.cuda` and `torch.hip`, with what the local part rules out."""
    local = (torch.version or "").partition("+")[2]
    no_cuda = bool(_NO_GPU.fullmatch(local)) or local.startswith("rocm")
    no_hip = bool(_NO_GPU.fullmatch(local) or _CUDA.fullmatch(local))
    return torch.cuda or ("none" if no_cuda else None), torch.hip or ("none" if no_hip else None)
