"""`exercises.py` by itself: its arithmetic on PyTorch where there is one, and how it speaks and ends."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "doctor" / "inside" / "exercises.py"

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("exercises_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def perform(
    *steps: str, site: Path | None = None, seconds: str = "60"
) -> tuple[list[dict], subprocess.CompletedProcess]:
    """The events that the script told, and how it ended."""
    env = {**os.environ, "PYTHONPATH": str(site)} if site else dict(os.environ)
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "cpu", "-", seconds, *steps], capture_output=True, env=env, timeout=120
    )
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{")], run


def ends(events: list[dict]) -> dict[str, dict]:
    return {event["name"]: event for event in events if event["event"] == "end"}


def fake_torch(site: Path, text: str) -> Path:
    (site / "torch").mkdir(parents=True)
    (site / "torch" / "__init__.py").write_text(text)
    return site


@pytest.mark.parametrize(
    ("cpus", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 5], "0-2,5"), ([9, 0, 8, 1], "0-1,8-9")]
)
def test_cpulist(script: ModuleType, cpus: list[int], text: str) -> None:
    assert script.cpulist(cpus) == text


def test_last_line(script: ModuleType) -> None:
    error = ImportError("first\n  libd3d12.so: cannot open\n\n")
    assert script.last_line(error) == "ImportError: libd3d12.so: cannot open"
    assert script.last_line(ValueError()) == "ValueError"
    assert len(script.last_line(ValueError("x" * 9999))) == 500


@posix_only
def test_mapped_libraries_are_those_of_openmp_and_blas(script: ModuleType) -> None:
    found = script.mapped_libraries()
    if found is None:
        pytest.skip("no /proc/self/maps here")
    assert all(path.startswith("/") for path in found)
    assert not any("libc.so" in path for path in found)


def test_each_step_has_a_line_before_and_after(tmp_path: Path) -> None:
    events, run = perform("affinity-before-import", "import-torch", site=fake_torch(tmp_path, "__version__ = '9.9'"))
    assert run.returncode == 0
    assert [(event["event"], event["name"]) for event in events] == [
        ("begin", "affinity-before-import"),
        ("end", "affinity-before-import"),
        ("begin", "import-torch"),
        ("end", "import-torch"),
    ]
    assert events[-1]["facts"]["version"] == "9.9"


def test_what_others_print_goes_to_stderr(tmp_path: Path) -> None:
    noise = "import os; print('{\"event\": \"end\"', end=''); os.write(1, b'half a line')"
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.stdout.write('unfinished')")
    events, run = perform("import-torch", site=fake_torch(tmp_path, noise))
    assert [event["name"] for event in events] == ["import-torch", "import-torch"]
    assert b"half a line" in run.stderr
    assert run.stdout.splitlines()[0] == b"unfinished"


def test_a_further_child_imports_without_being_asked(tmp_path: Path) -> None:
    events, _ = perform("matmul", site=fake_torch(tmp_path, ""))
    assert [event["name"] for event in events if event.get("again")] == ["import-torch", "import-torch"]
    assert ends(events)["matmul"]["outcome"] == "exception"


def test_a_failed_import_skips_what_needs_it(tmp_path: Path) -> None:
    site = fake_torch(tmp_path, "raise OSError('[WinError 126] c10.dll')")
    told = ends(perform("import-torch", "matmul", site=site)[0])
    assert told["import-torch"]["outcome"] == "exception"
    assert told["import-torch"]["detail"] == "OSError: [WinError 126] c10.dll"
    assert told["import-torch"]["facts"]["kind"] == "OSError"
    assert (told["matmul"]["outcome"], told["matmul"]["detail"]) == ("skipped", "PyTorch was not imported")


def test_an_import_that_ends_the_program_does_not_end_this_one(tmp_path: Path) -> None:
    events, run = perform("import-torch", "threads", site=fake_torch(tmp_path, "raise SystemExit(4)"))
    assert run.returncode == 0
    assert ends(events)["import-torch"]["detail"] == "SystemExit: 4"


def test_telling_warnings_are_kept(tmp_path: Path) -> None:
    text = "import warnings; warnings.warn('Failed to initialize NumPy: _ARRAY_API not found'); warnings.warn('other')"
    events, _ = perform("import-torch", site=fake_torch(tmp_path, text))
    assert ends(events)["import-torch"]["facts"]["warnings"] == ["Failed to initialize NumPy: _ARRAY_API not found"]


@posix_only
def test_it_ends_itself_when_nobody_ends_it(tmp_path: Path) -> None:
    events, run = perform("import-torch", site=fake_torch(tmp_path, "import time; time.sleep(600)"), seconds="1")
    assert -run.returncode == signal.SIGALRM
    assert [event["event"] for event in events] == ["begin"]


@pytest.fixture(scope="module")
def whole(script: ModuleType) -> dict[str, dict]:
    """Every step there is, on the PyTorch of this environment."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch in this environment")
    events, run = perform(*script.STEPS)
    assert run.returncode == 0, run.stderr.decode()
    return ends(events)


