"""Exercises a ROCm build of PyTorch on one GPU, step by step; the lines it prints are those of `exercises.py`.

    python rocm_exercises.py DEVICE - SECONDS STEP ...

DEVICE is "cuda:0", as HIP counts what it sees. STEPs are names from `STEPS`. Each line also tells its "device":
"cuda:0", "cuda" for what concerns no single GPU, or "cpu". Of `PREPARATION`, what is not among the STEPs is done all
the same, marked "again": nothing else can be done without it.

Whatever wakes HIP may hang or end the process on a machine whose driver, firmware or variables are wrong; that is why
`exercises.py` does none of it. Standard library only until PyTorch itself is imported; Python 3.8 syntax.
"""

import os
import sys

# Python puts the folder of a script in front; nothing in it may take the place of a module that is meant.
if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]

import importlib.util
import re
import warnings

HERE = os.path.dirname(os.path.realpath(__file__))

sys.dont_write_bytecode, _before = True, sys.dont_write_bytecode
_spec = importlib.util.spec_from_file_location("_exercises_of_the_doctor", os.path.join(HERE, "exercises.py"))
exercises = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(exercises)
sys.dont_write_bytecode = _before

arithmetic = exercises.arithmetic
Skip, Wrong = exercises.Skip, arithmetic.Wrong

#: Partitions of large accelerators count as devices of their own; more than these are counted, but not described.
MOST_DEVICES = 64

#: Warnings that name a cause; others are noise here.
_TELLING = re.compile(r"HIP|hip[A-Z]|MIOpen|rocBLAS|ROCm|CUDA initialization")

#: Errors after which HIP gives the same answer to everything that this process asks.
_SPOILT = re.compile(r"illegal memory access|unspecified launch failure|device-side assert|launch timed out")


class OnGpu(exercises.Context):
    """`count` is how many GPUs HIP sees, once it was asked; `opened` whether this one takes numbers."""

    def __init__(self, device):
        super().__init__(device, "-")
        self.index = int(device.rpartition(":")[2])
        self.count = None
        self.opened = False
        self.spoilt = False
        self.caught = []

    def take_warnings(self):
        """What was warned of since the last call, each once."""
        texts = [" ".join(str(warning.message).split())[:300] for warning in self.caught]
        del self.caught[:]
        return [text for text in dict.fromkeys(texts) if _TELLING.search(text)][:10]


def list_devices(context):
    """How many GPUs HIP sees, and what each of them is, in HIP's own order."""
    cuda = context.torch.cuda
    available = bool(cuda.is_available())
    if available:
        cuda.init()
    context.count = int(cuda.device_count()) if available else 0
    devices, failures = [], []
    for index in range(min(context.count, MOST_DEVICES)):
        try:
            devices.append(described(cuda.get_device_properties(index)))
        except Exception as error:  # it may be counted and yet not answer
            devices.append({})
            failures.append(exercises.last_line(error))
    return {"is_available": available, "count": context.count, "devices": devices, "failures": failures}


def described(properties):
    return {
        "name": (str(getattr(properties, "name", None) or "")).strip() or None,
        "gfx": getattr(properties, "gcnArchName", None) or None,
        "total_memory_bytes": int(properties.total_memory),
        "pci_address": pci_address(properties),
    }


def pci_address(properties):
    """Such as 0000:03:00.0; None where this release of PyTorch does not tell it."""
    names = ("pci_domain_id", "pci_bus_id", "pci_device_id")
    numbers = [getattr(properties, name, None) for name in names]
    return "%04x:%02x:%02x.0" % tuple(numbers) if all(isinstance(number, int) for number in numbers) else None


def train_step_on_cpu(context):
    """The same on the CPU. The first backward() of a process counts the GPUs, so it is no exercise of the CPU alone."""
    on_cpu = exercises.Context("cpu", "-")
    on_cpu.torch = context.torch
    return arithmetic.train_step(on_cpu)


def open_device(context):
    """Do numbers come back from the GPU unchanged? Nothing is calculated, so it needs no code for the GPU."""
    torch = context.torch
    if context.count == 0:
        raise Skip("HIP sees no GPU")
    torch.cuda.set_device(context.index)
    numbers = arithmetic.data(context, 3, 5)
    if not torch.equal(numbers.to(context.device).cpu(), numbers):
        raise Wrong("numbers came back changed")
    context.opened = True
    return memory(context)


def memory(context):
    try:
        free, total = context.torch.cuda.mem_get_info(context.index)
    except Exception as error:  # old stacks do not answer, and calculate all the same
        return {"memory_failure": exercises.last_line(error)}
    return {"free_bytes": int(free), "total_bytes": int(total)}


def config(context):
    """What the build says of itself. The text also asks HIP whether there is a GPU."""
    return {"config": context.torch.__config__.show()[:20000]}


def libraries(context):
    return {"mapped": exercises.mapped_libraries()}


def on_gpu(step):
    """The step, left out where the GPU was not opened."""

    def performed(context):
        if not context.opened:
            raise Skip("the GPU could not be opened")
        return step(context)

    return performed


#: In the order in which one depends on the other. A child that goes on behind a death does those first.
PREPARATION = ("import-torch", "open-device")

STEPS = {
    "import-torch": exercises.import_torch,
    "list-devices": list_devices,
    "train-step-on-cpu": train_step_on_cpu,
    "open-device": open_device,
    "matmul": on_gpu(arithmetic.matmul),
    "dtype-fp16": on_gpu(arithmetic.dtype_fp16),
    "conv": on_gpu(arithmetic.conv),
    "train-step": on_gpu(arithmetic.train_step),
    "config": config,
    "libraries": libraries,
}
exercises.STEPS.update(STEPS)

#: Where what does not happen on the GPU itself happens.
ELSEWHERE = {
    "import-torch": "cuda",
    "list-devices": "cuda",
    "train-step-on-cpu": "cpu",
    "config": "cuda",
    "libraries": "cuda",
}


def in_order(names):
    """What is to be done, and what of it nobody asked for. The GPU is opened only for what happens on it."""
    missing = [name for name in PREPARATION if name not in names]
    todo = ["import-torch"] * ("import-torch" in missing) + list(names)
    if "open-device" in missing and any(name not in ELSEWHERE for name in names):
        todo.insert(todo.index("import-torch") + 1, "open-device")
    return todo, missing


def main(device, _threadpoolctl, seconds, *names):
    exercises.die_quietly(float(seconds))
    say = exercises.line_writer()
    context = OnGpu(device)

    def tell(event):
        event = dict(event, device=ELSEWHERE.get(event["name"], context.device))
        if event["event"] == "end":
            warned = context.take_warnings()
            if warned:
                event["facts"] = dict(event["facts"], warnings=warned)
            context.spoilt = event["outcome"] == "exception" and bool(_SPOILT.search(event["detail"]))
        say(event)

    todo, missing = in_order(names)
    with warnings.catch_warnings(record=True) as context.caught:
        warnings.simplefilter("always")
        for name in todo:
            exercises.perform(context, name, tell, again=name in missing)
            if context.spoilt:  # what is left belongs to a process that HIP still talks to
                break
    # PyTorch takes its time to leave; everything has been told.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
