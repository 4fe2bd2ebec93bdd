"""`worker.py` by itself: every workload on the PyTorch of this environment, in short, and how it tells and fails."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from doctor.measure.workloads import WORKLOADS

INSIDE = Path(__file__).resolve().parents[2] / "doctor" / "inside"
SCRIPT = INSIDE / "worker.py"
FAKE_DIRECTML = Path(__file__).parent / "fake_directml"

SHORT = {"block_seconds": 0.001, "blocks": 2, "least_blocks": 1, "warm_up_seconds": 0.01, "most_seconds": 0.05}
#: What no test has time for is made smaller; everything else is as it is.
SMALLER = {"m": 48, "n": 64, "k": 56}

posix_only = pytest.mark.skipif(os.name == "nt", reason="RLIMIT_AS is POSIX")


@pytest.fixture(autouse=True, scope="module")
def needs_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch in this environment")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("worker_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_of(name: str, variant: str = "", **options: str) -> dict[str, Any]:
    workload = WORKLOADS[name]
    arguments = {**workload.arguments, **SMALLER} if workload.module == "gemm" else workload.arguments
    return {
        "workload": name,
        "module": workload.module,
        "arguments": arguments,
        "variant": variant,
        "options": options,
    }


def perform(
    *runs: dict[str, Any] | str,
    options: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
    **order: Any,
) -> tuple[list[dict], subprocess.CompletedProcess]:
    """The events that the script told, and how it ended. One thread: whoever else runs here would stop two."""
    text = json.dumps(
        {
            "runs": [run_of(run) if isinstance(run, str) else run for run in runs],
            "options": options or {},
            "go_on": False,
            "pace": SHORT,
            "loss": True,
            "array_bytes": 1 << 20,
            "limit_seconds": 200,
            "threadpoolctl": "-",
            **order,
        }
    )
    run = subprocess.run(
        [*prefix, sys.executable, str(SCRIPT), text],
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
        timeout=240,
    )
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{")], run


def timed(events: list[dict]) -> dict[str, dict]:
    """The `timed` events by workload, or by variant where there are some."""
    return {event["variant"] or event["workload"]: event for event in events if event["event"] == "timed"}


def failure(events: list[dict]) -> tuple[str, str]:
    event = next(event for event in events if event["event"] == "failed")
    return event["outcome"], event["detail"]


TRAINING = [name for name, workload in WORKLOADS.items() if workload.trains]
QUICK_FIT = run_of("fit", batch="2000")
ALL = [QUICK_FIT if name == "fit" else run_of(name) for name in WORKLOADS]


@pytest.fixture(scope="module")
def whole(needs_torch: None) -> list[dict]:
    """Every workload there is, in one process."""
    events, run = perform(*ALL)
    assert run.returncode == 0, run.stderr.decode()
    assert not [event for event in events if event["event"] == "failed"]
    return events


@pytest.fixture(scope="module")
def again(needs_torch: None) -> dict[str, dict]:
    """The same in another process, the other way round, one of them with other options that change no number."""
    return timed(perform(*reversed(ALL))[0])


def test_every_workload_is_told_before_and_after(whole: list[dict]) -> None:
    told = [(event["event"], event.get("workload")) for event in whole]
    inner = [(kind, name) for name in WORKLOADS for kind in ("begin", "timed")]
    assert told == [("imported", None), *inner, ("done", None)]


@pytest.mark.parametrize("name", WORKLOADS)
def test_samples_are_times_and_answers_are_numbers(whole: list[dict], name: str) -> None:
    event = timed(whole)[name]
    assert 1 <= len(event["seconds"]) <= SHORT["blocks"]
    assert all(0 < each < 100 for each in event["seconds"])
    assert event["values"] and all(map(math.isfinite, event["values"]))
    assert len(set(event["values"])) > 1 or name == "triad"
    assert 0 <= event["tolerance"] < 0.1
    assert event["peak_resident_bytes"] is None or event["peak_resident_bytes"] > 20e6
    assert set(event["cost"]) == {"build", "answer", "warm_up", "blocks"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_another_process_gives_the_same_answer(whole: list[dict], again: dict[str, dict], name: str) -> None:
    one, other = timed(whole)[name], again[name]
    scale = max(map(abs, one["values"]))
    assert max(abs(a - b) for a, b in zip(one["values"], other["values"], strict=True)) <= 1e-5 * scale
    assert one["tolerance"] == other["tolerance"]


def test_work_is_counted_from_the_shapes(whole: list[dict]) -> None:
    told = timed(whole)
    m, n, k = SMALLER["m"], SMALLER["n"], SMALLER["k"]
    assert told["gemm-1024"]["flop"] == 2 * m * n * k
    assert told["gemm-1024"]["moved_bytes"] == 4 * (m * k + k * n + m * n)
    assert told["gemm-bf16-1024"]["moved_bytes"] == 2 * (m * k + k * n + m * n)
    assert (told["triad"]["moved_bytes"], told["triad"]["flop"]) == (12 * (1 << 18), 2 * (1 << 18))
    assert told["numpy-gemm"]["flop"] == 2 * 1024**3
    assert told["small-ops"]["flop"] is None and told["small-ops"]["moved_bytes"] is None


@pytest.mark.parametrize(("name", "items"), [("mlp-train", 128), ("conv-train", 32), ("transformer-infer", 8)])
def test_items_are_those_of_a_batch(whole: list[dict], name: str, items: int) -> None:
    assert timed(whole)[name]["items"] == items


def test_training_tells_its_loss_and_lowers_it(whole: list[dict]) -> None:
    for name in TRAINING:
        first, second = timed(whole)[name]["values"]
        assert timed(whole)[name]["loss"] < second < first
    assert all(timed(whole)[name]["loss"] is None for name in WORKLOADS if name not in TRAINING)


@pytest.mark.parametrize("name", TRAINING)
def test_the_loss_is_that_after_exactly_20_steps(whole: list[dict], script: ModuleType, name: str) -> None:
    workload = built(script, name, batch="4")
    with_grad = [workload._loss_of_few()]
    for _ in range(20):
        workload._backward(*workload.few)
        workload.optimizer.step()
        with_grad.append(workload._loss_of_few())
    told = timed(whole)[name]
    assert told["loss"] == pytest.approx(with_grad[20], rel=1e-4)
    assert told["values"] == pytest.approx([with_grad[0], with_grad[4]], rel=1e-4)


def test_the_loss_is_left_out_where_nobody_asks(whole: list[dict]) -> None:
    told = timed(perform("mlp-train", loss=False)[0])["mlp-train"]
    assert told["loss"] is None
    assert told["values"] == pytest.approx(timed(whole)["mlp-train"]["values"], rel=1e-5)


def test_what_the_process_tells_of_itself(whole: list[dict]) -> None:
    done, imported = whole[-1], whole[0]
    assert done["threads"] == 1
    assert done["cpu_seconds"] > 0
    if hasattr(os, "sched_getaffinity"):
        assert done["cpus"] == imported["cpus"] == sorted(os.sched_getaffinity(0))
        assert done["peak_resident_bytes"] > 50e6
    assert all(mhz > 0 for mhz in done["clock_mhz"] or ())


# The numbers of the mathematics


def torch_flop(torch: Any, step: Any) -> float:
    """What PyTorch's own counter finds in a step."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        step()
    return float(counter.get_total_flops())


