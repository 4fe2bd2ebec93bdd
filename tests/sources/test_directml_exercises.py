"""The exercises on DirectML in an interpreter whose torch-directml breaks in every way that people report.

The PyTorch and the torch-directml of these tests are a few lines each: enough to be imported, listed and opened. What
the arithmetic makes of a device is tested in `tests/inside/`.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.sources import exercises as exercises_module
from doctor.sources.base import Missing
from doctor.sources.directml_series import other_adapters
from doctor.sources.exercise_events import ADAPTER_STEPS, DIRECTML_STEPS
from doctor.sources.exercises import Exercises
from doctor.sources.target import Target, find_target

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")

#: Stands for any tensor and any module: it does whatever is asked of it.
TORCH = """
    import types
    class Anything:
        def __init__(self, *a, **k): pass
        def __getattr__(self, name):
            if name.startswith('__'): raise AttributeError(name)
            return lambda *a, **k: self
        def __matmul__(self, other): return self
        def __sub__(self, other): return Anything.zero
        def max(self): return 1.0
    class Zero(Anything):
        def max(self): return 0.0
    Anything.zero = Zero()
    Generator = Anything
    def randn(shape, generator): return Anything()
    def equal(one, other): return True
    def conv2d(*a, **k): return Anything()
    nn = types.SimpleNamespace(functional=types.SimpleNamespace(conv2d=conv2d))
    __version__ = '2.4.1+cpu'
"""

DIRECTML = """
    import os, signal, time
    ADAPTERS, DEFAULT = ['AMD Radeon(TM) 780M', 'AMD Radeon RX 7700S'], 1
    def is_available(): return bool(ADAPTERS)
    def device_count(): return len(ADAPTERS)
    def device_name(index): return ADAPTERS[index] + '\\0'
    def default_device(): return DEFAULT
    def opened(index): pass
    def device(index):
        opened(index)
        return 'privateuseone:%d' % index
"""


class Site:
    """A folder of packages in front of everything that is installed, and the exercises of the Python that sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {**os.environ, "PYTHONPATH": str(folder), "PATH": ""}
        self._open: list[Exercises] = []
        self.package("torch", TORCH)

    def package(self, name: str, *parts: str) -> Site:
        package = self.folder / name
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("\n".join(textwrap.dedent(part) for part in parts))
        return self

    def with_directml(self, *parts: str) -> Site:
        metadata = self.folder / "torch_directml-0.2.5.dev240914.dist-info"
        metadata.mkdir(parents=True, exist_ok=True)
        (metadata / "METADATA").write_text("Name: torch-directml\nVersion: 0.2.5.dev240914\n")
        return self.package("torch_directml", DIRECTML, *parts)

    def exercises(self, **options: Any) -> Exercises:
        made = Exercises(find_target(sys.executable, environ=self.environ), environ=self.environ, **options)
        self._open.append(made)
        return made

    def directml(self, **options: Any) -> dict[str, Any]:
        answer = self.exercises(**options).exercise("directml")
        assert isinstance(answer, dict), answer
        return answer

    def close(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path / "site")
    yield made
    made.close()


def ends(answer: dict[str, Any], device: str) -> dict[str, tuple[str, str | None]]:
    """Outcome and detail of each step on a device, as far as nothing was repeated."""
    told = [event for event in answer["events"] if event["event"] == "end" and not event.get("again")]
    return {event["name"]: (event["outcome"], event["detail"]) for event in told if event["device"] == device}


def children(answer: dict[str, Any]) -> list[str]:
    return [child["name"] for child in answer["children"]]


def every_step_ended_once(answer: dict[str, Any]) -> bool:
    told = [event for event in answer["events"] if event["event"] == "end" and not event.get("again")]
    names = [(event["device"], event["name"]) for event in told]
    return len(set(names)) == len(names) and {name for _, name in names} >= set(DIRECTML_STEPS)


