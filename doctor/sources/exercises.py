"""Runs the exercises of `doctor/inside/` in the target interpreter: started early, asked for late.

A child performs the steps of one device and tells of each before and after. When it dies, the death is charged to the
step that was open, and a new child goes on behind it, at most three times. The CPU comes first; then the GPUs of a ROCm
build, and where torch-directml is installed, its adapters, each in a child of its own.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import partial

from doctor.processes.run import Child, Ended
from doctor.sources.base import Json, Missing
from doctor.sources.directml_series import on_adapters
from doctor.sources.exercise_events import (
    CPU_STEPS,
    NO_FURTHER,
    Event,
    Series,
    adapter_in,
    answer_of,
    child_row,
    continued,
    end_of,
    last_words,
    on_device,
    read_events,
    went_well,
)
from doctor.sources.inside import cleaned_environment, start_inside
from doctor.sources.rocm_series import is_for_rocm, on_gpus
from doctor.sources.target import Target

#: The names of the exercises that import PyTorch.
_ANSWERS = ("cpu", "rocm", "directml")

DEFAULT_TIMEOUT_SECONDS = 60.0
#: A child that goes on behind a death gets no more than this: whoever waits has waited already.
FURTHER_TIMEOUT_SECONDS = 20.0
FURTHER_CHILDREN = 3

#: On Windows a Ctrl-C is noticed only between two waits.
_SLICE_SECONDS = 0.2

#: A child ends itself this long after its time, should nobody be left to end it.
_GRACE_SECONDS = 5.0


class Exercises:
    """The exercises of one target. `start()` begins them in the background, `exercise(name)` waits for an answer."""

    def __init__(
        self,
        target: Target,
        *,
        environ: Mapping[str, str] | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        enabled: bool = True,
    ) -> None:
        """`enabled=False` imports nothing in the target: only what its files tell (`interpreter`) is answered."""
        self._target = target
        self._environment = cleaned_environment(os.environ if environ is None else environ)
        self._timeout_seconds = timeout_seconds
        self._enabled = enabled
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._closed = False
        self._thread: threading.Thread | None = None
        self._answers: dict[str, Json | Missing] = {}

    def start(self) -> None:
        """Begin the exercises that the target can do. Harmless when they run already."""
        with self._lock:
            if self._thread is not None or self._closed or not self._enabled or not self._has_torch():
                return
            self._thread = threading.Thread(target=self._perform, name="exercises", daemon=True)
            self._thread.start()

    def exercise(self, name: str) -> Json | Missing:
        """The answer of an exercise: `interpreter`, `cpu`, `rocm` or `directml`. Waits until it is there."""
        if name == "interpreter":
            return {
                **self._target.identity,
                "dropped_pythonpath": list(self._environment.dropped_pythonpath),
                "path": self._target.path,
                "chosen_by": self._target.chosen_by,
                "others_with_torch": list(self._target.others),
                "passed_over": list(self._target.passed_over),
            }
        if name not in _ANSWERS:
            return Missing("not-in-source")
        if not self._enabled:
            return Missing("not-in-source", "exercises are switched off")
        if not self._has_torch():
            return Missing("not-installed", "the target has no torch")
        if name == "rocm" and not self._is_for_rocm():
            return Missing("not-installed", "the target's torch is not built for ROCm")
        if name == "directml" and not self._has_directml():
            return Missing("not-installed", "the target has no torch-directml")
        self.start()
        self._join(name)
        return self._answers.get(name, Missing("probe-failed", "the exercises were stopped"))

    def close(self) -> None:
        """End what still runs. What was not answered by then never will be."""
        with self._lock:
            self._closed = True
            child = self._child
        if child is not None:
            child.kill()
        self._join()

    def __enter__(self) -> Exercises:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _join(self, name: str | None = None) -> None:
        """Wait for an answer, or for the end of all."""
        while self._thread is not None and self._thread.is_alive() and name not in self._answers:
            self._thread.join(_SLICE_SECONDS)

    def _has_torch(self) -> bool:
        return bool(self._target.identity.get("torch")) or self._has_package("torch")

    def _is_for_rocm(self) -> bool:
        files = self._target.identity.get("torch")
        return isinstance(files, dict) and is_for_rocm(files.get("version_file"))

    def _has_directml(self) -> bool:
        return self._has_package("torch-directml")

    def _has_package(self, name: str) -> bool:
        return any(row.get("name") == name for row in self._target.identity.get("packages") or ())

    def _perform(self) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="amd-doctor-", ignore_cleanup_errors=True) as folder:
                self._tell("cpu", self._on_cpu(folder))
                if self._is_for_rocm():
                    self._tell("rocm", self._on_rocm(folder))
                if self._has_directml():
                    self._tell("directml", self._on_directml(folder))
        except OSError as error:
            for name in _ANSWERS:
                self._tell(name, Missing("probe-failed", f"no folder to run in: {error.strerror}"))

    def _tell(self, name: str, answer: Json | Missing) -> None:
        if not self._closed:
            self._answers.setdefault(name, answer)

    def _on_cpu(self, folder: str) -> Json | Missing:
        series = self._series("exercises.py", folder, "cpu", CPU_STEPS, self._timeout_seconds)
        return series if isinstance(series, Missing) else answer_of("cpu", [series])

    def _on_rocm(self, folder: str) -> Json | Missing:
        """The GPUs of a ROCm build. The exercises on the CPU never wake HIP: what it breaks is told apart."""
        on_cpu = self._answers.get("cpu")
        if not isinstance(on_cpu, dict) or not went_well(on_cpu, "import-torch"):
            return Missing("probe-failed", "PyTorch does not import")
        perform = partial(self._series, "rocm_exercises.py", folder)
        taken = max((child["seconds"] for child in on_cpu["children"] if child["outcome"] == "exited"), default=0.0)
        return on_gpus(perform, self._environment.variables, self._timeout_seconds, taken)

    def _on_directml(self, folder: str) -> Json | Missing:
        if not went_well(self._answers.get("cpu"), "import-torch"):
            return Missing("probe-failed", "PyTorch does not import")
        return on_adapters(partial(self._series, "directml_exercises.py", folder), self._timeout_seconds)

    def _series(
        self,
        script: str,
        folder: str,
        device: str,
        steps: Sequence[str],
        timeout_seconds: float,
        further_children: int = FURTHER_CHILDREN,
        environ: Mapping[str, str] | None = None,
    ) -> Series | Missing:
        """The steps in one child, and in further ones behind each death. `environ`: another than the user's."""
        events: list[Event] = []
        children: list[Json] = []
        left = list(steps)
        while left and len(children) <= further_children:
            timeout = min(timeout_seconds, FURTHER_TIMEOUT_SECONDS) if children else timeout_seconds
            ended = self._run(script, [device, *_fixed_arguments(timeout), *left], timeout, folder, environ)
            if ended is None:
                break
            told = read_events(ended.stdout)
            if not told and not children:
                return Missing("timed-out" if ended.outcome == "timeout" else "probe-failed", last_words(ended))
            children.append(child_row(ended))
            device = adapter_in(told) or device
            told, left = continued(told, left, ended)
            events += told
        events += [end_of(name, "skipped", NO_FURTHER) for name in left]
        return Series(events if device == "cpu" else [on_device(device, event) for event in events], children)

    def _run(
        self,
        script: str,
        arguments: Sequence[str],
        timeout_seconds: float,
        folder: str,
        environ: Mapping[str, str] | None = None,
    ) -> Ended | None:
        with self._lock:
            if self._closed:
                return None
            self._child = start_inside(
                self._target.path,
                script,
                arguments,
                environ=self._environment.variables if environ is None else environ,
                folder=folder,
            )
        return self._child.wait(timeout_seconds)


def _fixed_arguments(timeout_seconds: float) -> tuple[str, str]:
    found = importlib.util.find_spec("threadpoolctl")
    path = found.origin if found is not None else None
    return path or "-", str(timeout_seconds + _GRACE_SECONDS)
