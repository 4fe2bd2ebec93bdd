"""Stands in for torch-directml where there is no DirectX: adapters under PyTorch's own key for foreign devices
(PrivateUse1), whose tensors lie on the CPU. The functions are those of torch-directml 0.2.5.

FAKE_DIRECTML holds what is to go wrong, as JSON; every part may be left out:
    adapters          names, in order                                   default  the index of the default one
    at                {operator or function: what it does}; "mm@1" means the operator on adapter 1 only. As
                      {"does": what, "elements": 1000}: only where a tensor has at least so many elements.
                      What: segfault, hang, raise, leave (the process ends with status 3), wrong (a number is off),
                      nan, missing (there is no such kernel), removed (Windows has reset the driver), zero (nothing of
                      the result is kept), nothing (an operation in place leaves everything as it was), fall-back (the
                      CPU does it, with the warning of DirectML).
                      Functions: import, is_available, device_count, default_device, device_name, device
    memory            bytes that each adapter has; what does not fit is refused as DirectML does it
    float64           false: such numbers are refused                  inference_mode  false: it does not work there
    loses_gradients   true: the first layer of a moved model has none
    swaps_parameters  true: .to() keeps the parameters of a model
"""

import json
import os
import time
import warnings
import weakref

import torch
from simulated_clock import clock
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_TOLD = json.loads(os.environ.get("FAKE_DIRECTML") or "{}")
_NAMES = _TOLD.get("adapters", ["AMD Radeon RX 7900 XTX"])
_AT = _TOLD.get("at", {})
_ATEN = torch.ops.aten


def _misbehave(what, name, elements=0):
    """How the caller's result is to be spoilt: "wrong", "nan", "zero", "nothing", or None."""
    if isinstance(what, dict):
        what = what["does"] if elements >= what.get("elements", 0) else None
    if what == "segfault":
        import ctypes

        ctypes.string_at(0)
    elif what == "hang":
        time.sleep(600)
    elif what == "leave":
        os.write(2, b"[F302 15:36:01 dml_util.cc:118] Invalid or unsupported data type.\n")
        os._exit(3)
    elif what == "raise":
        raise RuntimeError(f"{name}: The parameter is incorrect.")
    elif what == "missing":
        raise NotImplementedError(
            f"Could not run '{name}' with arguments from the 'PrivateUse1' backend. This could be because the operator"
            " doesn't exist for this backend, or was omitted during the selective/custom build process."
        )
    elif what == "removed":
        raise RuntimeError(
            "The GPU device instance has been suspended. Use GetDeviceRemovedReason to determine the appropriate"
            " action. 887A0005"
        )
    elif what == "fall-back":
        warnings.warn(
            f"The operator '{name}' is not currently supported on the DML backend and will fall back to run on the"
            " CPU. This may have performance implications. (Triggered internally at dml_cpu_fallback.cpp:17.)",
            stacklevel=2,
        )
    return what if what in ("wrong", "nan", "zero", "nothing") else None


def _called(name, index=0):
    _misbehave(_AT.get(f"{name}@{index}", _AT.get(name)), name)


_called("import")


class _Adapters:
    """What PyTorch asks of the module of a device."""

    @staticmethod
    def is_available():
        return is_available()

    @staticmethod
    def is_initialized():
        return True

    @staticmethod
    def device_count():
        return len(_NAMES)

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def get_amp_supported_dtype():
        return [torch.float16]

    @staticmethod
    def _is_in_bad_fork():
        return False

    @staticmethod
    def manual_seed_all(seed):
        return None


_setup_privateuseone_for_python_backend("privateuseone", backend_module=_Adapters())


class _OnAdapter(torch.Tensor):
    """A tensor that says it lies on an adapter. `held` is where its numbers are, `adapter` which adapter it is: for
    PyTorch all are the first, since a device hosted from Python can only be one."""

    @staticmethod
    def __new__(cls, held, adapter):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), dtype=held.dtype, device="privateuseone:0", requires_grad=False
        )

    def __init__(self, held, adapter):
        self.held = held
        self.adapter = adapter
        _take(self, held, adapter)

    @classmethod
    def __torch_dispatch__(cls, operator, kinds, args=(), kwargs=None):
        return _performed(operator, args, dict(kwargs or {}))


_LIMITS = _TOLD.get("memory")
_used = {}  # bytes by adapter
_storages = {}  # how many tensors hold each storage


def _take(tensor, held, adapter):
    """Book the memory of a tensor's storage until the last tensor that holds it is gone."""
    if _LIMITS is None:
        return
    storage = held.untyped_storage()
    key, size = (adapter, storage.data_ptr()), storage.nbytes()
    if key not in _storages:
        if _used.get(adapter, 0) + size > _LIMITS[adapter]:
            raise RuntimeError(
                f"Could not allocate tensor with {size} bytes. There is not enough GPU video memory available!"
            )
        _used[adapter] = _used.get(adapter, 0) + size
    _storages[key] = _storages.get(key, 0) + 1
    weakref.finalize(tensor, _give_back, key, size)


def _give_back(key, size):
    _storages[key] -= 1
    if not _storages[key]:
        del _storages[key]
        _used[key[0]] -= size


def _held(value):
    return value.held if isinstance(value, _OnAdapter) else value


