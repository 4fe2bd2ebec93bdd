"""The user's own command as a unit: how long it takes, or a number that it prints.

It runs where the user stands, with the user's environment as the setting changes it. What it prints is kept to a cap
and never reaches our own output.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from doctor.machine.cpulist import parse_cpulist
from doctor.measure.kills import out_of_memory_kills
from doctor.measure.surroundings import Watch
from doctor.measure.told import died_of, lacks_memory
from doctor.measure.units import Outcome, Timing, Unit, UnitResult
from doctor.measure.worker import bound_to, environment_of, waited
from doctor.measure.workloads import COMMAND
from doctor.processes.run import Child, Ended
from doctor.sources.base import Source
from doctor.sources.inside import telling_line
from doctor.sources.live import ThisMachine

#: The end of a line that has not come yet is kept so far.
_UNFINISHED_BYTES = 1 << 20


class CannotRun(ValueError):
    """A command or a metric that cannot be used. The message is one sentence."""


class CommandExperiment:
    """Runs `argv` once per unit. With `metric`, a regular expression, the last number that it finds in the output
    counts instead of the time: its first group, or all that it matches; `higher_is_better` says that it is a speed."""

    def __init__(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        metric: str | None = None,
        higher_is_better: bool = False,
        *,
        all_cpus: str,
        cwd: str | None = None,
        source: Source | None = None,
    ) -> None:
        """Raises CannotRun where there is no such program, or the metric is no regular expression."""
        self._cwd = cwd if cwd is not None else str(Path.cwd())
        self._argv = [resolved(argv, environ, self._cwd), *argv[1:]]
        self._environ = dict(environ)
        self._metric = None if metric is None else _compiled(metric)
        self._higher_is_better = higher_is_better
        self._all_cpus = parse_cpulist(all_cpus)
        self._source = source if source is not None else ThisMachine()

    def measure(self, unit: Unit) -> UnitResult:
        """Run the command to its end. However it fails is a value; a KeyboardInterrupt passes through, its processes
        gone. Raises ValueError for options or variants: nobody but the command could heed them."""
        if unit.setting.options or unit.variants:
            raise ValueError("a command can be given variables and CPUs only")
        began, kills = time.monotonic(), out_of_memory_kills(self._source)
        watch = Watch(self._all_cpus, self._source)
        found = {"stdout": LastMatch(self._metric), "stderr": LastMatch(self._metric)}

        def on_line(line: bytes) -> None:
            found["stdout"].feed(line)
            watch.look()

        start = partial(
            Child,
            self._argv,
            env=environment_of(unit.setting, self._environ, unit.pad_bytes),
            cwd=self._cwd,
            on_line=on_line,
            on_error_line=found["stderr"].feed,
            affinity=bound_to(unit.setting, self._all_cpus),
        )
        ended = waited(start, unit.limit_seconds)
        readings = watch.end(None)
        outcome, detail = self._ending(ended, out_of_memory_kills(self._source) - kills)
        seconds: tuple[float, ...] = ()
        if outcome == "ok":
            outcome, detail, seconds = self._measured(ended, found["stdout"].end() or found["stderr"].end())
        timings = tuple(Timing(COMMAND, (each,)) for each in seconds)
        return UnitResult(outcome, time.monotonic() - began, timings, readings, detail=detail)

    def _ending(self, ended: Ended, memory_kills: int) -> tuple[Outcome, str]:
        if ended.outcome == "not-started":
            return "rubbish", f"it does not start: {ended.name}"
        if ended.outcome == "timeout":
            return "hung", f"it did not end in time ({ended.name})"
        died = died_of(ended, memory_kills)
        if died is not None:
            return died
        if ended.ok:
            return "ok", ""
        said = telling_line(ended.stderr) or telling_line(ended.stdout[-4096:])
        why = f"it ended with {ended.name}" + (f": {said}" if said else "")
        return ("out-of-memory" if lacks_memory(said) else "rubbish"), why

    def _measured(self, ended: Ended, text: str | None) -> tuple[Outcome, str, tuple[float, ...]]:
        if self._metric is None:
            return "ok", "", (ended.seconds,)
        if text is None:
            return "rubbish", f"nothing in its output matches {self._metric.pattern.decode()!r}", ()
        try:
            value = float(text)
        except ValueError:
            return "rubbish", f"{text[:60]!r}, which matches, is no number", ()
        if not 0 < value < math.inf:
            return "rubbish", f"{text[:60]!r}, which matches, is no number above zero", ()
        return "ok", "", (1 / value if self._higher_is_better else value,)


class LastMatch:
    """The last match of a pattern in output that comes in pieces. A carriage return ends a line too: progress bars
    write over themselves."""

    def __init__(self, pattern: re.Pattern[bytes] | None) -> None:
        self._pattern = pattern
        self._unfinished = b""
        self._found: bytes | None = None
        # The end may be asked for while a thread still reads from a pipe that somebody else holds open.
        self._lock = threading.Lock()

    def feed(self, piece: bytes) -> None:
        if self._pattern is None:
            return
        with self._lock:
            *lines, self._unfinished = re.split(rb"[\r\n]", self._unfinished + piece)
            self._unfinished = self._unfinished[-_UNFINISHED_BYTES:]
            for line in lines:
                self._look(line)

    def end(self) -> str | None:
        """The text of the last match; None where nothing matched."""
        with self._lock:
            self._look(self._unfinished)
            self._unfinished = b""
        return None if self._found is None else self._found.decode("utf-8", "replace").strip()

    def _look(self, line: bytes) -> None:
        if self._pattern is None:
            return
        for match in self._pattern.finditer(line):
            self._found = match[1] if self._pattern.groups and match[1] is not None else match[0]


def resolved(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> str:
    """The absolute path of the program, found as a shell finds it. Raises CannotRun."""
    if not argv or not argv[0]:
        raise CannotRun("there is no command behind --")
    program = argv[0]
    has_folder = os.sep in program or (os.altsep is not None and os.altsep in program)
    name = str(Path(cwd, program)) if has_folder else program
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    if found is None:
        raise CannotRun(f"there is no program {program[:200]!r}" + ("" if has_folder else " on PATH"))
    return str(Path(cwd, found))


def _compiled(metric: str) -> re.Pattern[bytes]:
    try:
        return re.compile(metric.encode())
    except re.error as error:
        raise CannotRun(f"the metric {metric[:80]!r} is no regular expression: {error}") from None
