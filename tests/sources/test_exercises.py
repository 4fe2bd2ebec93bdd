"""The exercises in an interpreter whose PyTorch breaks in every way that people report, and beside hostile files.

The PyTorch of these tests is a few lines of Python in a folder of its own; one test at the end takes the real one.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from doctor.sources import exercises as exercises_module
from doctor.sources.base import Missing
from doctor.sources.exercises import CPU_STEPS, Exercises, read_events
from doctor.sources.target import Target, find_target

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals and shell scripts are POSIX")

#: Stands for any tensor: it does whatever is asked of it, and the difference of two is `ERROR`.
TENSOR = """
    import os, sys, types
    ERROR = 0.0
    class Number:
        def __init__(self, value): self.value = value
        def __float__(self): return float(self.value)
    class Tensor:
        def __init__(self, value=1.0): self.value = value; self.grad = self; self.dtype = None
        def __getattr__(self, name): return lambda *a, **k: self
        def __matmul__(self, other): return Tensor()
        def __sub__(self, other): return Tensor(ERROR)
        def __mul__(self, other): return self
        __rmul__ = __mul__
        def __pow__(self, other): return self
        def max(self): return Number(self.value)
        def __float__(self): return 1.0
    class Generator:
        def manual_seed(self, seed): return self
    class Flags:
        on = True
        def __init__(self, enabled): self.enabled = enabled
        def __enter__(self): Flags.on = self.enabled
        def __exit__(self, *_): Flags.on = True
    def conv2d(images, weights, padding=0): return Tensor()
    functional = types.SimpleNamespace(conv2d=conv2d)
    nn = types.SimpleNamespace(functional=functional)
    backends = types.SimpleNamespace(mkldnn=types.SimpleNamespace(flags=Flags))
    bfloat16 = 'bfloat16'
    def randn(shape, generator): return Tensor()
    def get_num_threads(): return 3
    def get_num_interop_threads(): return 2
    __version__ = '2.4.1+cpu'
"""


class Site:
    """A folder of packages in front of everything that is installed, and the exercises of the Python that sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ: dict[str, str] = {**os.environ, "PYTHONPATH": str(folder), "PATH": ""}
        self._open: list[Exercises] = []

    def torch(self, *parts: str) -> Site:
        package = self.folder / "torch"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("\n".join(textwrap.dedent(part) for part in parts))
        return self

    def exercises(self, python: str = sys.executable, **options: object) -> Exercises:
        target = find_target(python, environ=self.environ)
        made = Exercises(target, environ=self.environ, **options)  # type: ignore[arg-type]
        self._open.append(made)
        return made

    def cpu(self, **options: object) -> dict:
        answer = self.exercises(**options).exercise("cpu")  # type: ignore[arg-type]
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


def ends(answer: dict) -> dict[str, dict]:
    return {event["name"]: event for event in answer["events"] if event["event"] == "end" and not event.get("again")}


def outcome(answer: dict, name: str) -> tuple[str, str | None]:
    end = ends(answer)[name]
    return end["outcome"], end["detail"]


def every_step_ended_once(answer: dict) -> bool:
    names = [event["name"] for event in answer["events"] if event["event"] == "end" and not event.get("again")]
    return sorted(set(names)) == sorted(names) and set(CPU_STEPS) <= set(names)


def test_one_child_does_every_step_of_a_pytorch_that_works(site: Site) -> None:
    answer = site.torch(TENSOR).cpu()
    assert answer["device"] == "cpu"
    assert [child["name"] for child in answer["children"]] == ["exit 0"]
    assert every_step_ended_once(answer)
    assert outcome(answer, "matmul") == ("ok", None)
    assert ends(answer)["threads"]["facts"] == {"num_threads": 3, "interop_threads": 2}
    begun = [event["name"] for event in answer["events"] if event["event"] == "begin"]
    assert begun == list(CPU_STEPS)


def test_a_wrong_number_is_an_outcome(site: Site) -> None:
    answer = site.torch(TENSOR, "ERROR = 0.5").cpu()
    assert outcome(answer, "matmul") == ("wrong", "off by 0.5 times the largest value")
    assert outcome(answer, "conv1x1-onednn-off")[0] == "wrong"  # tried at once, in the same child
    assert len(answer["children"]) == 1


