"""The exercises on the GPUs of a ROCm build that breaks in every way that people report.

The PyTorch of these tests is a few lines: enough to be imported, to count GPUs and to open them. What the arithmetic
makes of a GPU is tested in `tests/inside/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.sources import exercises as exercises_module
from doctor.sources.base import Missing
from doctor.sources.exercise_events import ALONE_STEPS, GPU_STEPS, ROCM_STEPS, listed_devices
from doctor.sources.exercises import Exercises
from doctor.sources.rocm_series import MOST_GPUS, MOST_UNCOUNTED, is_for_rocm, with_one_visible
from doctor.sources.target import Target
from tests.sources.test_directml_exercises import TORCH, Site, children

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")

VERSION_FILE = "__version__ = '2.9.1+rocm6.4'\nhip: Optional[str] = '6.4.43484-123eb5128'\n"

#: Two GPUs. `happens(what, gpu)` is called for all that HIP is asked: count, open, matmul, conv; `gpu` is the number
#: among all, whatever is hidden.
ROCM = """
    import os, signal, time
    version = types.SimpleNamespace(hip='6.4.43484-123eb5128', cuda=None)
    GPUS, here = 2, [None]
    def seen():
        mask = os.environ.get('HIP_VISIBLE_DEVICES', os.environ.get('CUDA_VISIBLE_DEVICES'))
        numbers = range(GPUS) if mask is None else map(int, mask.split(','))
        return [number for number in numbers if number < GPUS]
    def together(): return len(seen()) > 1
    def die(): os.kill(os.getpid(), signal.SIGSEGV)
    def happens(what, gpu): pass
    class cuda:
        def is_available(): happens('count', None); return bool(seen())
        def init(): pass
        def device_count(): return len(seen())
        def get_device_properties(at):
            return types.SimpleNamespace(name='GPU %d' % seen()[at], gcnArchName='gfx1100', total_memory=1 << 30)
        def set_device(at): here[0] = seen()[at]; happens('open', here[0])
        def mem_get_info(at): return 5, 6
    def matmul(self, other): happens('matmul', here[0]); return self
    def conv2d(*a, **k): happens('conv', here[0]); return Anything()
    Anything.__matmul__ = matmul
    nn = types.SimpleNamespace(functional=types.SimpleNamespace(conv2d=conv2d))
