"""`directml_exercises.py` by itself, on adapters that the stand-in for torch-directml makes."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from doctor.sources.exercise_events import ADAPTER_STEPS, DIRECTML_STEPS
from tests.inside.directml_environment import FAKE, skip_where_torch_cannot_host_a_device, told

SCRIPT = Path(__file__).resolve().parents[2] / "doctor" / "inside" / "directml_exercises.py"

Events = list[dict[str, Any]]


def perform(adapter: str, *steps: str, **what: Any) -> tuple[Events, subprocess.CompletedProcess[bytes]]:
    """The ends that the script told, in order, and how it ended. `what` is to go wrong."""
    skip_where_torch_cannot_host_a_device()
    env = {**os.environ, "PYTHONPATH": str(FAKE), **told(**what)}
    run = subprocess.run(
        [sys.executable, str(SCRIPT), adapter, "-", "60", *steps], capture_output=True, env=env, timeout=120
    )
    events = [json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{")]
    return [event for event in events if event["event"] == "end"], run


def outcomes(ends: Events) -> dict[str, str]:
    return {end["name"]: end["outcome"] for end in ends}


def end_of(ends: Events, name: str) -> dict[str, Any]:
    return next(end for end in ends if end["name"] == name)


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("directml_exercises_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module


def test_the_runner_asks_for_steps_that_exist(script: ModuleType) -> None:
    assert set(DIRECTML_STEPS) | {"import-torch"} == set(script.STEPS)
    assert set(ADAPTER_STEPS) < set(DIRECTML_STEPS)
    assert set(script.PREPARATION) | set(script.OF_NO_ADAPTER) <= set(script.STEPS)


def test_bfloat16_is_left_out_because_it_ends_every_process(script: ModuleType) -> None:
    assert not [name for name in script.STEPS if "bf16" in name]


def test_operators_that_fell_back_are_read_from_the_warnings(script: ModuleType) -> None:
    context = script.OnAdapter("privateuseone:3")
    with warnings.catch_warnings(record=True) as context.caught:
        warnings.simplefilter("always")
        for name in ("aten::lerp.Scalar_out", "aten::_foreach_add_.List", "aten::lerp.Scalar_out"):
            warnings.warn(
                f"The operator '{name}' is not currently supported on the DML backend and will fall back to run on the"
                " CPU. This may have performance implications. (Triggered internally at C:\\dml_cpu_fallback.cpp:17.)",
                stacklevel=1,
            )
        warnings.warn("torch.meshgrid: in an upcoming release, operator 'x' will be gone", stacklevel=1)
    assert context.take_fallbacks() == ["aten::_foreach_add_.List", "aten::lerp.Scalar_out"]
    assert context.take_fallbacks() == []


def test_every_fallback_is_warned_of_and_not_only_the_first(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DirectML warns by a macro that does so once per process."""
    asked: list[bool] = []
    context = script.OnAdapter("default")

    def imported(context: Any) -> dict[str, Any]:
        context.torch = SimpleNamespace(set_warn_always=asked.append)
        return {}

    monkeypatch.setattr(script.exercises, "import_torch", imported)
    script.import_torch(context)
    assert asked == [True]


def test_a_step_belongs_to_its_adapter(script: ModuleType) -> None:
    context = script.OnAdapter("privateuseone:3")
    assert context.name_of("matmul") == "privateuseone:3"
    assert context.name_of("import-torch-directml") == "directml"
    assert script.OnAdapter("default").name_of("matmul") == "directml"


