"""Times workloads of `workloads/` in a fresh process, under one setting, and tells every sample.

    python worker.py ORDER

ORDER is a JSON object:
    runs            what to time, in this order: {"workload": "gemm-1024", "module": "gemm", "arguments": {"m": 1024},
                    "variant": "", "options": {}}; options are added to those of the process for this run alone
    options         what no variable sets: device, autocast, flush_denormal, interop_threads, intra_threads,
                    loader_workers, batch, accumulate, foreach ("default": torch.optim decides), half (float16 by hand),
                    check (look at the gradients on a device), fill_bytes; all values are strings
    go_on           whether a run that fails leaves the others their turn
    pace            block_seconds, blocks, least_blocks, warm_up_seconds, most_seconds: see `pacing.py`
    loss            whether training workloads also tell their loss after 20 steps
    array_bytes     the size of each of triad's arrays, the same in every unit
    limit_seconds   the process ends itself after that: it may have outlived who started it
    threadpoolctl   the path of a threadpoolctl.py, or "-"

The target interpreter runs this file by its path. Standard library only until PyTorch or NumPy is imported; Python 3.8
syntax. PyTorch is not imported for NumPy's workloads. One JSON line is written before and after each run:
    {"event": "imported", "version": "2.9.0", "seconds": 1.4, "cpus": [0, 1]}
    {"event": "begin", "workload": "gemm-1024", "variant": ""}
    {"event": "timed", "workload": "gemm-1024", "variant": "", "seconds": [...], "values": [...], "tolerance": 0.001,
     "items": 1, "flop": 2147483648.0, "moved_bytes": 12582912.0, "loss": null, "peak_resident_bytes": 1, "cost": {}}
    {"event": "device", "workload": "fit", "variant": "", "fell_back": [...], ...}      on another device than the CPU
    {"event": "grew", "bytes": 134217728, ...}, {"event": "filled", "ended": "refused", "detail": "..."}
    {"event": "failed", "workload": "", "variant": "", "outcome": "out-of-memory", "detail": "..."}
    {"event": "done", "threads": 2, "cpus": [0, 1], "clock_mhz": [...], ...}
What PyTorch or anybody else prints on stdout goes to stderr.
"""

import os
import sys

# Python puts the folder of a script in front; nothing in it may take the place of a module that is meant.
if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]

import contextlib
import gc
import importlib.util
import json
import re
import time

HERE = os.path.dirname(os.path.realpath(__file__))

sys.dont_write_bytecode, _before = True, sys.dont_write_bytecode
_spec = importlib.util.spec_from_file_location("_exercises_of_the_doctor", os.path.join(HERE, "exercises.py"))
exercises = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(exercises)
sys.dont_write_bytecode = _before


def part(name):
    return exercises.load_by_path("_%s_of_the_doctor" % name, os.path.join(HERE, name + ".py"))


# A DataLoader may start processes that read this file again and look for `loading` by its name.
numbers, pacing, devices, own_readings = map(part, ("workload_numbers", "pacing", "devices", "own_readings"))
training, loading = map(part, ("training", "loading"))
device_checks, device_memory = map(part, ("device_checks", "device_memory"))

#: torch.autocast on the CPU came with it.
OLDEST_TORCH = (1, 10)

OPTIONS = (
    "device", "autocast", "flush_denormal", "interop_threads", "intra_threads", "loader_workers", "batch",
    "accumulate", "foreach", "half", "check", "fill_bytes",
)
#: These hold for a whole process: the threads that exist already would not follow.
OF_THE_PROCESS = ("flush_denormal", "interop_threads")

_NO_MEMORY = re.compile(
    r"out of memory|not enough (?:\w+ )*memory|can't allocate memory|cannot allocate memory|bad_alloc|8007000E|"
    r"failed to map segment from shared object(?!: (?:Operation|Permission))",
    re.IGNORECASE,
)
_DEVICE_LOST = re.compile(r"device (?:instance )?(?:was |has been )?(?:removed|suspended|lost|hung)|887A000[567]", re.I)

Unusable = devices.Unusable


class Context:
    """What a workload is built from."""

    def __init__(self, torch, numpy, options, array_bytes, loss=True):
        self.torch, self.numpy, self.options, self.array_bytes = torch, numpy, options, array_bytes
        self.loss = loss
        self.device = None if torch is None else devices.opened(torch, options.get("device", "cpu"))
        if torch is not None and "autocast" in options:
            self._check_autocast()

    def _check_autocast(self):
        """Where a device does not know a type, autocast only warns and goes on without it."""
        ones = self.torch.ones(2, 2, device=self.device)
        with self.autocast():
            product = ones @ ones
        if product.dtype != getattr(self.torch, self.options["autocast"]):
            raise Unusable("autocast to %s does nothing on %s" % (self.options["autocast"][:20], self.device.type))

    def autocast(self):
        kind = self.options.get("autocast")
        if kind is None:
            return contextlib.nullcontext()
        return self.torch.autocast(self.device.type, dtype=getattr(self.torch, kind))