DEFAULT, OTHER = "privateuseone:1", "privateuseone:0"


def test_the_default_adapter_does_every_step_and_the_others_the_basic_ones(site: Site) -> None:
    answer = site.with_directml().directml()
    assert answer["device"] == "directml"
    assert children(answer) == ["exit 0", "exit 0"]
    assert every_step_ended_once(answer)
    assert ends(answer, "directml") == {"import-torch-directml": ("ok", None), "list-adapters": ("ok", None)}
    assert set(ends(answer, DEFAULT)) == set(DIRECTML_STEPS[2:])
    assert set(ends(answer, OTHER)) == set(ADAPTER_STEPS)
    assert {ends(answer, device)["matmul"] for device in (DEFAULT, OTHER)} == {("ok", None)}
    assert not any(event.get("again") for event in answer["events"])


@posix_only
def test_an_import_that_dies_is_charged_and_not_repeated(site: Site) -> None:
    answer = site.with_directml("os.kill(os.getpid(), signal.SIGSEGV)").directml()
    assert children(answer) == ["SIGSEGV"]
    told = ends(answer, "directml")
    assert told["import-torch-directml"] == ("signal", "SIGSEGV")
    assert told["matmul"] == ("skipped", "torch-directml was not imported")
    assert every_step_ended_once(answer)


def test_an_import_that_raises(site: Site) -> None:
    text = "raise OSError('libd3d12.so: cannot open shared object file: No such file or directory')"
    answer = site.with_directml(text).directml()
    assert children(answer) == ["exit 0"]
    told = ends(answer, "directml")
    assert told["import-torch-directml"][0] == "exception"
    assert told["list-adapters"] == told["lstm"] == ("skipped", "torch-directml was not imported")


@posix_only
def test_a_listing_that_dies_leaves_nothing_to_go_on_with(site: Site) -> None:
    """What 0.2.5 does on a Linux without DirectX 12."""
    answer = site.with_directml("def is_available(): os.kill(os.getpid(), signal.SIGSEGV)").directml()
    assert children(answer) == ["SIGSEGV"]
    told = ends(answer, "directml")
    assert told["list-adapters"] == ("signal", "SIGSEGV")
    assert told["matmul"] == ("skipped", "the adapters could not be listed")
    assert every_step_ended_once(answer)


def test_an_adapter_that_hangs_does_not_keep_the_others_from_being_tried(site: Site) -> None:
    answer = site.with_directml(f"def opened(index): index == {DEFAULT[-1]} and time.sleep(600)").directml(
        timeout_seconds=3
    )
    assert children(answer) == ["timeout after 3 s", "exit 0"]
    assert ends(answer, DEFAULT)["open-adapter"] == ("timeout", "timeout after 3 s")
    assert ends(answer, DEFAULT)["train-step"] == ("skipped", "the adapter could not be opened")
    assert ends(answer, OTHER)["matmul"] == ("ok", None)


def dies_in_conv(condition: str) -> str:
    return f"""
    import torch
    last = []
    def opened(index): last.append(index)
    def conv2d(images, weights, padding=0):
        if last and {condition}: os.kill(os.getpid(), signal.SIGSEGV)
        return torch.Anything()
    torch.nn.functional.conv2d = conv2d
    """


@posix_only
def test_a_death_is_charged_to_the_open_step_of_its_adapter_and_the_rest_goes_on(site: Site) -> None:
    answer = site.with_directml(dies_in_conv("last[-1] == 0")).directml()
    assert children(answer) == ["exit 0", "SIGSEGV", "exit 0"]
    assert ends(answer, DEFAULT)["conv"] == ("ok", None)
    assert ends(answer, OTHER)["matmul"] == ("ok", None)
    assert ends(answer, OTHER)["conv"] == ("signal", "SIGSEGV")
    assert ends(answer, OTHER)["train-step"][0] != "skipped"
    assert every_step_ended_once(answer)
    assert not any(event.get("again") for event in answer["events"])


