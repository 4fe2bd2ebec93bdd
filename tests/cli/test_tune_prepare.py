"""What is asked for, and what cannot be measured, before anything is."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from doctor.cli.inputs import Unusable
from doctor.cli.tune_options import Asked, names_of, seconds_given
from doctor.cli.tune_prepare import OLDEST_TORCH, command_digest, refuse_target, wanted_of
from doctor.machine.model import Machine, Package, Torch
from doctor.measure.workloads import MODES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("120", 120), ("120s", 120), ("3m", 180), ("1m30s", 90), ("2min", 120), ("1h", 3600), (" 45S ", 45), ("7.5", 7.5)],
)
def test_times_as_people_type_them(text: str, seconds: float) -> None:
    assert seconds_given(None, None, text) == seconds  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "s", "m3", "3x", "-5", "1e3", "∞", "3 m x", "0", "25h", "٣"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        seconds_given(None, None, text)  # type: ignore[arg-type]


def test_names_may_be_repeated_and_separated_by_commas() -> None:
    assert names_of(("gemm, fit", "fit", " triad ,")) == ("gemm", "fit", "triad")


def test_what_is_wanted_by_default_is_training() -> None:
    wanted = wanted_of(Asked())
    assert (wanted.workloads, wanted.mode) == (MODES["train"], "train")
    assert wanted_of(Asked()).seed != wanted_of(Asked()).seed, "each run tosses its own coins"
    assert wanted_of(Asked(seed=7, workloads=("gemm-512",))).mode is None


def test_what_has_to_be_typed_again() -> None:
    asked = Asked(mode="infer", axes=("threads",), python="/a b/python", command=("python", "it's.py"))
    assert asked.repeated == " --mode infer --axis threads --python '/a b/python'"
    assert asked.command_text == """ -- python 'it'"'"'s.py'"""
    metric = Asked(metric="x ([0-9]+)", higher_is_better=False)
    assert metric.repeated == " --metric 'x ([0-9]+)' --lower-is-better"


def test_a_digest_tells_commands_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Asked(command=("python", "a b"))
    others = [
        Asked(command=("python", "a", "b")),
        Asked(command=("python", "a b"), metric="x"),
        Asked(command=("python", "a b"), metric="x", higher_is_better=True),
    ]
    digests = {command_digest(each) for each in (one, *others)}
    assert len(digests) == 4 and command_digest(one) in digests
    monkeypatch.chdir(tmp_path)
    assert command_digest(one) not in digests, "the same words in another folder"


def _machine(**torch: object) -> Machine:
    return Machine(torch=Torch(**torch), packages={"numpy": Package(version="2.0")})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (_machine(installed=False), r"there is no PyTorch in /usr/bin/python3: `amd-doctor plan`"),
        (_machine(installed=True, version="1.9.1+cpu"), r"PyTorch 1\.9\.1\+cpu in .* is too old to be measured, 1\.10"),
        (
            _machine(installed=True, version="2.13.0", importable=False, import_error="ImportError: libgomp.so.1"),
            r"cannot be imported \(ImportError: libgomp\.so\.1\): `amd-doctor check`",
        ),
    ],
)
def test_a_target_that_cannot_be_measured_is_told_in_one_sentence(machine: Machine, said: str) -> None:
    with pytest.raises(Unusable, match=said) as refused:
        refuse_target(machine, MODES["train"], "/usr/bin/python3")
    assert "\n" not in str(refused.value) and refused.value.exit_code == 2
    refuse_target(machine, ("numpy-gemm",), "/usr/bin/python3")


@pytest.mark.parametrize("machine", [Machine(), _machine(installed=True), _machine(installed=True, version="2.13.0")])
def test_what_is_not_known_is_tried(machine: Machine) -> None:
    refuse_target(machine, MODES["train"], "/usr/bin/python3")


def test_numpy_alone_needs_numpy() -> None:
    with pytest.raises(Unusable, match="there is no NumPy in"):
        refuse_target(Machine(packages={}), ("numpy-gemm",), "/usr/bin/python3")


def test_the_oldest_torch_is_that_of_the_worker() -> None:
    text = (ROOT / "doctor" / "inside" / "worker.py").read_text(encoding="utf-8")
    found = re.search(r"^OLDEST_TORCH = \((\d+), (\d+)\)$", text, re.MULTILINE)
    assert found is not None and (int(found[1]), int(found[2])) == OLDEST_TORCH