def test_an_import_that_raises(site: Site) -> None:
    answer = site.torch("raise ImportError('libtorch_hip.so: undefined symbol: hsa_init')").cpu()
    assert outcome(answer, "import-torch") == ("exception", "ImportError: libtorch_hip.so: undefined symbol: hsa_init")
    assert outcome(answer, "affinity-before-import")[0] in ("ok", "skipped")
    assert outcome(answer, "train-step") == ("skipped", "PyTorch was not imported")
    assert len(answer["children"]) == 1
    assert every_step_ended_once(answer)


@posix_only
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGILL", "SIGFPE", "SIGKILL"])
def test_an_import_that_dies_is_charged_and_not_repeated(site: Site, name: str) -> None:
    answer = site.torch(f"import os, signal; os.kill(os.getpid(), signal.{name})").cpu()
    assert outcome(answer, "import-torch") == ("signal", name)
    assert outcome(answer, "matmul") == ("skipped", "PyTorch was not imported")
    assert [child["outcome"] for child in answer["children"]] == ["signal"]
    assert every_step_ended_once(answer)


def test_an_import_that_hangs(site: Site) -> None:
    answer = site.torch("import time; time.sleep(600)").cpu(timeout_seconds=3)
    assert outcome(answer, "import-torch") == ("timeout", "timeout after 3 s")
    assert len(answer["children"]) == 1


def test_an_import_that_ends_the_process_says_why(site: Site) -> None:
    text = """
        import os
        os.write(2, b'OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.\\n')
        os.write(2, b'OMP: Hint This means that multiple copies of the OpenMP runtime have been linked.\\n')
        os._exit(3)
    """
    answer = site.torch(text).cpu()
    assert outcome(answer, "import-torch") == (
        "exception",
        "the process ended with exit 3: OMP: Error #15: Initializing libiomp5md.dll, "
        "but found libiomp5md.dll already initialized.",
    )
    assert "OMP: Hint" in answer["children"][0]["stderr"]


def test_a_version_file_that_is_gone_is_an_exception_of_one_step(site: Site) -> None:
    answer = site.torch(TENSOR, "import os; os.path.exists(p := __path__[0] + '/version.py') and os.remove(p)").cpu()
    assert outcome(answer, "import-torch")[0] == "ok"
    assert outcome(answer, "build") == ("exception", "AttributeError: module 'torch' has no attribute 'version'")
    assert outcome(answer, "matmul")[0] == "ok"


@posix_only
def test_a_death_is_charged_to_the_open_step_and_the_rest_goes_on(site: Site) -> None:
    dies = """
        import signal
        count = [0]
        def conv2d(images, weights, padding=0):
            count[0] += 1
            if padding == 0 and Flags.on: os.kill(os.getpid(), signal.SIGFPE)
            return Tensor()
        functional.conv2d = conv2d
    """
    answer = site.torch(TENSOR, dies).cpu()
    assert outcome(answer, "conv") == ("ok", None)
    assert outcome(answer, "conv1x1") == ("signal", "SIGFPE")
    assert outcome(answer, "conv1x1-onednn-off") == ("ok", None)
    assert outcome(answer, "dtype-bf16") == ("ok", None)
    assert [child["name"] for child in answer["children"]] == ["SIGFPE", "exit 0"]
    assert every_step_ended_once(answer)
    assert not any(event.get("again") for event in answer["events"])


@posix_only
def test_at_most_three_further_children(site: Site) -> None:
    dies = "import signal\ndef randn(shape, generator): os.kill(os.getpid(), signal.SIGSEGV)"
    answer = site.torch(TENSOR, dies).cpu()
    assert [child["name"] for child in answer["children"]] == ["SIGSEGV"] * 4
    died = [name for name, end in ends(answer).items() if end["outcome"] == "signal"]
    assert died == ["matmul", "conv", "conv1x1", "conv1x1-onednn-off"]
    assert outcome(answer, "train-step") == ("skipped", "PyTorch could not be exercised any further")
    assert every_step_ended_once(answer)


def test_a_step_that_hangs_is_charged_and_the_rest_goes_on(site: Site) -> None:
    hangs = """
        import time
        class Slow(Tensor):
            def __matmul__(self, other): time.sleep(600)
        def randn(shape, generator): return Slow() if shape in ((250, 260), (260, 270)) else Tensor()
    """
    answer = site.torch(TENSOR, hangs).cpu(timeout_seconds=3)
    assert outcome(answer, "matmul") == ("timeout", "timeout after 3 s")
    assert outcome(answer, "conv") == ("ok", None)
    assert [child["outcome"] for child in answer["children"]] == ["timeout", "exited"]


