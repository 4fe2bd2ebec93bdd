"""Exercises PyTorch on one DirectML adapter, step by step; the lines it prints are those of `exercises.py`.

    python directml_exercises.py ADAPTER - SECONDS STEP ...

ADAPTER is "default", the adapter that torch-directml itself would take, or "privateuseone:1". STEPs are names from
`STEPS`. Each line also tells its "device": "privateuseone:1", or "directml" for what concerns no single adapter. Facts
of each end hold "fell_back": the operators that DirectML handed to the CPU meanwhile. Of `PREPARATION`, what is not
among the STEPs is done all the same, marked "again": nothing else can be done without it.

Everything here may end the process, and some of it does on machines that are otherwise sound: `bfloat16` is left out,
because it ends every one. Standard library only until PyTorch itself is imported; Python 3.8 syntax.
"""

import os
import sys

# Python puts the folder of a script in front; nothing in it may take the place of a module that is meant.
if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]

import copy
import importlib.util
import re
import warnings

HERE = os.path.dirname(os.path.realpath(__file__))

sys.dont_write_bytecode, _before = True, sys.dont_write_bytecode
_spec = importlib.util.spec_from_file_location("_exercises_of_the_doctor", os.path.join(HERE, "exercises.py"))
exercises = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(exercises)
sys.dont_write_bytecode = _before

models = exercises.load_by_path("_directml_models_of_the_doctor", os.path.join(HERE, "directml_models.py"))
arithmetic = exercises.arithmetic
Skip, Wrong = exercises.Skip, arithmetic.Wrong

#: More adapters than this are counted, but neither named nor exercised.
MOST_ADAPTERS = 8

_FELL_BACK = re.compile(r"operator '([^']{1,100})'.{1,60}(?:DML|DirectML).{1,60}fall back", re.DOTALL)


class OnAdapter(exercises.Context):
    """`device` is what tensors are moved to, once the adapter was opened; `index` its number for torch-directml."""

    def __init__(self, adapter):
        super().__init__(None, "-")
        self.index = None if adapter == "default" else int(adapter.rpartition(":")[2])
        self.directml = None
        self.caught = []

    def name_of(self, step):
        return "directml" if self.index is None or step in OF_NO_ADAPTER else "privateuseone:%d" % self.index

    def take_fallbacks(self):
        """The operators that were reported since the last call, each once."""
        texts = [" ".join(str(warning.message).split()) for warning in self.caught]
        del self.caught[:]
        return sorted({found.group(1) for found in map(_FELL_BACK.search, texts) if found})


# What has to go well before anything else can.


def import_torch(context):
    facts = exercises.import_torch(context)
    # Most warnings of PyTorch come once per process; which operator comes first says nothing about the others.
    if hasattr(context.torch, "set_warn_always"):
        context.torch.set_warn_always(True)
    return facts


def import_directml(context):
    import torch_directml

    context.directml = torch_directml
    return {}


def list_adapters(context):
    """How many adapters, their names in the order of torch-directml, and the one it takes where none is asked for."""
    directml = imported(context)
    count = int(directml.device_count()) if directml.is_available() else 0
    default = int(directml.default_device()) if count else None
    if context.index is None:
        context.index = default
    names, failures = [], []
    for index in range(min(count, MOST_ADAPTERS)):
        try:
            names.append(str(directml.device_name(index)).replace("\0", "").strip() or None)
        except Exception as error:  # an adapter may be listed and yet not open
            names.append(None)
            failures.append(exercises.last_line(error))
    return {"count": count, "default": default, "names": names, "failures": failures}


def open_adapter(context):
    directml = imported(context)
    if context.index is None:
        raise Skip("torch-directml sees no adapter")
    device = directml.device(context.index)
    numbers = arithmetic.data(context, 3, 5)
    if not context.torch.equal(numbers.to(device).cpu(), numbers):
        raise Wrong("numbers came back changed")
    context.device = device
    return {"device": str(device)}


def imported(context):
    if context.directml is None:
        raise Skip("torch-directml was not imported")
    return context.directml


# Each of these is told about the adapter.


