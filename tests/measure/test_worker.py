"""Units in real processes: how they are started, what they answer, every way in which they fail, and Ctrl-C."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from doctor.machine.cpulist import format_cpulist
from doctor.measure import worker
from doctor.measure.units import Setting, Stage, Unit, UnitResult, Variant
from doctor.measure.worker import PAD, Pace, WorkerExperiment
from doctor.processes.run import Child
from doctor.tune.arms import Arm
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from doctor.tune.run import events

ROOT = Path(__file__).resolve().parents[2]
CPUS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset(range(os.cpu_count() or 1))
ALL_CPUS = format_cpulist(CPUS)
SHORT = Pace(block_seconds=0.001, blocks=2, least_blocks=1, warm_up_seconds=0.01, most_seconds=0.05)

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch in this environment")


def unit_of(
    *workloads: str, setting: Setting | None = None, limit_seconds: float = 200, variants: tuple[Variant, ...] = ()
) -> Unit:
    chosen = setting or Setting(variables={"OMP_NUM_THREADS": "1"})
    return Unit(0, "search", 0, "arm", chosen, workloads or ("small-ops",), 777, limit_seconds, variants)


def experiment(environ: Mapping[str, str] | None = None, python: str = sys.executable) -> WorkerExperiment:
    return WorkerExperiment(python, {**os.environ, **(environ or {})}, all_cpus=ALL_CPUS, l3_bytes=0, pace=SHORT)


def fake_torch(folder: Path, text: str) -> dict[str, str]:
    """An environment in which `import torch` runs this text."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(textwrap.dedent(text))
    return {"PYTHONPATH": str(folder)}


def failed(folder: Path, text: str, *, limit_seconds: float = 60) -> UnitResult:
    return experiment(fake_torch(folder, text)).measure(unit_of(limit_seconds=limit_seconds))


def gone(pid: int, within_seconds: float = 10) -> bool:
    end = time.monotonic() + within_seconds
    while time.monotonic() < end:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


# A unit that works


@needs_torch
def test_a_unit_is_measured() -> None:
    result = experiment().measure(unit_of("gemm-512", "mlp-train"))
    assert (result.outcome, result.detail) == ("ok", "")
    assert [timing.workload for timing in result.timings] == ["gemm-512", "mlp-train"]
    assert all(seconds > 0 for timing in result.timings for seconds in timing.seconds)
    assert result.timings[0].flop == 2 * 512**3
    assert result.threads == 1
    assert result.wall_seconds > 0
    assert result.readings.other_load_share is not None
    if sys.platform == "linux":
        assert result.cpus == ALL_CPUS
        assert result.readings.switches_involuntary is not None
        assert (result.readings.peak_resident_bytes or 0) > 50e6


@needs_torch
def test_a_mask_holds_from_the_start() -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("needs sched_setaffinity, which only Linux has")
    one = str(min(CPUS))
    result = experiment().measure(unit_of(setting=Setting(cpus=one)))
    # PyTorch starts as many threads as it sees CPUs: had the mask come later, it would have seen all.
    assert (result.cpus, result.threads) == (one, 1)


@needs_torch
def test_options_reach_the_process() -> None:
    setting = Setting(options={"intra_threads": "2", "batch": "4"}, variables={"OMP_NUM_THREADS": "1"})
    result = experiment().measure(unit_of("mlp-train", setting=setting))
    assert (result.threads, result.timings[0].items) == (2, 4)


@needs_torch
def test_variants_share_a_process_and_one_may_fail() -> None:
    variants = (
        Variant("two", {"batch": "2"}),
        Variant("huge", {"batch": str(1 << 45)}),
        Variant("only ops", {}, ("small-ops",)),
    )
    result = experiment().measure(unit_of("mlp-train", "small-ops", variants=variants))
    assert result.outcome == "ok"
    told = [(timing.variant, timing.workload, timing.failed.partition(":")[0]) for timing in result.timings]
    assert told == [
        ("two", "mlp-train", ""),
        ("two", "small-ops", ""),
        ("huge", "mlp-train", "out-of-memory"),
        ("huge", "small-ops", ""),
        ("only ops", "small-ops", ""),
    ]


@needs_torch
def test_triad_has_arrays_of_one_size_in_every_unit() -> None:
    runner = WorkerExperiment(sys.executable, os.environ, all_cpus=ALL_CPUS, l3_bytes=1 << 20, pace=SHORT)
    assert runner._bytes_of_an_array() == 256 << 20
    runner._array_bytes = 1 << 20
    result = runner.measure(unit_of("triad"))
    assert result.timings[0].moved_bytes == 3 << 20


