"""Exercises PyTorch on one device, step by step, and tells before and after each step what it does and what came of it.

    python exercises.py DEVICE THREADPOOLCTL SECONDS STEP ...

The target interpreter runs this file by its path. THREADPOOLCTL is the path of a threadpoolctl.py ("-" for none), the
process ends itself after SECONDS (it may have outlived who started it), STEPs are names from `STEPS`, in the order
given. Standard library only until PyTorch itself is imported; Python 3.8 syntax.

One JSON line is written before and after each step, so that a death can be charged to the step that was open:
    {"event": "begin", "name": "matmul"}
    {"event": "end", "name": "matmul", "outcome": "ok", "detail": null, "seconds": 0.01, "facts": {}}
Outcomes: ok, wrong, exception, skipped. What PyTorch or anybody else prints on stdout goes to stderr. If "import-torch"
is not among the STEPs (a child that goes on behind a death), PyTorch is imported all the same and its two lines carry
"again": true. What is not ok for a reason that a second try can tell apart is tried at once (`SECOND_TRIES`).
"""

import os
import sys

# Python puts the folder of a script in front; nothing in it may take the place of a module that is meant.
if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]

import importlib.util
import json
import time
import warnings

#: Warnings of an import that name a cause; others are noise here.
TELLING = ("NumPy", "numpy", "OMP", "libgomp", "MKL", "OpenBLAS")


def load_by_path(name, path):
    """A module from a file, whatever the import path says; nothing is written beside it."""
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up there
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


arithmetic = load_by_path(
    "_arithmetic_of_the_doctor", os.path.join(os.path.dirname(os.path.realpath(__file__)), "arithmetic.py")
)


class Skip(Exception):
    """A step that has nothing to exercise here."""


class Context:
    def __init__(self, device, threadpoolctl):
        self.device = device
        self.threadpoolctl = threadpoolctl
        self.torch = None


# What the process may use, before and after PyTorch arranges itself.


def affinity(context):
    if not hasattr(os, "sched_getaffinity"):
        raise Skip("this platform does not tell")
    return {"cpus": cpulist(os.sched_getaffinity(0))}


def affinity_of_threads(context):
    """Also those of the workers, which exist only once something ran in parallel."""
    if not hasattr(os, "sched_getaffinity") or not os.path.isdir("/proc/self/task"):
        raise Skip("this platform does not tell")
    masks = []
    for thread in sorted(os.listdir("/proc/self/task"), key=int):
        try:
            masks.append(cpulist(os.sched_getaffinity(int(thread))))
        except OSError:
            pass  # it ended meanwhile
    return {"threads": masks}


def import_torch(context):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        import torch

        seconds = time.perf_counter() - began
    context.torch = torch
    texts = [" ".join(str(warning.message).split())[:300] for warning in caught]
    return {
        "version": text_of(getattr(torch, "__version__", None)),
        "import_seconds": seconds,
        "warnings": [text for text in texts if any(word in text for word in TELLING)][:10],
    }


def threads(context):
    torch = context.torch
    return {"num_threads": torch.get_num_threads(), "interop_threads": torch.get_num_interop_threads()}


def cpu_capability(context):
    torch, facts = context.torch, {}
    ask = getattr(getattr(torch.backends, "cpu", None), "get_cpu_capability", None)
    if ask is not None:
        facts["capability"] = ask()
    ask = getattr(getattr(torch, "cpu", None), "get_capabilities", None)
    if ask is not None:
        facts["capabilities"] = {name: value for name, value in ask().items() if isinstance(value, (bool, int, str))}
    if not facts:
        raise Skip("this release of PyTorch does not tell")
    return facts


def build(context):
    torch = context.torch
    version = torch.version
    facts = {
        "version": text_of(torch.__version__),
        "cuda": text_of(version.cuda),
        "hip": text_of(getattr(version, "hip", None)),
        "parallel_info": torch.__config__.parallel_info()[:4000],
    }
    if built_for_rocm(torch):
        # The text of show() asks HIP whether there is a GPU; the targets stand in the build itself.
        facts["targets"] = targets(torch)
    else:
        facts["config"] = torch.__config__.show()[:20000]
    return facts


def built_for_rocm(torch):
    return bool(getattr(getattr(torch, "version", None), "hip", None))


def targets(torch):
    """The GPU targets that this build has code for, asked without waking a GPU; None where it does not tell."""
    ask = getattr(torch._C, "_cuda_getArchFlags", None)
    told = ask() if ask is not None else None
    return str(told).split() if told else None


def import_numpy(context):
    try:
        import numpy
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise Skip("numpy is not installed") from None
    return {"version": numpy.__version__}


def libraries(context):
    """The OpenMP and BLAS libraries in this process: as threadpoolctl reads them, and as files that are mapped."""
    facts = {"mapped": mapped_libraries(), "threadpools": None}
    if context.threadpoolctl != "-":
        module = load_by_path("_threadpoolctl_of_the_doctor", context.threadpoolctl)
        facts["threadpools"] = module.threadpool_info()
    return facts


