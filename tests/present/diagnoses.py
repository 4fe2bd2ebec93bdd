"""Diagnoses that the golden screens show: written by hand, so that a new rule does not change a golden."""

from __future__ import annotations

from doctor.diagnosis.model import Diagnosis, Finding, Fix, Needed, Silenced, Undecided
from doctor.machine.crash import Crash

THREADS = Finding(
    rule="threads-exceed-cpu-budget",
    severity="error",
    area="limits",
    subject=None,
    title="PyTorch starts more threads than this process may use",
    evidence="torch starts 64 threads; affinity and cgroup allow 8 CPUs",
    why="The threads take turns on too few CPUs, and each waits for the slowest at every step.",
    fix=Fix("Set the number of threads to the CPUs that this process may use.", ("export OMP_NUM_THREADS=8",)),
    references=("https://docs.pytorch.org/docs/stable/notes/multiprocessing.html",),
)
THROTTLED = Finding(
    rule="container-throttled",
    severity="warning",
    area="limits",
    subject=None,
    title="The container is stopped again and again because it used up its CPU quota",
    evidence="it was stopped in 430 of 1200 periods",
    why="",
    fix=Fix("It ends with the cause above."),
    caused_by="threads-exceed-cpu-budget",
)
RUNTIME = Finding(
    rule="rocm-runtime-missing",
    severity="error",
    area="rocm",
    subject=None,
    title="The ROCm build of PyTorch cannot find the ROCm runtime",
    evidence="ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory",
    why="The wheel expects its libraries beside it, or a system-wide ROCm.",
    fix=Fix(
        "Install the wheel again, with the libraries that belong to it.",
        (
            "uv pip install --python /opt/venv/bin/python --reinstall torch==2.9.1+rocm6.4 "
            "--index-url https://download.pytorch.org/whl/rocm6.4",
        ),
    ),
    references=("https://pytorch.org/get-started/locally/",),
)
IMPORT = Finding(
    rule="torch-import-fails",
    severity="error",
    area="pytorch",
    subject=None,
    title="PyTorch cannot be imported",
    evidence="the import ended with ImportError",
    why="",
    fix=Fix("Reinstall PyTorch."),
    caused_by="rocm-runtime-missing",
)
OVERRIDE = Finding(
    rule="override-without-gpu",
    severity="info",
    area="environment",
    subject="HSA_OVERRIDE_GFX_VERSION",
    title="A variable for another GPU is set",
    evidence="HSA_OVERRIDE_GFX_VERSION=10.3.0, and no AMD GPU was found",
    why="",
    fix=Fix("Unset it.", ("unset HSA_OVERRIDE_GFX_VERSION",)),
)
UNDECIDED = (
    Undecided("ram-below-rated-speed", (Needed("memory.modules", "needs-root"),)),
    Undecided("one-channel", (Needed("memory.modules", "needs-root"), Needed("memory.channels", "needs-root"))),
)
NOT_GIVEN = (
    Undecided("threads-exceed-cpu-budget", (Needed("limits.cpu_budget", "not-in-source"),)),
    Undecided("cpu-no-avx2", (Needed("cpu.isa.avx2", "not-in-source"),)),
    Undecided("threads-use-smt", (Needed("limits.cpu_budget", "not-in-source"),)),
)

HEALTHY = Diagnosis(undecided=UNDECIDED, not_applicable=("dml-wrong-python",), passed=("cpu-no-avx",))
QUOTA = Diagnosis(findings=(THREADS, THROTTLED), undecided=UNDECIDED[:1])
NO_TORCH = Diagnosis(undecided=UNDECIDED + NOT_GIVEN)
CLEAN = Diagnosis()
UNKNOWN = Diagnosis(undecided=NOT_GIVEN)
TWO_ERRORS = Diagnosis(
    findings=(RUNTIME, IMPORT, OVERRIDE),
    silenced=(Silenced("threads-use-smt", "rocm-runtime-missing"),),
    crashed=(Crash("probe:memory", "KeyError: 'MemTotal'"),),
)
