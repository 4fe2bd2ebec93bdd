"""The DirectML line of the screen, and that its exercises are not counted as PyTorch's own."""

from __future__ import annotations

import pytest

from doctor.machine.model import Exercise, Machine, Os, Torch, TorchDirectml
from doctor.present.says import Says
from doctor.present.software import directml_says, pytorch_says

INSTALLED = TorchDirectml(installed=True, version="0.2.5.dev240914", requires_torch="2.4.1")
WINDOWS = Os(kind="windows")


def row(name: str, outcome: str = "ok", device: str = "privateuseone:0") -> Exercise:
    return Exercise(name=name, outcome=outcome, device=device)


def test_adapters_and_exercises() -> None:
    directml = TorchDirectml(
        installed=True,
        version="0.2.5.dev240914",
        requires_torch="2.4.1",
        device_names=("AMD Radeon(TM) 780M", "AMD Radeon RX 7700S"),
        default_device=1,
    )
    skipped = row("copy-between-adapters", "skipped")
    rows = (row("matmul", device="cpu"), row("matmul"), row("lstm", "exception"), skipped)
    assert directml_says(Machine(os=WINDOWS, torch_directml=directml, exercises=rows)) == Says(
        facts=(
            "torch-directml 0.2.5.dev240914, for torch 2.4.1",
            "device 0: AMD Radeon(TM) 780M",
            "device 1: AMD Radeon RX 7700S (default)",
            "1 of 2 exercises are right; not right: lstm",
        )
    )


def test_without_exercises_what_the_files_tell() -> None:
    says = directml_says(Machine(os=WINDOWS, torch_directml=INSTALLED))
    assert says == Says(facts=("torch-directml 0.2.5.dev240914, for torch 2.4.1",))


def test_a_plugin_that_sees_no_adapter() -> None:
    directml = TorchDirectml(installed=True, device_names=())
    says = directml_says(Machine(os=WINDOWS, torch_directml=directml, exercises=(row("import-torch-directml"),)))
    assert says == Says(facts=("torch-directml", "1 of 1 exercise are right"), missing=("it sees no adapter",))


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Machine(os=Os(kind="linux", wsl=0)), "exists on Windows and WSL only"),
        (Machine(os=WINDOWS, torch_directml=TorchDirectml(installed=False)), "torch-directml is not installed"),
        (Machine(os=WINDOWS, packages={}), "torch-directml is not installed"),
    ],
)
def test_not_applicable(machine: Machine, words: str) -> None:
    assert directml_says(machine).not_applicable == words


def test_the_line_of_pytorch_counts_its_own_exercises_only() -> None:
    rows = (row("matmul", device="cpu"), row("matmul", "wrong"), row("import-torch-directml", "signal", "directml"))
    says = pytorch_says(Machine(torch=Torch(installed=True, version="2.4.1+cpu", importable=True), exercises=rows))
    assert says.missing == ()
    assert says.facts[-1] == "1 of 1 exercise are right"