@posix_only
def test_a_child_that_goes_on_takes_the_adapter_that_the_first_had_taken(site: Site) -> None:
    answer = site.with_directml(dies_in_conv("True")).directml()
    assert ends(answer, DEFAULT)["conv"] == ("signal", "SIGSEGV")
    assert "lstm" in ends(answer, DEFAULT)
    assert ends(answer, DEFAULT)["gradients"][0] != "skipped"


@posix_only
def test_three_children_behind_deaths_on_all_adapters_together(site: Site) -> None:
    dies = """
    import torch
    torch.Anything.__matmul__ = lambda self, other: os.kill(os.getpid(), signal.SIGABRT)
    torch.randn = lambda shape, generator: torch.Anything() if shape == (3, 5) else os.kill(os.getpid(), signal.SIGABRT)
    """
    answer = site.with_directml(dies).directml()
    assert children(answer) == ["SIGABRT"] * 4
    died = [name for name, (outcome, _) in ends(answer, DEFAULT).items() if outcome == "signal"]
    assert (len(died), died[:3]) == (4, ["matmul", "conv", "train-step"])
    assert ends(answer, DEFAULT)["lstm"] == ("skipped", "PyTorch could not be exercised any further")
    assert set(ends(answer, OTHER).values()) == {("skipped", "PyTorch could not be exercised any further")}
    assert every_step_ended_once(answer)


def test_without_an_adapter_one_child_is_enough(site: Site) -> None:
    answer = site.with_directml("ADAPTERS = []").directml()
    assert children(answer) == ["exit 0"]
    assert ends(answer, "directml")["open-adapter"] == ("skipped", "torch-directml sees no adapter")


def test_where_pytorch_does_not_import_the_plugin_is_not_tried(site: Site, tmp_path: Path) -> None:
    marker = tmp_path / "imported"
    site.with_directml(f"open({str(marker)!r}, 'w').close()")
    site.package("torch", "raise ImportError('DLL load failed')")
    assert site.exercises().exercise("directml") == Missing("probe-failed", "PyTorch does not import")
    assert not marker.exists()


def test_the_answer_of_the_cpu_does_not_wait_for_directml(site: Site, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    site.with_directml(f"while not os.path.exists({str(go_on)!r}): time.sleep(0.01)")
    made = site.exercises(timeout_seconds=20)
    made.start()
    assert isinstance(made.exercise("cpu"), dict)
    go_on.touch()
    answer = made.exercise("directml")
    assert isinstance(answer, dict)
    assert ends(answer, "directml")["import-torch-directml"] == ("ok", None)  # else it had waited in vain


def test_not_installed_and_switched_off_are_different_answers(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exercises_module, "start_inside", lambda *_, **__: pytest.fail("a child was started"))
    target = Target("/usr/bin/python3", "--python", {"torch": {"origin": "x"}, "packages": [{"name": "torch"}]})
    with Exercises(target, enabled=False) as made:
        assert made.exercise("directml") == Missing("not-in-source", "exercises are switched off")
    made = Exercises(target)
    assert made.exercise("directml") == Missing("not-installed", "the target has no torch-directml")


@pytest.mark.parametrize(
    ("facts", "devices"),
    [
        ({"count": 3, "default": 1}, ("privateuseone:0", "privateuseone:2")),
        ({"count": 1, "default": 0}, ()),
        ({"count": 9, "default": 0}, ("privateuseone:1", "privateuseone:2", "privateuseone:3")),
        ({"count": 0, "default": None}, ()),
        ({"count": "2", "default": "0"}, ()),
        ({}, ()),
    ],
)
def test_other_adapters(facts: dict[str, Any], devices: tuple[str, ...]) -> None:
    begin = {"event": "begin", "name": "list-adapters"}
    assert other_adapters([begin, {"event": "end", "name": "list-adapters", "facts": facts}]) == devices
    assert other_adapters([begin]) == ()