class Timer:
    """Times runs one by one, and reads between blocks what the process can tell about itself."""

    def __init__(self, pace, array_bytes, torch, numpy, loss):
        self.pace, self.array_bytes, self.torch, self.numpy, self.loss = pace, array_bytes, torch, numpy, loss
        self.clocks, self.switches = [], [0, 0]

    def timed(self, run, options, watch):
        """The `timed` event of one run."""
        module = part_of_workloads(run["module"])
        context = Context(self.torch, self.numpy, options, self.array_bytes, self.loss)
        reason = module.too_large(self.array_bytes, own_readings.free_bytes()) if run["module"] == "triad" else None
        if reason is not None:
            raise MemoryError(reason)
        began = time.perf_counter()
        workload = module.build(context, **run["arguments"])
        if options.get("check") == "1" and watch.away and hasattr(workload, "parameters"):
            on_cpu = Context(self.torch, self.numpy, {"batch": "32"}, self.array_bytes)
            watch.compare(workload, module.build(on_cpu, **run["arguments"]))
        built = time.perf_counter()
        values = numbers.finite(workload.answer())
        answered = time.perf_counter()
        seconds, warm = self._samples(workload, context)
        ended = time.perf_counter()
        loss = getattr(workload, "loss", None)
        return {
            "event": "timed",
            "seconds": seconds,
            "values": values,
            "tolerance": numbers.tolerance(workload.precision, options),
            "items": workload.items,
            "flop": workload.flop,
            "moved_bytes": workload.moved_bytes,
            "loss": loss if loss is None else numbers.finite([loss])[0],
            "peak_resident_bytes": own_readings.peak_resident_bytes(),
            "cost": {
                "build": built - began,
                "answer": answered - built,
                "warm_up": warm - answered,
                "blocks": ended - warm,
            },
        }

    def _samples(self, workload, context):
        """The blocks, and when the warm-up was over."""
        pace, finish, overhead = self.pace, lambda result: None, 0.0
        if context.device is not None:
            finish = devices.finisher(context.torch, context.device)
            if context.device.type not in ("cpu", "cuda"):
                overhead = devices.empty_seconds(finish, workload.step())
                pace = pace.with_blocks_of(devices.READ_BACK_BLOCK_SECONDS)
            if "loader_workers" in context.options:
                pace = pace.with_blocks_of(loading.BLOCK_SECONDS)
        watch = pacing.Stopwatch(workload.step, finish, time.perf_counter, overhead)
        threads = 1 if self.torch is None else self.torch.get_num_threads()
        reset = getattr(workload, "reset", None)

        def before_block():
            self._read_clock(threads)
            if reset is not None:
                finish(reset())

        step_seconds = pacing.warm_up(watch, pace)
        warm, before = time.perf_counter(), own_readings.switches()
        seconds = pacing.blocks(watch, pace, step_seconds, before_block)
        after = own_readings.switches()
        self._read_clock(threads)
        if before is not None:
            self.switches = [self.switches[at] + after[at] - before[at] for at in range(2)]
        return seconds, warm

    def _read_clock(self, threads):
        clock = own_readings.clock_mhz(threads)
        if clock is not None:
            self.clocks.append(clock)


def part_of_workloads(name):
    if not name.isidentifier():
        raise Unusable("no workload is called %r" % name[:40])
    return exercises.load_by_path("_workload_%s_of_the_doctor" % name, os.path.join(HERE, "workloads", name + ".py"))


def import_torch():
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise Unusable("PyTorch is not installed in this Python") from None
    version = str(getattr(torch, "__version__", "of an unknown version"))
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is not None and (int(found.group(1)), int(found.group(2))) < OLDEST_TORCH:
        raise Unusable(
            "PyTorch %s is too old to be measured: %d.%d is the oldest that can be" % (version[:40], *OLDEST_TORCH)
        )
    return torch


def import_numpy():
    try:
        import numpy
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise Unusable("NumPy is not installed in this Python") from None
    return numpy


def set_for_process(torch, options):
    """What has to be set before anything runs in parallel."""
    known(options)
    if torch is None:
        return
    if "interop_threads" in options:
        torch.set_num_interop_threads(int(options["interop_threads"]))
    if "intra_threads" in options:
        torch.set_num_threads(int(options["intra_threads"]))
    # Threads that are started later inherit it.
    if options.get("flush_denormal") == "1" and not torch.set_flush_denormal(True):
        raise Unusable("this CPU cannot flush denormal numbers")