"""


class RocmSite(Site):
    def with_gpus(self, *parts: str) -> RocmSite:
        self.package("torch", TORCH, ROCM, *parts)
        (self.folder / "torch" / "version.py").write_text(VERSION_FILE)
        return self

    def when(self, condition: str, does: str, *parts: str) -> RocmSite:
        """GPUs that do something wrong when `happens` is called with what and gpu that fulfil the condition."""
        return self.with_gpus(f"def happens(what, gpu):\n    if {condition}: {does}", *parts)

    def rocm(self, **options: Any) -> dict[str, Any]:
        answer = self.exercises(**options).exercise("rocm")
        assert isinstance(answer, dict), answer
        return answer


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RocmSite]:
    made = RocmSite(tmp_path / "site")
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        made.environ.pop(name, None)
    yield made
    made.close()


def ends(answer: dict[str, Any], device: str, *, alone: bool = False) -> dict[str, tuple[str, str | None]]:
    """Outcome and detail of each step on a device, as far as nothing was repeated; of all GPUs or with one visible."""
    told = [event for event in answer["events"] if event["event"] == "end" and not event.get("again")]
    told = [event for event in told if bool(event.get("with_mask")) == alone and event["device"] == device]
    return {event["name"]: (event["outcome"], event["detail"]) for event in told}


def every_step_ended_once(answer: dict[str, Any]) -> bool:
    told = [event for event in answer["events"] if event["event"] == "end" and not event.get("again")]
    names = [(event["device"], event["name"], event.get("with_mask")) for event in told]
    return len(set(names)) == len(names) and {name for _, name, _ in names} >= set(ROCM_STEPS)


SKIPPED = "PyTorch could not be exercised any further"


def test_each_gpu_has_a_child_in_the_order_of_hip(site: RocmSite) -> None:
    answer = site.with_gpus().rocm()
    assert answer["device"] == "rocm"
    assert children(answer) == ["exit 0", "exit 0"]
    assert every_step_ended_once(answer)
    assert set(ends(answer, "cuda:0")) == set(ends(answer, "cuda:1")) == set(GPU_STEPS)
    assert set(ends(answer, "cuda")) == {"list-devices", "config", "libraries"}
    assert set(ends(answer, "cpu")) == {"train-step-on-cpu"}
    assert {ends(answer, device)["matmul"] for device in ("cuda:0", "cuda:1")} == {("ok", None)}
    assert listed_devices(answer["events"]) == 2
    assert not any(event.get("again") or event.get("with_mask") for event in answer["events"])


@posix_only
def test_a_death_is_charged_and_only_that_gpu_is_tried_alone(site: RocmSite) -> None:
    answer = site.when("what == 'conv' and gpu == 1", "die()").rocm()
    # GPU 0; GPU 1 up to its death and behind it; and GPU 1 as the only one, where nobody goes on behind a death.
    assert children(answer) == ["exit 0", "SIGSEGV", "exit 0", "SIGSEGV"]
    assert every_step_ended_once(answer)
    assert ends(answer, "cuda:0")["conv"] == ("ok", None)
    assert ends(answer, "cuda:1")["matmul"] == ("ok", None)
    assert ends(answer, "cuda:1")["conv"] == ("signal", "SIGSEGV")
    assert ends(answer, "cuda:1")["train-step"][0] != "skipped"
    assert ends(answer, "cuda:1", alone=True)["conv"] == ("signal", "SIGSEGV")
    assert ends(answer, "cuda:1", alone=True)["train-step"] == ("skipped", SKIPPED)
    assert ends(answer, "cuda:0", alone=True) == {}


@posix_only
def test_a_gpu_that_works_only_alone(site: RocmSite) -> None:
    answer = site.when("what == 'matmul' and gpu == 0 and together()", "die()").rocm()
    assert ends(answer, "cuda:0")["matmul"] == ("signal", "SIGSEGV")
    assert ends(answer, "cuda:0", alone=True)["matmul"] == ("ok", None)
    assert set(ends(answer, "cuda:0", alone=True)) == set(ALONE_STEPS) - {"list-devices"}


def test_an_error_on_one_of_several_is_tried_alone_and_on_the_only_one_is_not(site: RocmSite) -> None:
    raises = "raise RuntimeError('HIP error: invalid device function')"
    answer = site.when("what == 'matmul' and gpu == 1 and together()", raises).rocm()
    assert ends(answer, "cuda:1")["matmul"] == ("exception", "RuntimeError: HIP error: invalid device function")
    assert ends(answer, "cuda:1")["conv"] == ("ok", None), "the same child goes on"
    assert ends(answer, "cuda:1", alone=True)["matmul"] == ("ok", None)
    answer = site.when("what == 'matmul'", raises, "GPUS = 1").rocm()
    assert children(answer) == ["exit 0"]
    assert ends(answer, "cuda:0")["matmul"][0] == "exception"


def test_a_wrong_number_needs_no_second_try(site: RocmSite) -> None:
    wrong = "globals().update(equal=lambda one, other: False)"
    answer = site.when("what == 'open' and gpu == 1", wrong).rocm()
    assert children(answer) == ["exit 0", "exit 0"]
    assert ends(answer, "cuda:1")["open-device"] == ("wrong", "numbers came back changed")
    assert ends(answer, "cuda:1")["matmul"] == ("skipped", "the GPU could not be opened")


def test_a_gpu_that_hangs_costs_its_time_and_no_more(site: RocmSite) -> None:
    answer = site.when("what == 'open' and gpu == 1 and together()", "time.sleep(600)").rocm(timeout_seconds=3)
    assert children(answer) == ["exit 0", "timeout after 3 s", "exit 0"]
    assert ends(answer, "cuda:1")["open-device"] == ("timeout", "timeout after 3 s")
    assert ends(answer, "cuda:1")["matmul"] == ("skipped", "the GPU could not be opened")
    assert ends(answer, "cuda:1", alone=True)["matmul"] == ("ok", None)
    assert every_step_ended_once(answer)


def test_a_driver_that_only_hangs_is_not_asked_a_third_time(site: RocmSite) -> None:
    answer = site.when("what == 'matmul'", "time.sleep(600)", "GPUS = 3").rocm(timeout_seconds=3)
    # GPU 0, what is left of it, GPU 1, what is left of it.
    assert children(answer).count("timeout after 3 s") == 2
    assert ends(answer, "cuda:2") == dict.fromkeys(GPU_STEPS, ("skipped", SKIPPED))
    assert not any(event.get("with_mask") for event in answer["events"])
    assert every_step_ended_once(answer)


@posix_only
def test_where_counting_kills_each_gpu_is_tried_alone_until_there_is_none(site: RocmSite) -> None:
    """What pytorch#119370 describes: three targets visible at once, and a segmentation fault."""
    answer = site.when("what == 'count' and together()", "die()").rocm()
    assert children(answer) == ["SIGSEGV", "exit 0", "exit 0", "exit 0"]
    assert ends(answer, "cuda")["list-devices"] == ("signal", "SIGSEGV")
    assert ends(answer, "cuda:0")["matmul"] == ("skipped", "the GPUs could not be counted")
    assert ends(answer, "cpu")["train-step-on-cpu"] == ("skipped", "the GPUs could not be counted")
    for device in ("cuda:0", "cuda:1"):
        assert ends(answer, device, alone=True)["matmul"] == ("ok", None)
    assert ends(answer, "cuda:2", alone=True)["open-device"] == ("skipped", "HIP sees no GPU")
    names = [
        event["facts"]["devices"][0]["name"]
        for event in answer["events"]
        if event["name"] == "list-devices" and event.get("with_mask") and event.get("facts", {}).get("devices")
    ]
    assert names == ["GPU 0", "GPU 1"]


