"""Seeded data for the workloads, and the few numbers by which two settings are compared.

`worker.py` loads this file by its path. Standard library only; Python 3.8 syntax.
"""

import math
import os

#: How far another setting's numbers may lie from the default's, as a share of the largest: the order of a sum changes
#: with the number of threads, a kernel may fuse a multiplication with an addition.
TOLERANCES = {"float64": 1e-9, "float32": 1e-3, "bfloat16": 3e-2, "float16": 1e-2, "lowered": 5e-2, "exact": 0.0}

#: So many random numbers are drawn at most, and repeated where more are asked for: drawing 16 million takes longer than
#: multiplying them. A prime, so that no two rows of a matrix are alike.
_DRAWN = 1000003

#: oneDNN may calculate a float32 product in another type where this variable says so.
_LOWERING = "ONEDNN_DEFAULT_FPMATH_MODE"


class Wrong(Exception):
    """The workload ran and computed something that cannot be."""


def normal(context, *shape):
    """Normal float32 numbers on the CPU, the same in every process and under every setting."""
    torch, count = context.torch, 1
    for size in shape:
        count *= size
    generator = torch.Generator()
    generator.manual_seed(1000 * len(shape) + shape[0] % 997)
    drawn = torch.randn(min(count, _DRAWN), generator=generator)
    if count > _DRAWN:
        drawn = drawn.repeat(-(-count // _DRAWN))[:count]
    return drawn.reshape(shape)


def few(tensor):
    """Eight elements and the mean magnitude of eight strips: what a wrong kernel cannot leave as it was."""
    flat = tensor.detach().float().cpu().flatten()
    count = flat.numel()
    if count == 0:  # some devices answer an operator that they lack with nothing
        raise Wrong("a result came back empty")
    elements = [float(flat[at * (count - 1) // 7]) for at in range(8)]
    strip = max(count // 8, 1)
    return elements + [float(flat[at * strip : (at + 1) * strip].abs().mean()) for at in range(min(8, count))]


def finite(values):
    """The values; raises Wrong where one is no number."""
    if not all(math.isfinite(value) for value in values):
        raise Wrong("it answered with a number that is not finite")
    return values


def tolerance(precision, options):
    """How exact an answer is under these options and in this environment."""
    asked = "autocast" in options or options.get("half") == "1"
    lowered = asked or os.environ.get(_LOWERING, "STRICT").upper() not in ("STRICT", "")
    return max(TOLERANCES[precision], TOLERANCES["lowered"] if lowered and precision != "exact" else 0.0)
