"""What a user asks of a run: workloads, axes, seconds; and the names of the axes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

import msgspec

from doctor.measure.workloads import COMMAND
from doctor.tune.budget import DEFAULT_SECONDS

#: The one workload that runs without torch.
NUMPY = "numpy-gemm"

#: Every axis, in the order in which they are looked at.
AXES: Mapping[str, str] = {
    "threads": "threads and their placement",
    "inherited": "without the binding variables of the environment",
    "wait-policy": "how idle threads wait",
    "huge-pages": "huge pages for large tensors",
    "kernel-path": "instruction sets of ATen and oneDNN",
    "openblas": "kernels of NumPy's OpenBLAS",
    "dtype": "float32 against bfloat16 autocast",
    "batch": "batch size",
    "denormals": "flushing denormal numbers",
    "interop": "inter-op threads",
    "loader": "DataLoader workers",
    "allocator": "a preloaded allocator",
    "binding": "threads bound by OpenMP",
    "fpmath": "float32 products in bfloat16",
    "roofline": "measured against the peak of the hardware",
}
#: Measured only when they are named: the first pins what it is set for, the second changes numbers.
ON_REQUEST = ("binding", "fpmath")


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True):
    """`axes`: names of `AXES`; none stands for all but those on request. `command`: a digest of the user's own
    command, where the workload is that. `mode` is kept for the file that is written."""

    workloads: tuple[str, ...]
    seed: int
    mode: str | None = None
    axes: tuple[str, ...] = ()
    budget_seconds: float = DEFAULT_SECONDS
    command: str | None = None
    devices: tuple[str, ...] = ()  # auto, all, or names of devices to compare the CPU with
    batch: int | None = None  # the batch size that the user wants to train with, whether it fits or not

    def asks_for(self, axis: str) -> bool:
        return axis in self.axes if self.axes else axis not in ON_REQUEST

    @property
    def numpy_only(self) -> bool:
        return set(self.workloads) == {NUMPY}

    @property
    def own_command(self) -> bool:
        return COMMAND in self.workloads


def axes_named(names: Iterable[str]) -> tuple[str, ...]:
    """The axes of these names, each once, in the order of `AXES`. Raises ValueError with one sentence."""
    asked = set(names)
    for name in sorted(asked):
        if name not in AXES:
            near = difflib.get_close_matches(name, AXES, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(AXES)}"
            raise ValueError(f"no axis is called {name!r}{hint}")
    return tuple(name for name in AXES if name in asked)
