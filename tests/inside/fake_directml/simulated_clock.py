"""A clock for measured processes of the tests: what an operation takes follows from its shapes, not from this machine.

`environment_with_directml` makes every Python process of that environment import this file; it does nothing unless
FAKE_CLOCK tells it what the devices are like, as JSON:
    cpu        how the CPU is: {"overhead", "bytes_per_second", "flop_per_second"}
    adapters   the same for each adapter of the stand-in for torch-directml, and
               "read_back"    seconds of reading one element back
               "link_bytes_per_second"    of copies to and from it
               "rows"         above so many rows of 64 bytes and more, each byte and each flop costs "factor" times as
                              much: the caches of an integrated GPU are small
    threads    {"1": 0.5}: by what the CPU's speed is multiplied where PyTorch uses that many threads
    noise      standard deviation of the logarithm of a process's speed; drawn from the length of AMD_DOCTOR_PAD, so
               that the same unit is as fast each time

`time.perf_counter` then tells the simulated time of the program. An adapter works beside it: an operation costs the
program its launch only, and whoever reads a result waits for it. So a measurement that forgets to wait is wrong here
as well.
"""

import json
import os
import random
import sys
import time
from importlib.abc import MetaPathFinder
from importlib.util import find_spec

_TOLD = json.loads(os.environ.get("FAKE_CLOCK") or "null")

#: Two looks at a clock never show the same time.
_LOOK_SECONDS = 1e-7
_LAUNCH_SECONDS = 2e-6
_LEAST_ROW_BYTES = 64


class _Clock:
    def __init__(self, told):
        self.program = 0.0
        self.devices = {}  # until when each is at work
        self.told = told
        sd = told.get("noise", 0.0)
        pad = len(os.environ.get("AMD_DOCTOR_PAD", ""))
        draw = random.Random(pad)
        self.slowness = {name: 2.718281828 ** draw.gauss(0.0, sd) for name in ("cpu", "adapter")}

    def look(self):
        self.program += _LOOK_SECONDS
        return self.program

    def on_cpu(self, torch, operator, args, kwargs, found):
        speed = self.told.get("threads", {}).get(str(torch.get_num_threads()), 1.0)
        self.program += self.slowness["cpu"] * _cost(torch, self.told["cpu"], operator, args, kwargs, found) / speed

    def on_adapter(self, torch, adapter, operator, args, kwargs, found):
        device = self._device(adapter)
        self.program += _LAUNCH_SECONDS
        begins = max(self.program, self.devices.get(adapter, 0.0))
        seconds = self.slowness["adapter"] * _cost(torch, device, operator, args, kwargs, found)
        self.devices[adapter] = begins + seconds

    def copied(self, torch, adapter, tensor, waits):
        """A copy to an adapter, or from one, for which the program `waits`."""
        device = self._device(adapter)
        seconds = device.get("read_back", 1e-4)
        seconds += tensor.numel() * tensor.element_size() / device.get("link_bytes_per_second", 8e9)
        ready = max(self.program, self.devices.get(adapter, 0.0)) + seconds
        self.devices[adapter] = ready
        self.program = ready if waits else self.program + _LAUNCH_SECONDS

    def _device(self, adapter):
        return self.told["adapters"][min(adapter, len(self.told["adapters"]) - 1)]


def _cost(torch, device, operator, args, kwargs, found):
    """Seconds of one operation. A view costs nothing."""
    if _is_view(operator):
        return 0.0
    leaves = torch.utils._pytree.tree_leaves((args, kwargs, found))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    touched = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    flop = 0
    count = _FLOP_OF.get(operator._overloadpacket)
    if count is not None:
        flop = count(*args, **kwargs, out_val=found)
    seconds = touched / device["bytes_per_second"] + flop / device["flop_per_second"]
    if "rows" in device and any(_is_wide(tensor) and tensor.shape[0] > device["rows"] for tensor in tensors):
        seconds *= device.get("factor", 1.0)
    return device["overhead"] + seconds


def _is_wide(tensor):
    return tensor.dim() > 1 and tensor[:1].numel() * tensor.element_size() >= _LEAST_ROW_BYTES


def _is_view(operator):
    aliases = [argument.alias_info for argument in operator._schema.arguments if argument.alias_info is not None]
    return bool(aliases) and not any(alias.is_write for alias in aliases)


_FLOP_OF = {}
clock = None if _TOLD is None else _Clock(_TOLD)


def _install(torch):
    """The CPU's part, and the clock itself. What the tensors of adapters do, their own module tells the clock."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    _FLOP_OF.update(flop_registry)

    class OnCpu(TorchDispatchMode):
        def __torch_dispatch__(self, operator, kinds, args=(), kwargs=None):
            found = operator(*args, **(kwargs or {}))
            leaves = torch.utils._pytree.tree_leaves((args, kwargs, found))
            if not any(hasattr(leaf, "adapter") for leaf in leaves):
                clock.on_cpu(torch, operator, args, kwargs or {}, found)
            return found

    OnCpu().__enter__()
    time.perf_counter = clock.look


class _OnceTorchIsThere(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = find_spec("torch")
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _install(module)

        spec.loader.exec_module = exec_module
        return spec


if clock is not None:
    sys.meta_path.insert(0, _OnceTorchIsThere())