@posix_only
def test_where_counting_kills_whatever_is_visible(site: RocmSite) -> None:
    answer = site.when("what == 'count'", "die()").rocm()
    assert children(answer) == ["SIGSEGV"] * (1 + MOST_UNCOUNTED)


def test_where_counting_hangs_the_second_hang_is_the_last(site: RocmSite) -> None:
    answer = site.when("what == 'count'", "time.sleep(600)").rocm(timeout_seconds=3)
    assert children(answer) == ["timeout after 3 s"] * 2
    assert ends(answer, "cuda")["list-devices"] == ("timeout", "timeout after 3 s")


@posix_only
def test_deaths_on_the_first_gpu_do_not_keep_the_others_from_being_tried(site: RocmSite) -> None:
    dies = "globals().update(randn=lambda shape, generator: Anything() if shape == (3, 5) else die())"
    answer = site.when("what == 'open' and gpu == 0", dies).rocm()
    assert children(answer)[:4] == ["SIGSEGV"] * 4
    died = [name for name, (outcome, _) in ends(answer, "cuda:0").items() if outcome == "signal"]
    assert died == ["matmul", "dtype-fp16", "conv", "train-step"]
    assert ends(answer, "cuda:1")["matmul"] == ("ok", None)


def test_what_spoils_a_process_is_charged_once(site: RocmSite, tmp_path: Path) -> None:
    once = tmp_path / "once"
    spoils = f"open({str(once)!r}, 'x'); raise RuntimeError('HIP error: unspecified launch failure')"
    answer = site.when(f"what == 'matmul' and gpu == 0 and not os.path.exists({str(once)!r})", spoils).rocm()
    assert ends(answer, "cuda:0")["matmul"][0] == "exception"
    assert ends(answer, "cuda:0")["conv"] == ("ok", None), "in a process that HIP still talks to"
    assert children(answer) == ["exit 0"] * 4


def test_without_a_gpu_one_child_is_enough(site: RocmSite) -> None:
    answer = site.with_gpus("GPUS = 0").rocm()
    assert children(answer) == ["exit 0"]
    assert ends(answer, "cuda:0")["open-device"] == ("skipped", "HIP sees no GPU")


def test_many_gpus_are_counted_and_not_all_exercised(site: RocmSite) -> None:
    answer = site.with_gpus(f"GPUS = {MOST_GPUS + 2}").rocm()
    assert len(children(answer)) == MOST_GPUS
    assert listed_devices(answer["events"]) == MOST_GPUS + 2


