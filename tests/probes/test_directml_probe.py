"""torch-directml as its metadata and its exercises tell it."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.machine.model import Exercise, Machine, TorchDirectml
from doctor.probes.collect import collect
from doctor.probes.directml import probe
from doctor.probes.torch import probe as torch_probe
from doctor.sources.recording import RecordingSource

ROW = {"name": "torch-directml", "version": "0.2.5.dev240914", "requires": ["torch==2.4.1", "torchvision==0.19.1"]}
DEFAULT, OTHER = "privateuseone:1", "privateuseone:0"


def end(
    name: str, outcome: str = "ok", detail: str | None = None, device: str = DEFAULT, **facts: Any
) -> dict[str, Any]:
    told = {"event": "end", "name": name, "outcome": outcome, "detail": detail, "seconds": 0.25, "facts": facts}
    return {**told, "device": device}


LISTED = end("list-adapters", device="directml", count=2, default=1, names=["AMD Radeon(TM) 780M", "RX 7700S"])


def machine(*ends: dict[str, Any], row: dict[str, Any] | None = None, **exercises: Any) -> Machine:
    packages = [{"name": "torch", "version": "2.4.1"}, *([row] if row else [])]
    told = {"interpreter": {"version": "3.12.7", "packages": packages}, **exercises}
    if ends:
        told["directml"] = {"device": "directml", "events": list(ends), "children": []}
    collected = collect(RecordingSource({"exercises": told, "env": {}}, "test"), (("directml", probe),))
    assert collected.crashed == ()
    return collected.machine


def unknown(found: Machine) -> dict[str, tuple[str, str | None]]:
    return {row.fact: (row.reason, row.detail) for row in found.unknowns or ()}


@pytest.mark.parametrize(
    ("requires", "torch", "torchvision"),
    [
        (["torch==2.4.1", "torchvision==0.19.1"], "2.4.1", "0.19.1"),
        (["torch (==2.0.0)", "torchvision (==0.15.1)"], "2.0.0", "0.15.1"),
        (["torch>=1.13", "numpy"], None, None),
        (["not a requirement !!", "torch===1.13.1"], "1.13.1", None),
        (None, None, None),
    ],
)
def test_the_metadata_tells_the_pins(requires: list[str] | None, torch: str, torchvision: str) -> None:
    found = machine(row={**ROW, "requires": requires})
    assert found.torch_directml == TorchDirectml(
        installed=True, version="0.2.5.dev240914", requires_torch=torch, requires_torchvision=torchvision
    )


def test_not_installed_is_known_and_leaves_nothing_open() -> None:
    found = machine()
    assert found.torch_directml == TorchDirectml(installed=False)
    assert (found.exercises, found.unknowns) == (None, ())


def test_without_an_interpreter_nothing_is_said() -> None:
    found = collect(RecordingSource({}, "test"), (("directml", probe),)).machine
    assert (found.torch_directml, found.unknowns) == (None, ())


def test_switched_off_exercises_leave_what_the_files_tell() -> None:
    found = machine(row=ROW)
    assert found.torch_directml is not None and found.torch_directml.device_names is None
    assert unknown(found) == {
        "torch_directml.device_names": ("not-in-source", None),
        "torch_directml.default_device": ("not-in-source", None),
    }


def test_adapters_in_their_own_order_and_the_exercises_of_each() -> None:
    found = machine(
        end("import-torch-directml", device="directml", fell_back=[]),
        LISTED,
        end("matmul", relative_error=1e-7, fell_back=[]),
        end("optimizer", fell_back=["aten::lerp.Scalar_out", "aten::_foreach_add_.List"]),
        end("copy-between-adapters", "skipped", "there is one adapter"),
        end("matmul", "signal", "SIGSEGV", OTHER),
        row=ROW,
    )
    assert found.torch_directml is not None
    assert found.torch_directml.device_names == ("AMD Radeon(TM) 780M", "RX 7700S")
    assert found.torch_directml.default_device == 1
    assert found.torch_directml.cpu_fallbacks == ("aten::_foreach_add_.List", "aten::lerp.Scalar_out")
    assert found.exercises == (
        Exercise(name="import-torch-directml", device="directml", outcome="ok", seconds=0.25),
        Exercise(name="matmul", device=DEFAULT, outcome="ok", seconds=0.25),
        Exercise(
            name="optimizer",
            device=DEFAULT,
            outcome="ok",
            detail="the CPU did aten::lerp.Scalar_out, aten::_foreach_add_.List",
            seconds=0.25,
        ),
        Exercise(name="matmul", device=OTHER, outcome="signal", detail="SIGSEGV", seconds=0.25),
    )
    assert found.unknowns == ()


def test_an_adapter_that_does_not_tell_its_name_keeps_its_number() -> None:
    found = machine(end("list-adapters", device="directml", count=2, default=0, names=[None, "RX 7700S"]), row=ROW)
    assert found.torch_directml is not None
    assert found.torch_directml.device_names == ("unnamed", "RX 7700S")


def test_no_adapter_is_known() -> None:
    found = machine(end("list-adapters", device="directml", count=0, default=None, names=[]), row=ROW)
    assert found.torch_directml is not None
    assert (found.torch_directml.device_names, found.torch_directml.default_device) == ((), None)
    assert found.torch_directml.cpu_fallbacks is None, "nothing was tried that could fall back"
    assert found.unknowns == ()


@pytest.mark.parametrize(("outcome", "detail"), [("exception", "RuntimeError: unknown error"), ("signal", "SIGSEGV")])
def test_a_listing_that_fails_is_a_row_and_its_facts_stay_open(outcome: str, detail: str) -> None:
    found = machine(
        end("import-torch-directml", device="directml"),
        end("list-adapters", outcome, detail, "directml"),
        end("matmul", "skipped", "the adapters could not be listed", "directml"),
        row=ROW,
    )
    rows = [(row.name, row.outcome, row.detail) for row in found.exercises or ()]
    assert rows == [("import-torch-directml", "ok", None), ("list-adapters", outcome, detail)]
    assert unknown(found)["torch_directml.device_names"] == ("probe-failed", detail)


def test_the_exercises_of_both_devices_are_in_one_document() -> None:
    cpu = {"device": "cpu", "events": [{**end("import-torch"), "device": "cpu"}, {**end("matmul"), "device": "cpu"}]}
    told = {
        "interpreter": {"version": "3.12.7", "packages": [{"name": "torch", "version": "2.4.1"}, ROW]},
        "cpu": cpu,
        "directml": {"device": "directml", "events": [LISTED, {**end("import-torch"), "again": True}, end("matmul")]},
    }
    probes = (("torch", torch_probe), ("directml", probe))
    found = collect(RecordingSource({"exercises": told, "env": {}}, "test"), probes).machine
    assert [(row.name, row.device) for row in found.exercises or ()] == [
        ("import-torch", "cpu"),
        ("matmul", "cpu"),
        ("matmul", DEFAULT),
    ]


@pytest.mark.parametrize("answer", [[], {}, {"events": None}, {"events": [5, None, {"event": "begin"}]}])
def test_exercises_without_events_tell_nothing(answer: Any) -> None:
    found = machine(row=ROW, directml=answer)
    assert found.torch_directml is not None and found.torch_directml.device_names is None
    assert unknown(found)["torch_directml.device_names"][0] == "probe-failed"
