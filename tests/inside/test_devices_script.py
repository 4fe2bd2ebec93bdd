"""`worker.py` on a device: what it tells of one that is healthy, and of one that is broken in each of several ways."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.inside.directml_environment import FAKE, skip_where_torch_cannot_host_a_device, told

SCRIPT = Path(__file__).resolve().parents[2] / "doctor" / "inside" / "worker.py"
PACE = {"block_seconds": 0.001, "blocks": 2, "least_blocks": 2, "warm_up_seconds": 0.01, "most_seconds": 0.05}
DEVICE = "privateuseone:0"

Events = list[dict[str, Any]]


def order(runs: list[dict[str, Any]], **options: str) -> str:
    return json.dumps(
        {
            "runs": runs,
            "options": {"device": DEVICE, **options},
            "go_on": True,
            "loss": False,
            "pace": PACE,
            "array_bytes": 0,
            "limit_seconds": 100,
            "threadpoolctl": "-",
        }
    )


def one(workload: str, **options: str) -> dict[str, Any]:
    arguments = {"to_device": int(workload == "transfer-to")} if workload.startswith("transfer") else {}
    module = "transfer" if arguments else workload.replace("-", "_")
    return {"workload": workload, "module": module, "arguments": arguments, "variant": "", "options": options}


def perform(
    *runs: dict[str, Any], options: dict[str, str] | None = None, **what: Any
) -> tuple[Events, subprocess.CompletedProcess[bytes]]:
    """The events of a process, and how it ended. `what` is to go wrong on the adapter."""
    skip_where_torch_cannot_host_a_device()
    env = {**os.environ, "PYTHONPATH": str(FAKE), **told(**what)}
    command = [sys.executable, str(SCRIPT), order(list(runs), **(options or {}))]
    run = subprocess.run(command, capture_output=True, env=env, timeout=150)
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{")], run


def of_kind(events: Events, kind: str) -> Events:
    return [event for event in events if event["event"] == kind]


def test_a_healthy_device_has_the_gradients_of_the_cpu_and_moves_its_weights() -> None:
    events, run = perform(one("mlp-train", batch="8", check="1"), one("conv-train", batch="4", check="1"))
    assert run.returncode == 0, run.stderr.decode()[-500:]
    checks = of_kind(events, "device")
    assert [check["workload"] for check in checks] == ["mlp-train", "conv-train"]
    for check in checks:
        assert check["gradients_off"] < 1e-4 and check["without_gradient"] == check["still"] == 0
        assert check["parameters"] > 0 and check["fell_back"] == []
    assert [event["workload"] for event in of_kind(events, "timed")] == ["mlp-train", "conv-train"]


def test_the_answers_are_those_of_the_cpu() -> None:
    there, _ = perform(one("mlp-train", batch="8"))
    here, _ = perform(one("mlp-train", batch="8"), options={"device": "cpu"})
    assert of_kind(there, "timed")[0]["values"] == pytest.approx(of_kind(here, "timed")[0]["values"], rel=1e-3)
    assert of_kind(here, "device") == [], "nothing is looked at on the CPU"


def test_weights_that_lose_their_gradient_are_counted() -> None:
    events, _ = perform(one("mlp-train", batch="8", check="1"), loses_gradients=True)
    (check,) = of_kind(events, "device")
    assert check["without_gradient"] > 0 and check["still"] is None


def test_wrong_products_show_in_the_gradients() -> None:
    events, _ = perform(one("mlp-train", batch="8", check="1"), at={"mm": "wrong", "addmm": "wrong"})
    (check,) = of_kind(events, "device")
    assert check["gradients_off"] > 0.1


def test_a_step_that_does_nothing_is_seen() -> None:
    events, _ = perform(one("mlp-train", batch="8", check="1"), at={"addcdiv_": "nothing"})
    (check,) = of_kind(events, "device")
    assert check["still"] == check["parameters"] and check["gradients_off"] < 1e-4


def test_a_number_that_is_none_is_said_so() -> None:
    events, _ = perform(one("mlp-train", batch="8", check="1"), at={"addmm": "nan"})
    (failed,), (check,) = of_kind(events, "failed"), of_kind(events, "device")
    assert failed["outcome"] == "wrong" and "not finite" in failed["detail"]
    assert check["gradients_off"] > 1e29


def test_an_operator_that_is_missing_ends_one_workload_and_not_the_process() -> None:
    events, run = perform(one("conv-train", batch="4"), one("mlp-train", batch="4"), at={"convolution": "missing"})
    assert of_kind(events, "failed")[0]["workload"] == "conv-train"
    assert "NotImplementedError" in of_kind(events, "failed")[0]["detail"]
    assert [event["workload"] for event in of_kind(events, "timed")] == ["mlp-train"] and run.returncode == 0


def test_an_operator_that_falls_back_is_named() -> None:
    events, _ = perform(one("mlp-train", batch="4"), at={"native_layer_norm": "fall-back"})
    assert of_kind(events, "device")[0]["fell_back"] == ["aten::native_layer_norm"]


def test_a_driver_that_was_reset_and_a_memory_that_is_full_have_names_of_their_own() -> None:
    large = {"does": "removed", "elements": 200 * 1024}
    events, _ = perform(one("mlp-train", batch="4"), one("mlp-train", batch="256"), at={"gelu": large})
    assert [event["event"] for event in events if event["event"] in ("timed", "failed")] == ["timed", "failed"]
    assert of_kind(events, "failed")[0]["outcome"] == "killed"
    events, _ = perform(one("mlp-train", batch="4096"), memory=[64 << 20])
    assert of_kind(events, "failed")[0]["outcome"] == "out-of-memory"
    assert "not enough GPU video memory" in of_kind(events, "failed")[0]["detail"]


def test_what_is_not_used_any_more_is_given_back() -> None:
    runs = [one("mlp-train", batch="512") for _ in range(4)]
    events, _ = perform(*runs, memory=[256 << 20])
    assert len(of_kind(events, "timed")) == 4, [event["detail"] for event in of_kind(events, "failed")]


def test_the_memory_is_filled_until_it_is_refused() -> None:
    fill = {"workload": "device-memory", "module": "device_memory", "arguments": {}, "variant": "", "options": {}}
    events, run = perform(fill, memory=[700 << 20], options={"fill_bytes": str(1 << 30)})
    assert run.returncode == 0
    held = [event["bytes"] for event in of_kind(events, "grew")]
    assert held == [at * (128 << 20) for at in range(6)], "five blocks of 128 MiB fit into 700"
    (filled,) = of_kind(events, "filled")
    assert filled["ended"] == "refused" and "not enough GPU video memory" in filled["detail"]
    events, _ = perform(fill, memory=[700 << 20], options={"fill_bytes": str(300 << 20)})
    assert of_kind(events, "filled")[0]["ended"] == "limit"
    assert of_kind(events, "grew")[-1]["bytes"] == 256 << 20


def test_half_precision_and_both_kinds_of_optimizer_run() -> None:
    events, _ = perform(
        one("transformer-infer", batch="1", half="1"),
        one("mlp-train", batch="4", foreach="default"),
        one("mlp-train", batch="4", foreach="0"),
    )
    timed = of_kind(events, "timed")
    assert len(timed) == 3, [event["detail"] for event in of_kind(events, "failed")]
    assert timed[0]["tolerance"] > 10 * timed[1]["tolerance"]
    assert timed[1]["values"] == pytest.approx(timed[2]["values"], rel=1e-4)


def test_copies_are_timed_in_both_directions() -> None:
    events, _ = perform(one("transfer-to"), one("transfer-from"))
    assert [event["moved_bytes"] for event in of_kind(events, "timed")] == [64 << 20] * 2


def test_a_device_that_dies_takes_the_process_with_it() -> None:
    events, run = perform(one("mlp-train", batch="4"), at={"gelu": "segfault"})
    assert run.returncode != 0 and of_kind(events, "timed") == [] and of_kind(events, "begin")
