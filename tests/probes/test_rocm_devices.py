"""The GPUs as the exercises of a ROCm build tell them."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.machine.model import Exercise, Machine, Torch, TorchDevice
from doctor.probes.collect import collect
from doctor.probes.rocm_devices import probe
from doctor.probes.torch import probe as torch_probe
from doctor.sources.recording import RecordingSource

VERSION_FILE = "__version__ = '2.9.1+rocm6.4'\ncuda: Optional[str] = None\nhip: Optional[str] = '6.4.43484-123eb5128'\n"
GIB = 1 << 30
CARD = {"name": "AMD Radeon RX 7900 XTX", "gfx": "gfx1100", "total_memory_bytes": 24 * GIB}
CARD |= {"pci_address": "0000:03:00.0"}
CDNA = {"name": None, "gfx": "gfx90a:sramecc+:xnack-", "total_memory_bytes": 64 * GIB, "pci_address": None}
CONFIG = """PyTorch built with:
  - Intel(R) MKL-DNN v3.7.1 (Git Hash 8d263e693366ef8db40acc569cc7d8edf644556d)
  - Build settings: BLAS_INFO=open, BUILD_TYPE=Release, USE_ROCM=ON,
"""


def end(
    name: str, outcome: str = "ok", detail: str | None = None, device: str = "cuda:0", **facts: Any
) -> dict[str, Any]:
    told = {"event": "end", "name": name, "outcome": outcome, "detail": detail, "seconds": 0.25, "facts": facts}
    return {**told, "device": device}


def listed(*devices: dict[str, Any], **facts: Any) -> dict[str, Any]:
    told = {"is_available": bool(devices), "count": len(devices), "devices": list(devices), "failures": []}
    return end("list-devices", device="cuda", **told, **facts)


def alone(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "with_mask": True}


def cpu(**build: Any) -> dict[str, Any]:
    told = {"version": "2.9.1+rocm6.4", "cuda": None, "hip": "6.4.43484-123eb5128", "parallel_info": "", **build}
    ends = [end("import-torch", import_seconds=2.5), end("build", **told)]
    ends += [end("matmul"), end("train-step", "skipped", "done together with the GPU")]
    return {"events": [{**event, "device": "cpu"} for event in ends]}


def machine(
    *ends: dict[str, Any], version_file: str | None = VERSION_FILE, both: bool = False, **exercises: Any
) -> Machine:
    torch = {"origin": "/venv/torch/__init__.py", "version_file": version_file, "libraries": ["libtorch_hip.so"]}
    told = {"interpreter": {"version": "3.12.7", "packages": [{"name": "torch"}], "torch": torch}, **exercises}
    if ends:
        told["rocm"] = {"device": "rocm", "events": list(ends), "children": []}
    probes = (("torch", torch_probe), ("rocm-devices", probe)) if both else (("rocm-devices", probe),)
    collected = collect(RecordingSource({"exercises": told, "env": {}}, "test"), probes)
    assert collected.crashed == ()
    return collected.machine


def unknown(found: Machine) -> dict[str, tuple[str, str | None]]:
    return {row.fact: (row.reason, row.detail) for row in found.unknowns or ()}


def test_devices_are_told_in_the_order_of_hip_by_their_bare_targets() -> None:
    found = machine(
        listed(CARD, CDNA),
        end("open-device", free_bytes=23 * GIB, total_bytes=24 * GIB),
        end("open-device", device="cuda:1", free_bytes=65 * GIB, total_bytes=65 * GIB),
        end("matmul"),
        cpu=cpu(targets=["gfx90a", "gfx1100"]),
    )
    assert found.torch == Torch(
        is_available=True,
        device_count=2,
        arch_list=("gfx90a", "gfx1100"),
        devices=(
            TorchDevice(
                name="AMD Radeon RX 7900 XTX",
                gfx="gfx1100",
                total_memory_bytes=24 * GIB,
                free_memory_bytes=23 * GIB,
                pci_address="0000:03:00.0",
            ),
            # More free than there is cannot be true.
            TorchDevice(gfx="gfx90a", total_memory_bytes=64 * GIB),
        ),
    )
    assert found.unknowns == ()


def test_exercises_on_the_gpus_are_rows_and_questions_are_not() -> None:
    found = machine(
        end("import-torch", device="cuda") | {"again": True},
        listed(CARD, CDNA),
        end("train-step-on-cpu", device="cpu"),
        end("open-device"),
        end("matmul", warnings=["Attempting to use hipBLASLt on an unsupported architecture!"]),
        end("conv", "signal", "SIGSEGV", "cuda:1"),
        end("train-step", "skipped", "PyTorch could not be exercised any further", "cuda:1"),
        alone(listed(CDNA)),
        alone(end("conv", device="cuda:1")),
        end("config", "exception", "RuntimeError: x", "cuda"),
        end("libraries", "timeout", "timeout after 20 s", "cuda"),
        cpu=cpu(),
    )
    assert found.exercises == (
        Exercise(name="train-step", device="cpu", outcome="ok", seconds=0.25),
        Exercise(name="open-device", device="cuda:0", outcome="ok", seconds=0.25),
        Exercise(
            name="matmul",
            device="cuda:0",
            outcome="ok",
            detail="Attempting to use hipBLASLt on an unsupported architecture!",
            seconds=0.25,
        ),
        Exercise(name="conv", device="cuda:1", outcome="signal", detail="SIGSEGV", seconds=0.25),
        Exercise(name="conv", device="cuda:1", outcome="ok", seconds=0.25, with_mask=True),
        Exercise(name="libraries", device="cuda", outcome="timeout", detail="timeout after 20 s", seconds=0.25),
    )


def test_no_gpu_is_known_and_what_was_warned_of_meanwhile_is_a_row() -> None:
    text = "HIP initialization: Unexpected error from hipGetDeviceCount()."
    found = machine(listed(warnings=[text]), cpu=cpu(targets=["gfx1100"]))
    assert found.torch == Torch(is_available=False, device_count=0, devices=(), arch_list=("gfx1100",))
    assert found.exercises == (
        Exercise(name="list-devices", device="cuda", outcome="ok", detail=text, seconds=0.25),
    )
    assert found.unknowns == ()


@pytest.mark.parametrize(
    ("outcome", "detail", "reason"),
    [
        ("signal", "SIGSEGV", "probe-failed"),
        ("timeout", "timeout after 60 s", "timed-out"),
        ("exception", "RuntimeError: No HIP GPUs are available", "probe-failed"),
    ],
)
def test_counting_that_fails_leaves_the_gpus_open(outcome: str, detail: str, reason: str) -> None:
    found = machine(end("list-devices", outcome, detail, "cuda"), cpu=cpu(targets=["gfx1100"]))
    assert found.torch == Torch(arch_list=("gfx1100",)), "what the build has code for was asked on the CPU"
    row = (reason, f"counting the GPUs ended in: {detail}")
    assert unknown(found) == dict.fromkeys(("torch.device_count", "torch.devices", "torch.is_available"), row)
    assert [(row.name, row.device, row.outcome) for row in found.exercises or ()] == [
        ("list-devices", "cuda", outcome)
    ]


def test_gpus_that_were_listed_one_by_one_have_their_places() -> None:
    died = end("list-devices", "signal", "SIGSEGV", "cuda")
    found = machine(died, alone(listed(CARD)), alone(listed(CDNA)), alone(listed()), cpu=cpu())
    assert found.torch is not None and found.torch.device_count is None
    assert [device.gfx for device in found.torch.devices or ()] == ["gfx1100", "gfx90a"]
    assert set(unknown(found)) == {"torch.arch_list", "torch.device_count", "torch.is_available"}


@pytest.mark.parametrize(
    "rest",
    [
        [],
        [alone(listed(CARD)), alone(listed(CDNA))],  # perhaps there are more
        [alone(listed(CARD)), alone(end("list-devices", "signal", "SIGSEGV", "cuda")), alone(listed())],
        [alone(listed(CARD, CDNA)), alone(listed())],  # the mask hid nothing
        [alone(listed())],
    ],
)
def test_places_are_not_guessed(rest: list[dict[str, Any]]) -> None:
    found = machine(end("list-devices", "signal", "SIGSEGV", "cuda"), *rest, cpu=cpu())
    assert found.torch is None or found.torch.devices is None


def test_an_empty_list_of_targets_is_no_answer() -> None:
    found = machine(listed(CARD), cpu=cpu(targets=None))
    assert found.torch is not None and found.torch.arch_list is None
    assert unknown(found) == {"torch.arch_list": ("probe-failed", "this PyTorch did not tell")}


def test_what_the_text_of_the_build_tells_is_told_by_the_process_with_the_gpu() -> None:
    found = machine(listed(CARD), end("config", device="cuda", config=CONFIG), both=True, cpu=cpu(targets=["gfx1100"]))
    assert found.torch is not None
    assert (found.torch.blas, found.torch.onednn, found.torch.build) == ("openblas", "3.7.1", "rocm")
    assert not {"torch.blas", "torch.onednn", "torch.is_available", "torch.devices"} & set(unknown(found))


def test_the_training_step_on_the_cpu_is_one_row() -> None:
    found = machine(listed(CARD), end("train-step-on-cpu", device="cpu"), both=True, cpu=cpu())
    rows = [(row.name, row.outcome) for row in found.exercises or () if row.device == "cpu"]
    assert rows == [("import-torch", "ok"), ("matmul", "ok"), ("train-step", "ok")]


def test_switched_off_exercises_say_why_the_gpus_are_not_known() -> None:
    found = machine(both=True)
    assert found.torch is not None and found.torch.hip == "6.4.43484-123eb5128"
    facts = {"torch.arch_list", "torch.device_count", "torch.devices", "torch.is_available", "exercises"}
    assert {fact: unknown(found)[fact][0] for fact in facts} == dict.fromkeys(facts, "not-in-source")


@pytest.mark.parametrize(
    "version_file", [None, "", "__version__ = '2.13.0+cpu'\nhip = None\n", "__version__ = '2.1'\nhip = '0.0.0'\n"]
)
def test_another_build_has_nothing_to_say_of_gpus(version_file: str | None) -> None:
    found = machine(listed(CARD), version_file=version_file, cpu=cpu())
    assert (found.torch, found.exercises, found.unknowns) == (None, None, ())


@pytest.mark.parametrize("answer", [[], {}, {"events": None}, {"events": [5, None, {"event": "begin"}]}])
def test_exercises_without_events_tell_nothing(answer: Any) -> None:
    found = machine(cpu=cpu(targets=["gfx1100"]), rocm=answer)
    assert found.torch == Torch(arch_list=("gfx1100",))
    assert unknown(found)["torch.devices"] == ("probe-failed", "counting the GPUs ended in: nothing")