def test_a_second_import_that_dies_does_not_unsay_the_first(site: Site, tmp_path: Path) -> None:
    first = tmp_path / "first"
    text = f"""
        if os.path.exists({str(first)!r}): os._exit(5)
        open({str(first)!r}, 'w').close()
        def randn(shape, generator): os._exit(6)
    """
    answer = site.torch(TENSOR, text).cpu()
    assert outcome(answer, "import-torch") == ("ok", None)
    assert outcome(answer, "matmul") == ("exception", "the process ended with exit 6")
    assert [event["outcome"] for event in answer["events"] if event.get("again")] == ["exception"]
    assert outcome(answer, "conv") == ("skipped", "PyTorch was not imported")
    assert every_step_ended_once(answer)


def test_a_process_that_leaves_without_a_word_is_charged(site: Site) -> None:
    answer = site.torch(TENSOR, "def get_num_threads(): os._exit(0)").cpu()
    assert outcome(answer, "threads") == ("exception", "the process ended with exit 0")
    assert outcome(answer, "matmul") == ("ok", None)


def test_noise_does_not_hide_the_answers(site: Site) -> None:
    site.torch(TENSOR, "os.write(1, b'no end of line'); print('{\"event\": \"end\", \"name\": \"matmul\"}')")
    (site.folder / "sitecustomize.py").write_text("import sys; sys.stdout.write('{\"answer\": 1}\\nhalf a li')")
    answer = site.cpu()
    assert every_step_ended_once(answer)
    assert outcome(answer, "matmul") == ("ok", None)