def built(script: ModuleType, name: str, **options: str) -> Any:
    torch = pytest.importorskip("torch")
    context = script.Context(torch, None, options, 1 << 20)
    run = run_of(name)
    return script.part_of_workloads(run["module"]).build(context, **run["arguments"])


@pytest.mark.parametrize("name", ["gemm-1024", "mlp-train", "conv-train", "transformer-infer", "fit"])
def test_flop_are_those_that_pytorch_counts(
    script: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    # Its counter does not know the fused attention of the CPU.
    monkeypatch.delattr(torch.nn.functional, "scaled_dot_product_attention")
    workload = built(script, name, batch="6")
    assert torch_flop(torch, workload.step) == pytest.approx(workload.flop, rel=0.001)


@pytest.mark.parametrize("name", ["mlp-train", "conv-train", "fit"])
def test_the_optimizers_by_hand_are_those_of_pytorch(script: ModuleType, name: str) -> None:
    torch = pytest.importorskip("torch")
    by_hand, of_torch = built(script, name, batch="8"), built(script, name, batch="8", foreach="0")
    assert type(by_hand.optimizer) is not type(of_torch.optimizer)
    for _ in range(5):
        by_hand.step(), of_torch.step()
    for one, other in zip(by_hand.parameters, of_torch.parameters, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("foreach", [None, "0", "1"])
def test_a_reset_leads_back_to_the_start(script: ModuleType, foreach: str | None) -> None:
    torch = pytest.importorskip("torch")
    workload = built(script, "conv-train", batch="4", **({} if foreach is None else {"foreach": foreach}))
    start = [tensor.clone() for tensor in workload.state()]

    def two_steps() -> list[Any]:
        workload.step(), workload.step()
        return [tensor.detach().clone() for tensor in workload.state()]

    first = two_steps()
    assert not torch.equal(first[0], start[0])
    workload.reset()
    assert all(map(torch.equal, workload.state(), start))
    assert all(map(torch.allclose, two_steps(), first))  # also momentum starts anew


def test_accumulation_is_one_step_of_the_optimizer(script: ModuleType) -> None:
    """Twice the same batch, each at half its weight, is that batch."""
    torch = pytest.importorskip("torch")
    once, twice = built(script, "mlp-train", batch="8"), built(script, "mlp-train", batch="8", accumulate="2")
    assert (once.items, twice.items) == (8, 16)
    assert twice.flop == 2 * once.flop
    once.step(), twice.step()
    for one, other in zip(once.parameters, twice.parameters, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("name", [*TRAINING, "transformer-infer"])
def test_the_answer_does_not_depend_on_the_batch(whole: list[dict], script: ModuleType, name: str) -> None:
    told = timed(whole)[name]
    workload = built(script, name, batch="3", **({"accumulate": "2"} if name in TRAINING else {}))
    scale = max(map(abs, told["values"]))
    assert workload.answer() == pytest.approx(told["values"], abs=told["tolerance"] * scale)
    assert workload.items == (6 if name in TRAINING else 3)


def test_gradients_that_get_lost_are_wrong(script: ModuleType) -> None:
    workload = built(script, "mlp-train", batch="4")
    workload.parameters[0].requires_grad_(False)
    with pytest.raises(script.numbers.Wrong, match="no gradient reached 1 of 10 parameters"):
        workload.answer()


def test_weights_that_do_not_move_are_wrong(script: ModuleType) -> None:
    workload = built(script, "mlp-train", batch="4")
    workload.optimizer.rate = 0.0
    with pytest.raises(script.numbers.Wrong, match="4 steps of training left the loss as it was"):
        workload.answer()


def test_wrong_sums_are_wrong(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    triad = built(script, "triad")
    monkeypatch.setattr(triad, "step", lambda: torch.full((9,), 2.25).index_fill_(0, torch.tensor([4]), 2.0))
    with pytest.raises(script.numbers.Wrong, match=r"1.5 \+ 3 x 0.25 gave"):
        triad.answer()


# Options


def test_options_of_the_process_have_effect(script: ModuleType) -> None:
    code = f"""
import importlib.util, torch
spec = importlib.util.spec_from_file_location("worker_script", {str(SCRIPT)!r})
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
worker.set_for_process(torch, {{"interop_threads": "3", "intra_threads": "2", "flush_denormal": "1"}})
print(torch.get_num_interop_threads(), torch.get_num_threads(), float(torch.tensor(1e-40) * 1.0))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert run.stdout.split() == [b"3", b"2", b"0.0"], run.stderr.decode()


def test_intra_threads_are_used() -> None:
    events, _ = perform("small-ops", options={"intra_threads": "2"})
    assert events[-1]["threads"] == 2


@pytest.mark.parametrize("kind", ["bfloat16"])
def test_autocast_calculates_in_the_type(script: ModuleType, kind: str) -> None:
    torch = pytest.importorskip("torch")
    gemm = built(script, "gemm-512", autocast=kind)
    assert gemm.step().dtype == getattr(torch, kind)
    context = script.Context(torch, None, {"autocast": kind}, 0)
    with context.autocast():
        assert torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2)).dtype == getattr(torch, kind)


def test_a_lower_type_changes_the_loss_a_little_and_its_answer_says_so(whole: list[dict]) -> None:
    event = timed(perform("mlp-train", options={"autocast": "bfloat16"})[0])["mlp-train"]
    exact = timed(whole)["mlp-train"]
    assert event["tolerance"] == 0.05 > exact["tolerance"]
    assert event["loss"] != exact["loss"]
    assert event["loss"] == pytest.approx(exact["loss"], abs=0.05 * exact["values"][0])


def test_a_variable_that_lowers_the_type_widens_the_tolerance(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script.numbers.tolerance("float32", {}) == 1e-3
    monkeypatch.setenv("ONEDNN_DEFAULT_FPMATH_MODE", "BF16")
    assert script.numbers.tolerance("float32", {}) == 0.05
    assert script.numbers.tolerance("exact", {}) == 0.0
    monkeypatch.setenv("ONEDNN_DEFAULT_FPMATH_MODE", "strict")
    assert script.numbers.tolerance("float32", {}) == 1e-3


def test_autocast_that_does_nothing_is_told(script: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(script.Unusable, match="autocast to int8 does nothing on cpu"):
        script.Context(torch, None, {"autocast": "int8"}, 0)


@pytest.mark.parametrize("workers", ["0", "1"])
def test_batches_come_from_a_data_loader(whole: list[dict], workers: str) -> None:
    options = {"loader_workers": workers, "batch": "4"}
    events, run = perform("mlp-train", "conv-train", options=options)
    told = timed(events)
    assert set(told) == {"mlp-train", "conv-train"}, run.stderr.decode()
    for name, event in told.items():
        assert event["items"] == 4
        assert event["values"] == pytest.approx(timed(whole)[name]["values"], rel=1e-3)


def test_a_data_loader_that_spawns_finds_what_it_needs(tmp_path: Path) -> None:
    """As on Windows, and on Linux since Python 3.14."""
    (tmp_path / "sitecustomize.py").write_text(
        "import multiprocessing\nmultiprocessing.set_start_method('spawn', force=True)\n"
    )
    options = {"loader_workers": "1", "batch": "2"}
    events, run = perform("mlp-train", options=options, env={"PYTHONPATH": str(tmp_path)})
    assert "mlp-train" in timed(events), (events, run.stderr.decode())


def test_a_data_loader_starts_where_others_left_off(script: ModuleType) -> None:
    """What was prepared ahead is taken away before anything is timed."""
    torch = pytest.importorskip("torch")
    context = script.Context(torch, None, {"loader_workers": "0"}, 0)
    batches = script.loading.Batches(context, script.loading.Rows(8, 2), 5)
    inputs, targets = next(batches)
    assert (inputs.shape, targets.shape) == ((5, 8), (5, 2))
    assert not torch.equal(inputs, next(batches)[0])
    batches.drain()
    images = script.loading.Images(16, 10)
    assert images[7][0].shape == (3, 16, 16)
    assert images[13][1] == 3


# Variants


def test_variants_run_one_after_another_and_a_failure_ends_only_itself() -> None:
    events, run = perform(
        run_of("mlp-train", "four", batch="4"),
        run_of("mlp-train", "huge", batch=str(1 << 45)),
        run_of("mlp-train", "unknown", speed="11"),
        run_of("mlp-train", "denormals", flush_denormal="1"),
        run_of("mlp-train", "two threads", batch="4", intra_threads="2"),
        run_of("mlp-train", "eight", batch="8"),
        go_on=True,
    )
    assert run.returncode == 0, run.stderr.decode()
    told = {event["variant"]: event for event in events if event["event"] in ("timed", "failed")}
    assert [told[name]["items"] for name in ("four", "two threads", "eight")] == [4, 4, 8]
    assert told["huge"]["outcome"] == "out-of-memory"
    assert (told["unknown"]["outcome"], told["unknown"]["detail"]) == ("rubbish", "there is no option 'speed'")
    assert "holds for a whole process" in told["denormals"]["detail"]
    assert told["four"]["values"] == told["eight"]["values"]
    assert events[-1]["event"] == "done" and events[-1]["threads"] == 1  # the two threads were undone


# Failures


def test_a_failure_ends_the_process_where_nothing_else_was_asked_for() -> None:
    events, run = perform(run_of("mlp-train", batch=str(1 << 45)), "small-ops")
    assert run.returncode == 0
    assert failure(events)[0] == "out-of-memory"
    assert [event["event"] for event in events] == ["imported", "begin", "failed"]


@posix_only
def test_no_memory_left_is_told_as_that(tmp_path: Path) -> None:
    """A limit that leaves room for PyTorch, but not for three arrays of 1 GiB."""
    limited = ("/bin/sh", "-c", 'ulimit -v 4000000; exec "$@"', "-")
    events, run = perform("triad", prefix=limited, array_bytes=1 << 31)
    assert failure(events)[0] == "out-of-memory", (events, run.stderr.decode())


def test_arrays_that_would_take_too_much_of_the_free_memory_are_not_made(script: ModuleType) -> None:
    too_large = script.part_of_workloads("triad").too_large
    assert too_large(256 << 20, 8 << 30) is None
    assert too_large(256 << 20, None) is None
    assert too_large(256 << 20, 7 << 30) == (
        "three arrays of 256 MiB would take more than a tenth of the 7168 MiB of free memory"
    )
    events, _ = perform("triad", array_bytes=1 << 45)
    assert failure(events)[0] == "out-of-memory"
    assert "more than a tenth" in failure(events)[1]


class Removed(RuntimeError):
    pass


@pytest.mark.parametrize(
    ("error", "outcome", "detail"),
    [
        (MemoryError(), "out-of-memory", "MemoryError"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
         "out-of-memory", "allocate 9 bytes"),
        (RuntimeError("Could not allocate tensor with 4 bytes. There is not enough GPU video memory available!"),
         "out-of-memory", "not enough GPU video memory"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "out-of-memory", "failed to map"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object: Operation not permitted"),
         "rubbish", "Operation not permitted"),
        (RuntimeError("The GPU device instance has been suspended. Use GetDeviceRemovedReason"), "killed", "suspended"),
        (RuntimeError("HRESULT: 0x887A0005 device removed"), "killed", "device removed"),
        (ValueError("first\nlast line"), "rubbish", "ValueError: last line"),
        (SystemExit(3), "rubbish", "SystemExit: 3"),
    ],
)  # fmt: skip
def test_errors_are_told_apart(script: ModuleType, error: BaseException, outcome: str, detail: str) -> None:
    told = script.outcome_of(error, None)
    assert told[0] == outcome
    assert detail in told[1]


def test_pytorchs_own_error_counts_by_its_type_whatever_it_says(script: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    error = torch.OutOfMemoryError("HIP: tried to allocate 2 GiB\nadvice\nmore advice")
    assert script.outcome_of(error, torch) == ("out-of-memory", "HIP: tried to allocate 2 GiB")


def fake_torch(site: Path, text: str) -> dict[str, str]:
    (site / "torch").mkdir(parents=True)
    (site / "torch" / "__init__.py").write_text(text)
    return {"PYTHONPATH": str(site)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("__version__ = '1.4.0'", "PyTorch 1.4.0 is too old to be measured: 1.10 is the oldest that can be"),
        ("__version__ = '0.4.1.p2'", "PyTorch 0.4.1.p2 is too old to be measured: 1.10 is the oldest that can be"),
        ("", "AttributeError: module 'torch' has no attribute 'device'"),
        ("raise ModuleNotFoundError(name='torch')", "PyTorch is not installed in this Python"),
        ("raise OSError('libgomp.so.1: cannot open')", "OSError: libgomp.so.1: cannot open"),
        ("raise SystemExit(4)", "SystemExit: 4"),
    ],
)  # fmt: skip
def test_a_torch_that_cannot_be_used_is_told_in_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    events, run = perform("small-ops", env=fake_torch(tmp_path, text))
    assert run.returncode == 0
    assert failure(events) == ("rubbish", told)


def test_numpy_is_timed_without_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="no numpy in this environment")
    events, _ = perform("numpy-gemm", env=fake_torch(tmp_path, "raise RuntimeError('imported')"))
    assert "numpy-gemm" in timed(events)
    import numpy

    assert events[0]["version"] == numpy.__version__


def without_numpy(site: Path) -> dict[str, str]:
    (site / "numpy").mkdir()
    (site / "numpy" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')"
    )
    return {"PYTHONPATH": str(site)}


def test_a_pytorch_without_numpy_will_do(tmp_path: Path, whole: list[dict]) -> None:
    env = without_numpy(tmp_path)
    names = ["gemm-512", "triad", "small-ops", "mlp-train", "conv-train", "transformer-infer"]
    told = timed(perform(*names, QUICK_FIT, env=env)[0])
    assert set(told) == {*names, "fit"}
    for name in names:
        assert told[name]["values"] == pytest.approx(timed(whole)[name]["values"], rel=1e-4)
    assert "mlp-train" in timed(perform("mlp-train", options={"loader_workers": "1", "batch": "2"}, env=env)[0])
    assert failure(perform("numpy-gemm", env=env)[0]) == ("rubbish", "NumPy is not installed in this Python")


def test_what_others_print_stays_out_of_the_way(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.stdout.write('unfinished {')")
    events, _ = perform("small-ops", env={"PYTHONPATH": str(tmp_path)})
    assert "small-ops" in timed(events)


def test_the_import_trap_is_seen() -> None:
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs Linux and two CPUs")
    events, _ = perform("small-ops", env={"OMP_PROC_BIND": "true", "OMP_NUM_THREADS": "2"})
    assert len(events[0]["cpus"]) == 1


# Devices


def test_a_device_that_is_not_there_is_told(script: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(script.Unusable, match="no device of the kind 'mps'"):
        script.devices.opened(torch, "mps")
    if not torch.cuda.is_available():
        with pytest.raises(script.Unusable, match="PyTorch sees no GPU"):
            script.devices.opened(torch, "cuda:0")


@pytest.fixture(scope="module")
def hosted(needs_torch: None) -> None:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    text = (Path(spec.origin).parent / "utils" / "backend_registration.py").read_text(encoding="utf-8")
    if "_setup_privateuseone_for_python_backend" not in text:
        pytest.skip("this torch hosts no device from Python")


def test_every_workload_runs_on_a_directml_adapter(hosted: None, whole: list[dict]) -> None:
    """The stand-in for torch-directml; fit's optimizer is there one of PyTorch's own."""
    names = ["gemm-512", "triad", "small-ops", "mlp-train", "conv-train", "transformer-infer"]
    options = {"device": "privateuseone:0"}
    events, run = perform(*names, QUICK_FIT, options=options, env={"PYTHONPATH": str(FAKE_DIRECTML)})
    told = timed(events)
    assert set(told) == {*names, "fit"}, run.stderr.decode()
    for name, event in told.items():
        exact = timed(whole)[name]
        scale = max(map(abs, exact["values"]))
        assert event["values"] == pytest.approx(exact["values"], abs=max(exact["tolerance"], 1e-6) * scale)


@pytest.mark.parametrize(
    ("wrong", "outcome", "detail"),
    [
        ({"at": {"mm": "raise"}}, "rubbish", "RuntimeError: aten::mm: The parameter is incorrect."),
        ({"loses_gradients": True}, "wrong", "no gradient reached"),
    ],
)
def test_what_an_adapter_does_wrong_is_told(hosted: None, wrong: dict, outcome: str, detail: str) -> None:
    env = {"PYTHONPATH": str(FAKE_DIRECTML), "FAKE_DIRECTML": json.dumps(wrong)}
    name = "gemm-512" if "at" in wrong else "mlp-train"
    told = failure(perform(name, options={"device": "privateuseone:0"}, env=env)[0])
    assert told[0] == outcome
    assert detail in told[1]


def test_waiting_for_a_device_is_measured_and_taken_off(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(script.devices.time, "perf_counter", lambda: now[0])

    def finish(result: object) -> None:
        now[0] += 0.25

    assert script.devices.empty_seconds(finish, None) == 0.25
    watch = script.pacing.Stopwatch(lambda: None, finish, lambda: now[0], 0.25)
    assert watch.seconds(3) == 0.0


def test_a_read_back_takes_one_element(script: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    script.devices.read_back(torch.ones(3, 4, requires_grad=True))
