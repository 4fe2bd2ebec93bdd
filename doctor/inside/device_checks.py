"""What is looked at on a device beside the time: operators that the CPU does instead, what PyTorch holds there, and
whether gradients and weights are those of the CPU. `worker.py` loads this file by its path. Standard library and the
target's torch only; Python 3.8 syntax.
"""

import re
import warnings

_FELL_BACK = re.compile(r"operator '([^']{1,100})'.{1,60}(?:DML|DirectML).{1,60}fall back", re.DOTALL)
#: Other warnings that name a cause.
_TELLING = re.compile(r"hipBLASLt|MIOpen|rocBLAS|HIP|ROCm|DML|DirectML")
_MOST_WARNINGS = 10

#: A gradient whose largest element is smaller than this part of the model's largest is not looked at: it is rounding.
_NEGLIGIBLE = 1e-6


class Watch:
    """Around one run on another device than the CPU; `told()` is None around one on the CPU."""

    def __init__(self, torch, options):
        self.torch, self.name = torch, options.get("device", "cpu")
        self.caught, self.compared, self._catching = [], {}, None
        self.away = torch is not None and not self.name.startswith("cpu")

    def __enter__(self):
        if self.away:
            self._catching = warnings.catch_warnings(record=True)
            self.caught = self._catching.__enter__()
            warnings.simplefilter("always")
            if self.name.startswith("cuda"):
                self._ask("reset_peak_memory_stats")
        return self

    def __exit__(self, *error):
        if self._catching is not None:
            self._catching.__exit__(*error)

    def _ask(self, name):
        """A figure of torch.cuda's allocator; None where it does not tell."""
        try:
            return getattr(self.torch.cuda, name)(self.torch.device(self.name))
        except Exception:
            return None

    def told(self):
        if not self.away:
            return None
        texts = list(dict.fromkeys(" ".join(str(warning.message).split())[:300] for warning in self.caught))
        fell_back = [found.group(1) for found in map(_FELL_BACK.search, texts) if found]
        warned = [text for text in texts if _TELLING.search(text) and not _FELL_BACK.search(text)]
        held = self._ask("max_memory_allocated") if self.name.startswith("cuda") else None
        return dict(
            self.compared,
            fell_back=list(dict.fromkeys(fell_back)),
            warned=warned[:_MOST_WARNINGS],
            device_bytes=held if isinstance(held, int) else None,
        )

    def compare(self, own, on_cpu):
        """One step of a training workload, beside the same on the CPU; both are taken back to their start."""
        for workload in (own, on_cpu):
            workload._backward(*workload.few)
        gradients = [(mine.grad, theirs.grad) for mine, theirs in zip(own.parameters, on_cpu.parameters)]
        off, missing = compared_gradients(gradients)
        before = [parameter.detach().cpu().clone() for parameter in own.parameters]
        moves = [theirs is not None and bool(theirs.abs().max() > 0) for _, theirs in gradients]
        if missing == 0:
            own.optimizer.step()
        after = [parameter.detach().cpu() for parameter in own.parameters]
        # What the CPU's gradient would not move either is not still.
        still = sum(move and self.torch.equal(one, other) for move, one, other in zip(moves, before, after))
        for parameter in [*own.parameters, *on_cpu.parameters]:
            parameter.grad = None
        own.reset()
        self.compared = {
            "gradients_off": off,
            "parameters": len(before),
            "without_gradient": missing,
            "still": still if missing == 0 else None,
        }


def compared_gradients(pairs):
    """The largest difference as a share of the parameter's largest gradient, and how many have none. A difference that
    is no number is told as a very large one: JSON has none for it."""
    off, missing = 0.0, 0
    largest = max((float(theirs.abs().max()) for _, theirs in pairs if theirs is not None), default=0.0)
    for mine, theirs in pairs:
        if theirs is None:
            continue
        if mine is None:
            missing += 1
            continue
        scale = float(theirs.abs().max())
        if scale > _NEGLIGIBLE * largest:
            difference = float((mine.detach().cpu().float() - theirs.float()).abs().max()) / scale
            off = max(off, difference) if difference == difference and difference < 1e30 else 1e30
    return off, missing