@posix_only
def test_a_wrapper_script_tells_of_a_signal_as_a_status(site: Site, tmp_path: Path) -> None:
    wrapper = tmp_path / "python-with-settings"
    wrapper.write_text(f"#!/bin/sh\n{sys.executable} \"$@\"\nexit $?\n")
    wrapper.chmod(0o755)
    site.torch("import os, resource, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert outcome(site.cpu(python=str(wrapper)), "import-torch") == ("signal", "SIGSEGV")


HOSTILE = ("torch.py", "sitecustomize.py", "usercustomize.py", "json.py", "time.py", "warnings.py", "threadpoolctl.py")


@pytest.mark.parametrize("entry", ["", ".", "..", "sub", os.pathsep])
def test_nothing_is_imported_from_the_callers_folder(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    here, marker = tmp_path / "here", tmp_path / "imported"
    (here / "sub").mkdir(parents=True)
    for folder in (tmp_path, here, here / "sub"):
        for name in HOSTILE:
            (folder / name).write_text(f"open({str(marker)!r}, 'a').write(__file__ + '\\n')\n")
    monkeypatch.chdir(here)
    site.torch(TENSOR)
    site.environ["PYTHONPATH"] = os.pathsep.join([entry, str(site.folder)])
    made = site.exercises()
    answer = made.exercise("cpu")
    assert isinstance(answer, dict)
    assert not marker.exists(), marker.read_text()
    assert outcome(answer, "threads") == ("ok", None)
    told = made.exercise("interpreter")
    assert told["dropped_pythonpath"] == entry.split(os.pathsep)
    assert str(here) not in told["sys_path"]


def test_children_run_in_an_empty_folder_that_goes_away(site: Site, tmp_path: Path) -> None:
    where = tmp_path / "where"
    answer = site.torch(TENSOR, f"open({str(where)!r}, 'w').write(repr((os.getcwd(), os.listdir('.'))))").cpu()
    assert outcome(answer, "import-torch") == ("ok", None)
    folder, names = eval(where.read_text())
    assert names == []
    assert folder != str(Path.cwd())
    assert not Path(folder).exists()


@pytest.mark.parametrize("name", ["PYTHONINSPECT", "PYTHONSTARTUP", "PYTHONVERBOSE", "PYTHONEXECUTABLE"])
def test_variables_that_only_disturb_are_not_passed_on(site: Site, tmp_path: Path, name: str) -> None:
    seen = tmp_path / "seen"
    site.environ.update({name: "1", "OMP_NUM_THREADS": "7"})
    site.torch(TENSOR, f"open({str(seen)!r}, 'w').write(repr(sorted(os.environ)))").cpu()
    passed_on = eval(seen.read_text())
    assert name not in passed_on
    assert "OMP_NUM_THREADS" in passed_on


def test_without_torch_nothing_is_started(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercises_module, "start_inside", lambda *_, **__: pytest.fail("a child was started"))
    target = Target("/usr/bin/python3", "--python", {"torch": None, "packages": [{"name": "numpy"}]})
    with Exercises(target) as made:
        assert made.exercise("cpu") == Missing("not-installed", "the target has no torch")


def test_switched_off_means_that_nothing_is_imported(site: Site, tmp_path: Path) -> None:
    marker = tmp_path / "imported"
    made = site.torch(f"open({str(marker)!r}, 'w').close()").exercises(enabled=False)
    made.start()
    assert made.exercise("cpu") == Missing("not-in-source", "exercises are switched off")
    assert made.exercise("interpreter")["torch"]["origin"] == str(site.folder / "torch" / "__init__.py")
    assert not marker.exists()


def test_other_names_are_not_answered(site: Site) -> None:
    assert site.torch(TENSOR).exercises().exercise("cuda:7") == Missing("not-in-source")


def test_an_interpreter_that_went_away_is_one_error_value(tmp_path: Path) -> None:
    target = Target(str(tmp_path / "gone"), "--python", {"torch": {"origin": "x"}})
    with Exercises(target) as made:
        answer = made.exercise("cpu")
    assert answer == Missing("probe-failed", "the exercises did not begin (No such file or directory)")


def test_what_was_started_early_is_not_started_twice(site: Site, tmp_path: Path) -> None:
    count = tmp_path / "count"
    made = site.torch(TENSOR, f"open({str(count)!r}, 'a').write('x')").exercises()
    made.start()
    made.start()
    assert made.exercise("cpu") is made.exercise("cpu")
    assert count.read_text() == "x"


def running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def wait_for(path: Path) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if path.exists() and path.read_text().endswith("\n"):
            return int(path.read_text())
        time.sleep(0.01)
    raise TimeoutError(path)


HANGS = "open({pid!r}, 'w').write(str(os.getpid()) + '\\n'); import time; time.sleep(600)"


def test_close_ends_what_still_runs(site: Site, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    made = site.torch(TENSOR, HANGS.format(pid=str(pid))).exercises()
    made.start()
    child = wait_for(pid)
    made.close()
    assert not running(child)
    assert made.exercise("cpu") == Missing("probe-failed", "the exercises were stopped")


@posix_only
def test_nothing_is_left_when_the_caller_ends(site: Site, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    site.torch(TENSOR, HANGS.format(pid=str(pid)))
    code = f"""
import pathlib, time
from doctor.sources.exercises import Exercises
from doctor.sources.target import find_target
Exercises(find_target({sys.executable!r})).start()
pid = pathlib.Path({str(pid)!r})
while not (pid.exists() and pid.read_text().endswith("\\n")): time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=site.environ, cwd=Path.cwd())
    child = wait_for(pid)
    end = time.monotonic() + 20
    while running(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not running(child)


@pytest.mark.parametrize(
    ("stdout", "names"),
    [
        (b"", []),
        (b'{"event": "begin", "name": "a"}\n{"event": "end", "name": "a"', ["a"]),
        (b'\xff\xfe\n[]\n5\n{"event": "other", "name": "x"}\n{"event": "end", "name": 5}\n', []),
        (b'half a line\n{"event":"end","name":"b"}\nmore', ["b"]),
        (b"[" * 100_000 + b"\n", []),
    ],
)
def test_only_whole_events_are_read(stdout: bytes, names: list[str]) -> None:
    assert [event["name"] for event in read_events(stdout)] == names


@pytest.fixture(scope="module")
def real() -> Mapping[str, dict]:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch in this environment")
    with Exercises(find_target(sys.executable)) as made:
        answer = made.exercise("cpu")
    assert isinstance(answer, dict), answer
    return answer


def test_the_real_pytorch_of_this_environment(real: dict) -> None:
    assert [child["name"] for child in real["children"]] == ["exit 0"]
    assert every_step_ended_once(real)
    wrong = {name: end["detail"] for name, end in ends(real).items() if end["outcome"] not in ("ok", "skipped")}
    assert wrong == {}
    pools = ends(real)["libraries"]["facts"]["threadpools"]
    assert "openmp" in {pool["user_api"] for pool in pools}