def copy_between_adapters(context):
    count = int(context.directml.device_count())
    if count < 2:
        raise Skip("there is one adapter")
    other = context.directml.device((context.index + 1) % count)
    numbers = arithmetic.data(context, 64, 65)
    if not context.torch.equal(numbers.to(context.device).to(other).cpu(), numbers):
        raise Wrong("numbers changed on the way from one adapter to another")
    return {}


def dtype_fp64(context):
    a, b = (arithmetic.data(context, 40, 50).double() for _ in range(2))
    product = a.to(context.device) @ b.to(context.device).t()
    return arithmetic.compare(product, a @ b.t(), tolerance=1e-10)


def inference_mode(context):
    layer, numbers = context.torch.nn.Linear(8, 5), arithmetic.data(context, 6, 8)
    models.fill(context, layer)
    exact = layer(numbers).detach().double()
    layer = layer.eval().to(context.device)
    with context.torch.inference_mode():
        return arithmetic.compare(layer(numbers.to(context.device)), exact)


def autocast(context):
    """Whether a product inside of autocast is calculated in float16, as was asked for."""
    torch = context.torch
    a, b = arithmetic.data(context, 40, 50), arithmetic.data(context, 50, 60)
    a_there, b_there = a.to(context.device), b.to(context.device)
    with torch.autocast(context.device.type, dtype=torch.float16):
        product = a_there @ b_there
    if product.dtype != torch.float16:
        raise Wrong("it calculates in %s all the same" % str(product.dtype).replace("torch.", ""))
    return arithmetic.compare(product.float(), a.double() @ b.double())


def lstm(context):
    layer, numbers = context.torch.nn.LSTM(6, 5, batch_first=True), arithmetic.data(context, 2, 4, 6)
    models.fill(context, layer)
    exact = copy.deepcopy(layer).double()(numbers.double())[0]
    return arithmetic.compare(layer.to(context.device)(numbers.to(context.device))[0], exact.detach())


def on_adapter(step):
    """The step, left out where the adapter was not opened."""

    def performed(context):
        imported(context)
        if context.device is None:
            raise Skip("the adapter could not be opened")
        return step(context)

    return performed


#: In the order in which one depends on the other. A child that goes on behind a death does those first.
PREPARATION = ("import-torch", "import-torch-directml", "open-adapter")
OF_NO_ADAPTER = ("import-torch", "import-torch-directml", "list-adapters")

STEPS = {
    "import-torch": import_torch,
    "import-torch-directml": import_directml,
    "list-adapters": list_adapters,
    "open-adapter": open_adapter,
    "matmul": on_adapter(arithmetic.matmul),
    "conv": on_adapter(arithmetic.conv),
    "eval-forward": on_adapter(models.eval_forward),
    "train-step": on_adapter(arithmetic.train_step),
    "gradients": on_adapter(models.gradients),
    "gradient-parity": on_adapter(models.gradient_parity),
    "operators": on_adapter(models.operators),
    "optimizer-foreach-off": on_adapter(models.optimizer_foreach_off),
    "optimizer": on_adapter(models.optimizer),
    "optimizer-inside-loop": on_adapter(models.optimizer_inside_loop),
    "optimizer-before-to": on_adapter(models.optimizer_before_to),
    "copy-between-adapters": on_adapter(copy_between_adapters),
    "dtype-fp64": on_adapter(dtype_fp64),
    "inference-mode": on_adapter(inference_mode),
    "autocast": on_adapter(autocast),
    "lstm": on_adapter(lstm),
}
exercises.STEPS.update(STEPS)


def main(adapter, _threadpoolctl, seconds, *names):
    exercises.die_quietly(float(seconds))
    say = exercises.line_writer()
    context = OnAdapter(adapter)

    def tell(event):
        event = dict(event, device=context.name_of(event["name"]))
        if event["event"] == "end":
            event["facts"] = dict(event["facts"], fell_back=context.take_fallbacks())
        say(event)

    with warnings.catch_warnings(record=True) as context.caught:
        warnings.simplefilter("always")
        missing = [name for name in PREPARATION if name not in names]
        for name in [*missing, *names]:
            exercises.perform(context, name, tell, again=name in missing)
    # PyTorch takes its time to leave; everything has been told.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
