"""GPUs for PyTorch where there is none: tensors whose numbers lie on the CPU, and `torch.cuda` as ROCm answers it.

FAKE_ROCM holds the GPUs and what is to go wrong, as JSON; every part may be left out:
    devices   [{"name", "gfx", "memory", "free"}], in HIP's order; HIP_VISIBLE_DEVICES hides some of them
    targets   what the build has code for (its arch flags)
    at        {what is asked: what happens}; "matmul@1" means on GPU 1 only, by its number among all.
    together  the same, while more than one GPU is visible
              Asked: import, is_available, init, properties, set_device, to, mem_get_info, matmul, half (a product in
              half precision), conv2d, backward, synchronize.
              Happens: segfault, hang, raise (invalid device function), spoil (an error after which everything raises),
              full (out of memory), wrong (numbers are off), warn (of hipBLASLt)
    allocated bytes that PyTorch tells as the most it held
    touched   a file that gets a line for whatever wakes HIP, in the real build too
"""

import json
import os
import time
import warnings

import torch

_TOLD = json.loads(os.environ.get("FAKE_ROCM") or "{}")
_DEVICES = _TOLD.get("devices", [{"name": "AMD Radeon RX 7900 XTX", "gfx": "gfx1100"}])
_ADVICE = """
Search for `hipErrorInvalidDeviceFunction' in https://rocm.docs.amd.com for more information.
HIP kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing AMD_SERIALIZE_KERNEL=3
Compile with `TORCH_USE_HIP_DSA` to enable device-side assertions.
"""


def _visible():
    """The numbers of the GPUs that HIP sees. A number that no GPU has ends the list."""
    mask = os.environ.get("HIP_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES"))
    found = []
    for part in mask.split(",") if mask is not None else map(str, range(len(_DEVICES))):
        if not part.strip().isdigit() or int(part) >= len(_DEVICES):
            break
        found.append(int(part))
    return found


_SEEN = _visible()
_AT = {**_TOLD.get("at", {}), **(_TOLD.get("together", {}) if len(_SEEN) > 1 else {})}
_spoilt = False


def _asked(name, index=0):
    """True where the caller is to give a wrong number. Whatever comes here wakes HIP."""
    global _spoilt
    if _TOLD.get("touched") and name != "import":
        with open(_TOLD["touched"], "a", encoding="utf-8") as file:
            file.write(name + "\n")
    number = _SEEN[index] if index < len(_SEEN) else index
    what = _AT.get("%s@%d" % (name, number), _AT.get(name))
    if what == "segfault":
        import ctypes

        ctypes.string_at(0)
    elif what == "hang":
        time.sleep(600)
    elif what == "raise":
        raise RuntimeError("HIP error: invalid device function" + _ADVICE)
    elif what == "spoil" or _spoilt:
        _spoilt = True
        raise RuntimeError("HIP error: unspecified launch failure" + _ADVICE)
    elif what == "full":
        raise torch.cuda.OutOfMemoryError("HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has 0 bytes free.")
    elif what == "warn":
        warnings.warn(
            "Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas (Triggered"
            " internally at /pytorch/aten/src/ATen/Context.cpp:310.)",
            stacklevel=2,
        )
    return what == "wrong"


_asked("import")


class _OnGpu(torch.Tensor):
    """Numbers on the CPU that say they lie on a GPU."""

    index = 0

    @classmethod
    def __torch_function__(cls, function, kinds, args=(), kwargs=None):
        everything = torch.utils._pytree.tree_leaves((args, kwargs))
        tensors = [value for value in everything if isinstance(value, _OnGpu)]
        index = max((tensor.index for tensor in tensors), default=0)
        wrong = _misbehaves(getattr(function, "__name__", ""), index, tensors)
        found = super().__torch_function__(function, kinds, args, kwargs)
        if wrong:
            found = super().__torch_function__(torch.mul, kinds, (found, 1.5))
        if isinstance(found, _OnGpu):
            found.index = index
        return found


def _misbehaves(name, index, tensors):
    if name in ("matmul", "__matmul__"):
        return _asked("half" if tensors[0].dtype == torch.float16 else "matmul", index)
    return _asked(name, index) if name in ("conv2d", "backward") else False


_real_to, _real_cpu = torch.Tensor.to, torch.Tensor.cpu


def _device_in(values):
    """The kind of device that is asked for, and its index; (None, 0) where none is."""
    for value in values:
        if isinstance(value, torch.device) or (isinstance(value, str) and value.startswith(("cuda", "cpu"))):
            device = torch.device(value)
            return device.type, device.index or 0
    return None, 0


def _to(tensor, *args, **kwargs):
    kind, index = _device_in([*args, *kwargs.values()])
    if kind is None:
        return _real_to(tensor, *args, **kwargs)
    # Module.to() passes (device, None, False) where the type stays.
    rest = [value for value in args if _device_in([value])[0] is None and value not in (None, False)]
    kept = {name: value for name, value in kwargs.items() if name != "device"}
    plain = tensor.as_subclass(torch.Tensor)
    plain = _real_to(plain, *rest, **kept) if rest or kept else plain
    if kind == "cpu":
        return plain
    wrong = _asked("to", index)
    found = (plain + 1 if wrong else plain.clone()).as_subclass(_OnGpu)
    found.index = index
    return found


class _Properties:
    def __init__(self, told):
        self.name = told["name"]
        self.gcnArchName = told["gfx"]
        self.total_memory = told.get("memory", 24 << 30)


def _get_device_properties(index):
    _asked("properties", index)
    return _Properties(_DEVICES[_SEEN[index]])


def _mem_get_info(index):
    _asked("mem_get_info", index)
    told = _DEVICES[_SEEN[index]]
    total = told.get("memory", 24 << 30)
    return told.get("free", total), total


def _is_available():
    _asked("is_available")
    return bool(_SEEN)


def _set_device(index):
    _asked("set_device", index)
    if index >= len(_SEEN):
        raise RuntimeError("HIP error: invalid device ordinal" + _ADVICE)


def _waking(name, real):
    """A function of the real build that asks HIP how many GPUs there are, before it does what it is for."""

    def function(*args, **kwargs):
        _asked(name)
        return real(*args, **kwargs)

    return function


def install():
    torch.Tensor.to = _to
    torch.Tensor.cpu = lambda tensor, *_, **__: tensor.as_subclass(torch.Tensor)
    cuda = torch.cuda
    cuda.is_available = _is_available
    cuda.init = lambda: _asked("init") and None
    cuda.device_count = lambda: len(_SEEN)
    cuda.get_device_properties = _get_device_properties
    cuda.mem_get_info = _mem_get_info
    cuda.set_device = _set_device
    cuda.synchronize = lambda device=None: _asked("synchronize") and None
    cuda.empty_cache = lambda: None
    cuda.reset_peak_memory_stats = lambda device=None: None
    cuda.max_memory_allocated = lambda device=None: _TOLD.get("allocated", 256 << 20)
    torch._C._cuda_getArchFlags = lambda: " ".join(_TOLD.get("targets", ["gfx1030", "gfx1100"])) or None
    # at::show_config() and Engine::start_device_threads() count the devices of every backend that is built in.
    torch.__config__.show = _waking("show_config", torch.__config__.show)
    torch.autograd.backward = _waking("start_device_threads", torch.autograd.backward)