@pytest.fixture(scope="module")
def two_adapters() -> Events:
    """Every step, on a machine that has the faults which are usual with DirectML, each once."""
    ends, run = perform(
        "default",
        *DIRECTML_STEPS,
        adapters=["AMD Radeon(TM) 780M", "AMD Radeon RX 7700S"],
        default=1,
        at={"lerp_": "fall-back", "mm@0": "wrong"},
        float64=False,
        inference_mode=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    return ends


def test_the_adapters_are_listed_without_the_end_mark_of_their_names(two_adapters: Events) -> None:
    facts = end_of(two_adapters, "list-adapters")["facts"]
    assert (facts["count"], facts["default"]) == (2, 1)
    assert facts["names"] == ["AMD Radeon(TM) 780M", "AMD Radeon RX 7700S"]


def test_everything_is_done_on_the_default_adapter(two_adapters: Events) -> None:
    assert [end["name"] for end in two_adapters] == ["import-torch", *DIRECTML_STEPS]
    assert end_of(two_adapters, "import-torch")["again"] is True
    devices = {end["name"]: end["device"] for end in two_adapters}
    assert {devices[name] for name in ("import-torch-directml", "list-adapters")} == {"directml"}
    assert {devices[name] for name in DIRECTML_STEPS[2:]} == {"privateuseone:1"}


def test_what_is_sound_comes_out_right_and_as_exact_as_its_type(two_adapters: Events) -> None:
    for name in ("matmul", "conv", "eval-forward", "train-step", "gradient-parity"):
        end = end_of(two_adapters, name)
        assert end["outcome"] == "ok", end
        assert end["facts"]["relative_error"] < 1e-4
    for name in ("open-adapter", "gradients", "operators", "optimizer", "copy-between-adapters"):
        assert end_of(two_adapters, name)["outcome"] == "ok", name


def test_an_optimizer_made_before_to_moves_nothing_there(two_adapters: Events) -> None:
    """The stand-in is not told to do so: it follows from how PyTorch moves a model to a foreign device."""
    end = end_of(two_adapters, "optimizer-before-to")
    assert (end["outcome"], end["detail"].partition(":")[0]) == ("wrong", "no parameter moved")


def test_an_optimizer_made_in_the_loop_trains_and_forgets(two_adapters: Events) -> None:
    once, anew = (end_of(two_adapters, name)["facts"]["losses"] for name in ("optimizer", "optimizer-inside-loop"))
    assert once[0] == anew[0] and once[-1] < once[0] and anew[-1] < anew[0]
    assert once[2:] != anew[2:]


def test_the_fallback_is_charged_to_the_steps_in_which_it_happened(two_adapters: Events) -> None:
    fell_back = {end["name"]: end["facts"]["fell_back"] for end in two_adapters}
    assert fell_back["optimizer-foreach-off"] == fell_back["optimizer"] == ["aten::lerp_.Scalar"]
    assert fell_back["matmul"] == fell_back["train-step"] == []


def test_number_types_and_inference_mode(two_adapters: Events) -> None:
    details = {end["name"]: end["detail"] or "" for end in two_adapters}
    assert "Double (Float64)" in details["dtype-fp64"]
    assert "Cannot set version_counter for inference tensor" in details["inference-mode"]
    # No rule for this device in autocast, as with the real one.
    assert details["autocast"].endswith("from the 'AutocastPrivateUse1' backend")
    assert {outcomes(two_adapters)[name] for name in ("dtype-fp64", "inference-mode", "autocast")} == {"exception"}


def test_a_recurrent_layer_fails_as_it_does_on_the_real_one(two_adapters: Events) -> None:
    end = end_of(two_adapters, "lstm")
    assert end["outcome"] == "exception"
    assert end["detail"] == (
        "NotImplementedError: Could not run 'aten::_thnn_fused_lstm_cell' with arguments from the 'CPU' backend"
    )


def test_wrong_numbers_lost_gradients_and_operators_that_raise() -> None:
    ends, _ = perform(
        "privateuseone:0",
        *("matmul", "conv", "eval-forward", "gradients", "gradient-parity", "operators", "optimizer"),
        at={"mm": "wrong", "relu": "wrong", "topk": "raise", "_softmax": "wrong"},
        loses_gradients=True,
    )
    assert [end["name"] for end in ends[:3]] == ["import-torch", "import-torch-directml", "open-adapter"]
    assert all(end["again"] for end in ends[:3])
    told = {end["name"]: (end["outcome"], end["detail"]) for end in ends}
    assert told["matmul"] == ("wrong", "off by 0.5 times the largest value")
    assert (told["conv"][0], told["eval-forward"][0]) == ("ok", "wrong")
    assert told["gradients"] == ("wrong", "no gradient reached 2 of 4 parameters")
    assert "no gradient" in told["gradient-parity"][1]
    assert told["operators"] == ("exception", "OperatorFailed: topk: RuntimeError")
    assert told["optimizer"] == ("wrong", "only 2 of 4 parameters moved")


def test_a_device_that_keeps_the_parameters_lets_every_optimizer_work() -> None:
    names = ("optimizer", "optimizer-inside-loop", "optimizer-before-to")
    ends, _ = perform("privateuseone:0", *names, swaps_parameters=True)
    assert {outcomes(ends)[name] for name in names} == {"ok"}


def test_without_an_adapter_there_is_nothing_to_exercise() -> None:
    ends, run = perform("default", *DIRECTML_STEPS, adapters=[])
    assert run.returncode == 0
    facts = end_of(ends, "list-adapters")["facts"]
    assert (facts["count"], facts["default"], facts["names"]) == (0, None, [])
    assert end_of(ends, "open-adapter")["detail"] == "torch-directml sees no adapter"
    assert {end["outcome"] for end in ends[4:]} == {"skipped"}


def test_a_listing_that_raises_and_a_name_that_raises() -> None:
    ends, _ = perform("default", "list-adapters", "open-adapter", at={"device_name": "raise"})
    facts = end_of(ends, "list-adapters")["facts"]
    assert (facts["names"], facts["failures"]) == ([None], ["RuntimeError: device_name: The parameter is incorrect."])
    ends, _ = perform("default", "list-adapters", "matmul", at={"is_available": "raise"})
    assert outcomes(ends)["list-adapters"] == "exception"
    assert end_of(ends, "matmul")["detail"] == "the adapter could not be opened"
