"""The variables that hide GPUs from a program, and whether they agree."""

from __future__ import annotations

from collections.abc import Mapping

#: In the order in which they are applied: ROCR renumbers what is left, HIP and CUDA count that.
MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")

#: Two names of one thing on ROCm; PyTorch prefers the first.
_SAME_LEVEL = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def masks_in(env: Mapping[str, str]) -> tuple[str, ...]:
    """The masks that are set, in the order in which they are applied."""
    return tuple(name for name in MASKS if name in env)


def hides_all(value: str) -> bool:
    """An empty mask, or one that begins with -1, shows no GPU."""
    return value.strip() == "" or value.split(",")[0].strip() == "-1"


def masks_disagree(env: Mapping[str, str]) -> bool:
    """Do two names of the same mask say different things?"""
    values = {env[name].replace(" ", "") for name in _SAME_LEVEL if name in env}
    return len(values) > 1


def indices(value: str) -> tuple[int, ...] | None:
    """The numbers of a mask; None where it names GPUs in another way (`GPU-…`)."""
    parts = [part.strip() for part in value.split(",") if part.strip()]
    numbers = all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts)
    return tuple(map(int, parts)) if numbers else None


def beyond(env: Mapping[str, str], gpus: int) -> str:
    """The first mask with an index that no GPU can have, ROCR's renumbering considered; `"none"` where none has."""
    left = gpus
    for name in MASKS:
        if name not in env:
            continue
        listed = indices(env[name])
        if listed is None:
            return "none"
        if any(index >= left for index in listed):
            return name
        if name == "ROCR_VISIBLE_DEVICES":
            left = len(set(listed))
    return "none"