def mapped_libraries():
    words = ("gomp", "iomp", "libomp", "blas", "mkl", "blis", "amdhip64", "hsa-runtime", "miopen", "rocdxg")
    try:
        with open("/proc/self/maps", "rb") as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    paths = {line.split(None, 5)[5] for line in lines if line.count(" ") > 4 and "/" in line}
    return sorted(path for path in paths if any(word in os.path.basename(path).lower() for word in words))


def numpy_bridge(context):
    try:
        import numpy
    except ModuleNotFoundError:
        raise Skip("numpy is not installed") from None
    values = numpy.arange(6, dtype=numpy.float32)
    tensor = context.torch.from_numpy(values)
    if float(tensor.sum()) != 15.0 or (tensor + 1).numpy().tolist() != [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]:
        raise arithmetic.Wrong("an array changed its values between NumPy and PyTorch")
    return {}


def train_step(context):
    """Not where ROCm is behind it: the first backward() of a process counts the GPUs, and that wakes them."""
    if built_for_rocm(context.torch):
        raise Skip("done together with the GPU")
    return arithmetic.train_step(context)


def is_available(context):
    """What torch.cuda.is_available() says where no ROCm is behind it; there it would wake the GPU."""
    if built_for_rocm(context.torch):
        raise Skip("asked together with the GPU")
    return {"is_available": bool(context.torch.cuda.is_available())}


STEPS = {
    "affinity-before-import": affinity,
    "import-torch": import_torch,
    "affinity-after-import": affinity,
    "threads": threads,
    "cpu-capability": cpu_capability,
    "build": build,
    "import-numpy": import_numpy,
    "libraries": libraries,
    "matmul": arithmetic.matmul,
    "conv": arithmetic.conv,
    "conv1x1": arithmetic.conv1x1,
    "conv1x1-onednn-off": arithmetic.conv1x1_onednn_off,
    "dtype-bf16": arithmetic.dtype_bf16,
    "train-step": train_step,
    "numpy-bridge": numpy_bridge,
    "affinity-of-threads": affinity_of_threads,
    "is-available": is_available,
}
BEFORE_IMPORT = ("affinity-before-import", "import-torch")
SECOND_TRIES = {"conv1x1": "conv1x1-onednn-off"}


def perform(context, name, say, again=False):
    """Run one step between its two lines; True where it was ok."""
    mark = {"again": True} if again else {}
    say(dict(mark, event="begin", name=name))
    began, facts, detail = time.perf_counter(), {}, None
    try:
        if context.torch is None and name not in BEFORE_IMPORT:
            raise Skip("PyTorch was not imported")
        facts, outcome = STEPS[name](context), "ok"
    except Skip as reason:
        outcome, detail = "skipped", str(reason)
    except arithmetic.Wrong as reason:
        outcome, detail = "wrong", str(reason)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        outcome, detail = "exception", last_line(error)
        facts = {"kind": type(error).__name__, "winerror": getattr(error, "winerror", None)}
    seconds = time.perf_counter() - began
    say(dict(mark, event="end", name=name, outcome=outcome, detail=detail, seconds=seconds, facts=facts))
    return outcome == "ok"


def last_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = "".join(lines[-1:])
    if lines and lines[0].startswith("Could not run"):
        told = lines[0].partition(". ")[0]  # which operator is missing; then PyTorch lists what it has
    elif lines and lines[0].startswith(("HIP error", "CUDA error")):
        told = lines[0]  # what follows is advice that is the same for every error
    return (type(error).__name__ + (": " + told if told else ""))[:500]


def text_of(value):
    return None if value is None else str(value)


def cpulist(cpus):
    parts, ordered = [], sorted(cpus)
    for cpu in ordered:
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(low) if low == high else "%d-%d" % (low, high) for low, high in parts)


def line_writer():
    """A function that writes one event to what was stdout; from now on stdout is stderr, whoever writes to it."""
    sys.stdout.flush()
    channel = os.dup(1)
    os.dup2(2, 1)
    # What sitecustomize printed may have left a line open.
    os.write(channel, b"\n")

    def say(event):
        left = json.dumps(event, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        while left:
            left = left[os.write(channel, left) :]

    return say


def die_quietly(seconds):
    """No core file, no window that asks what to do about a crash, and an end even if nobody waits any more."""
    if os.name == "nt":
        import ctypes

        ctypes.windll.kernel32.SetErrorMode(0x0001 | 0x0002 | 0x8000)
        return
    import resource
    import signal

    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    except (OSError, ValueError):
        pass
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(max(1, int(seconds)))


def main(device, threadpoolctl, seconds, *names):
    die_quietly(float(seconds))
    say = line_writer()
    context = Context(device, threadpoolctl)
    if "import-torch" not in names:
        perform(context, "import-torch", say, again=True)
    for name in names:
        if not perform(context, name, say) and name in SECOND_TRIES and context.torch is not None:
            perform(context, SECOND_TRIES[name], say)
    # PyTorch takes its time to leave; everything has been told.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