def test_a_working_pytorch_does_every_step(whole: dict[str, dict]) -> None:
    assert {name: end["detail"] for name, end in whole.items() if end["outcome"] not in ("ok", "skipped")} == {}
    for name in ("matmul", "conv", "conv1x1", "conv1x1-onednn-off", "dtype-bf16", "train-step"):
        assert whole[name]["outcome"] == "ok"


def test_arithmetic_is_as_exact_as_its_type(whole: dict[str, dict]) -> None:
    for name in ("matmul", "conv", "conv1x1", "conv1x1-onednn-off", "train-step"):
        assert 0 < whole[name]["facts"]["relative_error"] < 1e-4
    assert 1e-4 < whole["dtype-bf16"]["facts"]["relative_error"] < 0.02


def test_training_lowers_the_loss(whole: dict[str, dict]) -> None:
    losses = whole["train-step"]["facts"]["losses"]
    assert losses == sorted(losses, reverse=True)


def test_what_pytorch_says_of_itself(whole: dict[str, dict]) -> None:
    assert whole["threads"]["facts"]["num_threads"] >= 1
    assert whole["build"]["facts"]["config"].startswith("PyTorch built with:")
    assert whole["build"]["facts"]["parallel_info"].startswith("ATen/Parallel:")
    assert whole["import-torch"]["facts"]["version"] == whole["build"]["facts"]["version"]


@pytest.fixture(scope="module")
def context(script: ModuleType):
    torch = pytest.importorskip("torch", reason="no torch in this environment")
    context = script.Context("cpu", "-")
    context.torch = torch
    return context


def test_wrong_results_are_seen(script: ModuleType, context) -> None:
    exact = script.arithmetic.data(context, 20, 30).double()
    assert script.arithmetic.compare(exact.float(), exact)["relative_error"] < 1e-6
    for wrong in (exact + exact.abs().max() * 0.03, exact * 0, exact * float("nan"), exact.roll(1), exact / 0):
        with pytest.raises(script.arithmetic.Wrong):
            script.arithmetic.compare(wrong.float(), exact)


def test_the_lower_precision_that_a_setting_asks_for_is_not_wrong(script: ModuleType, context) -> None:
    a, b = script.arithmetic.data(context, 250, 260), script.arithmetic.data(context, 260, 270)
    low = (a.bfloat16() @ b.bfloat16()).float()
    error = script.arithmetic.compare(low, a.double() @ b.double())["relative_error"]
    assert 1e-3 < error < script.arithmetic.TOLERANCE


def test_gradients_that_get_lost_are_seen(script: ModuleType, context, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = script.arithmetic.descend

    def lost_gradients(context, images, targets, weights, rate=0.01):
        return honest(context, images, targets, weights, rate if images.dtype == context.torch.float64 else 0.0)

    monkeypatch.setattr(script.arithmetic, "descend", lost_gradients)
    with pytest.raises(script.arithmetic.Wrong, match="off by"):
        script.arithmetic.train_step(context)


def test_the_same_numbers_every_time(script: ModuleType, context) -> None:
    first, second = (script.arithmetic.data(context, 40, 50) for _ in range(2))
    assert context.torch.equal(first, second)
    assert abs(float(first.mean())) < 0.1
    assert 0.9 < float(first.std()) < 1.1


def test_the_first_run_counts_only_where_it_stays_alone(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0, 0, 5.0, 5.0, 5.2, 5.2, 5.3])  # begun; then start and end of each run
    monkeypatch.setattr(script.arithmetic.time, "perf_counter", lambda: next(clock))
    assert script.arithmetic.best_seconds(lambda: None, limit_seconds=1) == 5.0
    clock = iter([0, 0, 0.5, 0.5, 0.7, 0.7, 0.8, 0.8, 1.2])
    assert script.arithmetic.best_seconds(lambda: None, limit_seconds=1) == pytest.approx(0.1)