def test_numpy_needs_no_torch(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="no numpy in this environment")
    env = fake_torch(tmp_path, "raise RuntimeError('it was imported')")
    setting = Setting(variables={"OPENBLAS_NUM_THREADS": "1"})
    result = experiment(env).measure(unit_of("numpy-gemm", setting=setting))
    assert (result.outcome, result.threads) == ("ok", 1)


@pytest.mark.parametrize(
    ("stage", "loss"), [("cost", False), ("search", False), ("confirm", False), ("recommend", True)]
)
def test_the_loss_is_asked_for_where_it_is_compared(stage: Stage, loss: bool) -> None:
    order = experiment()._order(msgspec.structs.replace(unit_of(), stage=stage))
    assert order["loss"] is loss


TELLS_ITS_ENVIRONMENT = """
    import json, os
    with open(os.environ["TOLD"], "w") as file:
        json.dump({"env": dict(os.environ), "cwd": os.listdir(".")}, file)
"""


def test_the_environment_is_the_users_as_the_setting_changes_it(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    environ = {
        **fake_torch(tmp_path / "site", TELLS_ITS_ENVIRONMENT),
        "TOLD": str(told),
        "OMP_NUM_THREADS": "7",
        "KMP_AFFINITY": "none",
        "PYTHONHASHSEED": "random",
        "KEPT": "as it is",
    }
    setting = Setting(variables={"OMP_NUM_THREADS": "3", "KMP_AFFINITY": None, "MALLOC_ARENA_MAX": "2"})
    experiment(environ).measure(unit_of(setting=setting))
    found: dict[str, Any] = json.loads(told.read_text())
    env = found["env"]
    assert (env["OMP_NUM_THREADS"], env["MALLOC_ARENA_MAX"], env["KEPT"]) == ("3", "2", "as it is")
    assert "KMP_AFFINITY" not in env
    assert env["PYTHONHASHSEED"] == "0"
    assert len(env[PAD]) == 777
    assert found["cwd"] == []


# Units that fail


@pytest.mark.parametrize(
    ("text", "outcome", "detail"),
    [
        ("raise MemoryError('no room for a model')", "out-of-memory", "no room for a model"),
        ("raise RuntimeError('CUDA out of memory.')", "out-of-memory", "RuntimeError: CUDA out of memory."),
        ("__version__ = '1.4.0'", "rubbish", "PyTorch 1.4.0 is too old to be measured: 1.10 is the oldest that can be"),
        ("import os; os._exit(0)", "rubbish", "exit 0 without an answer while it was imported"),
        ("import os; os.write(2, b'libgomp: Thread creation failed'); os._exit(1)",
         "rubbish", "exit 1 without an answer while it was imported (libgomp: Thread creation failed)"),
        ("import os, sys; os.write(1, b'{\"event\": \"done\"}'); sys.stdout.flush(); os._exit(0)",
         "rubbish", "exit 0 without an answer while it was imported ({\"event\": \"done\"})"),
    ],
)  # fmt: skip
def test_a_failure_is_a_value(tmp_path: Path, text: str, outcome: str, detail: str) -> None:
    result = failed(tmp_path, text)
    assert (result.outcome, result.detail) == (outcome, detail)
    assert result.timings == ()
    assert result.wall_seconds > 0


@posix_only
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGILL", "SIGKILL"])
def test_a_killed_unit_names_its_signal(tmp_path: Path, name: str) -> None:
    result = failed(tmp_path, f"import os, signal; os.kill(os.getpid(), signal.{name})")
    assert (result.outcome, result.detail) == ("killed", f"{name} while it was imported")


@posix_only
def test_a_unit_that_the_kernel_killed_for_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = iter([4, 5])
    monkeypatch.setattr(worker, "out_of_memory_kills", lambda _: next(counted))
    result = failed(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert (result.outcome, result.detail) == ("out-of-memory", "SIGKILL: the memory was used up while it was imported")


@needs_torch
@posix_only
def test_a_unit_without_room_for_pytorch() -> None:
    """An address space in which libtorch_cpu.so does not fit."""
    code = f"""
        import os, resource, sys
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        from doctor.measure.worker import WorkerExperiment
        from doctor.measure.units import Setting, Unit
        unit = Unit(0, "search", 0, "arm", Setting(), ("small-ops",), 7, 100.0)
        print(WorkerExperiment({sys.executable!r}, os.environ, all_cpus={ALL_CPUS!r}).measure(unit).outcome)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, timeout=200, cwd=ROOT, text=True
    )
    assert run.stdout.strip() == "out-of-memory", run.stderr


def test_a_unit_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = f"""
        import os, subprocess, sys, time
        inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open({str(pids)!r}, "w").write("%d %d" % (os.getpid(), inner.pid))
        time.sleep(600)
    """
    result = failed(tmp_path / "site", text, limit_seconds=6)
    assert result.outcome == "hung"
    assert result.detail == "it did not end in time while it was imported (timeout after 6 s)"
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_a_python_without_torch(tmp_path: Path) -> None:
    venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(tmp_path / "bare")
    python = tmp_path / "bare" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    result = WorkerExperiment(str(python), {}, all_cpus=ALL_CPUS).measure(unit_of())
    assert (result.outcome, result.detail) == ("rubbish", "PyTorch is not installed in this Python")
    result = WorkerExperiment(str(python), {}, all_cpus=ALL_CPUS).measure(unit_of("numpy-gemm"))
    assert (result.outcome, result.detail) == ("rubbish", "NumPy is not installed in this Python")


def test_a_python_that_does_not_start(tmp_path: Path) -> None:
    result = experiment(python=str(tmp_path / "missing")).measure(unit_of())
    assert (result.outcome, result.detail) == ("rubbish", "it does not start: No such file or directory")


@posix_only
def test_a_python_that_prints_rubbish(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nhead -c 100000 /dev/zero\necho '{\"event\":'\necho 'Segfault? no' >&2\n")
    python.chmod(0o755)
    result = experiment(python=str(python)).measure(unit_of())
    assert (result.outcome, result.timings) == ("rubbish", ())
    assert result.detail == "exit 0 without an answer while it was imported (Segfault? no)"


def test_cpus_that_are_not_to_be_had(tmp_path: Path) -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("needs sched_setaffinity, which only Linux has")
    result = experiment().measure(unit_of(setting=Setting(cpus="60000")))
    assert (result.outcome, result.detail) == (
        "rubbish",
        "it does not start: it may not use all of the CPUs it was meant for",
    )


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no workload is called 'gemm'"):
        experiment().measure(unit_of("gemm"))
    with pytest.raises(ValueError, match="not an absolute path"):
        experiment(python="python3").measure(unit_of())


# Ctrl-C, and a whole run


@posix_only
def test_ctrl_c_takes_the_whole_group_along(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = f"""
        import os, subprocess, sys, time
        inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open({str(pids)!r}, "w").write("%d %d\\n" % (os.getpid(), inner.pid))
        time.sleep(600)
    """
    fake_torch(tmp_path / "site", text)
    code = f"""
        import os
        from doctor.measure.worker import WorkerExperiment
        from doctor.measure.units import Setting, Unit
        unit = Unit(0, "search", 0, "arm", Setting(), ("small-ops",), 7, 500.0)
        environ = {{**os.environ, "PYTHONPATH": {str(tmp_path / "site")!r}}}
        try:
            WorkerExperiment({sys.executable!r}, environ, all_cpus={ALL_CPUS!r}).measure(unit)
        except KeyboardInterrupt:
            print("passed through", flush=True)
            import time; time.sleep(600)  # nothing is left to do at the end of this process
    """
    doctor = Child([sys.executable, "-c", textwrap.dedent(code)], cwd=str(ROOT))
    try:
        deadline = time.monotonic() + 60
        while not (pids.exists() and pids.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert doctor._process is not None
        doctor._process.send_signal(signal.SIGINT)
        assert all(gone(int(pid)) for pid in pids.read_text().split())
        while not doctor._kept["stdout"] and time.monotonic() < deadline:
            time.sleep(0.02)
        assert bytes(doctor._kept["stdout"]).strip() == b"passed through"
    finally:
        doctor.kill()


@needs_torch
def test_a_run_goes_over_real_units() -> None:
    """Too small a budget ends it behind the units that tell the cost; they are real."""
    plan = Plan(
        seed=1,
        workloads=("small-ops",),
        arms=(Arm("threads-2", Setting({"OMP_NUM_THREADS": "2"})),),
        budget_seconds=4.0,
        default_threads=1,
    )
    result = list(events(plan, experiment({"OMP_NUM_THREADS": "1"})))[-1]
    assert isinstance(result, TuneResult)
    assert (result.ending, result.units) == ("budget-too-small", 2)
    assert (result.needed_seconds or 0) > 4


def test_a_run_whose_default_fails_says_why(tmp_path: Path) -> None:
    env = fake_torch(tmp_path, "raise OSError('libtorch_cpu.so: cannot open')")
    plan = Plan(seed=1, workloads=("small-ops",), arms=(Arm("a", Setting({"OMP_NUM_THREADS": "2"})),))
    result = list(events(plan, experiment(env)))[-1]
    assert isinstance(result, TuneResult)
    assert (result.ending, result.detail) == ("default-failed", "rubbish: OSError: libtorch_cpu.so: cannot open")
