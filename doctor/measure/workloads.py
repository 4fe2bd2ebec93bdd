"""What can be timed: names, titles, and where each is written down. The work is in `doctor/inside/workloads/`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Literal

import msgspec

#: The workload of a user's own command. It is in no list: the command is given instead of names.
COMMAND = "command"


class Workload(msgspec.Struct, frozen=True):
    """`module`: the file in `doctor/inside/workloads/`, and the `arguments` of its `build`. `batched`: the options
    `batch` and, where it `trains`, `accumulate` change it; others leave them alone."""

    name: str
    title: str
    module: str
    needs: Literal["torch", "numpy"] = "torch"
    trains: bool = False
    batched: bool = False
    arguments: dict[str, int | str] = {}


def _gemms() -> Iterable[Workload]:
    for dtype, mark, words in (("float32", "", "float32"), ("bfloat16", "bf16-", "bfloat16")):
        for side in (512, 1024, 4096):
            sizes: dict[str, int | str] = {"m": side, "n": side, "k": side, "dtype": dtype}
            title = f"{words} product of {side} x {side} matrices"
            yield Workload(f"gemm-{mark}{side}", title, "gemm", arguments=sizes)
        sizes = {"m": 8, "n": 4096, "k": 4096, "dtype": dtype}
        title = f"{words} product of 8 rows with a 4096 x 4096 matrix"
        yield Workload(f"gemm-{mark}skinny", title, "gemm", arguments=sizes)


_ALL = (
    *_gemms(),
    Workload("triad", "memory bandwidth: a = b + s c over arrays far larger than the caches", "triad"),
    Workload("small-ops", "a thousand operations on a thousand elements each", "small_ops"),
    Workload("mlp-train", "training steps: Linear, GELU, LayerNorm", "mlp_train", trains=True, batched=True),
    Workload("conv-train", "training steps: a small residual network", "conv_train", trains=True, batched=True),
    Workload("transformer-infer", "forward pass: two transformer layers", "transformer_infer", batched=True),
    Workload("fit", "training steps: a 1-10-1 net fits 1,000,000 points", "fit", trains=True, batched=True),
    Workload("numpy-gemm", "NumPy: float64 product of 1024 x 1024 matrices", "numpy_gemm", needs="numpy"),
)

WORKLOADS: Mapping[str, Workload] = {workload.name: workload for workload in _ALL}

#: What only devices are asked for, beside the workloads of a run: nobody chooses them by name.
OF_DEVICES: Mapping[str, Workload] = {
    "transfer-to": Workload("transfer-to", "copies of 64 MiB to the device", "transfer", arguments={"to_device": 1}),
    "transfer-from": Workload("transfer-from", "copies of 64 MiB back", "transfer", arguments={"to_device": 0}),
    "device-memory": Workload("device-memory", "the memory of the device, filled until it is refused", "device_memory"),
}

#: A name that stands for several.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "gemm": tuple(name for name in WORKLOADS if name.startswith("gemm-")),
}

#: The usual sets. Few, because a setting that slows down any one of them is not exported.
MODES: Mapping[str, tuple[str, ...]] = {
    "train": ("mlp-train", "conv-train"),
    "infer": ("transformer-infer", "gemm-skinny"),
}


def expand(names: Iterable[str]) -> tuple[str, ...]:
    """Workload names in the order given, families replaced by their members, each once.

    Raises ValueError with one sentence for a name that stands for nothing.
    """
    found: dict[str, None] = {}
    for name in names:
        members = FAMILIES.get(name) or ((name,) if name in WORKLOADS else ())
        if not members:
            raise ValueError(f"no workload is called {name[:40]!r}{_near(name)}")
        found.update(dict.fromkeys(members))
    return tuple(found)


def _near(name: str) -> str:
    known = [*WORKLOADS, *FAMILIES]
    near = get_close_matches(name[:40], known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