def known(options):
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise Unusable("there is no option %r" % unknown[0][:40])


@contextlib.contextmanager
def set_for_run(torch, options):
    """The options of one variant; undone afterwards."""
    known(options)
    for name in OF_THE_PROCESS:
        if name in options:
            raise Unusable("%s holds for a whole process and cannot be set for a part of it" % name)
    before = torch.get_num_threads() if "intra_threads" in options else None
    if before is not None:
        torch.set_num_threads(int(options["intra_threads"]))
    try:
        yield
    finally:
        if before is not None:
            torch.set_num_threads(before)


def outcome_of(error, torch):
    """How a unit ended with this exception, and why in one line."""
    types = [MemoryError]
    for owner in (torch, getattr(torch, "cuda", None)):
        kind = getattr(owner, "OutOfMemoryError", None)
        if isinstance(kind, type):
            types.append(kind)
    detail = str(error) if isinstance(error, (Unusable, numbers.Wrong)) else exercises.last_line(error)
    if isinstance(error, tuple(types)):
        # The first line of PyTorch's says how much was asked for; what follows is advice.
        lines = str(error).splitlines()
        return "out-of-memory", lines[0][:500] if lines else type(error).__name__
    if isinstance(error, numbers.Wrong):
        return "wrong", detail
    if _NO_MEMORY.search(str(error)):
        return "out-of-memory", detail
    if _DEVICE_LOST.search(str(error)):
        return "killed", detail
    return "rubbish", detail


def filled(torch, options, say):
    device = devices.opened(torch, options["device"])
    ended, detail = device_memory.fill(
        torch, device, int(options["fill_bytes"]), lambda row: say(dict(row, event="grew"))
    )
    return {"event": "filled", "ended": ended, "detail": detail}


def threads_in_use(torch, threadpoolctl):
    """The threads that a parallel operation really gets."""
    if torch is not None:
        return torch.get_num_threads()
    if threadpoolctl == "-":
        return None
    pools = exercises.load_by_path("_threadpoolctl_of_the_doctor", threadpoolctl).threadpool_info()
    return max((pool["num_threads"] for pool in pools if pool.get("user_api") == "blas"), default=None)


def perform(order, say):
    torch, numpy, options = None, None, order["options"]
    where = {"workload": "", "variant": ""}
    try:
        began = time.perf_counter()
        modules = {run["module"] for run in order["runs"]}
        if modules - {"numpy_gemm"}:
            torch = import_torch()
        if "numpy_gemm" in modules:
            numpy = import_numpy()
        set_for_process(torch, options)
        version = exercises.text_of(getattr(torch or numpy, "__version__", None))
        cpus = own_readings.affinity()
        say({"event": "imported", "version": version, "seconds": time.perf_counter() - began, "cpus": cpus})
        timer = Timer(pacing.Pace(**order["pace"]), order["array_bytes"], torch, numpy, order["loss"])
    except (Exception, SystemExit) as error:
        outcome, detail = outcome_of(error, torch)
        say(dict(where, event="failed", outcome=outcome, detail=detail))
        return
    for run in order["runs"]:
        where = {"workload": run["workload"], "variant": run["variant"]}
        say(dict(where, event="begin"))
        chosen = dict(options, **run["options"])
        watch = device_checks.Watch(torch, chosen)
        try:
            with set_for_run(torch, run["options"]), watch:
                if run["module"] == "device_memory":
                    told = filled(torch, chosen, say)
                else:
                    told = timer.timed(run, chosen, watch)
        except (Exception, SystemExit) as error:
            outcome, detail = outcome_of(error, torch)
            told = {"event": "failed", "outcome": outcome, "detail": detail}
        if watch.away:
            say(dict(where, event="device", **watch.told()))
        say(dict(where, **told))
        if told["event"] == "failed" and not order["go_on"]:
            return
        gc.collect()  # what a run built is gone before the next one builds
        if torch is not None and "cuda" in str(options.get("device")) + str(run["options"].get("device")):
            torch.cuda.empty_cache()
    say(
        {
            "event": "done",
            "threads": threads_in_use(torch, order["threadpoolctl"]),
            "cpus": own_readings.affinity(),
            "clock_mhz": timer.clocks or None,
            "switches_voluntary": timer.switches[0] if own_readings.switches() else None,
            "switches_involuntary": timer.switches[1] if own_readings.switches() else None,
            "peak_resident_bytes": own_readings.peak_resident_bytes(),
            "cpu_seconds": time.process_time(),
        }
    )


def main(text):
    order = json.loads(text)
    exercises.die_quietly(order["limit_seconds"])
    perform(order, exercises.line_writer())
    # PyTorch takes its time to leave; everything has been told.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