@posix_only
def test_a_mask_that_is_set_is_kept_and_counted_by_its_places(site: RocmSite, tmp_path: Path) -> None:
    masks = tmp_path / "masks"
    site.environ["HIP_VISIBLE_DEVICES"] = "2,0"
    writes = f"open({str(masks)!r}, 'a').write(os.environ['HIP_VISIBLE_DEVICES'] + ' ')"
    site.when("what == 'matmul' and gpu == 2 and together()", "die()", "GPUS = 3", writes).rocm()
    # The CPU; GPU 2 up to each of two products, and behind them; GPU 0; then GPU 2 as the only one.
    assert masks.read_text().split() == ["2,0"] * 5 + ["2"]


@pytest.mark.parametrize(
    ("environ", "index", "mask"),
    [
        ({}, 1, "1"),
        ({"HIP_VISIBLE_DEVICES": "2, 0"}, 1, "0"),
        ({"CUDA_VISIBLE_DEVICES": "3,1"}, 0, "3"),
        ({"HIP_VISIBLE_DEVICES": "GPU-1f00,GPU-1f01", "CUDA_VISIBLE_DEVICES": "5"}, 1, "GPU-1f01"),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "4"}, 0, "4"),
        ({"ROCR_VISIBLE_DEVICES": "7,8"}, 1, "1"),
    ],
)
def test_one_visible(environ: dict[str, str], index: int, mask: str) -> None:
    kept = {"PATH": "/bin", **{name: value for name, value in environ.items() if name.startswith("ROCR")}}
    assert with_one_visible({"PATH": "/bin", **environ}, index) == {**kept, "HIP_VISIBLE_DEVICES": mask}


@pytest.mark.parametrize(
    ("text", "built"),
    [
        (VERSION_FILE, True),
        ("__version__ = '2.10.0+rocm7.13'\nhip: Optional[str] = \"7.13.60610\"\n", True),
        ("__version__ = '1.9'\nhip = '4.2.21155'\n", True),
        ("hip: Optional[str] = None\ncuda = '12.4'\n", False),
        ("hip: Optional[str] = '0.0.0'\n", False),
        ("# hip = '6.4'\nship = '6.4'\n", False),
        ("", False),
        (None, False),
    ],
)
def test_a_build_for_rocm_is_known_by_its_version_file(text: str | None, built: bool) -> None:
    assert is_for_rocm(text) is built


def test_another_build_is_not_exercised_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercises_module, "start_inside", lambda *_, **__: pytest.fail("a child was started"))
    for version_file in ("hip: Optional[str] = None\n", None):
        target = Target("/usr/bin/python3", "--python", {"torch": {"origin": "x", "version_file": version_file}})
        answer = Exercises(target).exercise("rocm")
        assert answer == Missing("not-installed", "the target's torch is not built for ROCm")
    built = Target("/usr/bin/python3", "--python", {"torch": {"origin": "x", "version_file": VERSION_FILE}})
    assert Exercises(built, enabled=False).exercise("rocm") == Missing("not-in-source", "exercises are switched off")


def test_where_pytorch_does_not_import_hip_is_not_woken(site: RocmSite) -> None:
    site.with_gpus("raise ImportError('libamdhip64.so.6: cannot open shared object file')")
    assert site.exercises().exercise("rocm") == Missing("probe-failed", "PyTorch does not import")


def test_the_answer_of_the_cpu_does_not_wait_for_the_gpus(site: RocmSite, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    waits = f"def waits():\n    while not os.path.exists({str(go_on)!r}): time.sleep(0.01)"
    site.when("what == 'count'", "waits()", waits)
    made = site.exercises()
    made.start()
    assert isinstance(made.exercise("cpu"), dict)
    go_on.touch()
    assert isinstance(made.exercise("rocm"), dict)


@pytest.mark.parametrize("facts", [{}, {"count": "2"}, {"count": None}])
def test_a_listing_without_a_number_counts_nothing(facts: dict[str, Any]) -> None:
    begin = {"event": "begin", "name": "list-devices"}
    end = {"event": "end", "name": "list-devices", "outcome": "ok", "facts": facts}
    assert listed_devices([begin, end]) is None
    assert listed_devices([begin, {**end, "outcome": "exception", "facts": {"count": 2}}]) is None
    assert listed_devices([begin, {**end, "facts": {"count": 2}}]) == 2
