"""Where a workload runs, and how to wait until a device has really done its work.

`worker.py` loads this file by its path. Standard library and the target's torch only; Python 3.8 syntax.
"""

import time

#: An empty read-back is measured so many times.
_EMPTY_READS = 7

#: DirectML has no call that waits, so a read-back is part of every block: it has to be a small part of it.
READ_BACK_BLOCK_SECONDS = 0.2


class Unusable(Exception):
    """What was asked for cannot be had here. The message is one sentence."""


def opened(torch, name):
    """The device called `cpu`, `cuda:0` or `privateuseone:1`."""
    kind, _, index = name.partition(":")
    if kind == "privateuseone":
        try:
            import torch_directml
        except ModuleNotFoundError as error:
            if error.name != "torch_directml":
                raise
            return torch.device(name)
        return torch_directml.device(int(index or 0))
    if kind == "cuda" and not torch.cuda.is_available():
        raise Unusable("PyTorch sees no GPU")
    if kind not in ("cpu", "cuda"):
        raise Unusable("no device of the kind %r can be measured" % kind[:20])
    return torch.device(name)


def finisher(torch, device):
    """A function that returns once the device is done with a result."""
    if device.type == "cpu":
        return lambda result: None
    if device.type == "cuda":
        return lambda result: torch.cuda.synchronize(device)
    return read_back


def read_back(result):
    """One element of the last operation's result: it cannot come before all that was queued ahead of it is done."""
    result.detach().flatten()[0].item()


def empty_seconds(finish, result):
    """What a read-back takes where nothing is left to do."""
    finish(result)
    times = []
    for _ in range(_EMPTY_READS):
        began = time.perf_counter()
        finish(result)
        times.append(time.perf_counter() - began)
    return sorted(times)[_EMPTY_READS // 2]