def _performed(operator, args, kwargs):
    """The operator on the CPU, and its results back on the adapter that its arguments came from."""
    everything = torch.utils._pytree.tree_leaves((args, kwargs))
    adapters = [value.adapter for value in everything if isinstance(value, _OnAdapter)]
    target = torch.device(kwargs["device"]) if kwargs.get("device") is not None else None
    to_adapter = target is not None and target.type == "privateuseone"
    adapter = (target.index or 0) if to_adapter else max(adapters, default=0)
    spoilt = _operator_asked(operator, adapter, everything)
    if target is not None:
        kwargs["device"] = torch.device("cpu")
    args_held, kwargs_held = torch.utils._pytree.tree_map(_held, (args, kwargs))
    if spoilt == "nothing":
        return args[0]
    with _disable_current_modes():
        found = operator(*args_held, **kwargs_held)
        if spoilt and isinstance(found, torch.Tensor) and found.is_floating_point():
            found = _spoil(spoilt, found, in_place=operator._schema.is_mutable)
    if clock is not None:
        _tell_clock(operator, adapter, (args_held, kwargs_held, found), to_adapter, target)
    if operator._schema.is_mutable:
        return args[0] if operator._schema.arguments[0].alias_info is not None else kwargs.get("out", args[0])
    if target is not None and target.type == "cpu":
        return found
    return torch.utils._pytree.tree_map(lambda value: _moved(value, adapter), found)


def _spoil(how, found, in_place):
    if in_place:
        return found.zero_() if how == "zero" else found.mul_(float("nan") if how == "nan" else 1.5)
    return found * {"wrong": 1.5, "nan": float("nan"), "zero": 0.0}[how]


def _tell_clock(operator, adapter, values, to_adapter, target):
    args, kwargs, found = values
    name = operator._schema.name
    if name == "aten::_local_scalar_dense":
        clock.copied(torch, adapter, args[0], waits=True)
    elif target is not None and target.type == "cpu":
        clock.copied(torch, adapter, found, waits=True)
    elif to_adapter and name == "aten::_to_copy":
        clock.copied(torch, adapter, found, waits=False)
    else:
        clock.on_adapter(torch, adapter, operator, args, kwargs, found)


def _moved(value, adapter):
    is_plain = isinstance(value, torch.Tensor) and not isinstance(value, _OnAdapter)
    return _OnAdapter(value, adapter) if is_plain else value


def _operator_asked(operator, adapter, values):
    name = operator._schema.name.partition("::")[2]
    if _TOLD.get("inference_mode") is False and torch.is_inference_mode_enabled():
        raise RuntimeError("Cannot set version_counter for inference tensor")
    floats = [value for value in values if isinstance(value, _OnAdapter) and value.dtype == torch.float64]
    if _TOLD.get("float64") is False and floats and name not in ("_to_copy", "t", "detach"):
        raise RuntimeError("The GPU device does not support Double (Float64) operations!")
    shown = operator._schema.name + (f".{operator._overloadname}" if operator._overloadname != "default" else "")
    what = _AT.get(f"{name}@{adapter}", _AT.get(name))
    elements = max((value.numel() for value in values if isinstance(value, torch.Tensor)), default=0)
    return _misbehave(what, shown, elements)


@torch.library.impl("aten::empty.memory_format", "privateuseone")
def _empty(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return _OnAdapter(torch.empty(size, dtype=dtype), torch.device(device).index or 0)


@torch.library.impl("aten::empty_strided", "privateuseone")
def _empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    return _OnAdapter(torch.empty_strided(size, stride, dtype=dtype), torch.device(device).index or 0)


@torch.library.impl("aten::_copy_from", "privateuseone")
def _copy_from(source, target, non_blocking=False):
    with _disable_current_modes():
        _held(target).copy_(_held(source))
    if clock is not None:
        on_adapter = target if isinstance(target, _OnAdapter) else source
        clock.copied(torch, on_adapter.adapter, _held(source), waits=not isinstance(target, _OnAdapter))
    return target


_real_to = torch.nn.Module.to


def _to(self, *args, **kwargs):
    model = _real_to(self, *args, **kwargs)
    if _TOLD.get("loses_gradients") and any(isinstance(value, _OnAdapter) for value in model.parameters()):
        for parameter in next(iter(model.children()), model).parameters():
            parameter.requires_grad_(False)
    return model


torch.nn.Module.to = _to
if _TOLD.get("swaps_parameters"):
    torch.__future__.set_swap_module_params_on_conversion(True)


# The functions of torch-directml.


def is_available():
    _called("is_available")
    return bool(_NAMES)


def device_count():
    _called("device_count")
    return len(_NAMES)


def device_name(device_id):
    _called("device_name", device_id)
    return _NAMES[device_id] + "\0" if 0 <= device_id < len(_NAMES) else ""


def default_device():
    _called("default_device")
    return _TOLD.get("default", 0)


def device(device_id=None):
    index = default_device() if device_id is None else device_id
    _called("device", index)
    if device_id is not None and not 0 <= device_id < len(_NAMES):
        raise Exception(f"Invalid device_id argument supplied {device_id}. device_id must be in range [0, ...).")
    return torch.device("privateuseone", index)


def has_float64_support(device_id=0):
    return _TOLD.get("float64", True)
